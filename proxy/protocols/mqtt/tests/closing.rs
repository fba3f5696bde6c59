//! What ends a connection, and what is said at its end.

use super::*;
use crate::gate::{Ending, HangUp, Reason};

#[test]
fn close_and_detach_disconnect_at_once_and_say_why() {
    for on_oversize in [OnOversize::Close, OnOversize::Detach] {
        for qos in 0..=2 {
            let mut gate = Terms {
                on_oversize,
                ..Terms::default()
            }
            .connected(V5);
            let message = publish(V5, qos, 10, 1_000);
            gate.feed(Side::Client, &message[..20]);
            let expected = last_word(&[0xE0, 0x95], &text(1_000, 100));
            assert_eq!(gate.sent_to(Side::Client), expected, "QoS {qos}");
            let ending = Some(Ending::by(Side::Client, Reason::Oversize));
            assert_eq!(gate.ending(Side::Client), ending);
            assert_eq!(gate.ending(Side::Broker), ending);
            // No DISCONNECT goes to the broker, so that the Will fires.
            assert_eq!(gate.sent_to(Side::Broker), NOTHING);
        }
    }
}

#[test]
fn mqtt_3_has_no_word_for_it_and_ends() {
    for level in [V31, V311] {
        let terms = Terms {
            on_oversize: OnOversize::Close,
            ..Terms::default()
        };
        let mut gate = terms.connected(level);
        gate.feed(Side::Client, &publish(level, 1, 10, 101));
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
        assert!(gate.ending(Side::Client).is_some());
        assert!(gate.ending(Side::Broker).is_some());
    }
}

#[test]
fn messages_before_the_oversized_one_are_delivered_before_the_end() {
    let terms = Terms {
        on_oversize: OnOversize::Close,
        ..Terms::default()
    };
    let mut gate = terms.connected(V5);
    let small = publish(V5, 0, 0, 100);
    gate.feed(
        Side::Client,
        &[small.clone(), publish(V5, 0, 0, 101), small.clone()].concat(),
    );
    assert_eq!(gate.sent_to(Side::Broker), small);
}

#[test]
fn a_goodbye_waits_for_the_end_of_the_brokers_packet() {
    let terms = Terms {
        on_oversize: OnOversize::Close,
        ..Terms::default()
    };
    let mut gate = terms.connected(V5);
    let from_broker = publish(V5, 0, 0, 90);
    gate.feed(Side::Broker, &from_broker[..40]);
    gate.feed(Side::Client, &publish(V5, 0, 0, 101));
    assert_eq!(gate.sent_to(Side::Client), &from_broker[..40]);
    gate.feed(Side::Broker, &from_broker[40..]);
    let word = last_word(&[0xE0, 0x95], &text(101, 100));
    assert_eq!(
        gate.sent_to(Side::Client),
        [&from_broker[40..], &word].concat()
    );
}

#[test]
fn a_goodbye_over_a_message_waits_for_the_connack() {
    let terms = Terms {
        on_oversize: OnOversize::Close,
        ..Terms::default()
    };
    for (code, said) in [
        (0, last_word(&[0xE0, 0x95], &text(101, 100))),
        (0x87, vec![]),
    ] {
        let mut gate = terms.open();
        gate.feed(
            Side::Client,
            &[connect(V5, &[]), publish(V5, 0, 0, 101)].concat(),
        );
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
        gate.feed(Side::Broker, &connack(V5, code));
        assert_eq!(
            gate.sent_to(Side::Client),
            [connack(V5, code), said].concat()
        );
        assert!(gate.ending(Side::Broker).is_some());
    }
}

#[test]
fn a_will_over_the_limit_is_refused_and_the_broker_learns_nothing() {
    // Will topic "w/t", payload of 98 octets: 101 together.
    let will = |level| {
        let properties: &[u8] = if level == V5 { &[0] } else { &[] };
        [properties, &string("w/t"), &string(&"p".repeat(98))].concat()
    };
    for (level, answer) in [
        (V31, vec![]),
        (V311, vec![]),
        (V5, last_word(&[0x20, 0, 0x95], &text(101, 100))),
    ] {
        let mut gate = Terms::default().open();
        gate.feed(Side::Client, &connect_with(level, &[], 0x06, &will(level)));
        assert_eq!(gate.sent_to(Side::Broker), NOTHING, "level {level}");
        assert_eq!(gate.sent_to(Side::Client), answer);
        assert_eq!(refused(&gate), [101]);

        let mut gate = Terms {
            limit: 101,
            ..Terms::default()
        }
        .open();
        let connect = connect_with(level, &[], 0x06, &will(level));
        gate.feed(Side::Client, &connect);
        assert_eq!(gate.sent_to(Side::Broker), connect);
    }
}

#[test]
fn the_properties_of_a_will_count_and_its_payload_alone_where_that_is_the_size() {
    // Will properties: content type "abcdef"; topic "w", payload "pppp".
    let properties = [&[9, 0x03][..], &string("abcdef")].concat();
    let will = [properties, string("w"), string("pppp")].concat();
    let connect = connect_with(V5, &[], 0x06, &will);
    for (message_size, size) in [(MessageSize::Packet, 9 + 1 + 4), (MessageSize::Payload, 4)] {
        for (limit, passes) in [(size, true), (size - 1, false)] {
            let mut gate = Terms {
                limit,
                message_size,
                ..Terms::default()
            }
            .open();
            gate.feed(Side::Client, &connect);
            assert_eq!(
                !gate.sent_to(Side::Broker).is_empty(),
                passes,
                "{message_size:?} {limit}"
            );
        }
    }
}

#[test]
fn a_connect_over_the_control_size_is_answered_by_its_first_octets() {
    for (level, answered) in [(V31, false), (V311, false), (V5, true)] {
        let mut gate = Terms {
            max_control_size: 512,
            ..Terms::default()
        }
        .open();
        let connect = connect_with(level, &[], 0x82, &string(&"u".repeat(600)));
        gate.feed(Side::Client, &connect[..20]);
        let answer = gate.sent_to(Side::Client);
        assert_eq!(answer.is_empty(), !answered);
        if answered {
            assert_eq!((answer[0], answer[3]), (0x20, 0x95));
        }
        assert!(gate.ending(Side::Client).is_some());
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
    }
}

#[test]
fn a_control_packet_over_the_control_size_costs_the_connection() {
    let subscribe = packet(
        0x82,
        &[&[0, 1, 0][..], &string(&"f".repeat(600)), &[0]].concat(),
    );
    for (level, answered) in [(V311, false), (V5, true)] {
        let mut gate = Terms {
            max_control_size: 512,
            ..Terms::default()
        }
        .connected(level);
        gate.feed(Side::Client, &subscribe);
        let answer = gate.sent_to(Side::Client);
        assert_eq!(answer.get(..1), answered.then_some(&[0xE0][..]));
        assert_eq!(answer.get(2), answered.then_some(&0x95));
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
    }
    // A dry run refuses nothing.
    let terms = Terms {
        max_control_size: 512,
        mode: Mode::DryRun,
        ..Terms::default()
    };
    let mut gate = terms.connected(V311);
    gate.feed(Side::Client, &subscribe);
    assert_eq!(gate.sent_to(Side::Broker), subscribe);
    assert_eq!(gate.meter.reports.len(), 1);
}

#[test]
fn a_control_packet_of_the_broker_over_the_control_size_ends_the_connection() {
    let suback = packet(0x90, &[&[0, 1, 0][..], &[0; 600]].concat());
    let mut gate = Terms {
        max_control_size: 512,
        ..Terms::default()
    }
    .connected(V5);
    gate.feed(Side::Broker, &suback);
    let answer = gate.sent_to(Side::Client);
    assert_eq!((answer[0], answer[2]), (0xE0, 0x95));
    let ending = Some(Ending::by(Side::Broker, Reason::Oversize));
    assert_eq!(gate.ending(Side::Broker), ending);
}

#[test]
fn after_its_disconnect_nothing_of_a_client_passes_and_nothing_is_added_for_it() {
    let mut gate = Terms::default().connected(V5);
    let small = publish(V5, 0, 0, 50);
    let disconnect = vec![0xE0, 0];
    gate.feed(Side::Client, &publish(V5, 0, 0, 101));
    gate.feed(
        Side::Client,
        &[small.clone(), disconnect.clone(), small.clone()].concat(),
    );
    assert_eq!(gate.sent_to(Side::Broker), [small, disconnect].concat());
    gate.feed(Side::Client, &publish(V5, 1, 1, 101));
    gate.gate.hang_up(HangUp::Drain);
    gate.settle();
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
    assert!(gate.ending(Side::Broker).is_some());
}

#[test]
fn nothing_follows_the_brokers_disconnect() {
    let mut gate = Terms::default().connected(V5);
    gate.feed(Side::Broker, &[0xE0, 1, 0x8B]);
    gate.feed(Side::Client, &publish(V5, 1, 1, 101));
    assert_eq!(gate.sent_to(Side::Client), [0xE0, 1, 0x8B]);
}

#[test]
fn a_drain_says_server_shutting_down_to_mqtt_5_and_nothing_to_others() {
    for (level, word) in [(V31, vec![]), (V311, vec![]), (V5, vec![0xE0, 1, 0x8B])] {
        let mut gate = Terms::default().connected(level);
        gate.gate.hang_up(HangUp::Drain);
        gate.settle();
        assert_eq!(gate.sent_to(Side::Client), word);
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
        let ending = Some(Ending::ours(Reason::Drain));
        assert_eq!(
            (gate.ending(Side::Client), gate.ending(Side::Broker)),
            (ending, ending)
        );
    }
}

#[test]
fn a_client_without_a_broker_is_told_that_the_server_is_unavailable() {
    for (level, word) in [
        (V31, [0x20, 2, 0, 3].to_vec()),
        (V5, [0x20, 3, 0, 0x88, 0].to_vec()),
    ] {
        let mut gate = Terms::default().open();
        gate.feed(Side::Client, &connect(level, &[]));
        gate.gate.hang_up(HangUp::BrokerUnreachable);
        gate.settle();
        assert_eq!(gate.sent_to(Side::Client), word);
        let ending = Some(Ending::by(Side::Broker, Reason::UpstreamUnreachable));
        assert_eq!(gate.ending(Side::Broker), ending);
    }
}

#[test]
fn enhanced_authentication_passes_before_the_connack() {
    let mut gate = Terms::default().open();
    gate.feed(Side::Client, &connect(V5, &[0x15, 0, 1, b'm']));
    let auth = packet(0xF0, &[0x18, 4, 0x15, 0, 1, b'm']);
    gate.feed(Side::Broker, &auth);
    gate.feed(Side::Client, &auth);
    gate.feed(Side::Client, &publish(V5, 1, 1, 101));
    assert_eq!(
        gate.sent_to(Side::Client),
        auth,
        "no answer before the CONNACK"
    );
    gate.feed(Side::Broker, &connack(V5, 0));
    let answers = [connack(V5, 0), ack_with(0x40, 1, 0x97, &text(101, 100))];
    assert_eq!(gate.sent_to(Side::Client), answers.concat());
}
