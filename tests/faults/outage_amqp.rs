//! The same as [`crate::outage`] with a broker of AMQP, which takes longer to come back.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::expect_nothing_left;
use crate::support::amqp10::{self, ATTACH, CLOSE, DISPOSITION, FLOW, HEADER, Link, open};
use crate::support::{RabbitMq, Raw, Release, Sidecar, amqp091, guest, wait_for};

/// Clients of each protocol.
const CLIENTS: usize = 8;
/// Octets of a message that passes.
const PASSES: usize = 5_000;
const LIMIT: &str = "6000";
/// Octets of one that does not, and that one frame has room for.
const REFUSED: usize = 7_000;
/// In which a client learns that its broker is gone: less than the linger time of the sidecar.
const PROMPT: Duration = Duration::from_secs(10);

const LINK: Link = Link {
    handle: 0,
    address: "load",
};

#[test]
fn clients_of_a_rabbitmq_that_is_killed_hear_of_it_at_once_and_come_back_when_it_does() {
    let mut rabbitmq = RabbitMq::start(Release::V3);
    let flags = ["--linger", "60s", "--max-message-size", LIMIT];
    let mut sidecar = Sidecar::start(rabbitmq.address(), &flags);
    let before = sidecar.descriptors();
    let answered = [AtomicUsize::new(0), AtomicUsize::new(0)];
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..2 * CLIENTS)
            .map(|number| {
                let (sidecar, answered) = (&sidecar, &answered[number % 2]);
                scope.spawn(move || {
                    let mut sender = Sender::new(sidecar, number);
                    while sender.sends_both_sizes() {
                        answered.fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        wait_for("all send", || {
            let is_loaded = |count: &AtomicUsize| count.load(Relaxed) > 20 * CLIENTS;
            answered.iter().all(is_loaded).then_some(())
        });
        rabbitmq.kill();
        let killed = Instant::now();
        for client in clients {
            client.join().unwrap();
        }
        assert!(killed.elapsed() < PROMPT, "{:?}", killed.elapsed());
    });
    expect_nothing_left(&mut sidecar, before);

    for hears in [amqp10_hears_that_there_is_no_broker, amqp091_hears_so_too] {
        hears(&sidecar);
    }
    expect_nothing_left(&mut sidecar, before);
    sidecar.metric_becomes("sizegate_upstream_up", &[], 0.0);
    assert_eq!(sidecar.get("/readyz").0, 200);

    rabbitmq.start_again();
    for number in 0..2 {
        assert!(Sender::new(&sidecar, number).sends_both_sizes());
    }
    sidecar.metric_becomes("sizegate_upstream_up", &[], 1.0);
    expect_nothing_left(&mut sidecar, before);
    let metrics = sidecar.metrics();
    let count = |name, labels: &[_]| metrics.value(name, labels) as usize;
    let closed = "sizegate_connections_closed_total";
    assert_eq!(count(closed, &[]), 2 * CLIENTS + 4);
    assert_eq!(count(closed, &[("side", "broker")]), 2 * CLIENTS + 2);
    assert_eq!(count(closed, &[("reason", "upstream-unreachable")]), 2);
    assert_eq!(count("sizegate_malformed_total", &[]), 0);
}

fn amqp10_hears_that_there_is_no_broker(sidecar: &Sidecar) {
    let mut client = guest::amqp10_sasl(sidecar.listen());
    client.send([HEADER, &open("during", 8_192)].concat());
    client.expect(HEADER, "a header");
    let texts = ["amqp:connection:forced", "the broker cannot be reached"];
    amqp10::read_until(&mut client, CLOSE).expect(CLOSE, &texts);
    client.expect_eof("the end after close");
}

fn amqp091_hears_so_too(sidecar: &Sidecar) {
    let mut client = guest::amqp091_opening(sidecar.listen(), "during");
    let close = amqp091::expect_method(&mut client, 0, amqp091::CLOSE);
    assert_eq!(close.reason().0, 320);
    client.send(amqp091::close_ok());
    client.expect_eof("the end after close-ok");
}

/// A client that sends messages and waits for what becomes of each.
struct Sender {
    client: Raw,
    protocol: Protocol,
}

enum Protocol {
    /// With the number of its next delivery.
    Amqp10(u32),
    Amqp091,
}

impl Sender {
    /// Of AMQP 1.0 if its number is even, and of AMQP 0-9-1 if not.
    fn new(sidecar: &Sidecar, number: usize) -> Self {
        let name = format!("load-{number}");
        if number.is_multiple_of(2) {
            let mut client = guest::amqp10(sidecar.listen(), &name);
            client.send(amqp10::attach_sender(LINK));
            amqp10::read_until(&mut client, ATTACH);
            amqp10::read_until(&mut client, FLOW);
            return Self {
                client,
                protocol: Protocol::Amqp10(0),
            };
        }
        let mut client = guest::amqp091(sidecar.listen(), &name);
        let begin = [amqp091::channel_open(1), amqp091::confirm_select(1)].concat();
        client.send(begin);
        client.expect(amqp091::channel_open_ok(1), "channel.open-ok");
        client.expect(amqp091::confirm_select_ok(1), "confirm.select-ok");
        Self {
            client,
            protocol: Protocol::Amqp091,
        }
    }

    /// Sends a message that passes and one that does not; says no if the connection ended first.
    fn sends_both_sizes(&mut self) -> bool {
        [(PASSES, true), (REFUSED, false)]
            .into_iter()
            .all(|(size, passes)| match self.send(size) {
                Some(is_taken) => {
                    assert_eq!(is_taken, passes, "{size} octets");
                    true
                }
                None => false,
            })
    }

    /// Sends a message, and says whether it was taken.
    fn send(&mut self, size: usize) -> Option<bool> {
        match &mut self.protocol {
            Protocol::Amqp10(next) => {
                let message = amqp10::message(size);
                let transfer = amqp10::transfer(LINK, *next, false, &message);
                *next += 1;
                self.write(&transfer)?;
                loop {
                    let mut frame = self.read(4)?;
                    let len = u32::from_be_bytes(frame[..].try_into().unwrap());
                    frame.extend(self.read(len as usize - 4)?);
                    // The descriptor of the performative, and that of the state in it.
                    if frame[8..11] == [0, 0x53, DISPOSITION] {
                        let has = |code| frame.windows(3).any(|it| it == [0, 0x53, code]);
                        assert_ne!(has(0x24), has(0x25), "{}", frame.escape_ascii());
                        return Some(has(0x24));
                    }
                }
            }
            Protocol::Amqp091 => {
                let names = [amqp091::short(b""), amqp091::short(b"nowhere")].concat();
                let publish = [
                    amqp091::method(1, (60, 40), &[&[0, 0], &names, &[0]]),
                    amqp091::content_header(1, size),
                    amqp091::body(1, size),
                ];
                self.write(&publish.concat())?;
                let head = self.read(7)?;
                let len = u32::from_be_bytes(head[3..].try_into().unwrap());
                let frame = self.read(len as usize + 1)?;
                match frame[..4] {
                    [0, 60, 0, 80] => Some(true),
                    [0, 60, 0, 120] => Some(false),
                    _ => panic!("{}", frame.escape_ascii()),
                }
            }
        }
    }

    /// Writes all of it, unless the connection ends first.
    fn write(&mut self, octets: &[u8]) -> Option<()> {
        self.client.stream().write_all(octets).ok()
    }

    /// Reads so many octets, unless the connection ends first.
    fn read(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut octets = vec![0; count];
        match self.client.stream().read_exact(&mut octets) {
            Ok(()) => Some(octets),
            Err(error) => {
                let ends = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset];
                assert!(ends.contains(&error.kind()), "{error}");
                None
            }
        }
    }
}
