//! A publish over the limit on a channel with confirms: it is nacked, and numbers stay right.

use super::*;

#[test]
fn a_refused_publish_is_nacked_by_its_number_and_those_after_it_keep_theirs() {
    let mut raw = Raw::confirming(Terms::default());
    raw.passes(Side::Client, &Message::of(10).whole());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.expect(Side::Client, &nack(ONE, 2, false));
    raw.passes(Side::Client, &Message::of(20).whole());
    raw.is_kept(Side::Client, &Message::of(102).whole());
    raw.expect(Side::Client, &nack(ONE, 4, false));
    raw.passes(Side::Client, &Message::of(30).whole());
    raw.passes(Side::Broker, &ack(ONE, 1, false));
    raw.becomes(Side::Broker, &nack(ONE, 2, false), &nack(ONE, 3, false));
    raw.becomes(Side::Broker, &ack(ONE, 3, true), &ack(ONE, 5, true));
    assert_eq!(
        raw.refused(),
        [(101, Action::Reject), (102, Action::Reject)]
    );
}

#[test]
fn one_confirm_of_many_is_for_the_same_many() {
    let mut raw = Raw::confirming(Terms::default());
    raw.passes(Side::Client, &Message::of(10).whole());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.passes(Side::Client, &Message::of(20).whole());
    // The nack of 2 stands before the ack of all up to 3.
    let acks = [ack(ONE, 2, true), ack(ONE, 0, true)].concat();
    let expected = [nack(ONE, 2, false), ack(ONE, 3, true), ack(ONE, 0, true)];
    raw.says(Side::Broker, &acks);
    raw.expect(Side::Client, &expected.concat());
}

#[test]
fn a_mandatory_publish_is_returned_and_then_nacked() {
    let mut raw = Raw::confirming(Terms::default());
    let message = Message::mandatory(101);
    raw.is_kept(Side::Client, &message.whole());
    let expected = [
        message.returned(&exceeded(101), &[0, 0]),
        nack(ONE, 1, false),
    ];
    raw.expect(Side::Client, &expected.concat());
}

#[test]
fn publishes_count_from_confirm_select_on_and_on_each_channel_for_itself() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &Message::of(10).whole());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.expect(
        Side::Client,
        &Message::of(101).returned(&exceeded(101), &[0, 0]),
    );
    raw.passes(Side::Client, &confirm_select(ONE, false));
    raw.passes(Side::Broker, &confirm_select_ok(ONE));
    raw.passes(Side::Client, &confirm_select(TWO, true));
    raw.passes(Side::Client, &Message::on(TWO, 10).whole());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.expect(Side::Client, &nack(ONE, 1, false));
    raw.passes(Side::Client, &Message::of(10).whole());
    raw.becomes(Side::Broker, &ack(ONE, 1, false), &ack(ONE, 2, false));
    raw.passes(Side::Broker, &ack(TWO, 1, false));
    raw.is_kept(Side::Client, &Message::on(TWO, 101).whole());
    raw.expect(Side::Client, &nack(TWO, 2, false));
}

#[test]
fn confirm_select_asked_for_again_changes_nothing() {
    let mut raw = Raw::confirming(Terms::default());
    raw.passes(Side::Client, &Message::of(10).whole());
    raw.passes(Side::Client, &confirm_select(ONE, false));
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.becomes(
        Side::Broker,
        &confirm_select_ok(ONE),
        &[confirm_select_ok(ONE), nack(ONE, 2, false)].concat(),
    );
}

#[test]
fn a_nack_waits_for_the_answers_to_what_was_asked_for_before() {
    let mut raw = Raw::opened(Terms::default());
    let said = [channel_open(ONE), confirm_select(ONE, false)].concat();
    let message = Message::of(101).whole();
    raw.becomes(Side::Client, &[&said[..], &message].concat(), &said);
    raw.is_quiet();
    raw.passes(Side::Broker, &channel_open_ok(ONE));
    raw.becomes(
        Side::Broker,
        &confirm_select_ok(ONE),
        &[confirm_select_ok(ONE), nack(ONE, 1, false)].concat(),
    );
}

#[test]
fn a_nack_does_not_stand_within_a_content() {
    let mut raw = Raw::confirming(Terms::default());
    let delivery = Message::of(100);
    let head = [delivery.deliver("c", 1), delivery.header()].concat();
    let body = delivery.body_in(60);
    raw.passes(Side::Broker, &head);
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.is_quiet();
    let (first, second) = body.split_at(68);
    raw.passes(Side::Broker, first);
    // Another channel is not in the way.
    let other = Message::on(TWO, 101);
    raw.is_kept(Side::Client, &other.whole());
    raw.expect(Side::Client, &other.returned(&exceeded(101), &[0, 0]));
    let (before, last) = second.split_at(20);
    raw.passes(Side::Broker, before);
    raw.becomes(Side::Broker, last, &[last, &nack(ONE, 1, false)].concat());
}

#[test]
fn nothing_stands_within_a_frame() {
    let mut raw = Raw::confirming(Terms::default());
    let delivery = Message::on(TWO, 100).delivered("c", 1);
    for cut in 1..delivery.len() {
        let (before, rest) = delivery.split_at(cut);
        raw.says(Side::Broker, before);
        let heard = raw.hears(Side::Client);
        raw.is_kept(Side::Client, &Message::of(101).whole());
        raw.says(Side::Broker, rest);
        let all = [heard, raw.hears(Side::Client)].concat();
        let (frames, rest) = frames(&all);
        assert_eq!(rest, NOTHING, "cut at {cut}");
        assert_eq!(frames.len(), 4);
        let mut frames = frames;
        frames.retain(|frame| *frame != nack(ONE, cut as u64, false));
        assert_eq!(frames.concat(), delivery, "cut at {cut}");
    }
}

#[test]
fn what_else_stands_in_a_confirm_is_kept() {
    let mut raw = Raw::confirming(Terms::default());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.expect(Side::Client, &nack(ONE, 1, false));
    raw.passes(Side::Client, &Message::of(10).whole());
    // nack: multiple, requeue, and a bit that nobody has.
    let bits = |tag: u8| method(ONE, 60, 120, &[0, 0, 0, 0, 0, 0, 0, tag, 0b111]);
    raw.becomes(Side::Broker, &bits(1), &bits(2));
}

#[test]
fn deliveries_have_numbers_of_their_own() {
    let mut raw = Raw::confirming(Terms::default());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.hears(Side::Client);
    raw.passes(Side::Broker, &Message::of(10).delivered("c", 1));
    raw.passes(Side::Client, &ack(ONE, 1, true));
    raw.passes(Side::Client, &nack(ONE, 1, true));
    raw.passes(Side::Client, &reject(ONE, 1));
}

#[test]
fn many_confirms_in_one_read_are_all_renumbered_in_order() {
    let mut raw = Raw::confirming(Terms::default());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.hears(Side::Client);
    let mut said = Vec::new();
    let mut expected = Vec::new();
    for tag in 1..=50 {
        raw.passes(Side::Client, &Message::of(10).whole());
        said.extend(ack(ONE, tag, false));
        expected.extend(ack(ONE, tag + 1, false));
        if tag % 7 == 0 {
            let delivery = Message::of(10).delivered("c", tag);
            said.extend_from_slice(&delivery);
            expected.extend(delivery);
        }
    }
    raw.becomes(Side::Broker, &said, &expected);
    // Renumbered frames are the broker's own octets, and count as such.
    assert_eq!(raw.gate.meter.released[1], 50 * 21);
}
