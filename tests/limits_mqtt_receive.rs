//! Limits of what a client is sent, octet by octet between a scripted client and a scripted broker.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::mqtt::{
    Answer, Connect, PUBACK, PUBCOMP, PUBREC, PUBREL, Publish, Version, Will, ack, ack_with,
    connack, maximum_packet_size, packet, property, subscribe, topic_alias,
};
use support::{Conversation, Raw, expect_quiet, field};

#[test]
fn what_is_too_large_never_reaches_the_client_and_the_broker_is_answered() {
    for version in Version::ALL {
        let conversation = limited(&[]);
        let (mut client, mut broker) = conversation.client(version, "c");
        for (qos, first) in [(1, PUBACK), (2, PUBREC)] {
            let publish = |len| Publish::new(version, qos, "t").id(9).packet_len(len);
            broker.send(publish(1000).encode());
            client.expect(publish(1000).encode(), "exactly the limit");
            client.send(ack(first, 9));
            broker.expect(ack(first, 9), "the client's own");
            broker.send(publish(1001).encode());
            if version == Version::V5 && qos == 1 {
                broker.expect(ack_with(first, 9, 0x97), "Quota exceeded");
            } else {
                broker.expect(ack(first, 9), "the plain acknowledgement");
            }
            if qos == 2 {
                broker.send(ack(PUBREL, 9));
                broker.expect(ack(PUBCOMP, 9), "released without the client");
            }
        }
        broker.send(Publish::new(version, 0, "t").packet_len(1001).encode());
        expect_quiet(&mut client, &mut broker);
        let denied = [("direction", "receive"), ("verdict", "denied")];
        let sidecar = &conversation.sidecar;
        sidecar.metric_becomes("sizegate_messages_total", &denied, 3.0);
        let line = sidecar.log_line(|line| field(line, "message") == "message refused");
        for (name, expected) in [
            ("direction", "receive"),
            ("address", "t"),
            ("size", "1001"),
            ("limit", "1000"),
            ("rule", "--max-receive-size"),
        ] {
            assert_eq!(field(&line, name), expected, "{name}");
        }
        let action = if version == Version::V5 {
            "reject"
        } else {
            "drop"
        };
        assert_eq!(field(&line, "action"), action);
    }
}

#[test]
fn a_refusal_waits_for_what_the_client_still_owes_and_follows_it_at_once() {
    for version in Version::ALL {
        let conversation = limited(&[]);
        let (mut client, mut broker) = conversation.client(version, "c");
        let small = Publish::new(version, 1, "t").payload_len(10);
        broker.send(small.clone().id(1).encode());
        broker.send(
            Publish::new(version, 1, "t")
                .id(2)
                .packet_len(2000)
                .encode(),
        );
        broker.send(small.clone().id(3).encode());
        client.expect(small.clone().id(1).encode(), "the first");
        client.expect(small.id(3).encode(), "the third");
        expect_quiet(&mut client, &mut broker);
        client.send([ack(PUBACK, 1), ack(PUBACK, 3)].concat());
        broker.expect(ack(PUBACK, 1), "the client's first");
        let refusal = match version {
            Version::V5 => ack_with(PUBACK, 2, 0x97),
            _ => ack(PUBACK, 2),
        };
        broker.expect(refusal, "sizegate's in its place");
        broker.expect(ack(PUBACK, 3), "the client's second");
    }
}

#[test]
fn a_huge_message_for_a_client_is_swallowed_in_constant_memory() {
    const HUGE: usize = 64 << 20;
    let conversation = limited(&[]);
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let before = conversation.sidecar.peak_rss_kib();
    broker.send(
        Publish::new(Version::V5, 2, "t")
            .id(9)
            .packet_len(HUGE)
            .encode(),
    );
    broker.expect(ack(PUBREC, 9), "the plain acknowledgement");
    expect_quiet(&mut client, &mut broker);
    let after = conversation.sidecar.peak_rss_kib();
    assert!(after < before + 16 * 1024, "from {before} to {after} KiB");
}

#[test]
fn a_rule_for_a_topic_filter_holds_for_what_is_sent_by_an_alias() {
    let conversation = Conversation::start(&["--receive-limit", "address:small/#=100"]);
    let connect = Connect::new(Version::V5, "c").properties(property(0x22, &[0, 10]));
    let (mut client, mut broker) = conversation.client_with(&connect);
    let aliased = |topic: &str| Publish::new(Version::V5, 0, topic).properties(topic_alias(1));
    for octets in [
        aliased("small/a").encode(),
        aliased("").packet_len(100).encode(),
    ] {
        broker.send(&octets);
        client.expect(&octets, "within the limit");
    }
    broker.send(aliased("").packet_len(101).encode());
    broker.send(aliased("large/a").packet_len(5000).encode());
    client.expect(aliased("large/a").packet_len(5000).encode(), "no limit");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn an_alias_of_a_swallowed_message_leads_to_its_topic() {
    let conversation = limited(&[]);
    let connect = Connect::new(Version::V5, "c").properties(property(0x22, &[0, 10]));
    let (mut client, mut broker) = conversation.client_with(&connect);
    let aliased = |topic: &str| Publish::new(Version::V5, 0, topic).properties(topic_alias(1));
    broker.send(aliased("old").payload_len(10).encode());
    client.expect(aliased("old").payload_len(10).encode(), "the first mapping");
    broker.send(aliased("new").packet_len(2000).encode());
    broker.send(aliased("").payload_len(11).encode());
    client.expect(
        aliased("new").payload_len(11).encode(),
        "the topic is put in",
    );
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn close_tells_the_client_and_the_broker_publishes_its_will() {
    for mode in ["detach", "close"] {
        for version in Version::ALL {
            let conversation = limited(&["--on-oversize", mode]);
            let mut connect = Connect::new(version, "c");
            connect.will = Some(Will {
                topic: "gone".to_owned(),
                ..Will::default()
            });
            let (mut client, mut broker) = conversation.client_with(&connect);
            broker.send(
                Publish::new(version, 1, "t")
                    .id(9)
                    .packet_len(2000)
                    .encode(),
            );
            if version == Version::V5 {
                let answer = Answer::parse(&client.read_packet());
                assert_eq!((answer.first, answer.code), (0xe0, 0x95));
                assert!(answer.reason.unwrap().contains("--max-receive-size"));
            }
            client.expect_eof("the end of the connection");
            // Without DISCONNECT, which would have made the broker forget the Will.
            broker.expect_gone("the end of the connection");
        }
    }
}

#[test]
fn a_dry_run_forwards_counts_and_tells_nobody() {
    let conversation = Conversation::advertising(&["--max-receive-size", "1000", "--dry-run"]);
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let large = Publish::new(Version::V5, 1, "t")
        .id(9)
        .packet_len(2000)
        .encode();
    broker.send(&large);
    client.expect(&large, "as it was");
    expect_quiet(&mut client, &mut broker);
    let labels = [("direction", "receive"), ("verdict", "would-deny")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_messages_total", &labels, 1.0);
}

#[test]
fn both_sides_are_told_the_largest_limit() {
    let flags = ["--max-message-size", "1000", "--max-receive-size", "2000"];
    let conversation =
        Conversation::advertising(&[&flags[..], &["--limit", "user:b=5000"]].concat());
    for (user, told) in [("a", 1000), ("b", 5000)] {
        let mut connect = Connect::new(Version::V5, "c").properties(maximum_packet_size(4000));
        connect.user = Some(user.to_owned());
        let (mut client, mut broker) = asks(&conversation, &connect, 2000);
        broker.send(connack(Version::V5, 0, 0));
        client.expect(
            packet(0x20, &[&[0, 0, 5][..], &maximum_packet_size(told)].concat()),
            "CONNACK with the limit",
        );
        expect_quiet(&mut client, &mut broker);
        // Other packets may be larger than any message.
        let filters = subscribe(Version::V5, 1, &[&"f".repeat(6000)]);
        client.send(&filters);
        broker.expect(&filters, "SUBSCRIBE");
    }
}

/// Connects, and expects the broker to be told this in the place of what the client said.
fn asks(conversation: &Conversation, connect: &Connect, told: u32) -> (Raw, Raw) {
    let mut client = conversation.connect();
    client.send(connect.encode());
    let mut broker = conversation.broker.accept();
    let expected = connect.clone().properties(maximum_packet_size(told));
    broker.expect(expected.encode(), "CONNECT with the limit");
    (client, broker)
}

/// A sidecar with the limit that these tests are about.
fn limited(flags: &[&str]) -> Conversation {
    Conversation::start(&[&["--max-receive-size", "1000"], flags].concat())
}
