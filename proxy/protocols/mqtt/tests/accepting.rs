//! Before the broker has accepted a client, and what it is owed meanwhile.

use super::*;
use crate::gate::Phase;
use crate::protocols::mqtt::refuse::Answers;

#[test]
fn refusals_before_the_connack_are_parked_and_follow_it() {
    let mut gate = Terms::default().open();
    let small = publish(V5, 1, 2, 60);
    let pipelined = [
        publish(V5, 1, 1, 101),
        small.clone(),
        publish(V5, 2, 3, 102),
    ]
    .concat();
    gate.feed(Side::Client, &[connect(V5, &[]), pipelined].concat());
    assert_eq!(
        gate.sent_to(Side::Broker),
        [connect(V5, &[]), small].concat()
    );
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
    gate.feed(Side::Broker, &connack(V5, 0));
    let expected = [
        connack(V5, 0),
        ack_with(0x40, 1, 0x97, &text(101, 100)),
        ack_with(0x50, 3, 0x97, &text(102, 100)),
    ];
    assert_eq!(gate.sent_to(Side::Client), expected.concat());
}

#[test]
fn parked_refusals_are_thrown_away_when_the_broker_refuses_the_client() {
    for (level, code) in [(V311, 5), (V5, 0x87)] {
        let mut gate = Terms::default().open();
        gate.feed(Side::Client, &connect(level, &[]));
        gate.feed(Side::Client, &publish(level, 1, 1, 101));
        gate.feed(Side::Broker, &connack(level, code));
        assert_eq!(gate.sent_to(Side::Client), connack(level, code));
        gate.feed(Side::Client, &publish(level, 1, 2, 101));
        assert_eq!(gate.sent_to(Side::Client), NOTHING);
    }
}

#[test]
fn no_more_than_the_control_size_passes_before_the_broker_accepts_the_client() {
    let terms = Terms {
        max_control_size: 512,
        limit: 0,
        ..Terms::default()
    };
    let mut gate = terms.open();
    let connect = connect(V5, &[]);
    let messages: Vec<_> = (0..10).map(|_| publish(V5, 0, 0, 100)).collect();
    gate.feed(Side::Client, &[connect.clone(), messages.concat()].concat());
    let passed = gate.sent_to(Side::Broker);
    assert_eq!(passed, [&connect[..], &messages[..4].concat()].concat());
    assert!(gate.waits(Side::Client));
    gate.feed(Side::Broker, &connack(V5, 0));
    assert_eq!(gate.sent_to(Side::Broker), messages[4..].concat());
}

#[test]
fn a_client_that_is_owed_too_many_answers_is_not_read_from() {
    let mut gate = Terms::default().open();
    gate.feed(Side::Client, &connect(V311, &[]));
    let message = publish(V311, 1, 1, 101);
    for _ in 0..2 * Answers::CEILING {
        gate.feed(Side::Client, &message);
    }
    assert!(gate.waits(Side::Client));
    assert_eq!(refused(&gate).len(), Answers::CEILING);
    gate.feed(Side::Broker, &connack(V311, 0));
    assert!(!gate.waits(Side::Client));
    assert_eq!(refused(&gate).len(), 2 * Answers::CEILING);
    let expected = ack(0x40, 1).repeat(2 * Answers::CEILING);
    assert_eq!(
        gate.sent_to(Side::Client),
        [connack(V311, 0), expected].concat()
    );
}

#[test]
fn a_message_is_counted_once_however_often_it_has_to_wait() {
    let mut gate = Terms {
        max_control_size: 512,
        ..Terms::default()
    }
    .open();
    gate.feed(Side::Client, &connect(V5, &[]));
    let small = publish(V5, 0, 0, 100);
    for octet in small.repeat(8).iter().chain(&publish(V5, 1, 1, 101)) {
        gate.feed(Side::Client, &[*octet]);
    }
    gate.feed(Side::Broker, &connack(V5, 0));
    assert_eq!(gate.meter.messages[0], [8, 1, 0]);
    assert_eq!(refused(&gate), [101]);
}

#[test]
fn the_client_is_identified_by_its_connect_and_accepted_by_the_connack() {
    let mut gate = Terms::default().open();
    let credentials = [string("alice"), string("secret")].concat();
    let connect = connect_with(V311, &[], 0xC2, &credentials);
    gate.feed(Side::Client, &connect[..connect.len() - 1]);
    assert_eq!(gate.gate.phase(), Phase::Unidentified);
    assert_eq!(
        gate.sent_to(Side::Broker),
        NOTHING,
        "half a CONNECT goes nowhere"
    );
    gate.feed(Side::Client, &connect[connect.len() - 1..]);
    assert_eq!(gate.gate.phase(), Phase::Claimed);
    assert_eq!(gate.gate.identity().user, Some("alice"));
    assert_eq!(gate.gate.identity().client, Some("c"));
    gate.feed(Side::Broker, &connack(V311, 0));
    assert_eq!(gate.gate.phase(), Phase::Accepted);
}

#[test]
fn a_client_that_leaves_before_it_is_answered_does_not_make_the_answer_malformed() {
    for level in [V311, V5] {
        let mut gate = Terms::default().open();
        let said = [connect(level, &[]), packet(0xE0, &[])].concat();
        gate.feed(Side::Client, &said);
        assert_eq!(gate.sent_to(Side::Broker), said);
        gate.feed(Side::Broker, &connack(level, 0));
        assert_eq!(gate.sent_to(Side::Client), connack(level, 0));
        assert!(gate.meter.reports.is_empty(), "{:?}", gate.meter.reports);
        gate.feed(Side::Broker, &connack(level, 0));
        assert_eq!(gate.meter.reports.len(), 1, "a second answer is malformed");
    }
}
