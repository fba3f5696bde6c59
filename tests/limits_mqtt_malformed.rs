//! What MQTT does not allow ends the connection, names the side at fault, and reaches nobody.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::io::Read;

use support::mqtt::{
    Answer, Connect, DISCONNECT, PINGREQ, Version, connack, maximum_packet_size, packet, subscribe,
};
use support::{Conversation, Raw};

#[test]
fn a_malformed_publish_ends_the_connection() {
    for version in Version::ALL {
        let properties: &[u8] = if version == Version::V5 { &[0] } else { &[] };
        let body = |id: &[u8]| [&[0, 1, b't'], id, properties, b"payload"].concat();
        ends_for_the_client(version, "QoS 3", &packet(0x36, &body(&[0, 1])));
        ends_for_the_client(version, "DUP with QoS 0", &packet(0x38, &body(&[])));
        for first in [0x32, 0x34] {
            ends_for_the_client(
                version,
                "packet identifier 0",
                &packet(first, &body(&[0, 0])),
            );
        }
        let beyond = packet(0x30, &[0, 0x10, b't', b'x', b'y']);
        ends_for_the_client(version, "a topic longer than its packet", &beyond);
        ends_for_the_client(version, "no room for a topic", &[0x30, 0]);
        let no_identifier = [0x32, 4, 0, 1, b't', 0];
        ends_for_the_client(version, "no room for a packet identifier", &no_identifier);
    }
}

#[test]
fn a_malformed_publish_over_the_limit_is_malformed() {
    for version in Version::ALL {
        for (what, head) in [
            ("QoS 3", &[0x36, 0xd0, 0x0f, 0, 1, b't', 0, 1][..]),
            ("DUP with QoS 0", &[0x38, 0xd0, 0x0f, 0, 1, b't', 0]),
            ("packet identifier 0", &[0x32, 0xd0, 0x0f, 0, 1, b't', 0, 0]),
            (
                "a topic longer than its packet",
                &[0x32, 0xd0, 0x0f, 0xff, 0xff, b't'],
            ),
        ] {
            // The rest of the 2000 octets that the head announces.
            let octets = [head, &vec![0; 2003 - head.len()]].concat();
            ends_for_the_client(version, what, &octets);
        }
    }
}

#[test]
fn a_remaining_length_of_five_octets_ends_the_connection() {
    for version in Version::ALL {
        for first in [0x30, 0x82] {
            for last in [0x01, 0x7f] {
                let octets = [first, 0xff, 0xff, 0xff, 0xff, last];
                ends_for_the_client(version, "Remaining Length", &octets);
            }
        }
    }
}

#[test]
fn a_second_connect_ends_the_connection() {
    for version in Version::ALL {
        let connect = Connect::new(version, "again").encode();
        ends_for_the_client(version, "a second CONNECT", &connect);
    }
}

#[test]
fn a_malformed_connect_never_reaches_the_broker() {
    for version in Version::ALL {
        let good = Connect::new(version, "c").encode();
        // Behind protocol name and level.
        let flags = if version == Version::V31 { 11 } else { 9 };
        let with_flags = |value| {
            let mut connect = good.clone();
            connect[flags] = value;
            connect
        };
        let mut longer = good.clone();
        longer[1] += 1;
        longer.push(0);
        let mut shorter = good.clone();
        shorter[1] -= 1;
        shorter.pop();
        let mut cases = vec![
            ("octets behind the last field", longer),
            ("a field that does not fit", shorter),
            ("Will QoS 3", with_flags(0x1e)),
        ];
        if version != Version::V31 {
            cases.push(("Will QoS without a Will", with_flags(0x0a)));
            cases.push(("a reserved flag", with_flags(0x03)));
        }
        if version == Version::V5 {
            let with =
                |properties: Vec<u8>| Connect::new(version, "c").properties(properties).encode();
            let maximum = maximum_packet_size;
            cases.push(("Maximum Packet Size 0", with(maximum(0))));
            let twice = [maximum(100), maximum(100)].concat();
            cases.push(("Maximum Packet Size twice", with(twice)));
            cases.push(("an unknown property", with(vec![0x7f, 0])));
            cases.push(("a property cut short", with(vec![0x27, 0, 0])));
        }
        for (what, octets) in cases {
            let conversation = limited();
            let mut client = conversation.connect();
            client.send(octets);
            // It may be told so with a CONNACK that refuses; then comes the end.
            let mut answer = Vec::new();
            client.stream().read_to_end(&mut answer).expect(what);
            let refused = answer.is_empty() || (answer[0] == 0x20 && answer[3] != 0);
            assert!(refused, "{what}: {answer:02x?}");
            drop(client);
            expect_fault(&conversation, "client");
            conversation.expect_no_other_connection();
        }
    }
}

#[test]
fn packets_that_only_a_broker_may_send_end_the_connection() {
    for version in Version::ALL {
        ends_for_the_client(version, "CONNACK", &version.connack());
        ends_for_the_client(version, "SUBACK", &packet(0x90, &[0, 1, 0]));
        ends_for_the_client(version, "UNSUBACK", &packet(0xb0, &[0, 1]));
        ends_for_the_client(version, "PINGRESP", &[0xd0, 0]);
        ends_for_the_client(version, "packet type 0", &[0, 0]);
    }
    for version in Version::OLD {
        ends_for_the_client(version, "packet type 15 before 5.0", &[0xf0, 0]);
    }
}

#[test]
fn reserved_flags_end_the_connection() {
    for version in [Version::V311, Version::V5] {
        let mut with_flags_0 = subscribe(version, 1, &["t"]);
        with_flags_0[0] = 0x80;
        ends_for_the_client(version, "SUBSCRIBE with flags 0", &with_flags_0);
        ends_for_the_client(version, "PUBREL with flags 0", &[0x60, 2, 0, 1]);
        ends_for_the_client(version, "PINGREQ with flags 1", &[0xc1, 0]);
    }
}

#[test]
fn what_3_1_did_not_reserve_passes() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V31, "c");
    let mut repeated = subscribe(Version::V31, 1, &["t"]);
    repeated[0] |= 0x08; // DUP
    client.send(&repeated);
    broker.expect(&repeated, "a repeated SUBSCRIBE");
    client.send([0x6a, 2, 0, 1]);
    broker.expect([0x6a, 2, 0, 1], "a repeated PUBREL");
    support::expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_remaining_length_in_more_octets_than_it_needs_ends_a_connection_of_5_0() {
    let padded = [0x30, 0x84, 0x00, 0, 1, b't', 0];
    ends_for_the_client(Version::V5, "a padded Remaining Length", &padded);
}

#[test]
fn what_a_client_sent_before_a_malformed_packet_is_still_delivered() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        client.send([&PINGREQ[..], &[0x36, 0]].concat());
        broker.expect(PINGREQ, "the packet before");
        expect_told(version, &mut client, "QoS 3");
        broker.expect_gone("nothing of the malformed packet");
    }
}

#[test]
fn a_malformed_packet_of_the_broker_ends_the_connection() {
    for version in Version::ALL {
        let connect = Connect::new(version, "c").encode();
        let subscribe = subscribe(version, 1, &["t"]);
        for (what, octets) in [
            (
                "Remaining Length",
                &[0x30, 0xff, 0xff, 0xff, 0xff, 0x01][..],
            ),
            ("QoS 3", &[0x36, 6, 0, 1, b't', 0, 1, 0]),
            (
                "a topic longer than its packet",
                &[0x30, 4, 0, 9, b't', b't'],
            ),
            ("packet type 0", &[0, 0]),
            ("CONNECT", &connect),
            ("SUBSCRIBE", &subscribe),
            ("PINGREQ", &PINGREQ),
            ("a second CONNACK", &connack(version, 0, 0)),
        ] {
            let conversation = limited();
            let (mut client, mut broker) = conversation.client(version, "c");
            broker.send(octets);
            expect_told(version, &mut client, what);
            broker.expect_gone(what);
            drop((client, broker));
            expect_fault(&conversation, "broker");
        }
    }
}

/// A client that says this is told so and cut, and the broker sees nothing of it.
fn ends_for_the_client(version: Version, what: &str, octets: &[u8]) {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(version, "c");
    client.send(octets);
    expect_told(version, &mut client, what);
    broker.expect_gone(what);
    drop((client, broker));
    expect_fault(&conversation, "client");
}

fn limited() -> Conversation {
    Conversation::start(&["--max-message-size", "1000"])
}

fn expect_told(version: Version, client: &mut Raw, what: &str) {
    if version == Version::V5 {
        let answer = Answer::parse(&client.read_packet());
        assert_eq!(answer.first, DISCONNECT, "{what}");
        assert!([0x81, 0x82].contains(&answer.code), "{what}: {answer:02x?}");
    }
    client.expect_eof(what);
}

fn expect_fault(conversation: &Conversation, side: &str) {
    let sidecar = &conversation.sidecar;
    let labels = [
        ("protocol", "mqtt"),
        ("side", side),
        ("reason", "malformed"),
    ];
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
    let metrics = sidecar.metrics();
    for candidate in ["client", "broker"] {
        let labels = [("protocol", "mqtt"), ("side", candidate)];
        let count = metrics.value("sizegate_malformed_total", &labels);
        let expected = f64::from(u8::from(candidate == side));
        assert!(
            (count - expected).abs() < f64::EPSILON,
            "{candidate}: {count}"
        );
    }
}
