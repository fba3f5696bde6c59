//! The soak: every protocol through one sizegate for as long as one likes, with real clients and
//! real brokers, and in the end everything must add up.
//!
//! `cargo bench --bench soak -- --minutes 30` starts mosquitto and RabbitMQ 4, puts a sizegate with
//! limits in both directions in front of them, and lets pairs of a publisher and a subscriber work
//! at an even pace. One message in twenty is over the limit of what clients send, one in twenty over
//! that of what they are sent. Publishers leave and come back, and guests break their connections
//! off. It fails if a client has to wait, if memory grows, or if a count differs from another.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a soak that meets what it did not expect has to fail, and tells what it saw"
)]

mod amqp091;
mod amqp10;
mod balance;
mod guest;
mod lane;
mod mqtt3;
mod mqtt5;
mod stage;
#[path = "../support/mod.rs"]
mod support;
mod watch;

use std::time::{Duration, Instant};

use argh::FromArgs;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, LocalSet, spawn_local};

use amqp10::Amqp10;
use amqp091::Amqp091;
use lane::{Lane, Received, Sent};
use mqtt3::Mqtt3;
use mqtt5::Mqtt5;
use stage::{Protocol, Stage};

/// Lets clients of all protocols work through sizegate, and checks that everything adds up.
#[derive(FromArgs)]
struct Options {
    /// how long the clients work, in minutes (default: 30)
    #[argh(option, default = "30.0")]
    minutes: f64,
    /// pairs of a publisher and a subscriber for each protocol and version (default: 4)
    #[argh(option, default = "4")]
    pairs: usize,
    /// messages a second of each publisher (default: 4)
    #[argh(option, default = "4.0")]
    rate: f64,
}

fn main() {
    let options = options();
    let stage = Stage::start();
    let lanes = lanes(&stage, &options);
    println!(
        "{} pairs, {} messages a second, {} minutes",
        lanes.len(),
        lanes.len() as f64 * options.rate,
        options.minutes
    );
    let before = stage.sidecar.descriptors();
    let end = Instant::now() + Duration::from_secs_f64(options.minutes * 60.0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let set = LocalSet::new();
    let works = set.run_until(work(&stage, lanes, end));
    let (outcomes, guests, memory) = runtime.block_on(works);
    balance::check(stage, &outcomes, &guests, &memory, before);
}

/// Cargo puts a flag of its own before what the user typed.
fn options() -> Options {
    let words: Vec<_> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    Options::from_args(&["soak"], &words).unwrap_or_else(|early| {
        println!("{}", early.output);
        std::process::exit(i32::from(early.status.is_err()))
    })
}

fn lanes(stage: &Stage, options: &Options) -> Vec<Lane> {
    let between = Duration::from_secs_f64(1.0 / options.rate);
    let each = Protocol::ALL.into_iter().flat_map(|protocol| {
        (0..options.pairs).map(move |number| Lane {
            protocol,
            name: format!("{protocol:?}-{number}").to_lowercase(),
            address: stage.listener(protocol),
            between,
            // Connections end one after another, not all at once.
            offset: number * 11,
        })
    });
    each.collect()
}

/// Lets everybody work until the end; a client that fails or has to wait ends it all.
async fn work(
    stage: &Stage,
    lanes: Vec<Lane>,
    end: Instant,
) -> (Vec<(Lane, Sent, Received)>, guest::Visits, watch::Memory) {
    let guests = spawn_local(guest::come(stage.guests(), end));
    let mut pairs = Vec::new();
    for lane in lanes {
        let (ready, subscribed) = oneshot::channel();
        let receiver = spawn_local(receive(lane.clone(), ready));
        subscribed.await.expect("a subscriber");
        let sender = spawn_local(send(lane.clone(), end));
        pairs.push((lane, sender, receiver));
    }
    let mut watch = watch::Watch::start(end);
    while !watch.is_over() {
        watch.look(&stage.sidecar).await;
        for (lane, sender, receiver) in &mut pairs {
            fail_early(lane, sender, end).await;
            fail_early(lane, receiver, end).await;
        }
    }
    let mut outcomes = Vec::new();
    for (lane, sender, receiver) in pairs {
        let sent = sender.await.expect("a publisher ends well");
        let received = receiver.await.expect("a subscriber ends well");
        outcomes.push((lane, sent, received));
    }
    let visits = guests.await.expect("guests come until the end");
    (outcomes, visits, watch.memory())
}

/// Does not wait for the others when one has panicked.
async fn fail_early<T>(lane: &Lane, task: &mut JoinHandle<T>, end: Instant) {
    let early = Instant::now() < end;
    if early && task.is_finished() {
        let result = task.await;
        assert!(result.is_err(), "{} has ended before its time", lane.name);
        std::panic::resume_unwind(result.err().unwrap().into_panic());
    }
}

async fn send(lane: Lane, end: Instant) -> Sent {
    match lane.protocol {
        Protocol::Mqtt3 => lane::send::<Mqtt3>(lane, end).await,
        Protocol::Mqtt5 => lane::send::<Mqtt5>(lane, end).await,
        Protocol::Amqp10 => lane::send::<Amqp10>(lane, end).await,
        Protocol::Amqp091 => lane::send::<Amqp091>(lane, end).await,
    }
}

async fn receive(lane: Lane, ready: oneshot::Sender<()>) -> Received {
    match lane.protocol {
        Protocol::Mqtt3 => lane::receive::<Mqtt3>(lane, ready).await,
        Protocol::Mqtt5 => lane::receive::<Mqtt5>(lane, ready).await,
        Protocol::Amqp10 => lane::receive::<Amqp10>(lane, ready).await,
        Protocol::Amqp091 => lane::receive::<Amqp091>(lane, ready).await,
    }
}
