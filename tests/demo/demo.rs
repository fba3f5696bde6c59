//! A demonstration: an MQTT broker, an AMQP 1.0 peer, sizegate in front of both, and real clients.
//!
//! `cargo run --release --example demo` shows what happens to small and to large messages, checks
//! each of its own claims, and fails if one does not hold. With `-- --stay` all of them stay up
//! afterwards, for clients of your own.

#![allow(clippy::print_stdout, reason = "the demonstration is what it prints")]

mod amqp;
mod broker;
mod peer;
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

use peer::Peer;

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
    let peer = Peer::start()?;
    let sidecar = Sidecar::start(config([broker.v3, broker.v5, peer.address])?)?;
    let [for_v3, for_v5, for_amqp] = sidecar.listen[..] else {
        return Err("sizegate has not opened three ports".into());
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
    println!(
        "  for AMQP 1.0    clients -> {for_amqp} -> peer   {}",
        peer.address
    );
    println!("  metrics         http://{admin}/metrics");

    println!("\nMQTT 3.1.1: a publisher behind sizegate, a subscriber at the broker itself");
    v3::show(for_v3, broker.v3)?;
    println!("\nMQTT 5.0: the same, and now the publisher can be told");
    v5::show(for_v5, broker.v5)?;
    println!("\nAMQP 1.0: a sender behind sizegate, a peer that accepts whatever it gets");
    amqp::show(for_amqp, &peer)?;
    println!("\nmetrics: what the operator sees");
    show_metrics(admin)?;
    println!("\nEverything is as it should be.");

    if stay {
        println!("\nBroker, peer and sizegate stay up; Ctrl-C ends them. For example:\n");
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
        println!("\nand for AMQP 1.0 clients (SASL ANONYMOUS):\n\n  amqp://{for_amqp}/demo\n");
        running
            .join()
            .map_err(|_| "sizegate has ended by itself")??;
    }
    Ok(())
}

/// What would be typed for this: as many listeners, and what is behind each of them in order.
fn config(upstreams: [SocketAddr; 3]) -> Outcome<Config> {
    let mut line = vec![
        "sizegate".to_owned(),
        "--admin=127.0.0.1:0".to_owned(),
        "--max-message-size=64Ki".to_owned(),
        // rumqttc and fe2o3-amqp would not send what they know to be too large, and there would be
        // nothing to see.
        "--no-advertise".to_owned(),
    ];
    for upstream in upstreams {
        line.push("--listen=127.0.0.1:0".to_owned());
        line.push(format!("--upstream={upstream}"));
    }
    let args = cli::parse(line.into_iter().map(OsString::from))
        .map_err(|_| "the command line is not understood")?;
    Ok(Config::from_args(&args)?)
}

fn show_metrics(admin: SocketAddr) -> Outcome<()> {
    let metrics = get(admin, "/metrics")?;
    // Two small messages and a large one with each version of MQTT, of which the first cannot tell
    // its publisher, and on the one link of AMQP. No client had to connect again.
    for (name, labels, expected) in [
        ("messages_total", &["mqtt", "send", "allowed"][..], 4),
        ("messages_total", &["mqtt", "send", "denied"], 2),
        ("messages_denied_total", &["mqtt", "send", "drop"], 1),
        ("messages_denied_total", &["mqtt", "send", "reject"], 1),
        ("connections_total", &["mqtt"], 2),
        ("malformed_total", &["mqtt", "client"], 0),
        ("messages_total", &["amqp10", "send", "allowed"], 2),
        ("messages_total", &["amqp10", "send", "denied"], 1),
        ("messages_denied_total", &["amqp10", "send", "reject"], 1),
        ("connections_total", &["amqp10"], 1),
        ("malformed_total", &["amqp10", "client"], 0),
    ] {
        let line = metrics
            .lines()
            .find(|line| {
                let has = |label: &&str| line.contains(&format!("=\"{label}\""));
                line.starts_with(&format!("sizegate_{name}{{")) && labels.iter().all(has)
            })
            .ok_or_else(|| format!("no metric sizegate_{name} with {labels:?}"))?;
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
