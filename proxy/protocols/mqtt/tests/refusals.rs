//! One message is refused, and everything else goes on.

use super::*;
use crate::gate::VerdictKind;
use crate::policy::Action;

#[test]
fn a_message_of_exactly_the_limit_passes_and_one_octet_more_does_not() {
    // Each boundary of the remaining length's encoding, in the size of the whole packet.
    for boundary in [127, 16_383, 2_097_151_usize] {
        for remaining in [boundary, boundary + 1] {
            let header = if remaining > boundary { 1 } else { 0 };
            let header = header
                + match boundary {
                    127 => 2,
                    16_383 => 3,
                    _ => 4,
                };
            let len = remaining + header;
            let message = publish(V311, 1, 7, len);
            let payload = len - header - 7;
            for (message_size, size) in [
                (MessageSize::Packet, len),
                (MessageSize::RemainingLength, remaining),
                (MessageSize::Payload, payload),
            ] {
                let terms = |limit| Terms {
                    limit,
                    message_size,
                    ..Terms::default()
                };
                let mut gate = terms(size as u64).connected(V311);
                gate.feed(Side::Client, &message);
                assert_eq!(
                    gate.sent_to(Side::Broker),
                    message,
                    "{message_size:?} {size}"
                );
                assert_eq!(gate.sent_to(Side::Client), NOTHING);

                let mut gate = terms(size as u64 - 1).connected(V311);
                gate.feed(Side::Client, &message);
                assert_eq!(
                    gate.sent_to(Side::Broker),
                    NOTHING,
                    "{message_size:?} {size}"
                );
                assert_eq!(gate.sent_to(Side::Client), ack(0x40, 7));
                assert_eq!(refused(&gate), [size as u64]);
            }
        }
    }
}

#[test]
fn mqtt_5_payload_size_leaves_out_the_properties() {
    let mut body = string("t");
    // Property length 5, content type "ab", and a payload of 20 octets.
    body.extend_from_slice(&[5, 0x03, 0, 2, b'a', b'b']);
    body.extend_from_slice(&[0; 20]);
    let message = packet(0x30, &body);
    for (limit, passes) in [(20, true), (19, false)] {
        let message_size = MessageSize::Payload;
        let mut gate = Terms {
            limit,
            message_size,
            ..Terms::default()
        }
        .connected(V5);
        gate.feed(Side::Client, &message);
        assert_eq!(
            !gate.sent_to(Side::Broker).is_empty(),
            passes,
            "limit {limit}"
        );
    }
}

#[test]
fn mqtt_5_refuses_with_quota_exceeded_and_says_size_limit_and_rule() {
    for (qos, first) in [(1, 0x40), (2, 0x50)] {
        let mut gate = Terms::default().connected(V5);
        gate.feed(Side::Client, &publish(V5, qos, 10, 101));
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
        assert_eq!(
            gate.sent_to(Side::Client),
            ack_with(first, 10, 0x97, &text(101, 100))
        );
        let [Report::Refused(refusal)] = &gate.meter.reports[..] else {
            panic!("one refusal: {:?}", gate.meter.reports);
        };
        assert_eq!((refusal.size, refusal.limit), (101, 100));
        assert_eq!(&*refusal.rule, "--max-message-size");
        assert_eq!(refusal.address.as_deref(), Some("t/x"));
        assert_eq!(
            (refusal.action, refusal.verdict),
            (Action::Reject, VerdictKind::Denied)
        );
    }
}

#[test]
fn mqtt_3_acknowledges_what_it_drops() {
    for level in [V31, V311] {
        for (qos, first) in [(1, 0x40), (2, 0x50)] {
            let mut gate = Terms::default().connected(level);
            gate.feed(Side::Client, &publish(level, qos, 10, 101));
            assert_eq!(gate.sent_to(Side::Broker), NOTHING);
            assert_eq!(gate.sent_to(Side::Client), ack(first, 10));
            let Report::Refused(refusal) = &gate.meter.reports[0] else {
                panic!("a refusal: {:?}", gate.meter.reports);
            };
            assert_eq!(refusal.action, Action::Drop);
        }
    }
}

#[test]
fn a_qos_0_message_over_its_limit_is_dropped_in_silence() {
    for level in LEVELS {
        let mut gate = Terms::default().connected(level);
        gate.feed(Side::Client, &publish(level, 0, 0, 101));
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
        assert_eq!(refused(&gate), [101]);
        assert_eq!(gate.meter.messages[0], [0, 1, 0]);
    }
}

#[test]
fn the_answer_comes_after_the_last_octet_and_not_before() {
    let mut gate = Terms::default().connected(V5);
    let message = publish(V5, 1, 10, 1_000);
    gate.feed(Side::Client, &message[..999]);
    assert_eq!(refused(&gate), [1_000], "the verdict has fallen");
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
    assert_eq!(gate.undecided(Side::Client), 0, "nothing of it is kept");
    gate.feed(Side::Client, &message[999..]);
    assert_eq!(
        gate.sent_to(Side::Client),
        ack_with(0x40, 10, 0x97, &text(1_000, 100))
    );
}

#[test]
fn small_messages_around_an_oversized_one_in_one_segment_all_pass() {
    let mut gate = Terms::default().connected(V5);
    let small = [publish(V5, 1, 1, 50), publish(V5, 1, 3, 51)];
    let segment = [small[0].clone(), publish(V5, 1, 2, 500), small[1].clone()].concat();
    gate.feed(Side::Client, &segment);
    assert_eq!(gate.sent_to(Side::Broker), small.concat());
    assert_eq!(
        gate.sent_to(Side::Client),
        ack_with(0x40, 2, 0x97, &text(500, 100))
    );
    // The broker's acknowledgements of the others are untouched.
    gate.feed(Side::Broker, &[ack(0x40, 1), ack(0x40, 3)].concat());
    assert_eq!(
        gate.sent_to(Side::Client),
        [ack(0x40, 1), ack(0x40, 3)].concat()
    );
    assert_eq!(gate.meter.messages[0], [2, 1, 0]);
}

#[test]
fn an_answer_never_splits_a_packet_of_the_broker() {
    let mut gate = Terms::default().connected(V311);
    let from_broker = publish(V311, 0, 0, 90);
    gate.feed(Side::Broker, &from_broker[..40]);
    gate.feed(Side::Client, &publish(V311, 1, 10, 101));
    assert_eq!(gate.sent_to(Side::Client), &from_broker[..40]);
    gate.feed(Side::Broker, &from_broker[40..]);
    let expected = [&from_broker[40..], &ack(0x40, 10)].concat();
    assert_eq!(gate.sent_to(Side::Client), expected);
}

#[test]
fn without_request_problem_information_there_is_no_reason_string() {
    let mut gate = Terms::default().open();
    gate.feed(Side::Client, &connect(V5, &[0x17, 0]));
    gate.feed(Side::Broker, &connack(V5, 0));
    gate.sent_to(Side::Client);
    gate.feed(Side::Client, &publish(V5, 1, 10, 101));
    assert_eq!(gate.sent_to(Side::Client), [0x40, 3, 0, 10, 0x97]);
}

#[test]
fn a_reason_string_that_does_not_fit_the_client_is_left_out() {
    for (most, expected) in [
        (5, &[0x40, 3, 0, 10, 0x97][..]),
        (50, &[0x40, 3, 0, 10, 0x97]),
        (200, &ack_with(0x40, 10, 0x97, &text(101, 100))),
    ] {
        let mut gate = Terms::default().open();
        gate.feed(Side::Client, &connect(V5, &[0x27, 0, 0, 0, most]));
        gate.feed(Side::Broker, &connack(V5, 0));
        gate.sent_to(Side::Client);
        gate.feed(Side::Client, &publish(V5, 1, 10, 101));
        assert_eq!(gate.sent_to(Side::Client), expected, "client takes {most}");
    }
}

#[test]
fn an_answer_that_does_not_fit_the_client_at_all_ends_the_connection() {
    let mut gate = Terms::default().open();
    gate.feed(Side::Client, &connect(V5, &[0x27, 0, 0, 0, 4]));
    gate.feed(Side::Broker, &connack(V5, 0));
    gate.sent_to(Side::Client);
    gate.feed(Side::Client, &publish(V5, 1, 10, 101));
    assert_eq!(gate.sent_to(Side::Client), [0xE0, 1, 0x95]);
    assert!(gate.ending(Side::Broker).is_some());
}

#[test]
fn pubrel_after_a_refused_pubrec_is_answered_here_and_once() {
    for (level, pubcomp) in [(V311, ack(0x70, 10)), (V5, vec![0x70, 3, 0, 10, 0x92])] {
        let mut gate = Terms::default().connected(level);
        gate.feed(Side::Client, &publish(level, 2, 10, 101));
        gate.sent_to(Side::Client);
        gate.feed(Side::Client, &ack(0x62, 10));
        assert_eq!(gate.sent_to(Side::Broker), NOTHING, "level {level}");
        assert_eq!(gate.sent_to(Side::Client), pubcomp);
        // The next one is a connection's of before: the broker knows.
        gate.feed(Side::Client, &ack(0x62, 10));
        assert_eq!(gate.sent_to(Side::Broker), ack(0x62, 10));
    }
}

#[test]
fn pubrel_of_an_identifier_in_use_again_is_the_brokers() {
    let mut gate = Terms::default().connected(V5);
    gate.feed(Side::Client, &publish(V5, 2, 10, 101));
    gate.feed(Side::Client, &publish(V5, 2, 10, 60));
    gate.sent_to(Side::Broker);
    gate.feed(Side::Client, &ack(0x62, 10));
    assert_eq!(gate.sent_to(Side::Broker), ack(0x62, 10));
}

#[test]
fn a_pubrel_right_behind_other_packets_is_still_kept_from_the_broker() {
    let mut gate = Terms::default().connected(V311);
    gate.feed(Side::Client, &publish(V311, 2, 10, 101));
    gate.sent_to(Side::Client);
    let small = publish(V311, 0, 0, 20);
    gate.feed(
        Side::Client,
        &[small.clone(), ack(0x62, 10), small.clone()].concat(),
    );
    assert_eq!(gate.sent_to(Side::Broker), [small.clone(), small].concat());
    assert_eq!(gate.sent_to(Side::Client), ack(0x70, 10));
}

#[test]
fn a_repeated_qos_2_message_of_a_resumed_session_is_received_and_its_pubrel_is_the_brokers() {
    for level in [V311, V5] {
        let mut gate = Terms::default().open();
        gate.feed(Side::Client, &connect_with(level, &[], 0, &[]));
        gate.feed(Side::Broker, &connack_resuming(level, 1, 0));
        gate.sent_to(Side::Broker);
        gate.sent_to(Side::Client);
        gate.feed(Side::Client, &publish_flagged(level, 0b1100, 10, 101));
        assert_eq!(gate.sent_to(Side::Broker), NOTHING);
        assert_eq!(gate.sent_to(Side::Client), ack(0x50, 10));
        gate.feed(Side::Client, &ack(0x62, 10));
        assert_eq!(gate.sent_to(Side::Broker), ack(0x62, 10));
    }
}

#[test]
fn a_dry_run_forwards_counts_and_says_what_would_have_been_done() {
    let terms = |on_oversize| Terms {
        mode: Mode::DryRun,
        on_oversize,
        ..Terms::default()
    };
    for (on_oversize, action) in [
        (OnOversize::Reject, Action::Reject),
        (OnOversize::Detach, Action::Close),
        (OnOversize::Close, Action::Close),
    ] {
        let mut gate = terms(on_oversize).connected(V5);
        let messages = [publish(V5, 1, 1, 50), publish(V5, 1, 2, 500)].concat();
        gate.feed(Side::Client, &messages);
        assert_eq!(gate.sent_to(Side::Broker), messages);
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
        assert_eq!(gate.meter.messages[0], [1, 0, 1]);
        let [Report::Refused(refusal)] = &gate.meter.reports[..] else {
            panic!("one report: {:?}", gate.meter.reports);
        };
        assert_eq!(
            (refusal.verdict, refusal.action),
            (VerdictKind::WouldDeny, action)
        );
    }
}

#[test]
fn what_the_broker_sends_is_counted_by_size_too() {
    let mut gate = Terms::default().connected(V311);
    let messages = [publish(V311, 0, 0, 30), publish(V311, 1, 9, 300)].concat();
    gate.feed(Side::Broker, &messages);
    assert_eq!(gate.sent_to(Side::Client), messages);
    assert_eq!(gate.meter.messages[1], [2, 0, 0]);
    assert_eq!(gate.meter.sizes[1].sum, 330);
}
