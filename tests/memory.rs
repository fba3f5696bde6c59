//! Whatever a client does, the memory it costs is bounded.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use support::mqtt::{Answer, Connect, PUBACK, Publish, Version, variable};
use support::{Conversation, DEADLINE, Raw, expect_quiet};

/// What memory may grow by in these tests.
const SPARE_KIB: u64 = 16 * 1024;

#[test]
fn a_huge_refused_message_is_drained_in_constant_memory() {
    for version in [Version::V311, Version::V5] {
        let conversation = Conversation::start(&["--max-message-size", "1Mi"]);
        let (mut client, mut broker) = conversation.client(version, "c");
        let before = conversation.sidecar.peak_rss_kib();
        send_huge(version, &mut client);
        let answer = client.read_packet();
        assert_eq!((answer[0], &answer[2..4]), (PUBACK, &[0, 7][..]));
        expect_quiet(&mut client, &mut broker);
        expect_no_growth(&conversation, before);
    }
}

#[test]
fn a_huge_allowed_message_is_forwarded_in_constant_memory() {
    let conversation = Conversation::start(&["--max-message-size", "250Mi"]);
    let (mut client, mut broker) = conversation.client(Version::V311, "c");
    let before = conversation.sidecar.peak_rss_kib();
    let mut writer = client.writer();
    let sender = std::thread::spawn(move || send_huge(Version::V311, &mut writer));
    broker.read(HUGE + 5);
    sender.join().unwrap();
    expect_quiet(&mut client, &mut broker);
    expect_no_growth(&conversation, before);
}

#[test]
fn a_broker_that_does_not_read_stops_its_client_and_nobody_else() {
    let conversation = Conversation::start(&[]);
    let connect = Connect::new(Version::V311, "eager");
    let (mut client, mut broker) = conversation.client_with(&connect);
    let before = conversation.sidecar.peak_rss_kib();
    let publish = Publish::new(Version::V311, 0, "t")
        .payload_len(60_000)
        .encode();
    let (whole, cut) = send_until_stopped(&mut client, &publish);
    let (mut other, mut others_broker) = conversation.client(Version::V5, "other");
    expect_quiet(&mut other, &mut others_broker);
    expect_no_growth(&conversation, before);
    let mut writer = client.writer();
    let rest = publish[cut..].to_vec();
    let sender = std::thread::spawn(move || writer.send(rest));
    for _ in 0..=whole {
        broker.expect(&publish, "a message that had to wait");
    }
    sender.join().unwrap();
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_client_that_does_not_read_stops_its_broker_and_nobody_else() {
    let conversation = Conversation::start(&[]);
    let (mut client, mut broker) = conversation.client(Version::V5, "lazy");
    let before = conversation.sidecar.peak_rss_kib();
    let publish = Publish::new(Version::V5, 0, "t")
        .payload_len(60_000)
        .encode();
    let (whole, cut) = send_until_stopped(&mut broker, &publish);
    let (mut other, mut others_broker) = conversation.client(Version::V5, "other");
    expect_quiet(&mut other, &mut others_broker);
    expect_no_growth(&conversation, before);
    let mut writer = broker.writer();
    let rest = publish[cut..].to_vec();
    let sender = std::thread::spawn(move || writer.send(rest));
    for _ in 0..=whole {
        client.expect(&publish, "a message that had to wait");
    }
    sender.join().unwrap();
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_client_that_does_not_read_its_refusals_is_stopped_and_nobody_else() {
    let conversation = Conversation::start(&["--max-message-size", "16"]);
    let mut client = Raw::new(slow_reader(&conversation), "client");
    let connect = Connect::new(Version::V5, "flood").encode();
    client.send(&connect);
    let mut broker = conversation.broker.accept();
    broker.expect(&connect, "CONNECT");
    broker.send(Version::V5.connack());
    client.expect(Version::V5.connack(), "CONNACK");

    let before = conversation.sidecar.peak_rss_kib();
    let publish = Publish::new(Version::V5, 1, "t")
        .id(7)
        .packet_len(20)
        .encode();
    let (whole, cut) = send_until_stopped(&mut client, &publish);
    let (mut other, mut others_broker) = conversation.client(Version::V5, "other");
    expect_quiet(&mut other, &mut others_broker);
    expect_no_growth(&conversation, before);

    let mut writer = client.writer();
    let rest = publish[cut..].to_vec();
    let sender = std::thread::spawn(move || writer.send(rest));
    for _ in 0..=whole {
        let answer = Answer::parse(&client.read_packet());
        assert_eq!(
            (answer.first, answer.id, answer.code),
            (PUBACK, Some(7), 0x97)
        );
    }
    sender.join().unwrap();
    expect_quiet(&mut client, &mut broker);
    let denied = [("verdict", "denied")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_messages_total", &denied, (whole + 1) as f64);
}

#[test]
fn idle_connections_cost_little() {
    let conversation = Conversation::start(&["--max-message-size", "1Mi"]);
    let (mut client, mut broker) = conversation.client(Version::V5, "first");
    expect_quiet(&mut client, &mut broker);
    let before = conversation.sidecar.rss_kib();
    let mut connections = Vec::new();
    for count in 0..200 {
        connections.push(conversation.client(Version::V5, &format!("idle-{count}")));
    }
    for (client, broker) in &mut connections {
        let publish = Publish::new(Version::V5, 0, "t")
            .payload_len(20_000)
            .encode();
        client.send(&publish);
        broker.expect(&publish, "a message");
        expect_quiet(client, broker);
    }
    let grown = conversation.sidecar.rss_kib().saturating_sub(before);
    assert!(grown < 200 * 16, "200 idle connections cost {grown} KiB");
}

/// Payload octets of the huge message.
const HUGE: usize = 200_000_000;

/// Writes one PUBLISH with a Remaining Length of [`HUGE`], in pieces.
fn send_huge(version: Version, client: &mut Raw) {
    let mut head = vec![0x32];
    head.extend(variable(HUGE));
    let mut rest = vec![0, 1, b't', 0, 7];
    if version == Version::V5 {
        rest.push(0);
    }
    client.send([head, rest.clone()].concat());
    let piece = vec![b'p'; 1 << 20];
    let mut left = HUGE - rest.len();
    while left > 0 {
        let count = left.min(piece.len());
        client.send(&piece[..count]);
        left -= count;
    }
}

/// Sends this packet again and again until no octet has been taken for a while. Returns the number
/// of whole packets and of the octets of the one that was cut.
fn send_until_stopped(client: &mut Raw, packet: &[u8]) -> (usize, usize) {
    let batch = packet.repeat(65_536usize.div_ceil(packet.len()));
    client.stream().set_write_timeout(Some(STOPPED)).unwrap();
    let mut sent = 0;
    loop {
        assert!(
            sent < MORE_THAN_BUFFERS,
            "{sent} octets were taken from a client that must wait"
        );
        match client.stream().write(&batch[sent % packet.len()..]) {
            Ok(count) => sent += count,
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                break;
            }
            Err(error) => panic!("the client cannot write: {error}"),
        }
    }
    client.stream().set_write_timeout(Some(DEADLINE)).unwrap();
    (sent / packet.len(), sent % packet.len())
}

/// A connection whose kernel buffers are as small as they get.
fn slow_reader(conversation: &Conversation) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.set_send_buffer_size(4096).unwrap();
    socket
        .connect(&conversation.sidecar.listen().into())
        .unwrap();
    socket.into()
}

fn expect_no_growth(conversation: &Conversation, before: u64) {
    let grown = conversation.sidecar.peak_rss_kib() - before;
    assert!(grown < SPARE_KIB, "memory has grown by {grown} KiB");
}

/// A silence that means stopped. Too short a one makes the test weaker, never wrong.
const STOPPED: Duration = Duration::from_secs(1);

/// Octets that the kernel's buffers on the way cannot hold together.
const MORE_THAN_BUFFERS: usize = 64 << 20;
