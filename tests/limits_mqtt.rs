//! What is within the limit passes octet for octet, and the limit is exact.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::mqtt::{
    self, Answer, Connect, PUBACK, PUBCOMP, PUBREC, PUBREL, Publish, Version, ack, ack_with,
    packet, property, subscribe, topic_alias,
};
use support::{Conversation, Raw, expect_quiet, pass};

/// Who sends the next packet of a script.
#[derive(Clone, Copy)]
enum Sender {
    Client,
    Broker,
}
use Sender::{Broker, Client};

#[test]
fn traffic_passes_octet_for_octet_without_a_limit() {
    for version in Version::ALL {
        conversation_passes(version, &[]);
    }
}

#[test]
fn traffic_passes_octet_for_octet_within_a_limit() {
    for version in Version::ALL {
        conversation_passes(
            version,
            &["--max-message-size", "200Mi", "--protocol", "mqtt"],
        );
    }
}

#[test]
fn traffic_passes_octet_for_octet_with_several_threads() {
    for version in Version::ALL {
        conversation_passes(version, &["--max-message-size", "200Mi", "--threads", "2"]);
    }
}

#[test]
fn a_stream_passes_unchanged_however_it_is_cut() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-message-size", "1000"]);
        let mut client = conversation.connect();
        let connect = Connect::new(version, "cut").encode();
        send_octet_by_octet(&mut client, &connect);
        let mut broker = conversation.broker.accept();
        broker.expect(&connect, "CONNECT");
        send_octet_by_octet(&mut broker, &version.connack());
        client.expect(version.connack(), "CONNACK");
        let small = Publish::new(version, 1, "t")
            .id(3)
            .payload_len(200)
            .encode();
        let large = Publish::new(version, 0, "t").payload_len(1001).encode();
        send_octet_by_octet(&mut client, &[&small[..], &large, &small].concat());
        broker.expect(&small, "the message before the refused one");
        broker.expect(&small, "the message after the refused one");
        send_octet_by_octet(&mut broker, &ack(PUBACK, 3));
        client.expect(ack(PUBACK, 3), "PUBACK");
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn the_limit_is_exact_when_it_counts_the_packet() {
    limit_is_exact("packet", |publish| publish.encode().len());
}

#[test]
fn the_limit_is_exact_when_it_counts_the_remaining_length() {
    limit_is_exact("remaining-length", |publish| {
        let packet = publish.encode();
        // The fixed header is the first octet and the Remaining Length itself.
        let length_octets = packet[1..]
            .iter()
            .position(|octet| octet & 0x80 == 0)
            .unwrap()
            + 1;
        packet.len() - 1 - length_octets
    });
}

#[test]
fn the_limit_is_exact_when_it_counts_the_payload() {
    limit_is_exact("payload", Publish::payload_size);
}

#[test]
fn topic_and_properties_count_only_where_the_whole_packet_counts() {
    let user_property = packet_property(&[0x26, 0, 1, b'k', 0, 100], 100);
    let publish = Publish::new(Version::V5, 1, &"t".repeat(300))
        .id(1)
        .properties(user_property)
        .payload_len(500);
    for (mode, passes) in [
        ("packet", false),
        ("remaining-length", false),
        ("payload", true),
    ] {
        let flags = ["--max-message-size", "500", "--mqtt-size", mode];
        let conversation = Conversation::start(&flags);
        let (mut client, mut broker) = conversation.client(Version::V5, "c");
        client.send(publish.encode());
        if passes {
            broker.expect(publish.encode(), mode);
        } else {
            assert_eq!(Answer::parse(&client.read_packet()).code, 0x97, "{mode}");
        }
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn an_old_client_may_write_its_remaining_length_in_more_octets_than_it_needs() {
    for version in Version::OLD {
        let conversation = Conversation::start(&["--max-message-size", "16"]);
        let (mut client, mut broker) = conversation.client(version, "c");
        // Remaining Length 3 in three octets: the packet is 7 octets long.
        let publish = [0x30, 0x83, 0x80, 0x00, 0x00, 0x01, b't'];
        client.send(publish);
        broker.expect(publish, "the client's own encoding");
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_bridge_is_a_client_like_any_other() {
    let conversation = Conversation::start(&["--max-message-size", "1000"]);
    let mut connect = Connect::new(Version::V311, "bridge");
    connect.level_bits = 0x80;
    let (mut client, mut broker) = conversation.client_with(&connect);
    client.send(
        Publish::new(Version::V311, 1, "t")
            .id(5)
            .payload_len(1001)
            .encode(),
    );
    client.expect(ack(PUBACK, 5), "PUBACK for the refused message");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn messages_to_the_client_are_not_held_to_the_send_limit() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-message-size", "1000"]);
        let (mut client, mut broker) = conversation.client(version, "c");
        let publish = Publish::new(version, 1, "t")
            .id(1)
            .payload_len(300_000)
            .encode();
        pass(
            &mut broker,
            &mut client,
            &publish,
            "a message to the client",
        );
        client.send(ack(PUBACK, 1));
        broker.expect(ack(PUBACK, 1), "the client's PUBACK");
    }
}

#[test]
fn a_dry_run_forwards_everything_and_says_what_would_have_been_refused() {
    for version in Version::ALL {
        let flags = ["--max-message-size", "1000", "--dry-run"];
        let conversation = Conversation::start(&flags);
        let (mut client, mut broker) = conversation.client(version, "c");
        for qos in [0, 1, 2] {
            let large = Publish::new(version, qos, "t")
                .id(7)
                .payload_len(5000)
                .encode();
            pass(&mut client, &mut broker, &large, "the large message");
        }
        broker.send(ack(PUBACK, 7));
        client.expect(ack(PUBACK, 7), "the broker's own PUBACK");
        broker.send(ack(PUBREC, 7));
        client.expect(ack(PUBREC, 7), "the broker's own PUBREC");
        client.send(ack(PUBREL, 7));
        broker.expect(ack(PUBREL, 7), "the client's PUBREL");
        expect_quiet(&mut client, &mut broker);
        let sidecar = &conversation.sidecar;
        let line = sidecar.log_line(|line| support::field(line, "limit") == "1000");
        assert_eq!(support::field(&line, "level"), "WARN");
        for (verdict, count) in [("would-deny", 3.0), ("denied", 0.0), ("allowed", 0.0)] {
            let labels = [("direction", "send"), ("verdict", verdict)];
            sidecar.metric_becomes("sizegate_messages_total", &labels, count);
        }
    }
}

/// Around each length of the Remaining Length: a message of exactly the limit passes, and one
/// octet more is refused.
fn limit_is_exact(mode: &str, counted: impl Fn(&Publish) -> usize) {
    for remaining in [127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
        let exact = Publish::new(Version::V5, 1, "t")
            .id(1)
            .remaining_len(remaining);
        let over = Publish::new(Version::V5, 1, "t")
            .id(2)
            .remaining_len(remaining + 1);
        let limit = counted(&exact);
        let text = limit.to_string();
        let flags = ["--max-message-size", &text, "--mqtt-size", mode];
        let conversation = Conversation::start(&flags);
        let (mut client, mut broker) = conversation.client(Version::V5, "c");
        pass(
            &mut client,
            &mut broker,
            &exact.encode(),
            "exactly the limit",
        );
        broker.send(ack(PUBACK, 1));
        client.expect(ack(PUBACK, 1), "the broker's PUBACK");
        client.send(over.encode());
        let answer = Answer::parse(&client.read_packet());
        assert_eq!(
            (answer.id, answer.code),
            (Some(2), 0x97),
            "{mode} {remaining}"
        );
        let reason = answer.reason.expect("a Reason String");
        for number in [counted(&over), limit] {
            assert!(
                reason.contains(&number.to_string()),
                "{number} in {reason:?}"
            );
        }
        pass(
            &mut client,
            &mut broker,
            &exact.encode(),
            "the next message",
        );
        expect_quiet(&mut client, &mut broker);
    }
}

/// Plays a whole conversation with packets of every kind, each of which arrives as it was sent.
fn conversation_passes(version: Version, flags: &[&str]) {
    let conversation = Conversation::start(flags);
    let mut connect = Connect::new(version, "talkative");
    connect.user = Some("alice".to_owned());
    connect.password = Some("secret".to_owned());
    connect.will = Some(mqtt::Will {
        properties: property(0x18, &[0, 0, 0, 9]),
        topic: "last/words".to_owned(),
        payload: b"gone".to_vec(),
    });
    if version == Version::V5 {
        let method = [&[0x15, 0, 5][..], b"oauth"].concat();
        connect.properties = [property(0x11, &[0, 0, 0, 60]), method].concat();
    }
    let (mut client, mut broker) = conversation.client_with(&connect);
    for (from, packet) in script(version) {
        match from {
            Client => pass(&mut client, &mut broker, &packet, "from the client"),
            Broker => pass(&mut broker, &mut client, &packet, "from the broker"),
        }
    }
    client.send([0xe0, 0]);
    broker.expect([0xe0, 0], "DISCONNECT");
    client.shut_write();
    broker.expect_eof("the client's end");
    drop(broker);
    client.expect_eof("the broker's end");
}

fn script(version: Version) -> Vec<(Sender, Vec<u8>)> {
    let publish = |qos, topic| Publish::new(version, qos, topic);
    let mut script = vec![
        (Client, subscribe(version, 1, &["a/#", "b/+/c"])),
        (Client, publish(0, "a").encode()),
        (Client, publish(0, "a/b").retain().payload_len(1).encode()),
        (
            Client,
            publish(1, "a/b").id(2).dup().payload_len(130).encode(),
        ),
        (
            Client,
            publish(2, "a/b").id(0xffff).payload_len(20_000).encode(),
        ),
        (
            Broker,
            publish(2, "b/x/c").id(1).payload_len(3_000_000).encode(),
        ),
        (Client, ack(PUBREC, 1)),
        (Broker, ack(PUBREL, 1)),
        (Client, ack(PUBCOMP, 1)),
        (Broker, ack(PUBACK, 2)),
        (Broker, ack(PUBREC, 0xffff)),
        (Client, ack(PUBREL, 0xffff)),
        (Broker, ack(PUBCOMP, 0xffff)),
        (
            Client,
            publish(1, "a/b").id(2).payload_len(3_000_000).encode(),
        ),
        (Client, mqtt::PINGREQ.to_vec()),
        (Broker, mqtt::PINGRESP.to_vec()),
        (Broker, publish(0, "a").retain().encode()),
        (Broker, publish(1, "a").id(9).dup().payload_len(10).encode()),
    ];
    if version == Version::V5 {
        let user_property = packet_property(&[0x26, 0, 1, b'k', 0, 3], 3);
        let alias = publish(0, "a/b").properties(topic_alias(1));
        let only_alias = publish(0, "").properties(topic_alias(1));
        let reason = [&[0x50, 14, 0, 5, 0x97, 10, 0x1f, 0, 7][..], b"because"].concat();
        script.extend([
            (Broker, packet(0x90, &[0, 1, 0, 2, 2])),
            (Client, alias.clone().payload_len(50).encode()),
            (Client, only_alias.clone().payload_len(60).encode()),
            (Broker, alias.payload_len(70).encode()),
            (Broker, only_alias.payload_len(80).encode()),
            (
                Client,
                publish(2, "a").id(5).properties(user_property).encode(),
            ),
            (Broker, reason),
            (Client, ack_with(PUBACK, 9, 0x10)),
            (Broker, ack_with(PUBACK, 2, 0x10)),
            (Client, auth()),
            (Broker, auth()),
            (Client, packet(0xa2, &[0, 4, 0, 0, 3, b'a', b'/', b'#'])),
            (Broker, packet(0xb0, &[0, 4, 0, 0])),
        ]);
    } else {
        script.extend([
            (Broker, packet(0x90, &[0, 1, 2, 2])),
            (Client, ack(PUBACK, 9)),
            (Broker, ack(PUBACK, 2)),
            (Client, packet(0xa2, &[0, 4, 0, 3, b'a', b'/', b'#'])),
            (Broker, packet(0xb0, &[0, 4])),
        ]);
    }
    script
}

/// AUTH that goes on with the method of the CONNECT above.
fn auth() -> Vec<u8> {
    let method = [&[0x15, 0, 5][..], b"oauth"].concat();
    packet(0xf0, &[&[0x19, 8][..], &method].concat())
}

/// A property of this head and so many octets of text.
fn packet_property(head: &[u8], len: usize) -> Vec<u8> {
    [head, "v".repeat(len).as_bytes()].concat()
}

fn send_octet_by_octet(peer: &mut Raw, octets: &[u8]) {
    for octet in octets {
        peer.send([*octet]);
    }
}
