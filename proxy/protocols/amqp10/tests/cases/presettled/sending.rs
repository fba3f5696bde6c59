//! What becomes of a delivery that the client sends settled.

use super::*;

#[test]
fn it_goes_on_unsettled_and_marked() {
    let mut raw = Raw::start(UNSETTLED);
    let due = unsettled(7, first(7), &marked());
    raw.becomes(Side::Client, &carries(pre(first(7)), BODY), &due);
    // An unsettled one passes as it is.
    raw.passes(Side::Client, &carries(first(8), BODY));
    assert_eq!(raw.gate.meter.messages[0], [2, 0, 0]);
    assert_eq!(raw.gate.gate.unsettled(), 1);
}

#[test]
fn the_mark_stands_before_the_bare_message() {
    let map = |octets: &[u8]| [&[0x00, 0x53, 0x72], octets].concat();
    let [some, none] = [
        map(b"\xC1\x06\x02\xA3\x01a\x52\x09"),
        map(b"\xD1\0\0\0\x04\0\0\0\0"),
    ];
    let [with_some, with_none] = [
        map(b"\xC1\x22\x04\xA3\x19x-opt-sizegate-presettled\x41\xA3\x01a\x52\x09"),
        map(b"\xD1\0\0\0\x20\0\0\0\x02\xA3\x19x-opt-sizegate-presettled\x41"),
    ];
    for (before, between) in [
        (&[][..], &[][..]),
        (HEADER, &[]),
        (HEADER, DELIVERY_ANNOTATIONS),
        (&[], DELIVERY_ANNOTATIONS),
    ] {
        for (was, is) in [(&[][..], MARK), (&some, &with_some), (&none, &with_none)] {
            let mut raw = Raw::start(UNSETTLED);
            let payload = [before, between, was, BODY].concat();
            let due = [before, between, is, BODY].concat();
            let due = unsettled(0, first(0), &due);
            raw.becomes(Side::Client, &carries(pre(first(0)), &payload), &due);
        }
    }
}

#[test]
fn one_that_bears_the_mark_is_not_marked_twice() {
    let mut raw = Raw::start(UNSETTLED);
    let due = unsettled(0, first(0), &marked());
    raw.becomes(Side::Client, &carries(pre(first(0)), &marked()), &due);
}

#[test]
fn what_has_no_place_for_the_mark_stays_settled() {
    let mut raw = Raw::start(UNSETTLED);
    let batch = Transfer {
        message_format: Some(0x8001_3700),
        ..pre(first(0))
    };
    raw.passes(Side::Client, &carries(batch, BODY));
    let resumed = Transfer {
        resume: true,
        ..pre(first(1))
    };
    raw.passes(Side::Client, &carries(resumed, BODY));
    let state = Fate::Transactional {
        txn_id: b"txn".to_vec(),
        outcome: None,
    };
    let state = state.octets();
    let transactional = Transfer {
        state: state.as_deref(),
        ..pre(first(2))
    };
    raw.passes(Side::Client, &carries(transactional, BODY));
    raw.passes(
        Side::Client,
        &carries(pre(first(3)), b"{\"no\": \"message\"}"),
    );
    // Another value than true under the key.
    let mut other = marked();
    other[MARK.len() - 1] = 0x42;
    raw.passes(Side::Client, &carries(pre(first(4)), &other));
    // Nothing but a header, and a section that reaches beyond the end.
    raw.passes(Side::Client, &carries(pre(first(5)), HEADER));
    raw.passes(Side::Client, &carries(pre(first(6)), &HEADER[..6]));
    assert_eq!(raw.gate.gate.unsettled(), 0);
}

#[test]
fn all_frames_of_it_say_unsettled() {
    let mut raw = Raw::start(UNSETTLED);
    let (front, back) = BODY.split_at(7);
    let due = unsettled(0, more(first(0)), &[MARK, front].concat());
    raw.becomes(Side::Client, &carries(pre(more(first(0))), front), &due);
    let says_no = |transfer| Transfer {
        settled: Some(false),
        ..transfer
    };
    // They say again what the delivery is called.
    let tag = tag(0);
    let names = |transfer, tag| Transfer {
        delivery_id: Some(0),
        delivery_tag: Some(tag),
        ..transfer
    };
    let was = names(pre(more(next())), b"tag");
    let is = names(says_no(more(next())), &tag);
    raw.becomes(
        Side::Client,
        &carries(was, &back[..1]),
        &carries(is, &back[..1]),
    );
    raw.passes(Side::Client, &carries(more(next()), &back[1..2]));
    let last = carries(says_no(next()), &back[2..]);
    raw.becomes(Side::Client, &carries(pre(next()), &back[2..]), &last);
    assert_eq!(raw.gate.gate.unsettled(), 1);
}

#[test]
fn one_that_says_so_only_later_passes_as_it_is() {
    let mut raw = Raw::start(UNSETTLED);
    let (front, back) = BODY.split_at(7);
    raw.passes(Side::Client, &carries(more(first(0)), front));
    raw.passes(Side::Client, &carries(pre(next()), back));
    assert_eq!(raw.gate.gate.unsettled(), 0);
}

#[test]
fn deliveries_of_one_tag_get_their_own() {
    let mut raw = Raw::start(UNSETTLED);
    for id in 0..3 {
        let nameless = Transfer {
            delivery_tag: Some(b""),
            ..pre(first(id))
        };
        let due = unsettled(id, first(id), &marked());
        raw.becomes(Side::Client, &carries(nameless, BODY), &due);
    }
    let tagless = Transfer {
        delivery_tag: None,
        ..pre(first(3))
    };
    let due = unsettled(3, first(3), &marked());
    raw.becomes(Side::Client, &carries(tagless, BODY), &due);
}

#[test]
fn one_that_is_broken_off_is_due_no_longer() {
    let mut raw = Raw::start(UNSETTLED);
    let due = unsettled(0, more(first(0)), &[MARK, &BODY[..7]].concat());
    raw.becomes(
        Side::Client,
        &carries(pre(more(first(0))), &BODY[..7]),
        &due,
    );
    assert_eq!(raw.gate.gate.unsettled(), 1);
    let aborts = Transfer {
        aborted: true,
        ..next()
    };
    raw.passes(Side::Client, &carries(aborts, &[]));
    assert_eq!(raw.gate.gate.unsettled(), 0);
    assert_eq!(raw.gate.meter.outcomes, [0; 5]);
}

/// The broker hears of a delivery in these frames, in a session that began with this transfer-id.
fn assert_cut(raw: &mut Raw, payload: &[u8], flags: Transfer<'static>) {
    let says = carries(pre(flags), payload);
    assert!(says.len() <= 512);
    raw.says(Side::Client, &says);
    let heard = raw.hears(Side::Broker);
    let units = units(&heard);
    let [one, other] = units[..] else {
        panic!("{} frames", units.len());
    };
    assert_eq!(one.len(), 512, "the first one is full");
    let at = |octets| frame(octets).payload_at;
    let whole = [&one[at(one)..], &other[at(other)..]].concat();
    assert_eq!(whole, [MARK, payload].concat());
    let tag = tag(0);
    let due = Transfer {
        more: true,
        delivery_tag: Some(&tag),
        settled: Some(false),
        payload_at: at(one),
        ..flags
    };
    assert_eq!(frame(one).transfer(), Ok(due));
    let due = Transfer {
        more: flags.more,
        payload_at: at(other),
        ..next()
    };
    assert_eq!(frame(other).transfer(), Ok(due));
}

#[test]
fn one_that_does_not_fit_with_the_mark_is_cut_in_two() {
    let mut raw = Raw::start(UNSETTLED);
    assert_cut(&mut raw, &message_of(480), first(0));
    // It is one frame for the client, and two for the broker.
    let passing = carries(first(1), BODY);
    raw.passes(Side::Client, &passing);
    let told = |next_outgoing_id| Flow {
        next_incoming_id: Some(0),
        incoming_window: 100,
        next_outgoing_id,
        outgoing_window: 1_000,
        ..Flow::default()
    };
    raw.becomes(Side::Client, &flow(CLIENT, told(2)), &flow(CLIENT, told(3)));
    let takes = |next_incoming_id, incoming_window| Flow {
        next_incoming_id: Some(next_incoming_id),
        incoming_window,
        next_outgoing_id: 0,
        outgoing_window: 1_000,
        ..Flow::default()
    };
    // What the client was told, it may send; more it is told when the broker takes more.
    for (takes_now, may_send) in [(97, 98), (200, 200)] {
        raw.becomes(
            Side::Broker,
            &flow(BROKER, takes(3, takes_now)),
            &flow(BROKER, takes(2, may_send)),
        );
    }
}

#[test]
fn one_that_is_cut_in_two_may_have_more_frames() {
    let mut raw = Raw::start(UNSETTLED);
    assert_cut(&mut raw, &message_of(480), more(first(0)));
    raw.passes(Side::Client, &carries(next(), BODY));
}

#[test]
fn it_waits_for_a_window_that_takes_both_parts() {
    let mut raw = Raw::start(Start {
        terms: UNSETTLED,
        broker_window: 1,
        ..Start::default()
    });
    raw.says(Side::Client, &carries(pre(first(0)), &message_of(480)));
    let heard = raw.hears(Side::Broker);
    assert_eq!(units(&heard).len(), 1);
    let takes = Flow {
        next_incoming_id: Some(1),
        incoming_window: 1,
        next_outgoing_id: 0,
        outgoing_window: 1_000,
        ..Flow::default()
    };
    raw.says(Side::Broker, &flow(BROKER, takes));
    let heard = raw.hears(Side::Broker);
    assert_eq!(units(&heard).len(), 1);
    assert!(!frame(&heard).transfer().expect("the rest").more);
}
