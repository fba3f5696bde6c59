//! A marked delivery becomes settled again on its way to a client.

use super::*;

/// A delivery of the broker as the client is to get it.
fn restored(transfer: Transfer<'_>, payload: &[u8]) -> Vec<u8> {
    brings(pre(transfer), payload)
}

/// What the broker is told of deliveries from first to last.
fn accepts(first: u32, last: u32, settles: bool) -> Vec<u8> {
    let state = Fate::Accepted.octets();
    disposition(
        CLIENT,
        Disposition {
            settled: settles,
            state: state.as_deref(),
            ..settled(Role::Receiver, first, (last != first).then_some(last))
        },
    )
}

#[test]
fn it_is_settled_without_the_mark_and_accepted() {
    let mut raw = Raw::start(UNSETTLED);
    raw.becomes(
        Side::Broker,
        &brings(first(7), &marked()),
        &restored(first(7), BODY),
    );
    assert_eq!(raw.hears(Side::Broker), accepts(7, 7, true));
    assert_eq!(raw.gate.meter.restored, 1);
    assert_eq!(raw.gate.meter.sizes[1].sum, BODY.len() as u64);
    // Others pass as they are.
    raw.passes(Side::Broker, &brings(first(8), BODY));
    raw.passes(Side::Broker, &brings(pre(first(9)), BODY));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn all_else_of_the_message_stays() {
    let map = |octets: &[u8]| [&[0x00, 0x53, 0x72], octets].concat();
    for (was, is) in [
        (MARK.to_vec(), Vec::new()),
        // Behind and before what the broker adds itself; the key as a long symbol, true in two octets.
        (
            map(b"\xC1\x22\x04\xA3\x01a\x52\x09\xA3\x19x-opt-sizegate-presettled\x41"),
            map(b"\xC1\x06\x02\xA3\x01a\x52\x09"),
        ),
        (
            map(b"\xD1\0\0\0\x29\0\0\0\x04\xB3\0\0\0\x19x-opt-sizegate-presettled\x56\x01\xA3\x01a\x52\x09"),
            map(b"\xD1\0\0\0\x09\0\0\0\x02\xA3\x01a\x52\x09"),
        ),
    ] {
        for before in [&[][..], HEADER, &[HEADER, DELIVERY_ANNOTATIONS].concat()] {
            let mut raw = Raw::start(UNSETTLED);
            let due = restored(first(0), &[before, &is, BODY].concat());
            let payload = [before, &was, BODY].concat();
            raw.becomes(Side::Broker, &brings(first(0), &payload), &due);
        }
    }
}

#[test]
fn many_that_come_together_are_accepted_in_one_go() {
    let mut raw = Raw::start(UNSETTLED);
    let come = |ids: std::ops::Range<u32>| ids.flat_map(|id| brings(first(id), &marked()));
    let goes = |ids: std::ops::Range<u32>| ids.flat_map(|id| restored(first(id), BODY));
    let plain = brings(first(3), BODY);
    let says: Vec<u8> = come(0..3).chain(plain.clone()).chain(come(4..9)).collect();
    let due: Vec<u8> = goes(0..3).chain(plain).chain(goes(4..9)).collect();
    raw.becomes(Side::Broker, &says, &due);
    let due = [accepts(0, 2, true), accepts(4, 8, true)].concat();
    assert_eq!(raw.hears(Side::Broker), due);
    // What the client says of the one between them is said for that one.
    raw.passes(Side::Client, &accepts(3, 3, true));
}

#[test]
fn what_the_client_says_of_it_is_not_for_the_broker() {
    let mut raw = Raw::start(UNSETTLED);
    raw.says(Side::Broker, &brings(first(0), &marked()));
    raw.says(Side::Broker, &brings(first(1), BODY));
    raw.hears(Side::Broker);
    let accepts = |first, last| {
        let state = Fate::Accepted.octets();
        let run = settled(Role::Receiver, first, Some(last));
        disposition(
            CLIENT,
            Disposition {
                state: state.as_deref(),
                ..run
            },
        )
    };
    raw.becomes(Side::Client, &accepts(0, 1), &accepts(1, 1));
}

#[test]
fn a_broker_that_settles_second_settles_it_unheard() {
    let mut raw = Raw::start(Start {
        terms: UNSETTLED,
        rcv_settle_mode: ReceiverSettleMode::Second,
        ..Start::default()
    });
    // The link that the client receives on is of mode first; the delivery says otherwise.
    let second = Transfer {
        rcv_settle_mode: Some(ReceiverSettleMode::Second),
        ..first(0)
    };
    raw.becomes(
        Side::Broker,
        &brings(second, &marked()),
        &restored(second, BODY),
    );
    assert_eq!(raw.hears(Side::Broker), accepts(0, 0, false));
    let settles = disposition(BROKER, settled(Role::Sender, 0, None));
    raw.is_kept(Side::Broker, &settles);
}

#[test]
fn one_that_the_broker_has_settled_loses_its_mark_and_is_not_answered() {
    let mut raw = Raw::start(UNSETTLED);
    let due = restored(first(0), BODY);
    raw.becomes(Side::Broker, &brings(pre(first(0)), &marked()), &due);
    assert_eq!(raw.hears(Side::Broker), NOTHING);
    assert_eq!(raw.gate.meter.restored, 1);
    // Or settles with the last frame.
    let (front, back) = BODY.split_at(7);
    let due = restored(more(first(1)), front);
    let payload = [MARK, front].concat();
    raw.becomes(Side::Broker, &brings(more(first(1)), &payload), &due);
    raw.passes(Side::Broker, &brings(pre(next()), back));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn one_of_several_frames_is_accepted_at_its_end() {
    let mut raw = Raw::start(UNSETTLED);
    let (front, back) = BODY.split_at(7);
    let due = restored(more(first(0)), front);
    raw.becomes(
        Side::Broker,
        &brings(more(first(0)), &[MARK, front].concat()),
        &due,
    );
    assert_eq!(raw.hears(Side::Broker), NOTHING);
    // A frame that says that it is unsettled would take back what the first one says.
    let says_no = Transfer {
        settled: Some(false),
        ..more(next())
    };
    let due = restored(more(next()), &back[..1]);
    raw.becomes(Side::Broker, &brings(says_no, &back[..1]), &due);
    raw.passes(Side::Broker, &brings(next(), &back[1..]));
    assert_eq!(raw.hears(Side::Broker), accepts(0, 0, true));
}

#[test]
fn one_that_the_broker_breaks_off_is_not_accepted() {
    let mut raw = Raw::start(UNSETTLED);
    let due = restored(more(first(0)), &BODY[..7]);
    raw.becomes(
        Side::Broker,
        &brings(more(first(0)), &[MARK, &BODY[..7]].concat()),
        &due,
    );
    let aborts = Transfer {
        aborted: true,
        ..next()
    };
    raw.passes(Side::Broker, &brings(aborts, &[]));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn one_that_comes_when_the_client_has_left_is_not_accepted() {
    let mut raw = Raw::start(UNSETTLED);
    raw.passes(Side::Client, &detach(CLIENT, IN, true));
    let due = restored(first(0), BODY);
    raw.becomes(Side::Broker, &brings(first(0), &marked()), &due);
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn one_that_comes_when_the_client_has_closed_is_answered_no_more() {
    let mut raw = Raw::start(UNSETTLED);
    raw.passes(Side::Client, &close());
    let due = restored(first(0), BODY);
    raw.becomes(Side::Broker, &brings(first(0), &marked()), &due);
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn what_is_not_marked_or_bears_no_marks_passes_as_it_is() {
    let mut raw = Raw::start(UNSETTLED);
    let mut other = marked();
    other[MARK.len() - 1] = 0x42;
    raw.passes(Side::Broker, &brings(first(0), &other));
    let batch = Transfer {
        message_format: Some(1),
        ..first(1)
    };
    raw.passes(Side::Broker, &brings(batch, &marked()));
    let resumed = Transfer {
        resume: true,
        ..first(2)
    };
    raw.passes(Side::Broker, &brings(resumed, &marked()));
    let state = Fate::Transactional {
        txn_id: b"txn".to_vec(),
        outcome: None,
    };
    let state = state.octets();
    let transactional = Transfer {
        state: state.as_deref(),
        ..first(3)
    };
    raw.passes(Side::Broker, &brings(transactional, &marked()));
    // The mark is of no meaning in another section.
    let elsewhere = [&[0x00, 0x53, 0x71], &MARK[3..], BODY].concat();
    raw.passes(Side::Broker, &brings(first(4), &elsewhere));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn its_size_is_what_the_client_gets() {
    let terms = Terms {
        receive_limit: LIMIT,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    let payload = |size| [MARK, &message_of(size)].concat();
    let due = restored(first(0), &message_of(100));
    raw.becomes(Side::Broker, &brings(first(0), &payload(100)), &due);
    raw.hears(Side::Broker);
    raw.is_kept(Side::Broker, &brings(first(1), &payload(101)));
    assert_eq!(raw.refused(), [101]);
    let heard = raw.hears(Side::Broker);
    let rejects = frame(units(&heard)[0]).disposition().expect("one");
    assert!(matches!(Fate::read(rejects.state), Fate::Rejected { .. }));
    assert_eq!(rejects.first, 1);
}

#[test]
fn one_that_is_held_is_restored_when_its_end_has_come() {
    let terms = Terms {
        receive_limit: LIMIT,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    let payload = [MARK, &message_of(100)].concat();
    let (front, back) = payload.split_at(70);
    raw.is_kept(Side::Broker, &brings(more(first(0)), front));
    let due = [
        restored(more(first(0)), &front[MARK.len()..]),
        brings(next(), back),
    ];
    raw.becomes(Side::Broker, &brings(next(), back), &due.concat());
    assert_eq!(raw.hears(Side::Broker), accepts(0, 0, true));
}

#[test]
fn it_is_accepted_when_the_window_of_the_client_let_it_through() {
    let terms = Terms {
        receive_limit: LIMIT,
        ..UNSETTLED
    };
    let mut raw = Raw::start(Start {
        terms,
        client_window: 1,
        ..Start::default()
    });
    let payload = [MARK, &message_of(100)].concat();
    let (front, back) = payload.split_at(70);
    raw.is_kept(Side::Broker, &brings(more(first(0)), front));
    let due = restored(more(first(0)), &front[MARK.len()..]);
    raw.becomes(Side::Broker, &brings(next(), back), &due);
    let heard = raw.hears(Side::Broker);
    for unit in units(&heard) {
        frame(unit)
            .flow()
            .expect("nothing but what keeps the window open");
    }
    let takes = Flow {
        next_incoming_id: Some(1),
        incoming_window: 5,
        next_outgoing_id: 0,
        outgoing_window: 1_000,
        ..Flow::default()
    };
    raw.says(Side::Client, &flow(CLIENT, takes));
    assert_eq!(raw.hears(Side::Client), brings(next(), back));
    let heard = raw.hears(Side::Broker);
    assert_eq!(
        *units(&heard).last().expect("an answer"),
        accepts(0, 0, true)
    );
}
