//! A refusal in the places where MQTT's state machines leave little room for one: before CONNACK,
//! in a resumed session, and where a topic alias goes through a refused message.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::mqtt::{
    Answer, CONNACK, Connect, PUBACK, PUBCOMP, PUBREC, PUBREL, Publish, Version, ack, connack,
    packet, topic_alias,
};
use support::{Conversation, Raw, expect_quiet};

#[test]
fn a_refusal_waits_for_the_brokers_consent() {
    for version in Version::ALL {
        let conversation = limited();
        let connect = Connect::new(version, "hasty");
        let (mut client, mut broker) = conversation.client_waiting(&connect);
        let small = Publish::new(version, 1, "t").id(2).payload_len(10).encode();
        client.send([&large(version, 1, 1)[..], &small, &large(version, 2, 3)].concat());
        broker.expect(&small, "the message between the refused ones");
        broker.send(version.connack());
        client.expect(version.connack(), "CONNACK before any answer");
        expect_refusal(version, &mut client, PUBACK, 1);
        expect_refusal(version, &mut client, PUBREC, 3);
        broker.send(ack(PUBACK, 2));
        client.expect(ack(PUBACK, 2), "the broker's PUBACK");
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_refused_message_may_come_in_one_segment_with_connect() {
    for version in Version::ALL {
        let conversation = limited();
        let mut client = conversation.connect();
        let connect = Connect::new(version, "hasty").encode();
        client.send([&connect[..], &large(version, 1, 1)].concat());
        let mut broker = conversation.broker.accept();
        broker.expect(&connect, "CONNECT");
        broker.send(version.connack());
        client.expect(version.connack(), "CONNACK before any answer");
        expect_refusal(version, &mut client, PUBACK, 1);
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_refusal_waits_until_an_exchange_of_auth_is_over() {
    let conversation = limited();
    let method = [0x15, 0, 1, b'm'];
    let connect = Connect::new(Version::V5, "careful").properties(method);
    let (mut client, mut broker) = conversation.client_waiting(&connect);
    let auth = packet(0xf0, &[&[0x18, 4][..], &method].concat());
    client.send(large(Version::V5, 1, 1));
    broker.send(&auth);
    client.expect(&auth, "AUTH of the broker, before any answer");
    client.send(&auth);
    broker.expect(&auth, "AUTH of the client");
    let connack = [&[0x20, 7, 0, 0, 4][..], &method].concat();
    broker.send(&connack);
    client.expect(&connack, "CONNACK before any answer");
    expect_refusal(Version::V5, &mut client, PUBACK, 1);
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_message_that_breaks_off_is_not_acknowledged() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        let large = large(version, 1, 7);
        client.send(&large[..large.len() - 1]);
        client.shut_write();
        broker.expect_eof("the end of the client's stream, and nothing of the message");
        drop(broker);
        client.expect_eof("no acknowledgement");
    }
}

#[test]
fn refusals_are_thrown_away_when_the_broker_says_no() {
    for version in Version::ALL {
        let conversation = limited();
        let connect = Connect::new(version, "hasty");
        let (mut client, mut broker) = conversation.client_waiting(&connect);
        let small = Publish::new(version, 0, "t").payload_len(10).encode();
        client.send([&large(version, 1, 1)[..], &large(version, 2, 2), &small].concat());
        broker.expect(&small, "the message after the refused ones");
        let no = connack(version, 0, if version == Version::V5 { 0x87 } else { 5 });
        broker.send(&no);
        drop(broker);
        client.expect(&no, "the refusing CONNACK");
        client.expect_eof("nothing after a refusing CONNACK");
    }
}

#[test]
fn what_a_client_sends_before_its_consent_is_bounded() {
    let flags = ["--max-control-size", "16Ki"];
    let conversation = Conversation::start(&flags);
    let connect = Connect::new(Version::V311, "hasty");
    let (mut client, mut broker) = conversation.client_waiting(&connect);
    let publish = Publish::new(Version::V311, 0, "t")
        .payload_len(1 << 20)
        .encode();
    let mut writer = client.writer();
    let sender = std::thread::spawn({
        let publish = publish.clone();
        move || writer.send(publish)
    });
    let most = 16 * 1024 - connect.encode().len();
    // The broker's reading side is quiet once the bound is reached: what follows CONNACK is read
    // only after it was sent, and the rest of the message comes with it.
    broker.stream().set_read_timeout(Some(SETTLED)).unwrap();
    let before = read_until_quiet(&mut broker);
    assert!(before.len() <= most, "{} octets passed", before.len());
    broker
        .stream()
        .set_read_timeout(Some(support::DEADLINE))
        .unwrap();
    broker.send(Version::V311.connack());
    client.expect(Version::V311.connack(), "CONNACK");
    let after = broker.read(publish.len() - before.len());
    assert!(
        [before, after].concat() == publish,
        "the message has changed"
    );
    sender.join().unwrap();
}

#[test]
fn a_duplicate_that_the_broker_may_own_is_left_to_the_broker() {
    for version in Version::ALL {
        let conversation = limited();
        let mut connect = Connect::new(version, "back-again");
        connect.clean = false;
        let present = connack(version, 1, 0);
        let (mut client, mut broker) = conversation.client_answered(&connect, &present);
        client.send(
            Publish::new(version, 2, "t")
                .id(9)
                .dup()
                .packet_len(2000)
                .encode(),
        );
        let answer = client.read_packet();
        assert_eq!((answer[0], &answer[2..4]), (PUBREC, &[0, 9][..]));
        assert!(
            answer[4..].iter().all(|octet| *octet == 0),
            "success: {answer:02x?}"
        );
        client.send(ack(PUBREL, 9));
        broker.expect(ack(PUBREL, 9), "PUBREL and nothing of the message");
        broker.send(ack(PUBCOMP, 9));
        client.expect(ack(PUBCOMP, 9), "the broker's PUBCOMP");
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_duplicate_in_a_new_session_is_refused_like_any_other_message() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "new");
        let publish = Publish::new(version, 2, "t").id(9).dup();
        client.send(publish.packet_len(2000).encode());
        expect_refusal(version, &mut client, PUBREC, 9);
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn an_alias_that_a_refused_message_set_still_leads_to_its_topic() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(aliased("a/b").packet_len(2000).encode());
    client.send(aliased("").payload_len(10).encode());
    broker.expect(
        aliased("a/b").payload_len(10).encode(),
        "the topic is put in",
    );
    client.send(aliased("").payload_len(11).encode());
    broker.expect(aliased("").payload_len(11).encode(), "and only once");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn an_alias_that_a_refused_message_changed_does_not_lead_to_the_old_topic() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(aliased("old").payload_len(10).encode());
    broker.expect(aliased("old").payload_len(10).encode(), "the first mapping");
    client.send(aliased("new").packet_len(2000).encode());
    client.send(aliased("").payload_len(11).encode());
    broker.expect(
        aliased("new").payload_len(11).encode(),
        "the new topic is put in",
    );
    client.send(aliased("newer").packet_len(2000).encode());
    client.send(aliased("last").payload_len(12).encode());
    broker.expect(
        aliased("last").payload_len(12).encode(),
        "a mapping of the client's own",
    );
    client.send(aliased("").payload_len(13).encode());
    broker.expect(aliased("").payload_len(13).encode(), "nothing to put in");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_topic_is_put_in_beside_everything_else_that_the_message_has() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(aliased("a/b").packet_len(2000).encode());
    let user_property = [0x26, 0, 1, b'k', 0, 1, b'v'];
    let properties = [&[0x01, 1][..], &topic_alias(3), &user_property].concat();
    let publish = |topic| {
        let publish = Publish::new(Version::V5, 1, topic).id(9).dup().retain();
        publish
            .properties(properties.clone())
            .payload_len(123)
            .encode()
    };
    client.send(publish(""));
    broker.expect(publish("a/b"), "the topic and all the rest");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn aliases_of_both_kinds_live_side_by_side() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let with = |alias, topic| Publish::new(Version::V5, 0, topic).properties(topic_alias(alias));
    client.send(with(1, "known").payload_len(1).encode());
    broker.expect(
        with(1, "known").payload_len(1).encode(),
        "a mapping of the broker's",
    );
    client.send(with(2, "unknown").packet_len(2000).encode());
    for (alias, sent, received) in [(1, "", ""), (2, "", "unknown"), (1, "", ""), (2, "", "")] {
        client.send(with(alias, sent).payload_len(5).encode());
        broker.expect(with(alias, received).payload_len(5).encode(), "by alias");
    }
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_connection_that_is_to_end_early_ends_after_the_brokers_consent() {
    for version in Version::ALL {
        let flags = ["--max-message-size", "1000", "--on-oversize", "close"];
        let conversation = Conversation::start(&flags);
        let connect = Connect::new(version, "hasty");
        let (mut client, mut broker) = conversation.client_waiting(&connect);
        client.send(large(version, 1, 1));
        let denied = [("verdict", "denied")];
        let sidecar = &conversation.sidecar;
        sidecar.metric_becomes("sizegate_messages_total", &denied, 1.0);
        broker.send(version.connack());
        client.expect(version.connack(), "CONNACK before anything else");
        if version == Version::V5 {
            assert_eq!(Answer::parse(&client.read_packet()).code, 0x95);
        }
        client.expect_eof("the end");
        broker.expect_gone("nothing of the message");
    }
}

#[test]
fn a_malformed_packet_before_connack_is_answered_by_no_disconnect() {
    for version in Version::ALL {
        let conversation = limited();
        let connect = Connect::new(version, "hasty");
        let (mut client, mut broker) = conversation.client_waiting(&connect);
        client.send([0x36, 6, 0, 1, b't', 0, 1, 0]);
        if version == Version::V5 {
            let answer = Answer::parse(&client.read_packet());
            assert_eq!(answer.first, CONNACK, "the only word that is legal here");
            assert!([0x81, 0x82].contains(&answer.code), "{answer:02x?}");
        }
        client.expect_eof("the end");
        broker.expect_gone("nothing of the packet");
    }
}

#[test]
fn a_message_whose_topic_is_put_in_is_judged_as_it_was_received() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(aliased("a/b").packet_len(2000).encode());
    let exact = aliased("").packet_len(1000);
    client.send(exact.encode());
    let with_topic = aliased("a/b").payload_len(exact.payload_size()).encode();
    broker.expect(with_topic, "exactly the limit, and then the topic");
    expect_quiet(&mut client, &mut broker);
}

/// A sidecar with the limit that these tests are about.
fn limited() -> Conversation {
    Conversation::start(&["--max-message-size", "1000"])
}

/// A packet of 2000 octets.
fn large(version: Version, qos: u8, id: u16) -> Vec<u8> {
    Publish::new(version, qos, "t")
        .id(id)
        .packet_len(2000)
        .encode()
}

/// A PUBLISH to this topic with Topic Alias 3.
fn aliased(topic: &str) -> Publish {
    Publish::new(Version::V5, 0, topic).properties(topic_alias(3))
}

fn expect_refusal(version: Version, client: &mut Raw, first: u8, id: u16) {
    if version == Version::V5 {
        let answer = Answer::parse(&client.read_packet());
        assert_eq!(
            (answer.first, answer.id, answer.code),
            (first, Some(id), 0x97)
        );
    } else {
        client.expect(ack(first, id), "the plain acknowledgement");
    }
}

/// Reads until nothing has come for [`SETTLED`].
fn read_until_quiet(peer: &mut Raw) -> Vec<u8> {
    use std::io::Read;
    let mut seen = Vec::new();
    let mut buffer = [0; 65_536];
    loop {
        match peer.stream().read(&mut buffer) {
            Ok(0) => panic!("the connection ended"),
            Ok(count) => seen.extend(&buffer[..count]),
            Err(_) => return seen,
        }
    }
}

/// A silence after which no more is expected. Too short a one makes the test weaker, never wrong.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(500);
