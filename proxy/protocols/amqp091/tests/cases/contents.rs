//! Methods that wait for their content headers, and contents in all their forms.

use super::*;

#[test]
fn a_publish_waits_for_its_content_header() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(100);
    let octets = message.whole();
    for cut in 1..octets.len() {
        raw.says(Side::Client, &octets[..cut]);
        let heard = raw.hears(Side::Broker);
        // The frame of the content header is passed on once its body size is known.
        let head = message.publish().len();
        assert_eq!(heard.is_empty(), cut < head + 19, "cut at {cut}");
        raw.says(Side::Client, &octets[cut..]);
        assert_eq!([heard, raw.hears(Side::Broker)].concat(), octets);
    }
    raw.is_quiet();
}

#[test]
fn frames_of_other_channels_overtake_a_publish_that_waits() {
    let mut raw = Raw::begun(Terms::default());
    let (one, two) = (Message::of(100), Message::on(TWO, 100));
    raw.is_kept(Side::Client, &one.publish());
    raw.is_kept(Side::Client, &two.publish());
    raw.passes(Side::Client, &heartbeat());
    let cancel = cancel(TWO, "c", false);
    raw.becomes(
        Side::Client,
        &one.header(),
        &[one.publish(), one.header()].concat(),
    );
    raw.passes(Side::Client, &one.body_in(40));
    raw.becomes(
        Side::Client,
        &two.content(),
        &[two.publish(), two.content()].concat(),
    );
    raw.passes(Side::Client, &cancel);
    assert_eq!(raw.gate.meter.messages[0], [2, 0, 0]);
    // What was held counts as forwarded: the second was found with its content right behind it.
    assert_eq!(raw.gate.meter.released[0], one.publish().len() as u64 * 2);
}

#[test]
fn a_publish_that_waits_is_refused_as_any_other() {
    let mut raw = Raw::confirming(Terms::default());
    let message = Message::mandatory(101);
    raw.is_kept(Side::Client, &message.publish());
    raw.passes(Side::Client, &heartbeat());
    raw.is_kept(Side::Client, &message.content());
    let expected = [
        message.returned(&exceeded(101), &[0, 0]),
        nack(ONE, 1, false),
    ];
    raw.expect(Side::Client, &expected.concat());
    let small = Message::of(100);
    raw.is_kept(Side::Client, &small.publish());
    raw.passes(Side::Client, &heartbeat());
    let whole = [small.publish(), small.content()].concat();
    raw.becomes(Side::Client, &small.content(), &whole);
    raw.becomes(Side::Broker, &ack(ONE, 1, false), &ack(ONE, 2, false));
}

#[test]
fn contents_of_channels_may_be_mixed_and_one_of_them_refused() {
    let mut raw = Raw::begun(Terms::default());
    let (one, two) = (Message::of(300), Message::on(TWO, 90));
    let (one_body, two_body) = (one.body_in(100), two.body_in(30));
    let pieces: Vec<_> = one_body.chunks(108).zip(two_body.chunks(38)).collect();
    raw.is_kept(Side::Client, &[one.publish(), one.header()].concat());
    raw.passes(Side::Client, &[two.publish(), two.header()].concat());
    for (swallowed, passed) in pieces {
        raw.becomes(Side::Client, &[swallowed, passed].concat(), passed);
    }
    raw.expect(Side::Client, &one.returned(&exceeded(300), &[0, 0]));
}

#[test]
fn a_body_may_come_in_frames_of_any_size_and_in_empty_ones() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(3);
    let empty = frame(3, ONE, b"");
    let body = [&empty[..], &message.body_in(1), &empty].concat();
    let octets = [message.publish(), message.header()].concat();
    raw.passes(Side::Client, &octets);
    let (before, after) = body.split_at(body.len() - empty.len());
    raw.passes(Side::Client, before);
    // Once the body is whole no frame of it may follow.
    raw.says(Side::Client, after);
    raw.expect(
        Side::Client,
        &close(
            505,
            "frame that this side may not send now at octet 7 of \
        the frame, sent by the client",
        ),
    );
}

#[test]
fn a_message_of_many_frames_passes_octet_for_octet_as_it_comes() {
    let terms = Terms {
        limit: 1 << 40,
        ..Terms::default()
    };
    let mut raw = Raw::begun(terms);
    let message = Message::of(100_000);
    raw.passes(
        Side::Client,
        &[message.publish(), message.header()].concat(),
    );
    for piece in message.body_in(4_088).chunks(1_000) {
        raw.passes(Side::Client, piece);
    }
    raw.passes(Side::Client, &Message::of(1).whole());
    assert_eq!(raw.gate.meter.sizes[0].sum, 100_001);
}

#[test]
fn a_method_that_is_not_known_passes() {
    let mut raw = Raw::begun(Terms::default());
    for octets in [
        method(ONE, 50, 10, b"whatever"),
        method(ONE, 0xF000, 7, b""),
        method(ZERO, 10, 70, b"update-secret"),
    ] {
        raw.passes(Side::Client, &octets);
        raw.passes(Side::Broker, &octets);
    }
    // connection.blocked and connection.unblocked
    raw.passes(Side::Broker, &method(ZERO, 10, 60, b"\x03low"));
    raw.passes(Side::Broker, &method(ZERO, 10, 61, b""));
    // What stands on a channel that nobody has opened is the broker's to refuse.
    raw.passes(
        Side::Client,
        &method(parsers::amqp091::Channel(9), 50, 10, b"x"),
    );
    raw.is_quiet();
    assert_eq!(raw.gate.meter.reports, []);
}

#[test]
fn what_comes_back_is_not_limited() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(1_000);
    let returned = message.returned("NO_ROUTE", &[0, 0]);
    let (method, header) = returned.split_at(returned.len() - message.header().len());
    let octets = [method, &message.content()].concat();
    raw.passes(Side::Broker, &octets);
    raw.passes(Side::Broker, &returned);
    assert_eq!(header.len(), message.header().len());
    assert_eq!(raw.gate.meter.messages, [[0; 3]; 2]);
}
