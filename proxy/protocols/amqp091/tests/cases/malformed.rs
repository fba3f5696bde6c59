//! Octets that are not allowed: who is told which code, and that none of them reaches the other side.

use parsers::amqp091::Fault;

use super::*;

/// A side says something that is not allowed: it hears the code, the other side 320, and nothing of
/// it goes on.
#[track_caller]
fn is_malformed(raw: &mut Raw, from: Side, octets: &[u8], at: usize, what: Fault) {
    raw.says(from, octets);
    let text = format!(
        "{what} at octet {at} of the frame, sent by the {}",
        from.as_str()
    );
    raw.expect(from, &close(what.reply_code(), &text));
    raw.expect(from.other(), &close(320, &text));
    raw.has_ended(Ending::by(from, Reason::Malformed));
    let reports = raw.gate.meter.reports.iter();
    let malformed = reports.filter(|report| matches!(report, Report::Malformed { .. }));
    assert_eq!(malformed.count(), 1);
}

/// The same for octets that are not allowed in either direction, whole and octet by octet.
#[track_caller]
fn are_malformed(octets: &[u8], at: usize, what: Fault) {
    for from in SIDES {
        let mut raw = Raw::begun(Terms::default());
        is_malformed(&mut raw, from, octets, at, what);
        let mut raw = Raw::begun(Terms::default());
        let (last, before) = octets.split_last().expect("octets");
        for octet in before {
            raw.says(from, &[*octet]);
        }
        is_malformed(&mut raw, from, &[*last], at, what);
    }
}

#[test]
fn a_frame_has_a_type_a_size_that_was_agreed_upon_and_an_end() {
    are_malformed(&[4], 0, Fault::UnknownFrameType);
    are_malformed(b"G", 0, Fault::UnknownFrameType);
    // 4097 octets of payload, where frames of 4096 were agreed upon.
    are_malformed(b"\x01\0\x01\0\0\x10\x01", 3, Fault::FrameTooLarge);
    are_malformed(b"\x03\0\x01\xFF\xFF\xFF\xFF", 3, Fault::FrameTooLarge);
    let mut octets = method(ONE, 50, 10, b"abc");
    *octets.last_mut().expect("an end") = 0xCD;
    are_malformed(&octets, 14, Fault::BadFrameEnd);
}

#[test]
fn a_payload_may_be_as_large_as_a_frame() {
    let terms = Terms {
        limit: 0,
        ..Terms::default()
    };
    let mut raw = Raw::begun(terms);
    let message = Message::of(4_096);
    let octets = [message.publish(), message.header(), message.body_in(4_096)];
    raw.passes(Side::Client, &octets.concat());
    let message = Message::of(4_097);
    let head = [message.publish(), message.header()].concat();
    raw.passes(Side::Client, &head);
    let body = message.body_in(4_097);
    is_malformed(&mut raw, Side::Client, &body, 3, Fault::FrameTooLarge);
}

#[test]
fn no_frame_of_a_message_that_comes_as_a_whole_is_larger_than_agreed_upon() {
    let message = Message::of(4_097);
    let publish = message.publish();
    let header = message.header_with(&[0; 4_085]);
    let body = message.body_in(4_097);
    let passing = [publish.clone(), message.header()].concat();
    let cases = [
        (&[&publish[..], &header, &body], &publish),
        (&[&publish[..], &message.header(), &body], &passing),
    ];
    for (octets, passing) in cases {
        let terms = Terms {
            limit: 1_000_000,
            ..Terms::default()
        };
        let mut raw = Raw::begun(terms);
        raw.says(Side::Client, &octets.concat());
        let text = "frame larger than frame-max at octet 3 of the frame, sent by the client";
        let told = [&passing[..], &close(320, text)].concat();
        raw.expect(Side::Broker, &told);
        raw.expect(Side::Client, &close(501, text));
    }
}

#[test]
fn frames_have_any_size_where_none_was_agreed_upon() {
    let terms = Terms {
        limit: 0,
        ..Terms::default()
    };
    let mut raw = Raw::new(terms);
    let agreed = parsers::amqp091::Tune {
        frame_max: 0,
        ..TUNE
    };
    raw.open(agreed);
    raw.begin();
    let message = Message::of(500_000);
    let octets = [
        message.publish(),
        message.header(),
        message.body_in(500_000),
    ];
    raw.passes(Side::Client, &octets.concat());
}

#[test]
fn a_heartbeat_has_neither_payload_nor_channel() {
    are_malformed(&frame(8, ONE, b"")[..7], 0, Fault::BadHeartbeat);
    are_malformed(&frame(8, ZERO, b"!")[..7], 0, Fault::BadHeartbeat);
    let mut octets = heartbeat();
    octets[7] = 0;
    are_malformed(&octets, 7, Fault::BadFrameEnd);
}

#[test]
fn arguments_end_where_their_frame_does() {
    are_malformed(&method(ONE, 60, 80, &[0; 8]), 19, Fault::ArgumentBeyondEnd);
    are_malformed(&method(ONE, 60, 80, &[0; 10]), 20, Fault::TrailingOctets);
    are_malformed(&frame(1, ONE, b"\0\x3C\0"), 7, Fault::MethodTooShort);
    let mut raw = Raw::begun(Terms::default());
    let publish = method(ONE, 60, 40, b"\0\0\x01e\x05rk\0");
    is_malformed(
        &mut raw,
        Side::Client,
        &publish,
        16,
        Fault::ArgumentBeyondEnd,
    );
}

#[test]
fn a_content_stands_on_a_channel_that_is_open() {
    are_malformed(&frame(2, ZERO, &[0; 14])[..7], 1, Fault::ChannelZero);
    are_malformed(&frame(3, ZERO, b"x")[..7], 1, Fault::ChannelZero);
    let nine = parsers::amqp091::Channel(9);
    for (from, octets) in [
        (Side::Client, Message::on(nine, 5).publish()),
        (Side::Broker, Message::on(nine, 5).deliver("c", 1)),
    ] {
        let mut raw = Raw::begun(Terms::default());
        is_malformed(&mut raw, from, &octets, 1, Fault::ChannelNotOpen);
    }
}

#[test]
fn methods_of_channels_and_of_the_connection_are_not_mixed() {
    are_malformed(&ack(ZERO, 1, false), 1, Fault::ChannelZero);
    are_malformed(&Message::on(ZERO, 5).publish(), 1, Fault::ChannelZero);
    are_malformed(
        &method(ONE, 10, 41, b"\0"),
        1,
        Fault::ConnectionMethodOnChannel,
    );
    are_malformed(
        &method(ONE, 10, 99, b""),
        1,
        Fault::ConnectionMethodOnChannel,
    );
    let close = method(ONE, 10, 50, b"\x01\x40\x01x\0\0\0\0");
    are_malformed(&close, 1, Fault::ConnectionMethodOnChannel);
}

#[test]
fn a_content_header_and_a_body_come_when_they_are_due() {
    let small = Message::of(5);
    are_malformed(&small.header(), 7, Fault::UnexpectedFrame);
    are_malformed(&small.body_in(5)[..7], 7, Fault::UnexpectedFrame);
    let publish = small.publish();
    for (what, octets) in [
        ("a body", small.body_in(5)),
        ("a method", ack(ONE, 1, false)),
        ("another publish", small.publish()),
        ("a close", channel_close(ONE, 200, "", (0, 0))),
    ] {
        let mut raw = Raw::begun(Terms::default());
        raw.is_kept(Side::Client, &publish);
        is_malformed(&mut raw, Side::Client, &octets, 7, Fault::UnexpectedFrame);
        let mut raw = Raw::begun(Terms::default());
        let both = [&publish[..], &octets].concat();
        is_malformed(&mut raw, Side::Client, &both, 7, Fault::UnexpectedFrame);
        assert_eq!(raw.gate.meter.messages[0], [0; 3], "{what}");
    }
    for (what, octets) in [
        ("another header", small.header()),
        ("a method", ack(ONE, 1, false)),
        ("another publish", small.publish()),
        ("a close", channel_close(ONE, 200, "", (0, 0))),
    ] {
        for size in [5, 101] {
            let mut raw = Raw::begun(Terms::default());
            let message = Message::of(size);
            raw.says(
                Side::Client,
                &[message.publish(), message.header()].concat(),
            );
            raw.says(Side::Client, &frame(3, ONE, b"ab"));
            raw.hears(Side::Broker);
            is_malformed(&mut raw, Side::Client, &octets, 7, Fault::UnexpectedFrame);
            assert_eq!(raw.refused().len(), size / 101, "{what}");
        }
    }
}

#[test]
fn a_content_header_is_that_of_its_method() {
    for (at, octet, place, what) in [
        (8, 61, 7, Fault::WrongClass),
        (10, 1, 9, Fault::NonzeroWeight),
        (6, 13, 3, Fault::ContentHeaderTooShort),
    ] {
        let mut header = Message::of(5).header();
        header[at] = octet;
        let publish = Message::of(5).publish();
        let mut raw = Raw::begun(Terms::default());
        let both = [&publish[..], &header].concat();
        is_malformed(&mut raw, Side::Client, &both, place, what);
    }
}

#[test]
fn a_body_is_no_longer_than_its_header_said() {
    for size in [5, 101] {
        let mut raw = Raw::begun(Terms::default());
        let message = Message::of(size);
        raw.says(
            Side::Client,
            &[message.publish(), message.header()].concat(),
        );
        raw.says(Side::Client, &frame(3, ONE, &vec![0; size - 1]));
        raw.hears(Side::Broker);
        is_malformed(
            &mut raw,
            Side::Client,
            &frame(3, ONE, b"ab"),
            3,
            Fault::BodyTooLong,
        );
    }
}

#[test]
fn no_side_speaks_in_the_place_of_the_other() {
    let delivery = Message::of(5).deliver("c", 1);
    let get_ok = Message::of(5).get_ok(1);
    let returned = method(ONE, 60, 50, b"\x01\x37\0\0\0");
    for (from, octets) in [
        (Side::Client, delivery),
        (Side::Client, get_ok),
        (Side::Client, returned),
        (Side::Client, channel_open_ok(ONE)),
        (Side::Client, open_ok()),
        (Side::Client, start()),
        (Side::Client, tune(TUNE)),
        (Side::Client, start_ok()),
        (Side::Client, open()),
        (Side::Broker, Message::of(5).publish()),
        (Side::Broker, channel_open(ONE)),
        (Side::Broker, open()),
        (Side::Broker, open_ok()),
        (Side::Broker, start_ok()),
        (Side::Broker, tune(TUNE)),
    ] {
        let mut raw = Raw::begun(Terms::default());
        is_malformed(&mut raw, from, &octets, 7, Fault::UnexpectedFrame);
    }
}

#[test]
fn what_is_not_due_before_the_connection_is_open_ends_it_without_a_word() {
    let steps: [(Side, Vec<u8>); 5] = [
        (Side::Client, HEADER.to_vec()),
        (Side::Broker, start()),
        (Side::Client, start_ok()),
        (Side::Broker, tune(TUNE)),
        (Side::Client, tune_ok(TUNE)),
    ];
    let wrong = [
        start_ok(),
        tune_ok(TUNE),
        open(),
        open_ok(),
        start(),
        tune(TUNE),
        channel_open(ONE),
        Message::of(5).publish(),
        b"HTTP".to_vec(),
    ];
    for come in 1..=steps.len() {
        for from in SIDES {
            for octets in &wrong {
                let is_due = match from {
                    Side::Client if come == 5 => *octets == open(),
                    Side::Client if come >= 3 => *octets == tune_ok(TUNE),
                    Side::Client => *octets == start_ok(),
                    Side::Broker if come == 1 => *octets == start(),
                    Side::Broker => come < 4 && *octets == tune(TUNE),
                };
                if is_due {
                    continue;
                }
                let mut raw = Raw::new(Terms::default());
                for (side, octets) in &steps[..come] {
                    raw.passes(*side, octets);
                }
                raw.says(from, octets);
                raw.is_quiet();
                raw.has_ended(Ending::by(from, Reason::Malformed));
            }
        }
    }
}

#[test]
fn a_frame_that_turns_out_to_be_broken_cuts_off_who_has_been_sent_part_of_it() {
    for from in SIDES {
        let mut raw = Raw::begun(Terms::default());
        let message = Message::of(100);
        let octets = match from {
            Side::Client => message.whole(),
            Side::Broker => message.delivered("c", 1),
        };
        let before = &octets[..octets.len() - 1];
        raw.passes(from, before);
        raw.says(from, &[0]);
        let what = Fault::BadFrameEnd;
        let text = format!(
            "{what} at octet 107 of the frame, sent by the {}",
            from.as_str()
        );
        raw.expect(from, &close(501, &text));
        // A word would be taken for the rest of the frame.
        raw.expect(from.other(), &NOTHING);
        raw.has_ended(Ending::by(from, Reason::Malformed));
    }
}

#[test]
fn a_broken_frame_that_goes_nowhere_harms_nobody_else() {
    let mut raw = Raw::begun(Terms::default());
    let octets = Message::of(101).whole();
    raw.is_kept(Side::Client, &octets[..octets.len() - 1]);
    is_malformed(&mut raw, Side::Client, &[0], 108, Fault::BadFrameEnd);
}

#[test]
fn a_fault_is_the_same_whatever_stands_before_it() {
    let mut header = Message::of(5).header();
    *header.last_mut().expect("an end") = 0;
    let octets = [Message::of(5).publish(), header.clone()].concat();
    for before in [heartbeat(), Vec::new()] {
        let mut raw = Raw::begun(Terms::default());
        raw.says(Side::Client, &[&before[..], &octets].concat());
        let at = header.len() - 1;
        let text = format!(
            "{} at octet {at} of the frame, sent by the client",
            Fault::BadFrameEnd
        );
        raw.expect(Side::Client, &close(501, &text));
        let publish = Message::of(5).publish();
        raw.expect(Side::Broker, &[before, publish, close(320, &text)].concat());
    }
}

#[test]
fn what_stood_before_it_has_gone_on() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(50).whole();
    raw.says(Side::Client, &[&message[..], b"\x09"].concat());
    let text = "unknown frame type at octet 0 of the frame, sent by the client";
    raw.expect(Side::Broker, &[message, close(320, text)].concat());
    raw.expect(Side::Client, &close(501, text));
}
