//! Clients that send for ever what is refused and never read that it is.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::expect_nothing_left;
use crate::script::{From, LIMIT, Script};
use crate::support::mqtt::{Publish, Version};
use crate::support::{Conversation, Raw, amqp10, amqp091, expect_quiet};

/// A silence that means stopped. Too short a one makes the test weaker, never wrong.
const STOPPED: Duration = Duration::from_millis(500);
/// Octets that the kernel's buffers on the way cannot hold together.
const MORE_THAN_BUFFERS: usize = 512 << 20;
/// What memory may grow by.
const SPARE_KIB: u64 = 16 * 1024;

#[test]
fn who_never_reads_its_refusals_is_stopped_and_nobody_else() {
    let limit = LIMIT.to_string();
    let mut conversation = Conversation::start(&["--max-message-size", &limit]);
    let before = conversation.sidecar.descriptors();
    for (script, by) in [
        (Script::mqtt(), From::Broker),
        (Script::amqp10(), From::Client),
        (Script::amqp091(), From::Client),
    ] {
        let ends = script.begin_with(slow(&conversation), &conversation, script.greeting);
        let rss = conversation.sidecar.peak_rss_kib();
        let sent = flood(&ends.client, script.protocol);
        let (mut other, mut others_broker) = conversation.client(Version::V5, "other");
        expect_quiet(&mut other, &mut others_broker);
        let grown = conversation.sidecar.peak_rss_kib() - rss;
        eprintln!(
            "{}: stopped after {sent} octets, {grown} KiB",
            script.protocol
        );
        assert!(grown < SPARE_KIB, "{}: {grown} KiB", script.protocol);
        // Words of sizegate's own are under way to the client all the while.
        let broker = ends.broker.unwrap();
        let (gone, mut stays) = match by {
            From::Client => (ends.client, broker),
            From::Broker => (broker, ends.client),
        };
        gone.reset();
        stays.read_to_the_end();
        drop((stays, other, others_broker));
        expect_nothing_left(&mut conversation.sidecar, before);
    }
}

/// A client whose kernel buffers are as small as they get.
fn slow(conversation: &Conversation) -> Raw {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.set_send_buffer_size(65_536).unwrap();
    let address = conversation.sidecar.listen();
    socket.connect(&address.into()).unwrap();
    Raw::new(socket.into(), "client")
}

/// Sends one message over the limit after the other, until no octet is taken; says how many were.
fn flood(client: &Raw, protocol: &str) -> usize {
    let mut stream = client.stream();
    stream.set_write_timeout(Some(STOPPED)).unwrap();
    let mut sent = 0;
    for id in 0.. {
        assert!(sent < MORE_THAN_BUFFERS, "{sent} octets were taken");
        let message = match protocol {
            "mqtt" => {
                let publish = Publish::new(Version::V5, 1, "t").id(7);
                publish.packet_len(LIMIT + 1).encode()
            }
            "amqp10" => {
                let link = amqp10::Link {
                    handle: 0,
                    address: "a",
                };
                amqp10::transfer(link, id, false, &amqp10::message(LIMIT + 1))
            }
            _ => amqp091::publish(1, "t", LIMIT + 1),
        };
        match stream.write_all(&message) {
            Ok(()) => sent += message.len(),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                break;
            }
            Err(error) => panic!("{protocol}: ended after {sent} octets: {error}"),
        }
    }
    sent
}
