//! A demonstration: an MQTT broker, sizegate in front of it, and real clients of both.
//!
//! `cargo run --release --example demo` shows what happens to small and to large messages, checks
//! each of its own claims, and fails if one does not hold. With `-- --stay` the broker and sizegate
//! stay up afterwards, for clients of your own.

#![allow(clippy::print_stdout, reason = "the demonstration is what it prints")]

mod broker;
mod v3;
mod v5;

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use sizegate::cli;
use sizegate::config::Config;
use sizegate::run::Sidecar;

/// Whatever goes wrong is told and ends the demonstration.
type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let stay = std::env::args().any(|argument| argument == "--stay");
    match show(stay) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("  FAILED  {error}");
            ExitCode::FAILURE
        }
    }
}

fn show(stay: bool) -> Outcome<()> {
    let broker = broker::start()?;
    let sidecar = Sidecar::start(config(&broker)?)?;
    let [for_v3, for_v5] = sidecar.listen[..] else {
        return Err("sizegate has not opened two ports".into());
    };
    let admin = sidecar.admin.ok_or("sizegate has no admin port")?;
    let running = thread::spawn(move || sidecar.run().map_err(|error| error.to_string()));

    println!("sizegate lets messages of up to 64Ki (65536 octets) pass\n");
    println!(
        "  for MQTT 3.1.1  clients -> {for_v3} -> broker {}",
        broker.v3
    );
    println!(
        "  for MQTT 5.0    clients -> {for_v5} -> broker {}",
        broker.v5
    );
    println!("  metrics         http://{admin}/metrics");

    println!("\nMQTT 3.1.1: a publisher behind sizegate, a subscriber at the broker itself");
    v3::show(for_v3, broker.v3)?;
    println!("\nMQTT 5.0: the same, and now the publisher can be told");
    v5::show(for_v5, broker.v5)?;
    println!("\nmetrics: what the operator sees");
    show_metrics(admin)?;
    println!("\nEverything is as it should be.");

    if stay {
        println!("\nBroker and sizegate stay up; Ctrl-C ends them. For example:\n");
        println!(
            "  mosquitto_sub -h 127.0.0.1 -p {} -t demo -F '%l octets'",
            broker.v3.port()
        );
        println!(
            "  mosquitto_pub -h 127.0.0.1 -p {} -t demo -m hello",
            for_v3.port()
        );
        println!(
            "  head -c 100000 /dev/zero | mosquitto_pub -h 127.0.0.1 -p {} -V 5 -q 1 -t demo -s",
            for_v5.port()
        );
        running
            .join()
            .map_err(|_| "sizegate has ended by itself")??;
    }
    Ok(())
}

/// What would be typed for this: two listeners, and the broker's two ports behind them in order.
fn config(broker: &broker::Addresses) -> Outcome<Config> {
    let (v3, v5) = (broker.v3.to_string(), broker.v5.to_string());
    let line = [
        "sizegate",
        "--listen=127.0.0.1:0",
        "--listen=127.0.0.1:0",
        "--admin=127.0.0.1:0",
        "--max-message-size=64Ki",
        // rumqttc would not send what it knows to be too large, and there would be nothing to see.
        "--no-advertise",
        "--upstream",
        &v3,
        "--upstream",
        &v5,
    ];
    let args = cli::parse(line.into_iter().map(OsString::from))
        .map_err(|_| "the command line is not understood")?;
    Ok(Config::from_args(&args)?)
}

fn show_metrics(admin: SocketAddr) -> Outcome<()> {
    let metrics = get(admin, "/metrics")?;
    // Two small messages and a large one with each version; the first cannot tell its publisher.
    for (name, labels, expected) in [
        ("sizegate_messages_total", &["send", "allowed"][..], 4),
        ("sizegate_messages_total", &["send", "denied"], 2),
        ("sizegate_messages_denied_total", &["send", "drop"], 1),
        ("sizegate_messages_denied_total", &["send", "reject"], 1),
        // Two publishers, and neither had to connect again.
        ("sizegate_connections_total", &["mqtt"], 2),
        ("sizegate_malformed_total", &["client"], 0),
    ] {
        let line = metrics
            .lines()
            .find(|line| {
                let has = |label: &&str| line.contains(&format!("=\"{label}\""));
                line.starts_with(&format!("{name}{{")) && labels.iter().all(has)
            })
            .ok_or_else(|| format!("no metric {name} with {labels:?}"))?;
        check(line, line.ends_with(&format!(" {expected}")))?;
    }
    Ok(())
}

fn get(admin: SocketAddr, path: &str) -> Outcome<String> {
    let mut stream = TcpStream::connect(admin)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Says a claim, and fails when it does not hold.
fn check(claim: impl Display, holds: bool) -> Outcome<()> {
    if holds {
        println!("  ok  {claim}");
        Ok(())
    } else {
        Err(format!("not true: {claim}").into())
    }
}

/// The payload of a message that may pass.
const SMALL: usize = 1000;

/// The payload of a message that may not.
const LARGE: usize = 100_000;

/// How long anything here may take.
const DEADLINE: Duration = Duration::from_secs(20);
