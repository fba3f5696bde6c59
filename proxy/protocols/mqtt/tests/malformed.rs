//! What a side may not send does not reach the other one.

use super::*;
use crate::gate::{Ending, Reason};

#[test]
fn what_a_client_may_not_send_does_not_reach_the_broker() {
    for (what, octets, code) in [
        ("QoS 3", packet(0x36, &[0, 1, b't', 0, 1, 0]), 0x81),
        ("DUP with QoS 0", packet(0x38, &[0, 1, b't', 0]), 0x81),
        (
            "packet identifier 0",
            packet(0x32, &[0, 1, b't', 0, 0, 0]),
            0x82,
        ),
        (
            "topic beyond the packet",
            packet(0x30, &[0, 9, b't', 0]),
            0x81,
        ),
        (
            "identifier beyond the packet",
            packet(0x32, &[0, 1, b't', 0]),
            0x81,
        ),
        (
            "properties beyond the packet",
            packet(0x30, &[0, 1, b't', 9]),
            0x81,
        ),
        (
            "property length beyond the packet",
            packet(0x30, &[0, 1, b't', 0x80]),
            0x81,
        ),
        (
            "remaining length of five octets",
            vec![0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
            0x81,
        ),
        (
            "padded remaining length",
            vec![0x30, 0x84, 0x00, 0, 1, b't', 0],
            0x81,
        ),
        ("type 0", vec![0x00, 0], 0x81),
        ("reserved flags", vec![0xC1, 0], 0x81),
        ("PUBREL without its flag", ack(0x60, 1), 0x81),
        ("PINGREQ with a body", vec![0xC0, 1, 0], 0x81),
        ("second CONNECT", connect(V5, &[]), 0x82),
        ("CONNACK", connack(V5, 0), 0x82),
        ("SUBACK", packet(0x90, &[0, 1, 0, 0]), 0x82),
        ("PINGRESP", vec![0xD0, 0], 0x82),
    ] {
        let mut gate = Terms {
            limit: 0,
            ..Terms::default()
        }
        .connected(V5);
        let small = publish(V5, 0, 0, 50);
        gate.feed(Side::Client, &[small.clone(), octets].concat());
        assert_eq!(gate.sent_to(Side::Broker), small, "{what}");
        assert_eq!(gate.sent_to(Side::Client), [0xE0, 1, code], "{what}");
        let ending = Some(Ending::by(Side::Client, Reason::Malformed));
        assert_eq!(gate.ending(Side::Broker), ending, "{what}");
        let malformed = matches!(
            gate.meter.reports[..],
            [Report::Malformed {
                side: Side::Client,
                ..
            }]
        );
        assert!(malformed, "{what}: {:?}", gate.meter.reports);
    }
}

#[test]
fn what_mqtt_3_does_not_forbid_passes() {
    for (level, what, octets) in [
        (
            V311,
            "padded remaining length",
            vec![0x30, 0x84, 0x00, 0, 1, b't', b'p'],
        ),
        (
            V31,
            "repeated SUBSCRIBE",
            packet(0x8A, &[0, 1, 0, 1, b't', 0]),
        ),
        (V31, "repeated PUBREL", ack(0x6A, 1)),
    ] {
        let mut gate = Terms::default().connected(level);
        gate.feed(Side::Client, &octets);
        assert_eq!(gate.sent_to(Side::Broker), octets, "{what}");
    }
}

#[test]
fn something_malformed_inside_an_oversized_message_costs_the_connection() {
    for flags in [0b0110, 0b1000] {
        let mut gate = Terms::default().connected(V5);
        let mut octets = publish(V5, 1, 10, 1_000);
        octets[0] = 0x30 | flags;
        gate.feed(Side::Client, &octets);
        assert_eq!(gate.sent_to(Side::Client), [0xE0, 1, 0x81]);
        assert!(refused(&gate).is_empty());
    }
}

#[test]
fn what_a_broker_may_not_send_does_not_reach_the_client() {
    for (what, octets, code) in [
        ("QoS 3", packet(0x36, &[0, 1, b't', 0, 1, 0]), 0x81),
        ("second CONNACK", connack(V5, 0), 0x82),
        ("CONNECT", connect(V5, &[]), 0x82),
        ("PINGREQ", vec![0xC0, 0], 0x82),
        ("SUBSCRIBE", packet(0x82, &[0, 1, 0, 0, 1, b't', 0]), 0x82),
    ] {
        let mut gate = Terms::default().connected(V5);
        let small = publish(V5, 0, 0, 50);
        gate.feed(Side::Broker, &[small.clone(), octets].concat());
        let expected = [small, vec![0xE0, 1, code]].concat();
        assert_eq!(gate.sent_to(Side::Client), expected, "{what}");
        let ending = Some(Ending::by(Side::Broker, Reason::Malformed));
        assert_eq!(gate.ending(Side::Client), ending, "{what}");
    }
}

#[test]
fn a_connect_that_is_malformed_is_answered_and_goes_nowhere() {
    let twice = [0x27, 0, 0, 1, 0, 0x27, 0, 0, 1, 0];
    for (what, octets, answer) in [
        (
            "Maximum Packet Size 0",
            connect(V5, &[0x27, 0, 0, 0, 0]),
            vec![0x20, 3, 0, 0x82, 0],
        ),
        (
            "Maximum Packet Size twice",
            connect(V5, &twice),
            vec![0x20, 3, 0, 0x82, 0],
        ),
        (
            "a property that is none",
            connect(V5, &[0x7E, 0]),
            vec![0x20, 3, 0, 0x81, 0],
        ),
        (
            "reserved flag",
            connect_with(V5, &[], 0x03, &[]),
            vec![0x20, 3, 0, 0x81, 0],
        ),
        (
            "octets behind",
            connect_with(V5, &[], 0x02, &[0]),
            vec![0x20, 3, 0, 0x81, 0],
        ),
        (
            "user name missing",
            connect_with(V5, &[], 0x82, &[]),
            vec![0x20, 3, 0, 0x81, 0],
        ),
        ("reserved flag", connect_with(V311, &[], 0x03, &[]), vec![]),
        (
            "unknown level",
            connect_with(6, &[], 0x02, &[]),
            vec![0x20, 2, 0, 1],
        ),
    ] {
        let mut gate = Terms::default().open();
        gate.feed(Side::Client, &octets);
        assert_eq!(gate.sent_to(Side::Broker), NOTHING, "{what}");
        assert_eq!(gate.sent_to(Side::Client), answer, "{what}");
        let ending = Some(Ending::by(Side::Client, Reason::Malformed));
        assert_eq!(gate.ending(Side::Client), ending, "{what}");
    }
}

#[test]
fn a_bridge_is_a_client_like_any_other() {
    for level in [V31, V311] {
        let mut connect = connect(level, &[]);
        // Fixed header, name with its length, and then the level.
        let at = if level == V31 { 10 } else { 8 };
        assert_eq!(connect[at], level);
        connect[at] |= 0x80;
        let mut gate = Terms::default().open();
        gate.feed(Side::Client, &connect);
        assert_eq!(gate.sent_to(Side::Broker), connect);
    }
}
