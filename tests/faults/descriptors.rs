//! The process has no descriptors left.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::expect_nothing_left;
use crate::support::mqtt::{Answer, CONNACK, Connect, Version};
use crate::support::wait_for;
use crate::support::{
    Conversation, DEADLINE, FakeBroker, Mosquitto, Raw, Sidecar, expect_quiet, field, program,
    raise_descriptor_limit,
};

/// Descriptors that sizegate may have.
const MOST: usize = 40;
/// Descriptors that it may have until it asks for more.
const SOFT: usize = 256;
/// A silence in which a loop without a pause would be seen.
const SILENCE: Duration = Duration::from_secs(1);

/// A sizegate that may have [`MOST`] descriptors, and whose silent clients stay.
fn start() -> Conversation {
    let broker = FakeBroker::start();
    let sidecar = start_within(&format!("ulimit -n {MOST}"), broker.address(), &[]);
    Conversation { sidecar, broker }
}

/// A sizegate whose limits a shell has set, whose silent clients stay, and with more flags.
fn start_within(limit: &str, upstream: SocketAddr, flags: &[&str]) -> Sidecar {
    let mut shell = Command::new("sh");
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(program().get_program());
    let upstream = upstream.to_string();
    let own = ["--upstream", &upstream, "--handshake-timeout", "60s"];
    Sidecar::start_by(shell, &[&own[..], flags].concat())
}

#[test]
fn clients_wait_while_there_are_no_descriptors_and_come_in_when_there_are() {
    let mut conversation = start();
    let before = conversation.sidecar.descriptors();
    let (mut client, mut broker) = conversation.client(Version::V5, "first");
    let silent: Vec<_> = (0..MOST).map(|_| conversation.connect()).collect();
    conversation.sidecar.log_line(is_exhausted);
    let mut waits = conversation.connect();
    waits.send(Connect::new(Version::V5, "waits").encode());

    // Who is in is served, and nothing spins meanwhile.
    expect_quiet(&mut client, &mut broker);
    let (start, ticks) = (Instant::now(), conversation.sidecar.processor_ticks());
    waits.stream().set_read_timeout(Some(SILENCE)).unwrap();
    let said = waits.stream().read(&mut [0]);
    let kind = said.map_err(|error| error.kind());
    assert!(matches!(kind, Err(ErrorKind::WouldBlock)), "{kind:?}");
    waits.stream().set_read_timeout(Some(DEADLINE)).unwrap();
    let used = conversation.sidecar.processor_ticks() - ticks;
    let passed = start.elapsed().as_millis() as u64 / 10;
    assert!(used * 4 < passed, "{used} of {passed} ticks");
    let lines = conversation.sidecar.log_lines();
    let lines = lines.iter().filter(|line| is_exhausted(line)).count();
    assert!(lines <= 2, "{lines} lines");
    expect_quiet(&mut client, &mut broker);

    drop(silent);
    let mut waits_broker = conversation.broker.accept();
    waits_broker.expect(Connect::new(Version::V5, "waits").encode(), "CONNECT");
    waits_broker.send(Version::V5.connack());
    waits.expect(Version::V5.connack(), "CONNACK");
    expect_quiet(&mut waits, &mut waits_broker);
    drop((client, broker, waits, waits_broker));
    expect_nothing_left(&mut conversation.sidecar, before);
}

#[test]
fn a_client_for_whose_broker_there_is_no_descriptor_is_told_so() {
    let mut conversation = start();
    let before = conversation.sidecar.descriptors();
    let (mut client, mut broker) = conversation.client(Version::V5, "first");
    let mut silent: Vec<_> = (0..MOST).map(|_| conversation.connect()).collect();
    conversation.sidecar.log_line(is_exhausted);
    // They speak in turn, until there is no descriptor for the broker of one of them.
    let (mut others, mut brokers) = (silent.iter_mut(), Vec::new());
    let told = loop {
        let taken = conversation.sidecar.descriptors();
        let next = others.next().unwrap();
        next.send(Connect::new(Version::V5, "next").encode());
        let sidecar = &conversation.sidecar;
        let is_told = wait_for("there is a broker for it, or none", || {
            let is_told = sidecar.log_lines().iter().any(has_no_broker);
            (is_told || sidecar.descriptors() > taken).then_some(is_told)
        });
        if is_told {
            break next;
        }
        brokers.push(conversation.broker.accept());
    };
    let answer = Answer::parse(&told.read_packet());
    assert_eq!((answer.first, answer.code), (CONNACK, 0x88));
    told.expect_eof("the end");
    expect_quiet(&mut client, &mut broker);
    drop((silent, brokers, client, broker));
    expect_nothing_left(&mut conversation.sidecar, before);
    let reason = [("reason", "upstream-unreachable")];
    let metrics = conversation.sidecar.metrics();
    assert!(metrics.value("sizegate_connections_closed_total", &reason) > 0.5);
    let (mut client, mut broker) = conversation.client(Version::V5, "after");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_soft_limit_of_descriptors_does_not_keep_clients_out() {
    raise_descriptor_limit();
    let broker = FakeBroker::start();
    let sidecar = start_within(&format!("ulimit -Sn {SOFT}"), broker.address(), &[]);
    let mut conversation = Conversation { sidecar, broker };
    let before = conversation.sidecar.descriptors();
    let mut clients: Vec<_> = (0..SOFT)
        .map(|number| conversation.client(Version::V5, &number.to_string()))
        .collect();
    for (client, broker) in &mut clients {
        expect_quiet(client, broker);
    }
    assert!(conversation.sidecar.descriptors() > 2 * SOFT);
    drop(clients);
    expect_nothing_left(&mut conversation.sidecar, before);
}

#[test]
fn the_operator_gets_in_while_clients_have_taken_all_descriptors() {
    let mosquitto = Mosquitto::start();
    // Each listener lets a client in before it knows that there are too many.
    for (most, listeners) in [(MOST, 1), (128, 24)] {
        let flags = ["--listen", "127.0.0.1:0"].repeat(listeners);
        let limit = format!("ulimit -n {most}");
        let mut sidecar = start_within(&limit, mosquitto.address(), &flags);
        let before = sidecar.descriptors();
        let connect = |sidecar: &Sidecar, number: usize| {
            let mut client = Raw::connect(sidecar.listeners()[number % listeners]);
            let name = format!("{most}-{number}");
            client.send(Connect::new(Version::V311, &name).encode());
            client
        };
        let crowd: Vec<_> = (0..2 * most)
            .map(|number| connect(&sidecar, number))
            .collect();
        sidecar.log_line(is_exhausted);
        // Some who ask are slow.
        let slow = [(); 2].map(|()| Raw::connect(sidecar.admin()));
        for path in ["/livez", "/readyz", "/metrics"].repeat(10) {
            assert_eq!(sidecar.get(path).0, 200, "{path}");
        }
        let lines = sidecar.log_lines();
        assert!(!lines.iter().any(is_closed_to_operators));
        drop(slow);
        // Those who wait in the queues of the kernel come in when others go.
        for client in &crowd {
            // It may have been closed already.
            let _ = client.stream().shutdown(Shutdown::Write);
        }
        for mut client in crowd {
            client.read_to_the_end();
        }
        expect_nothing_left(&mut sidecar, before);
        let mut client = connect(&sidecar, 2 * most);
        client.expect(Version::V311.connack(), "CONNACK");
    }
}

fn has_no_broker(line: &serde_json::Value) -> bool {
    field(line, "message") == "no broker"
}

fn is_exhausted(line: &serde_json::Value) -> bool {
    field(line, "message") == "no client could be accepted"
}

fn is_closed_to_operators(line: &serde_json::Value) -> bool {
    field(line, "message") == "admin port can't accept"
}
