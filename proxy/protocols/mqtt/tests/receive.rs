//! What the broker sends is kept from the client, and the broker is answered in its place.

use super::*;
use crate::gate::{Ending, Reason, VerdictKind};
use crate::policy::{Action, Direction};

#[test]
fn a_received_message_of_exactly_the_limit_passes_and_one_octet_more_does_not() {
    // Each boundary of the remaining length's encoding, in the size of the whole packet.
    for len in [100, 129, 131, 16_386, 16_388, 2_097_155, 2_097_157] {
        let message = publish(V311, 1, 7, len);
        let terms = |receive_limit| Terms {
            receive_limit,
            ..RECEIVE
        };
        let mut gate = terms(len as u64).connected(V311);
        gate.feed(Side::Broker, &message);
        assert_eq!(gate.sent_to(Side::Client), message, "{len}");
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);

        let mut gate = terms(len as u64 - 1).connected(V311);
        gate.feed(Side::Broker, &message);
        assert_eq!(gate.sent_to(Side::Client), NOTHING, "{len}");
        assert_eq!(gate.sent_to(Side::Broker), ack(0x40, 7));
    }
}

#[test]
fn the_broker_is_answered_with_quota_exceeded_in_puback_and_with_success_in_pubrec() {
    for level in LEVELS {
        for (qos, expected) in [(1, ack_code(level, 0x40, 10, 0x97)), (2, ack(0x50, 10))] {
            let mut gate = RECEIVE.connected(level);
            gate.feed(Side::Broker, &publish(level, qos, 10, 101));
            assert_eq!(gate.sent_to(Side::Client), NOTHING, "level {level}");
            assert_eq!(gate.sent_to(Side::Broker), expected);
            let [Report::Refused(refusal)] = &gate.meter.reports[..] else {
                panic!("one refusal: {:?}", gate.meter.reports);
            };
            assert_eq!((refusal.size, refusal.limit), (101, 100));
            assert_eq!(&*refusal.rule, "--max-receive-size");
            assert_eq!(refusal.direction, Direction::ToClient);
            let action = if level == V5 {
                Action::Reject
            } else {
                Action::Drop
            };
            assert_eq!(refusal.action, action, "a 3.x broker is not told");
            assert_eq!(gate.meter.messages[1], [0, 1, 0]);
        }
    }
}

#[test]
fn a_received_qos_0_message_over_its_limit_is_dropped_in_silence() {
    for level in LEVELS {
        let mut gate = RECEIVE.connected(level);
        gate.feed(Side::Broker, &publish(level, 0, 0, 101));
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
        assert_eq!(refused(&gate), [101]);
    }
}

#[test]
fn the_broker_is_answered_after_the_last_octet_and_nothing_is_kept() {
    let mut gate = RECEIVE.connected(V5);
    let message = publish(V5, 1, 10, 1_000);
    gate.feed(Side::Broker, &message[..999]);
    assert_eq!(refused(&gate), [1_000], "the verdict has fallen");
    assert_eq!(gate.sent_to(Side::Broker), NOTHING);
    assert_eq!(gate.undecided(Side::Broker), 0);
    gate.feed(Side::Broker, &message[999..]);
    assert_eq!(gate.sent_to(Side::Broker), ack_code(V5, 0x40, 10, 0x97));
}

#[test]
fn small_messages_around_an_oversized_one_reach_the_client() {
    let mut gate = RECEIVE.connected(V5);
    let small = [publish(V5, 0, 0, 50), publish(V5, 0, 0, 51)];
    let segment = [&small[0][..], &publish(V5, 1, 2, 500), &small[1]].concat();
    gate.feed(Side::Broker, &segment);
    assert_eq!(gate.sent_to(Side::Client), small.concat());
    assert_eq!(gate.sent_to(Side::Broker), ack_code(V5, 0x40, 2, 0x97));
}

#[test]
fn an_acknowledgement_to_the_broker_never_splits_a_packet_of_the_client() {
    let mut gate = RECEIVE.connected(V311);
    let from_client = publish(V311, 0, 0, 90);
    gate.feed(Side::Client, &from_client[..40]);
    gate.feed(Side::Broker, &publish(V311, 1, 10, 101));
    assert_eq!(gate.sent_to(Side::Broker), &from_client[..40]);
    gate.feed(Side::Client, &from_client[40..]);
    let expected = [&from_client[40..], &ack(0x40, 10)].concat();
    assert_eq!(gate.sent_to(Side::Broker), expected);
}

#[test]
fn a_half_read_header_of_the_client_does_not_hold_an_acknowledgement_up() {
    let mut gate = RECEIVE.connected(V311);
    let from_client = publish(V311, 0, 0, 90);
    gate.feed(Side::Client, &from_client[..3]);
    gate.feed(Side::Broker, &publish(V311, 1, 10, 101));
    assert_eq!(gate.sent_to(Side::Broker), ack(0x40, 10));
    gate.feed(Side::Client, &from_client[3..]);
    assert_eq!(gate.sent_to(Side::Broker), from_client);
}

#[test]
fn a_broker_has_its_pubrel_answered_once_and_the_client_sees_none_of_it() {
    for level in LEVELS {
        let mut gate = RECEIVE.connected(level);
        gate.feed(Side::Broker, &publish(level, 2, 10, 101));
        assert_eq!(gate.sent_to(Side::Broker), ack(0x50, 10));
        gate.feed(Side::Broker, &ack(0x62, 10));
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
        assert_eq!(gate.sent_to(Side::Broker), ack(0x70, 10));
        gate.feed(Side::Broker, &ack(0x62, 10));
        assert_eq!(gate.sent_to(Side::Client), ack(0x62, 10));
    }
}

#[test]
fn a_pubrel_of_an_identifier_that_the_broker_uses_again_is_the_clients() {
    for level in LEVELS {
        let mut gate = RECEIVE.connected(level);
        gate.feed(Side::Broker, &publish(level, 2, 10, 101));
        let small = publish(level, 2, 10, 60);
        gate.feed(Side::Broker, &small);
        gate.feed(Side::Broker, &ack(0x62, 10));
        assert_eq!(
            gate.sent_to(Side::Client),
            [small, ack(0x62, 10)].concat(),
            "level {level}"
        );
    }
}

#[test]
fn a_pubrel_of_a_connection_before_this_one_is_the_clients() {
    for level in LEVELS {
        let mut gate = RECEIVE.connected_with(level, &[], 1);
        gate.feed(Side::Broker, &ack(0x62, 10));
        assert_eq!(gate.sent_to(Side::Client), ack(0x62, 10));
        gate.feed(Side::Client, &ack_code(level, 0x70, 10, 0x92));
        let expected = ack_code(level, 0x70, 10, 0x92);
        assert_eq!(gate.sent_to(Side::Broker), expected);
    }
}

#[test]
fn a_qos_2_message_repeated_to_a_resumed_session_may_be_the_clients_already() {
    for level in LEVELS {
        for (session_present, pubrel_passes) in [(1, true), (0, false)] {
            let mut gate = RECEIVE.connected_with(level, &[], session_present);
            gate.feed(Side::Broker, &publish_flagged(level, 0b1100, 10, 101));
            assert_eq!(gate.sent_to(Side::Client), NOTHING);
            assert_eq!(gate.sent_to(Side::Broker), ack(0x50, 10), "level {level}");
            gate.feed(Side::Broker, &ack(0x62, 10));
            let passed = !gate.sent_to(Side::Client).is_empty();
            assert_eq!(passed, pubrel_passes);
        }
    }
}

#[test]
fn a_message_that_is_redelivered_is_refused_again_and_answered_again() {
    for level in LEVELS {
        for (qos, first) in [(1, 0x40), (2, 0x50)] {
            // What the broker has not seen answered it sends again on the next connection.
            for flags in [qos << 1, qos << 1 | 0b1000] {
                let mut gate = RECEIVE.connected_with(level, &[], 1);
                gate.feed(Side::Broker, &publish_flagged(level, flags, 10, 101));
                let answer = gate.sent_to(Side::Broker);
                assert_eq!(answer.get(..4), Some(&[first, answer[1], 0, 10][..]));
            }
        }
    }
}

#[test]
fn nothing_is_added_for_a_client_that_has_said_goodbye() {
    let mut gate = RECEIVE.connected(V5);
    let message = publish(V5, 1, 10, 1_000);
    gate.feed(Side::Broker, &message[..500]);
    gate.feed(Side::Client, &[0xE0, 0]);
    gate.feed(Side::Broker, &message[500..]);
    gate.feed(Side::Broker, &publish(V5, 1, 11, 101));
    assert_eq!(gate.sent_to(Side::Broker), [0xE0, 0]);
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
}

#[test]
fn close_and_detach_tell_the_client_and_leave_the_broker_without_a_goodbye() {
    for on_oversize in [OnOversize::Close, OnOversize::Detach] {
        for level in LEVELS {
            let mut gate = Terms {
                on_oversize,
                ..RECEIVE
            }
            .connected(level);
            let small = publish(level, 0, 0, 60);
            gate.feed(Side::Broker, &small);
            gate.feed(Side::Broker, &publish(level, 1, 10, 1_000)[..20]);
            let text = "Message size exceeded: 1000 octets, limit 100, set by --max-receive-size";
            let word = match level {
                V5 => last_word(&[0xE0, 0x95], text),
                _ => vec![],
            };
            assert_eq!(gate.sent_to(Side::Client), [small, word].concat());
            // Neither an acknowledgement nor a DISCONNECT: the Will is published.
            assert_eq!(gate.sent_to(Side::Broker), NOTHING);
            let ending = Some(Ending::by(Side::Broker, Reason::Oversize));
            assert_eq!(gate.ending(Side::Broker), ending);
            assert_eq!(gate.ending(Side::Client), ending);
        }
    }
}

#[test]
fn a_dry_run_forwards_what_would_be_kept_from_the_client() {
    let mut gate = Terms {
        mode: Mode::DryRun,
        ..RECEIVE
    }
    .connected_with(V5, &[0x27, 0, 0, 0, 200], 0);
    let messages = [publish(V5, 1, 1, 101), publish(V5, 1, 2, 300)].concat();
    gate.feed(Side::Broker, &messages);
    assert_eq!(gate.sent_to(Side::Client), messages);
    assert_eq!(gate.sent_to(Side::Broker), NOTHING);
    assert_eq!(gate.meter.messages[1], [0, 0, 2]);
    let verdicts = gate.meter.reports.iter().map(|report| match report {
        Report::Refused(refusal) => refusal.verdict,
        other => panic!("{other:?}"),
    });
    assert!(verdicts.eq([VerdictKind::WouldDeny; 2]));
}

#[test]
fn what_the_client_does_not_take_is_kept_from_it_whatever_is_configured() {
    for on_oversize in [OnOversize::Reject, OnOversize::Close] {
        // The client takes 130 octets; the size that is configured leaves the head out.
        let terms = Terms {
            on_oversize,
            receive_limit: 0,
            message_size: MessageSize::Payload,
            ..RECEIVE
        };
        let mut gate = terms.connected_with(V5, &[0x27, 0, 0, 0, 129], 0);
        let small = publish(V5, 1, 9, 129);
        gate.feed(
            Side::Broker,
            &[small.clone(), publish(V5, 1, 10, 131)].concat(),
        );
        assert_eq!(gate.sent_to(Side::Client), small);
        gate.feed(Side::Client, &ack(0x40, 9));
        assert_eq!(
            gate.sent_to(Side::Broker),
            [ack(0x40, 9), ack_code(V5, 0x40, 10, 0x97)].concat()
        );
        let [Report::Refused(refusal)] = &gate.meter.reports[..] else {
            panic!("one refusal: {:?}", gate.meter.reports);
        };
        assert_eq!((refusal.size, refusal.limit), (131, 129));
        assert_eq!(&*refusal.rule, "the client's Maximum Packet Size");
        assert_eq!(refusal.action, Action::Reject);
    }
}

#[test]
fn the_smaller_of_the_clients_and_the_configured_limit_holds() {
    for (own, receive_limit, largest) in [(80, 100, 80), (120, 100, 100)] {
        for size in [80, 81, 100, 101, 120, 121] {
            let mut gate = Terms {
                receive_limit,
                ..RECEIVE
            }
            .connected_with(V5, &[0x27, 0, 0, 0, own], 0);
            gate.feed(Side::Broker, &publish(V5, 0, 0, size));
            let passed = !gate.sent_to(Side::Client).is_empty();
            assert_eq!(passed, size <= largest, "{own} {receive_limit} {size}");
        }
    }
}
