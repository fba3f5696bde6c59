//! The process has no descriptors left.

use std::io::{ErrorKind, Read};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::expect_nothing_left;
use crate::support::mqtt::{Answer, CONNACK, Connect, Version};
use crate::support::wait_for;
use crate::support::{
    Conversation, DEADLINE, FakeBroker, Sidecar, expect_quiet, field, program,
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
    start_within(&format!("ulimit -n {MOST}"))
}

/// A sizegate whose limits a shell has set, and whose silent clients stay.
fn start_within(limit: &str) -> Conversation {
    let broker = FakeBroker::start();
    let mut shell = Command::new("sh");
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(program().get_program());
    let upstream = broker.address().to_string();
    let flags = ["--upstream", &upstream, "--handshake-timeout", "60s"];
    let sidecar = Sidecar::start_by(shell, &flags);
    Conversation { sidecar, broker }
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
    let mut silent = Vec::new();
    let mut told = loop {
        let taken = conversation.sidecar.descriptors();
        let next = conversation.connect();
        let sidecar = &conversation.sidecar;
        let waits = wait_for("a client is in, or waits", || {
            let waits = sidecar.log_lines().iter().any(is_exhausted);
            (waits || sidecar.descriptors() > taken).then_some(waits)
        });
        if waits {
            break next;
        }
        silent.push(next);
    };
    // It gets the descriptor of one who leaves, and there is none for its broker.
    told.send(Connect::new(Version::V5, "told").encode());
    silent.pop();
    let answer = Answer::parse(&told.read_packet());
    assert_eq!((answer.first, answer.code), (CONNACK, 0x88));
    told.expect_eof("the end");
    expect_quiet(&mut client, &mut broker);
    drop((told, silent, client, broker));
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
    let mut conversation = start_within(&format!("ulimit -Sn {SOFT}"));
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

fn is_exhausted(line: &serde_json::Value) -> bool {
    field(line, "message") == "no client could be accepted"
}
