//! Corners of the specification that a proxy for sizes meets and that no other file is about.

use super::*;
use crate::gate::{Ending, Reason};

/// A user property with a value of so many octets, behind its length.
fn user_properties(len: usize) -> Vec<u8> {
    let property = [&[0x26][..], &string("k"), &string(&"v".repeat(len))].concat();
    packet(0, &property)[1..].to_vec()
}

#[test]
fn packets_that_have_no_answer_cost_the_connection_when_they_are_too_long() {
    let long = user_properties(1_100);
    for (what, octets) in [
        (
            "SUBSCRIBE",
            packet(0x82, &[&[0, 1][..], &long, &string("t"), &[0]].concat()),
        ),
        (
            "UNSUBSCRIBE",
            packet(0xA2, &[&[0, 1][..], &long, &string("t")].concat()),
        ),
        ("AUTH", packet(0xF0, &[&[0x18][..], &long].concat())),
        ("PUBACK", packet(0x40, &[&[0, 1, 0][..], &long].concat())),
    ] {
        let mut gate = RECEIVE.connected(V5);
        gate.feed(Side::Client, &octets);
        assert_eq!(gate.sent_to(Side::Broker), NOTHING, "{what}");
        let answer = gate.sent_to(Side::Client);
        assert_eq!((answer[0], answer[2]), (0xE0, 0x95), "{what}");
        let ending = Some(Ending::by(Side::Client, Reason::Oversize));
        assert_eq!(gate.ending(Side::Client), ending);
    }
}

#[test]
fn a_suback_or_connack_that_is_too_long_ends_the_connection_and_is_not_dropped() {
    let long = user_properties(1_100);
    for (terms, first) in [(RECEIVE, 0xE0), (RECEIVE, 0x20)] {
        let mut gate = terms.open();
        gate.feed(Side::Client, &connect(V5, &[]));
        if first == 0xE0 {
            gate.feed(Side::Broker, &connack(V5, 0));
            gate.sent_to(Side::Client);
            gate.feed(
                Side::Broker,
                &packet(0x90, &[&[0, 1][..], &long, &[0]].concat()),
            );
        } else {
            gate.feed(Side::Broker, &packet(0x20, &[&[0, 0][..], &long].concat()));
        }
        let answer = gate.sent_to(Side::Client);
        assert_eq!(answer.first(), Some(&first), "{answer:?}");
        assert!(answer.contains(&0x95));
        assert!(gate.ending(Side::Broker).is_some());
    }
}

#[test]
fn every_small_maximum_packet_size_of_a_client_is_kept_to() {
    for most in 1..=30_u8 {
        for request_problem_information in [0, 1] {
            let properties = [0x27, 0, 0, 0, most, 0x17, request_problem_information];
            let mut gate = Terms::default().connected_with(V5, &properties, 0);
            gate.feed(Side::Client, &publish(V5, 2, 10, 101));
            gate.feed(Side::Client, &ack(0x62, 10));
            let mut rest = &gate.sent_to(Side::Client)[..];
            while let [_, len, ..] = *rest {
                let len = 2 + usize::from(len);
                assert!(len <= usize::from(most), "{len} octets for {most}");
                rest = &rest[len..];
            }
            let ended = gate.ending(Side::Broker).is_some();
            assert_eq!(ended, most < 5, "{most}");
        }
    }
}

#[test]
fn a_shared_subscription_is_answered_with_a_refusal_that_is_final() {
    // An answer of 0x80 or more has the broker give the message to nobody else (MQTT 5.0 §4.8.2),
    // and so has a PUBREC that takes it.
    for (qos, answer) in [(1, ack_code(V5, 0x40, 10, 0x97)), (2, ack(0x50, 10))] {
        let mut gate = RECEIVE.connected(V5);
        gate.feed(Side::Broker, &publish(V5, qos, 10, 101));
        assert_eq!(gate.sent_to(Side::Broker), answer);
    }
}

#[test]
fn an_empty_retained_message_passes_under_the_least_limit_there_is() {
    // It takes the old message away (MQTT 5.0 §3.3.1.3).
    for level in LEVELS {
        let least = ByteSize::LEAST_LIMIT.0;
        let mut gate = Terms {
            limit: least,
            receive_limit: least,
            ..RECEIVE
        }
        .connected(level);
        let clears = publish_flagged(level, 0b0001, 0, 8);
        for (from, to) in [(Side::Client, Side::Broker), (Side::Broker, Side::Client)] {
            gate.feed(from, &clears);
            assert_eq!(gate.sent_to(to), clears);
        }
    }
}

#[test]
fn a_message_that_its_sender_does_not_finish_is_answered_to_nobody() {
    for (terms, from) in [(Terms::default(), Side::Client), (RECEIVE, Side::Broker)] {
        let mut gate = terms.connected(V311);
        gate.feed(from, &publish(V311, 1, 10, 1_000)[..999]);
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
    }
}

#[test]
fn what_is_malformed_in_an_oversized_message_of_the_broker_costs_the_connection() {
    for (what, head, code) in [
        ("QoS 3", &[0x36, 0xE8, 0x07, 0, 1, b't', 0, 1, 0][..], 0x81),
        ("DUP with QoS 0", &[0x38, 0xE8, 0x07, 0, 1, b't', 0], 0x81),
        (
            "packet identifier 0",
            &[0x32, 0xE8, 0x07, 0, 1, b't', 0, 0, 0],
            0x82,
        ),
        (
            "topic beyond the packet",
            &[0x30, 0x80, 0x01, 0xFF, 0xFF, b't'],
            0x81,
        ),
    ] {
        let mut gate = RECEIVE.connected(V5);
        gate.feed(Side::Broker, head);
        assert_eq!(gate.sent_to(Side::Client), [0xE0, 1, code], "{what}");
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
        let ending = Some(Ending::by(Side::Broker, Reason::Malformed));
        assert_eq!(gate.ending(Side::Client), ending, "{what}");
    }
}

#[test]
fn a_client_that_reconnects_between_pubrec_and_pubrel_is_the_brokers_to_answer() {
    for level in LEVELS {
        // The gate of the connection before is gone, and with it what it knew.
        let mut gate = Terms::default().connected_with(level, &[], 1);
        gate.feed(Side::Client, &ack(0x62, 10));
        assert_eq!(gate.sent_to(Side::Broker), ack(0x62, 10));
        gate.feed(Side::Broker, &ack_code(level, 0x70, 10, 0x92));
        assert_eq!(gate.sent_to(Side::Client), ack_code(level, 0x70, 10, 0x92));
    }
}

#[test]
fn a_goodbye_does_not_wait_for_a_broker_that_is_at_fault_itself() {
    let mut gate = Terms {
        on_oversize: OnOversize::Close,
        ..Terms::default()
    }
    .open();
    let pipelined = [connect(V5, &[]), publish(V5, 0, 0, 101)].concat();
    gate.feed(Side::Client, &pipelined);
    gate.feed(Side::Broker, &[0xC0, 0]);
    let expected = last_word(&[0x20, 0, 0x95], &text(101, 100));
    assert_eq!(gate.sent_to(Side::Client), expected);
    assert!(gate.ending(Side::Broker).is_some());
}

#[test]
fn a_message_repaired_before_the_connack_stays_within_what_may_pass() {
    // With its topic the packet's length takes one octet more, and that one octet is too many.
    let alias = |topic: &str, len: usize| {
        let mut body = string(topic);
        body.extend_from_slice(&[3, 0x23, 0, 1]);
        body.resize(body.len() + len, b'p');
        packet(0x30, &body)
    };
    let alias_to_set = alias("a/topic", 500);
    let connect = connect(V5, &[]);
    for room in 100..200 {
        let mut gate = Terms {
            max_control_size: 512,
            limit: 400,
            ..Terms::default()
        }
        .open();
        let filler = publish(V5, 0, 0, 512 - connect.len() - room);
        gate.feed(
            Side::Client,
            &[&connect[..], &alias_to_set, &filler].concat(),
        );
        // 127 octets as received, and 7 more with the topic.
        gate.feed(Side::Client, &alias("", 119));
        gate.feed(Side::Client, &publish(V5, 0, 0, 20));
        let passed = gate.sent_to(Side::Broker).len();
        assert!(passed <= 512, "{passed} octets before the CONNACK");
    }
}

#[test]
fn a_broker_that_sends_what_is_too_large_before_its_connack_is_not_awaited() {
    let mut gate = Terms {
        on_oversize: OnOversize::Close,
        ..RECEIVE
    }
    .open();
    gate.feed(Side::Client, &connect(V5, &[]));
    gate.feed(Side::Broker, &publish(V5, 0, 0, 101));
    let answer = gate.sent_to(Side::Client);
    assert_eq!((answer[0], answer[3]), (0x20, 0x95), "{answer:?}");
    assert!(gate.ending(Side::Broker).is_some());
}

#[test]
fn no_memory_is_kept_for_the_order_of_a_client_that_can_lose_nothing() {
    // The allocations are those of `Receipts`, which is not there without a receive limit.
    for (terms, properties, bookkeeping) in [
        (Terms::default(), &[][..], false),
        (RECEIVE, &[], true),
        (Terms::default(), &[0x27, 0, 0, 1, 0], true),
    ] {
        let settings = terms.settings();
        let mut session = crate::protocols::mqtt::session::Session::new(&Opening {
            settings: &settings,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_name: None,
            subject: None,
        });
        let mut meter = crate::gate::Meter::default();
        let connect = connect(V5, properties);
        crate::gate::Gate::step(
            &mut session,
            Side::Client,
            &connect,
            &mut meter,
            &mut vec![],
        );
        assert_eq!(session.receipts.is_some(), bookkeeping, "{properties:?}");
    }
}

#[test]
fn a_broker_that_speaks_before_the_client_has_to_wait() {
    let mut gate = Terms::default().open();
    gate.feed(Side::Broker, &connack(V5, 0));
    assert!(gate.waits(Side::Broker), "no more is asked for");
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
    gate.feed(Side::Client, &connect(V5, &[]));
    assert_eq!(gate.sent_to(Side::Client), connack(V5, 0));
}

#[test]
fn a_connack_that_is_too_long_is_told_once_in_a_dry_run() {
    let terms = Terms {
        mode: Mode::DryRun,
        ..Terms::default()
    };
    let mut gate = terms.open();
    gate.feed(Side::Client, &connect(V5, &[]));
    let long = packet(0x20, &[&[0, 0][..], &user_properties(1_100)].concat());
    for octet in &long {
        gate.feed(Side::Broker, &[*octet]);
    }
    assert_eq!(gate.sent_to(Side::Client), long);
    assert_eq!(gate.meter.reports.len(), 1);
}
