//! Acknowledgements to the broker in the order that MQTT 5.0 §4.6 demands of a client.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The refusal of a message, as the broker is told.
fn refusal(qos: u8, id: u16) -> Vec<u8> {
    match qos {
        1 => ack_code(V5, 0x40, id, 0x97),
        _ => ack(0x50, id),
    }
}

/// The client's own acknowledgement.
fn own(qos: u8, id: u16) -> Vec<u8> {
    ack(if qos == 1 { 0x40 } else { 0x50 }, id)
}

#[test]
fn a_refusal_waits_for_the_clients_acknowledgements_of_what_was_sent_before() {
    for qos in [1, 2] {
        let mut gate = RECEIVE.connected(V5);
        for (id, len) in [(1, 60), (2, 60), (3, 101), (4, 60), (5, 101)] {
            gate.feed(Side::Broker, &publish(V5, qos, id, len));
        }
        assert_eq!(gate.sent_to(Side::Broker), NOTHING, "QoS {qos}");
        gate.feed(Side::Client, &own(qos, 1));
        assert_eq!(gate.sent_to(Side::Broker), own(qos, 1));
        // The refusal comes right behind, before what the client sent in the same segment.
        gate.feed(
            Side::Client,
            &[own(qos, 2), own(qos, 4), vec![0xC0, 0]].concat(),
        );
        let expected = [
            own(qos, 2),
            refusal(qos, 3),
            own(qos, 4),
            refusal(qos, 5),
            vec![0xC0, 0],
        ];
        assert_eq!(gate.sent_to(Side::Broker), expected.concat());
    }
}

#[test]
fn qos_1_and_qos_2_do_not_wait_for_each_other() {
    for (first, second) in [(1, 2), (2, 1)] {
        let mut gate = RECEIVE.connected(V5);
        gate.feed(Side::Broker, &publish(V5, first, 1, 60));
        gate.feed(Side::Broker, &publish(V5, second, 2, 101));
        assert_eq!(gate.sent_to(Side::Broker), refusal(second, 2));
    }
}

#[test]
fn a_client_that_acknowledges_out_of_order_loses_nothing() {
    let mut gate = RECEIVE.connected(V5);
    for (id, len) in [(1, 60), (2, 60), (3, 101), (4, 60)] {
        gate.feed(Side::Broker, &publish(V5, 1, id, len));
    }
    gate.feed(Side::Client, &[own(1, 4), own(1, 2)].concat());
    assert_eq!(gate.sent_to(Side::Broker), [own(1, 4), own(1, 2)].concat());
    gate.feed(Side::Client, &own(1, 1));
    assert_eq!(
        gate.sent_to(Side::Broker),
        [own(1, 1), refusal(1, 3)].concat()
    );
}

#[test]
fn a_receive_maximum_of_1_does_not_stall() {
    for qos in [1, 2] {
        let mut gate = RECEIVE.connected_with(V5, &[0x21, 0, 1], 0);
        for id in 1..100 {
            // The broker sends the next one when it has been answered.
            gate.feed(Side::Broker, &publish(V5, qos, id, 101));
            assert_eq!(gate.sent_to(Side::Broker), refusal(qos, id));
            if qos == 2 {
                gate.feed(Side::Broker, &ack(0x62, id));
                assert_eq!(gate.sent_to(Side::Broker), ack(0x70, id));
            }
        }
    }
}

#[test]
fn a_pubrec_of_an_error_frees_the_way_as_one_of_success_does() {
    let mut gate = RECEIVE.connected(V5);
    gate.feed(Side::Broker, &publish(V5, 2, 1, 60));
    gate.feed(Side::Broker, &publish(V5, 2, 2, 101));
    let error = ack_with(0x50, 1, 0x80, "no");
    // The refusal comes behind the whole packet, not behind what decided.
    gate.feed(Side::Client, &error[..5]);
    assert_eq!(gate.sent_to(Side::Broker), &error[..5]);
    gate.feed(Side::Client, &error[5..]);
    assert_eq!(
        gate.sent_to(Side::Broker),
        [&error[5..], &refusal(2, 2)].concat()
    );
}

#[test]
fn acknowledgements_of_what_was_never_sent_pass_and_free_nothing() {
    let mut gate = RECEIVE.connected(V5);
    gate.feed(Side::Broker, &publish(V5, 1, 1, 60));
    gate.feed(Side::Broker, &publish(V5, 1, 2, 101));
    let strange = [own(1, 9), own(2, 1), ack(0x70, 1)].concat();
    gate.feed(Side::Client, &strange);
    assert_eq!(gate.sent_to(Side::Broker), strange);
}

#[test]
fn a_broker_that_sends_before_its_connack_is_answered_after_it() {
    let mut gate = RECEIVE.open();
    gate.feed(Side::Client, &connect(V311, &[]));
    gate.feed(Side::Broker, &publish(V311, 1, 1, 101));
    assert_eq!(gate.sent_to(Side::Broker), connect(V311, &[]));
    gate.feed(Side::Broker, &connack(V311, 0));
    assert_eq!(gate.sent_to(Side::Broker), ack(0x40, 1));
    assert_eq!(gate.sent_to(Side::Client), connack(V311, 0));
}

/// A message of the broker by QoS and whether it is too large, or a word of the client's.
#[derive(Clone, Copy, Debug)]
enum Event {
    Message {
        qos: u8,
        is_large: bool,
    },
    /// The client acknowledges the oldest message of this QoS.
    Acknowledge(u8),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        (1..=2_u8, any::<bool>()).prop_map(|(qos, is_large)| Event::Message { qos, is_large }),
        (1..=2_u8).prop_map(Event::Acknowledge),
    ];
    vec(event, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_broker_sees_each_message_acknowledged_once_and_in_its_order(events in events()) {
        let mut gate = RECEIVE.connected(V5);
        let mut sent = [vec![], vec![]];
        let mut unacknowledged = [vec![], vec![]];
        let mut acknowledged = Vec::new();
        let acknowledge = |gate: &mut Harness, unacknowledged: &mut [Vec<u16>; 2], qos: u8| {
            let queue = &mut unacknowledged[usize::from(qos) - 1];
            if !queue.is_empty() {
                gate.feed(Side::Client, &own(qos, queue.remove(0)));
            }
        };
        for (event, id) in events.iter().zip(1..) {
            match *event {
                Event::Message { qos, is_large } => {
                    let len = if is_large { 101 } else { 60 };
                    gate.feed(Side::Broker, &publish(V5, qos, id, len));
                    sent[usize::from(qos) - 1].push(id);
                    if !is_large {
                        unacknowledged[usize::from(qos) - 1].push(id);
                    }
                }
                Event::Acknowledge(qos) => acknowledge(&mut gate, &mut unacknowledged, qos),
            }
            acknowledged.extend(gate.sent_to(Side::Broker));
        }
        for qos in [1, 2] {
            while !unacknowledged[usize::from(qos) - 1].is_empty() {
                acknowledge(&mut gate, &mut unacknowledged, qos);
            }
        }
        acknowledged.extend(gate.sent_to(Side::Broker));
        let mut seen = [vec![], vec![]];
        let mut rest = &acknowledged[..];
        while let [first, len, high, low, ..] = *rest {
            seen[usize::from(first == 0x50)].push(u16::from_be_bytes([high, low]));
            rest = &rest[2 + usize::from(len)..];
        }
        prop_assert_eq!(seen, sent);
    }
}
