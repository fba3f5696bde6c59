//! A channel that a message ends: the broker's first, then the client's, and then it is free.

use super::*;

const PUBLISH: (u16, u16) = (60, 40);

/// What the broker hears of it.
fn close_for_broker(size: usize) -> Vec<u8> {
    channel_close(ONE, 311, &exceeded(size), (0, 0))
}

/// What the client hears of it.
fn close_for_client(size: usize) -> Vec<u8> {
    channel_close(ONE, 311, &exceeded(size), PUBLISH)
}

/// A client whose channel 1 has been closed towards the broker.
fn refused() -> Raw {
    let mut raw = Raw::confirming(Terms::with(OnOversize::Detach));
    raw.becomes(
        Side::Client,
        &Message::of(101).whole(),
        &close_for_broker(101),
    );
    raw.is_quiet();
    raw
}

/// The same, and the client has been told.
fn told() -> Raw {
    let mut raw = refused();
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &close_for_client(101));
    raw
}

#[test]
fn a_channel_is_closed_towards_the_broker_and_then_towards_the_client() {
    let mut raw = told();
    raw.is_kept(Side::Client, &channel_close_ok(ONE));
    raw.is_quiet();
    assert_eq!(raw.refused(), [(101, Action::Detach)]);
    assert_eq!(SIDES.map(|side| raw.gate.ending(side)), [None, None]);
}

#[test]
fn a_channel_is_closed_at_the_content_header() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Detach));
    let message = Message::of(101);
    raw.is_kept(Side::Client, &message.publish());
    raw.becomes(Side::Client, &message.header(), &close_for_broker(101));
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &close_for_client(101));
    raw.is_kept(Side::Client, &message.body_in(50));
    raw.is_kept(Side::Client, &channel_close_ok(ONE));
}

#[test]
fn a_channel_that_was_closed_can_be_opened_again() {
    let mut raw = told();
    raw.is_kept(Side::Client, &channel_close_ok(ONE));
    raw.passes(Side::Client, &channel_open(ONE));
    raw.passes(Side::Broker, &channel_open_ok(ONE));
    // It is a new one: without confirms, and with all its frames.
    raw.passes(Side::Client, &Message::of(100).whole());
    raw.passes(Side::Broker, &ack(ONE, 1, false));
    raw.becomes(
        Side::Client,
        &Message::of(101).whole(),
        &close_for_broker(101),
    );
}

#[test]
fn what_a_client_sends_on_a_closed_channel_goes_nowhere() {
    let frames = [
        Message::of(5).whole(),
        Message::of(500).whole(),
        ack(ONE, 1, true),
        method(ONE, 50, 10, b"queue.declare"),
        frame(3, ONE, &[0; 4_000]),
    ];
    for mut raw in [refused(), told()] {
        raw.is_kept(Side::Client, &frames.concat());
        for octet in frames.concat() {
            raw.is_kept(Side::Client, &[octet]);
        }
        raw.passes(Side::Client, &Message::on(TWO, 100).whole());
        raw.passes(Side::Client, &heartbeat());
        assert_eq!(raw.refused().len(), 1, "they are not messages any more");
    }
}

#[test]
fn what_the_broker_says_before_it_has_closed_the_channel_reaches_the_client() {
    let mut raw = Raw::confirming(Terms::with(OnOversize::Detach));
    raw.passes(Side::Client, &Message::of(10).whole());
    raw.becomes(
        Side::Client,
        &Message::of(101).whole(),
        &close_for_broker(101),
    );
    let delivery = Message::of(50).delivered("c", 1);
    raw.passes(Side::Broker, &[ack(ONE, 1, false), delivery].concat());
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &close_for_client(101));
    // And nothing after it.
    raw.is_kept(Side::Broker, &Message::of(50).delivered("c", 2));
    raw.is_kept(Side::Broker, &ack(ONE, 2, false));
}

#[test]
fn a_client_that_closes_the_channel_meanwhile_hears_the_brokers_close_ok() {
    let mut raw = refused();
    raw.is_kept(Side::Client, &channel_close(ONE, 200, "bye", (0, 0)));
    raw.is_quiet();
    raw.passes(Side::Broker, &channel_close_ok(ONE));
    raw.passes(Side::Client, &channel_open(ONE));
}

#[test]
fn a_client_whose_close_crosses_that_of_sizegate_is_answered() {
    let mut raw = told();
    raw.is_kept(Side::Client, &channel_close(ONE, 200, "bye", (0, 0)));
    raw.expect(Side::Client, &channel_close_ok(ONE));
    raw.is_kept(Side::Client, &channel_close_ok(ONE));
    raw.passes(Side::Client, &channel_open(ONE));
}

#[test]
fn a_client_that_opens_the_channel_again_counts_it_as_closed() {
    let mut raw = told();
    raw.passes(Side::Client, &channel_open(ONE));
    raw.passes(Side::Broker, &channel_open_ok(ONE));
    raw.passes(Side::Client, &Message::of(100).whole());
}

#[test]
fn a_broker_whose_close_crosses_that_of_sizegate_is_answered() {
    let mut raw = refused();
    raw.is_kept(Side::Broker, &channel_close(ONE, 404, "NOT_FOUND", PUBLISH));
    raw.expect(Side::Broker, &channel_close_ok(ONE));
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &close_for_client(101));
    raw.is_kept(Side::Client, &channel_close_ok(ONE));
    raw.passes(Side::Client, &channel_open(ONE));
}

#[test]
fn channels_that_the_peers_close_are_theirs() {
    for first in SIDES {
        let mut raw = Raw::confirming(Terms::default());
        raw.is_kept(Side::Client, &Message::of(101).whole());
        raw.hears(Side::Client);
        raw.passes(first, &channel_close(ONE, 200, "bye", (0, 0)));
        raw.passes(first.other(), &channel_close_ok(ONE));
        raw.passes(Side::Client, &channel_open(ONE));
        raw.passes(Side::Broker, &channel_open_ok(ONE));
        // Nothing is left of its confirms.
        raw.passes(Side::Client, &confirm_select(ONE, false));
        raw.passes(Side::Broker, &confirm_select_ok(ONE));
        raw.passes(Side::Client, &Message::of(10).whole());
        raw.passes(Side::Broker, &ack(ONE, 1, false));
    }
}

#[test]
fn closes_of_the_peers_may_cross() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &channel_close(ONE, 200, "bye", (0, 0)));
    raw.passes(Side::Broker, &channel_close(ONE, 404, "NOT_FOUND", (0, 0)));
    raw.passes(Side::Client, &channel_close_ok(ONE));
    // RabbitMQ has given the number free now, and its answer is on the way.
    raw.passes(Side::Client, &channel_open(ONE));
    raw.passes(
        Side::Broker,
        &[channel_close_ok(ONE), channel_open_ok(ONE)].concat(),
    );
    raw.passes(Side::Client, &Message::of(100).whole());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.expect(
        Side::Client,
        &Message::of(101).returned(&exceeded(101), &[0, 0]),
    );
}

#[test]
fn nobody_is_told_of_a_refusal_on_a_channel_that_a_side_has_closed() {
    for on_oversize in [OnOversize::Reject, OnOversize::Detach] {
        let mut raw = Raw::confirming(Terms::with(on_oversize));
        raw.passes(Side::Broker, &channel_close(ONE, 404, "NOT_FOUND", (0, 0)));
        raw.passes(Side::Client, &Message::of(100).whole());
        raw.is_kept(Side::Client, &Message::of(101).whole());
        raw.passes(Side::Client, &channel_close_ok(ONE));
        raw.is_quiet();
        assert_eq!(raw.refused(), [(101, Action::Drop)]);
    }
}

#[test]
fn what_waits_to_be_said_on_a_channel_goes_with_it() {
    let mut raw = Raw::opened(Terms::default());
    raw.passes(Side::Client, &channel_open(ONE));
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.passes(Side::Broker, &channel_close(ONE, 504, "no", (20, 10)));
    raw.passes(Side::Client, &channel_close_ok(ONE));
    raw.passes(Side::Client, &channel_open(ONE));
    raw.passes(Side::Broker, &channel_open_ok(ONE));
    raw.is_quiet();
}

#[test]
fn the_other_channels_live_on() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Detach));
    let other = Message::on(TWO, 100);
    raw.passes(Side::Client, &[other.publish(), other.header()].concat());
    raw.becomes(
        Side::Client,
        &Message::of(101).whole(),
        &close_for_broker(101),
    );
    raw.passes(Side::Client, &other.body_in(100));
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &close_for_client(101));
    raw.passes(Side::Client, &other.whole());
    raw.passes(Side::Broker, &other.delivered("c", 1));
}
