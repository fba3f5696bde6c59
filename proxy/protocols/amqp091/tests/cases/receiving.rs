//! What a client is sent over its limit: it is kept from it, and the broker answered in its place.

use super::*;

/// A client with a limit for what it is sent, and none for what it sends.
const TERMS: Terms = Terms {
    limit: 0,
    receive_limit: LIMIT,
    on_oversize: OnOversize::Reject,
    mode: Mode::Enforce,
    max_control_size: 128 * 1024,
    subject: None,
};

/// The same on a channel with a consumer that acknowledges, `c`, and one that does not, `n`.
fn consuming() -> Raw {
    let mut raw = Raw::begun(TERMS);
    let said = [
        consume(ONE, "c", false, false),
        consume(ONE, "n", true, false),
    ];
    raw.passes(Side::Client, &said.concat());
    raw.passes(
        Side::Broker,
        &[consume_ok(ONE, "c"), consume_ok(ONE, "n")].concat(),
    );
    raw
}

/// The broker delivers a message over the limit, which is rejected, or not, and dropped.
#[track_caller]
fn is_answered(raw: &mut Raw, tag: &str, delivery_tag: u64, action: Action) {
    raw.is_kept(Side::Broker, &Message::of(101).delivered(tag, delivery_tag));
    match action {
        Action::Reject => raw.expect(Side::Broker, &reject(ONE, delivery_tag)),
        _ => raw.expect(Side::Broker, &NOTHING),
    }
    assert_eq!(raw.refused().last(), Some(&(101, action)), "{tag}");
}

#[test]
fn a_delivery_over_the_limit_is_rejected_and_does_not_come_again() {
    let mut raw = consuming();
    raw.passes(Side::Broker, &Message::of(100).delivered("c", 1));
    is_answered(&mut raw, "c", 2, Action::Reject);
    raw.passes(Side::Broker, &Message::of(100).delivered("c", 3));
    raw.passes(Side::Client, &ack(ONE, 3, true));
    assert_eq!(raw.gate.meter.messages, [[0, 0, 0], [2, 1, 0]]);
}

#[test]
fn a_delivery_is_rejected_after_its_last_octet() {
    let mut raw = consuming();
    let delivery = Message::of(300);
    let octets = [
        delivery.deliver("c", 1),
        delivery.header(),
        delivery.body_in(90),
    ]
    .concat();
    let (before, last) = octets.split_at(octets.len() - 1);
    raw.is_kept(Side::Broker, before);
    raw.is_quiet();
    raw.is_kept(Side::Broker, last);
    raw.expect(Side::Broker, &reject(ONE, 1));
}

#[test]
fn what_is_not_acknowledged_is_not_rejected() {
    let mut raw = consuming();
    is_answered(&mut raw, "n", 1, Action::Drop);
    is_answered(&mut raw, "c", 2, Action::Reject);
    raw.passes(Side::Broker, &Message::of(100).delivered("n", 3));
}

#[test]
fn a_consumer_is_known_by_the_name_that_the_broker_gave_it() {
    let mut raw = Raw::begun(TERMS);
    let said = [
        consume(ONE, "", true, false),
        consume(ONE, "", false, false),
        consume(ONE, "mine", true, true),
    ];
    raw.passes(Side::Client, &said.concat());
    let answers = [consume_ok(ONE, "amq.1"), consume_ok(ONE, "amq.2")].concat();
    raw.passes(Side::Broker, &answers);
    is_answered(&mut raw, "amq.1", 1, Action::Drop);
    is_answered(&mut raw, "amq.2", 2, Action::Reject);
    is_answered(&mut raw, "mine", 3, Action::Drop);
    // On another channel it is another.
    let delivery = Message::on(TWO, 101).delivered("mine", 1);
    raw.is_kept(Side::Broker, &delivery);
    raw.expect(Side::Broker, &reject(TWO, 1));
}

#[test]
fn a_consumer_whose_name_nobody_tells_may_be_any() {
    let mut raw = Raw::begun(TERMS);
    raw.passes(Side::Client, &consume(ONE, "", false, true));
    is_answered(&mut raw, "amq.1", 1, Action::Reject);
    raw.passes(Side::Client, &consume(ONE, "", true, true));
    is_answered(&mut raw, "amq.2", 2, Action::Drop);
}

#[test]
fn a_name_means_the_consumer_that_was_begun_last() {
    let mut raw = consuming();
    raw.passes(Side::Client, &cancel(ONE, "n", false));
    is_answered(&mut raw, "n", 1, Action::Drop);
    raw.passes(Side::Broker, &cancel_ok(ONE, "n"));
    raw.passes(Side::Client, &consume(ONE, "n", false, false));
    raw.passes(Side::Broker, &consume_ok(ONE, "n"));
    is_answered(&mut raw, "n", 2, Action::Reject);
    // Without an answer it takes some time until the broker knows.
    raw.passes(Side::Client, &consume(ONE, "m", true, true));
    raw.passes(Side::Client, &cancel(ONE, "m", true));
    is_answered(&mut raw, "m", 3, Action::Drop);
    raw.passes(Side::Client, &consume(ONE, "m", false, true));
    is_answered(&mut raw, "m", 4, Action::Reject);
}

#[test]
fn a_consumer_may_be_cancelled_by_the_broker() {
    let mut raw = consuming();
    raw.passes(Side::Broker, &cancel(ONE, "n", true));
    raw.passes(Side::Client, &consume(ONE, "n", false, true));
    is_answered(&mut raw, "n", 1, Action::Reject);
}

#[test]
fn a_message_that_was_asked_for_is_answered_with_an_empty_queue() {
    let mut raw = Raw::begun(TERMS);
    for (no_ack, action) in [(false, Action::Reject), (true, Action::Drop)] {
        raw.passes(Side::Client, &get(ONE, no_ack));
        let got = Message::of(101);
        let octets = [got.get_ok(7), got.content()].concat();
        raw.becomes(Side::Broker, &octets, &get_empty(ONE));
        match action {
            Action::Reject => raw.expect(Side::Broker, &reject(ONE, 7)),
            _ => raw.is_quiet(),
        }
        assert_eq!(raw.refused().last(), Some(&(101, action)));
    }
}

#[test]
fn answers_to_several_gets_are_told_apart_by_their_order() {
    let mut raw = Raw::begun(TERMS);
    let gets = [true, false, true, false, false];
    let said: Vec<_> = gets.map(|no_ack| get(ONE, no_ack)).concat();
    raw.passes(Side::Client, &said);
    let small = Message::of(100);
    let large = Message::of(101);
    raw.passes(Side::Broker, &get_empty(ONE));
    raw.passes(Side::Broker, &[small.get_ok(1), small.content()].concat());
    let octets = [large.get_ok(2), large.content()].concat();
    raw.becomes(Side::Broker, &octets, &get_empty(ONE));
    raw.is_quiet();
    for tag in [3, 4] {
        let octets = [large.get_ok(tag), large.content()].concat();
        raw.becomes(Side::Broker, &octets, &get_empty(ONE));
        raw.expect(Side::Broker, &reject(ONE, tag));
    }
    // An answer to nothing is none of the client's.
    let octets = [large.get_ok(5), large.content()].concat();
    raw.becomes(Side::Broker, &octets, &get_empty(ONE));
    raw.is_quiet();
}

#[test]
fn a_reject_does_not_stand_within_a_content() {
    let mut raw = consuming();
    let message = Message::of(300);
    let head = [message.publish(), message.header()].concat();
    raw.passes(Side::Client, &head);
    is_answered(&mut raw, "n", 1, Action::Drop);
    raw.is_kept(Side::Broker, &Message::of(101).delivered("c", 2));
    raw.is_quiet();
    let body = message.body_in(100);
    let (before, last) = body.split_at(body.len() - 1);
    raw.passes(Side::Client, before);
    raw.becomes(Side::Client, last, &[last, &reject(ONE, 2)].concat());
}

#[test]
fn a_reject_is_said_again_when_its_transaction_is_rolled_back() {
    let mut raw = consuming();
    raw.passes(Side::Client, &tx(ONE, 10));
    raw.passes(Side::Broker, &tx(ONE, 11));
    is_answered(&mut raw, "c", 1, Action::Reject);
    raw.passes(Side::Client, &tx(ONE, 20));
    is_answered(&mut raw, "c", 2, Action::Reject);
    is_answered(&mut raw, "c", 3, Action::Reject);
    for _ in 0..2 {
        let again = [tx(ONE, 30), reject(ONE, 2), reject(ONE, 3)].concat();
        raw.becomes(Side::Client, &tx(ONE, 30), &again);
    }
    raw.passes(Side::Client, &tx(ONE, 20));
    raw.passes(Side::Client, &tx(ONE, 30));
}

#[test]
fn a_reject_that_is_not_said_yet_is_not_said_again() {
    let mut raw = consuming();
    raw.passes(Side::Client, &tx(ONE, 10));
    raw.passes(Side::Broker, &tx(ONE, 11));
    let delivery = Message::of(101);
    raw.is_kept(
        Side::Broker,
        &[delivery.deliver("c", 1), delivery.header()].concat(),
    );
    raw.passes(Side::Client, &tx(ONE, 30));
    raw.is_kept(Side::Broker, &delivery.body_in(101));
    raw.expect(Side::Broker, &reject(ONE, 1));
    raw.becomes(
        Side::Client,
        &tx(ONE, 30),
        &[tx(ONE, 30), reject(ONE, 1)].concat(),
    );
}

#[test]
fn a_delivery_closes_the_channel_where_that_is_wanted() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Detach));
    let delivery = Message::of(101);
    let octets = delivery.delivered("c", 1);
    raw.is_kept(Side::Broker, &octets[..octets.len() - 1]);
    let text = receive_exceeded(101);
    raw.expect(Side::Broker, &channel_close(ONE, 311, &text, (0, 0)));
    raw.is_kept(Side::Broker, &octets[octets.len() - 1..]);
    // What is behind it is judged as ever, and its fate is the broker's to decide.
    raw.is_kept(Side::Broker, &octets);
    raw.passes(Side::Broker, &Message::of(100).delivered("c", 3));
    let last = channel_close(ONE, 311, &text, (0, 0));
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &last);
    raw.is_kept(Side::Client, &channel_close_ok(ONE));
    raw.is_quiet();
    assert_eq!(raw.refused(), [(101, Action::Detach), (101, Action::Drop)]);
    raw.passes(Side::Client, &channel_open(ONE));
}

#[test]
fn a_client_whose_channel_is_closed_over_what_it_asked_for_is_answered_first() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Detach));
    raw.passes(Side::Client, &[get(ONE, false), get(ONE, false)].concat());
    let got = Message::of(101);
    let octets = [got.get_ok(1), got.content()].concat();
    raw.becomes(Side::Broker, &octets, &get_empty(ONE));
    let text = receive_exceeded(101);
    raw.expect(Side::Broker, &channel_close(ONE, 311, &text, (0, 0)));
    raw.becomes(Side::Broker, &octets, &get_empty(ONE));
    let last = channel_close(ONE, 311, &text, (0, 0));
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &last);
}

#[test]
fn a_channel_is_not_closed_within_a_content_of_the_client() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Detach));
    let message = Message::of(90);
    raw.passes(
        Side::Client,
        &[message.publish(), message.header()].concat(),
    );
    raw.is_kept(Side::Broker, &Message::of(101).delivered("c", 1));
    raw.is_quiet();
    let close = channel_close(ONE, 311, &receive_exceeded(101), (0, 0));
    let body = message.body_in(90);
    raw.becomes(Side::Client, &body, &[body.clone(), close.clone()].concat());
    raw.is_kept(Side::Client, &message.whole());
    raw.becomes(Side::Broker, &channel_close_ok(ONE), &close);
}

#[test]
fn a_broker_that_closes_the_channel_first_is_not_contradicted() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Detach));
    let message = Message::of(90);
    raw.passes(
        Side::Client,
        &[message.publish(), message.header()].concat(),
    );
    raw.is_kept(Side::Broker, &Message::of(101).delivered("c", 1));
    raw.passes(
        Side::Broker,
        &channel_close(ONE, 404, "NOT_FOUND", (60, 40)),
    );
    raw.passes(Side::Client, &message.body_in(90));
    raw.passes(Side::Client, &channel_close_ok(ONE));
    raw.is_quiet();
    raw.passes(Side::Client, &channel_open(ONE));
}

#[test]
fn without_a_limit_nothing_is_remembered_of_consumers() {
    let terms = Terms {
        receive_limit: 0,
        ..Terms::default()
    };
    let mut raw = Raw::begun(terms);
    // More of them than could be remembered.
    let name = "n".repeat(200);
    for number in 0..30_000 {
        let tag = format!("{name}{number}");
        raw.says(Side::Client, &consume(ONE, &tag, true, true));
        raw.hears(Side::Broker);
    }
    raw.passes(Side::Broker, &Message::of(3_000).delivered("c", 1));
    raw.is_quiet();
}
