//! A refused message is answered in MQTT's own words and costs nothing but itself.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::mqtt::{
    Answer, Connect, DISCONNECT, PINGRESP, PUBACK, PUBCOMP, PUBREC, PUBREL, Publish, Version, ack,
    ack_with, maximum_packet_size, property,
};
use support::{Conversation, Raw, expect_quiet};

#[test]
fn a_refused_message_without_acknowledgement_is_dropped() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        let small = Publish::new(version, 0, "t").payload_len(10).encode();
        client.send([&small[..], &large(version, 0, 0), &small].concat());
        broker.expect(&small, "the message before");
        broker.expect(&small, "the message after");
        expect_quiet(&mut client, &mut broker);
        expect_denied(&conversation, "drop", 1.0);
    }
}

#[test]
fn puback_says_quota_exceeded_and_why() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(large(Version::V5, 1, 0x1234));
    expect_refusal(&mut client, PUBACK, 0x1234);
    expect_quiet(&mut client, &mut broker);
    expect_denied(&conversation, "reject", 1.0);
}

#[test]
fn pubrec_says_quota_exceeded_and_why() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(large(Version::V5, 2, 0x4321));
    expect_refusal(&mut client, PUBREC, 0x4321);
    expect_quiet(&mut client, &mut broker);
    expect_denied(&conversation, "reject", 1.0);
}

#[test]
fn a_refusal_comes_only_after_the_last_octet_of_the_message() {
    for version in Version::ALL {
        for (qos, first) in [(1, PUBACK), (2, PUBREC)] {
            let conversation = limited();
            let (mut client, mut broker) = conversation.client(version, "c");
            let large = large(version, qos, 7);
            let (last, rest) = large.split_last().unwrap();
            client.send(rest);
            expect_denied(&conversation, action(version), 1.0);
            broker.send(PINGRESP);
            client.expect(PINGRESP, "what the broker says, and no answer yet");
            client.send([*last]);
            let answer = client.read_packet();
            assert_eq!((answer[0], &answer[2..4]), (first, &[0, 7][..]));
            expect_quiet(&mut client, &mut broker);
        }
    }
}

#[test]
fn a_client_that_wants_no_problem_information_gets_no_reason_string() {
    let conversation = limited();
    let connect = Connect::new(Version::V5, "c").properties(property(0x17, &[0]));
    let (mut client, mut broker) = conversation.client_with(&connect);
    for (qos, first) in [(1, PUBACK), (2, PUBREC)] {
        client.send(large(Version::V5, qos, 7));
        let answer = Answer::parse(&client.read_packet());
        assert_eq!(
            (answer.first, answer.id, answer.code),
            (first, Some(7), 0x97)
        );
        assert_eq!(answer.reason, None);
    }
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_reason_string_that_the_client_cannot_take_is_left_out() {
    let conversation = limited();
    for (maximum, qos, first) in [(5, 1, PUBACK), (20, 1, PUBACK), (20, 2, PUBREC)] {
        let connect = Connect::new(Version::V5, "c").properties(maximum_packet_size(maximum));
        let (mut client, mut broker) = conversation.client_with(&connect);
        client.send(large(Version::V5, qos, 7));
        let answer = client.read_packet();
        assert!(answer.len() <= maximum as usize, "{answer:02x?}");
        let answer = Answer::parse(&answer);
        assert_eq!(
            (answer.first, answer.id, answer.code),
            (first, Some(7), 0x97)
        );
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_client_that_cannot_take_the_acknowledgement_is_disconnected() {
    let conversation = limited();
    for qos in [1, 2] {
        let connect = Connect::new(Version::V5, "c").properties(maximum_packet_size(4));
        let (mut client, mut broker) = conversation.client_with(&connect);
        client.send(large(Version::V5, qos, 7));
        let answer = client.read_packet();
        assert!(answer.len() <= 4, "{answer:02x?}");
        let answer = Answer::parse(&answer);
        assert_eq!((answer.first, answer.code), (DISCONNECT, 0x95));
        client.expect_eof("the end after DISCONNECT");
        broker.expect_gone("the end without DISCONNECT");
    }
}

#[test]
fn pubrel_after_a_refusing_pubrec_is_answered_and_not_forwarded() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(large(Version::V5, 2, 7));
    expect_refusal(&mut client, PUBREC, 7);
    client.send(ack(PUBREL, 7));
    let answer = Answer::parse(&client.read_packet());
    assert_eq!(
        (answer.first, answer.id, answer.code),
        (PUBCOMP, Some(7), 0x92)
    );
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_packet_identifier_is_free_again_after_its_refusal() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        client.send(large(version, 2, 7));
        assert_eq!(client.read_packet()[0], PUBREC);
        if version != Version::V5 {
            client.send(ack(PUBREL, 7));
            client.expect(ack(PUBCOMP, 7), "PUBCOMP for the refused message");
        }
        let small = Publish::new(version, 2, "t").id(7).payload_len(10).encode();
        client.send(&small);
        broker.expect(&small, "the next message of this id");
        broker.send(ack(PUBREC, 7));
        client.expect(ack(PUBREC, 7), "the broker's PUBREC");
        client.send(ack(PUBREL, 7));
        broker.expect(ack(PUBREL, 7), "PUBREL of the forwarded message");
        broker.send(ack(PUBCOMP, 7));
        client.expect(ack(PUBCOMP, 7), "the broker's PUBCOMP");
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn an_old_client_gets_plain_acknowledgements_for_refused_messages() {
    for version in Version::OLD {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        client.send(large(version, 1, 0x0102));
        client.expect([0x40, 2, 1, 2], "PUBACK");
        client.send(large(version, 2, 0x0304));
        client.expect([0x50, 2, 3, 4], "PUBREC");
        client.send([0x62, 2, 3, 4]);
        client.expect([0x70, 2, 3, 4], "PUBCOMP");
        expect_quiet(&mut client, &mut broker);
        expect_denied(&conversation, "drop", 2.0);
        let line = conversation
            .sidecar
            .log_line(|line| support::field(line, "limit") == "1000");
        assert_eq!(
            support::field(&line, "level"),
            "WARN",
            "the sender cannot know"
        );
    }
}

#[test]
fn an_old_client_may_use_a_packet_identifier_again_before_its_pubrel() {
    for version in Version::OLD {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        client.send(large(version, 2, 7));
        client.expect(ack(PUBREC, 7), "PUBREC");
        let small = Publish::new(version, 2, "t").id(7).payload_len(10).encode();
        client.send([&small[..], &ack(PUBREL, 7)].concat());
        broker.expect(&small, "the next message of this id");
        broker.expect(ack(PUBREL, 7), "and its PUBREL");
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_refusal_reaches_a_client_that_has_ended_its_stream() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        client.send(large(version, 1, 7));
        client.shut_write();
        broker.expect_eof("the end of the client's stream, and nothing of the message");
        let answer = client.read_packet();
        assert_eq!((answer[0], &answer[2..4]), (PUBACK, &[0, 7][..]));
        drop(broker);
        client.expect_eof("the end of the broker's stream");
    }
}

#[test]
fn nothing_is_said_after_the_broker_has_said_disconnect() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let shutting_down = [DISCONNECT, 1, 0x8b];
    broker.send(shutting_down);
    client.expect(shutting_down, "the broker's DISCONNECT");
    client.send(large(Version::V5, 1, 7));
    client.shut_write();
    broker.expect_eof("the end of the client's stream, and nothing of the message");
    drop(broker);
    client.expect_eof("no PUBACK after DISCONNECT");
}

#[test]
fn pubrel_of_a_message_that_this_connection_did_not_refuse_is_the_brokers() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        client.send(ack(PUBREL, 7));
        broker.expect(ack(PUBREL, 7), "PUBREL");
        broker.send(ack(PUBCOMP, 7));
        client.expect(ack(PUBCOMP, 7), "PUBCOMP");
    }
}

#[test]
fn acknowledgements_of_other_messages_are_left_alone() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let small = |id| {
        Publish::new(Version::V5, 1, "t")
            .id(id)
            .payload_len(10)
            .encode()
    };
    client.send(
        [
            small(1),
            large(Version::V5, 1, 2),
            small(3),
            large(Version::V5, 2, 4),
        ]
        .concat(),
    );
    broker.expect(small(1), "the first small message");
    broker.expect(small(3), "the second small message");
    expect_refusal(&mut client, PUBACK, 2);
    expect_refusal(&mut client, PUBREC, 4);
    let because = [&[0x40, 14, 0, 3, 0x87, 10, 0x1f, 0, 7][..], b"because"].concat();
    for answer in [ack_with(PUBACK, 1, 0x10), because] {
        broker.send(&answer);
        client.expect(&answer, "the broker's acknowledgement");
    }
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn several_refused_messages_are_answered_in_their_order() {
    for version in Version::ALL {
        let conversation = limited();
        let (mut client, mut broker) = conversation.client(version, "c");
        let mut octets = Vec::new();
        for id in 1..=20 {
            octets.extend(large(version, 1 + (id % 2) as u8, id));
        }
        let small = Publish::new(version, 0, "t").payload_len(10).encode();
        octets.extend(&small);
        client.send(octets);
        broker.expect(&small, "the message after the refused ones");
        for id in 1..=20 {
            let first = if id % 2 == 0 { PUBACK } else { PUBREC };
            let answer = client.read_packet();
            let [high, low] = u16::to_be_bytes(id);
            assert_eq!((answer[0], &answer[2..4]), (first, &[high, low][..]));
        }
        expect_quiet(&mut client, &mut broker);
        expect_denied(&conversation, action(version), 20.0);
    }
}

#[test]
fn an_answer_never_stands_inside_a_packet_of_the_broker() {
    let conversation = limited();
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let to_client = Publish::new(Version::V5, 0, "down")
        .payload_len(5000)
        .encode();
    let (head, tail) = to_client.split_at(2000);
    broker.send(head);
    client.expect(head, "the beginning of a message to the client");
    client.send(large(Version::V5, 1, 7));
    expect_denied(&conversation, "reject", 1.0);
    broker.send(tail);
    client.expect(tail, "the rest of the message to the client");
    expect_refusal(&mut client, PUBACK, 7);
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

/// Reads the refusal of a [`large`] message of MQTT 5.0.
fn expect_refusal(client: &mut Raw, first: u8, id: u16) {
    let answer = Answer::parse(&client.read_packet());
    assert_eq!(
        (answer.first, answer.id, answer.code),
        (first, Some(id), 0x97)
    );
    let reason = answer.reason.expect("a Reason String");
    for part in ["2000", "1000", "--max-message-size"] {
        assert!(reason.contains(part), "{part} in {reason:?}");
    }
}

/// What is done to a refused message that is acknowledged: an old client cannot be told, so for
/// those who count, the message was dropped.
fn action(version: Version) -> &'static str {
    if version == Version::V5 {
        "reject"
    } else {
        "drop"
    }
}

fn expect_denied(conversation: &Conversation, action: &str, count: f64) {
    let labels = [
        ("protocol", "mqtt"),
        ("direction", "send"),
        ("action", action),
    ];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_messages_denied_total", &labels, count);
}
