//! Pre-settled deliveries and limits: of their size, of what is remembered, and of what the broker takes.

use super::*;

#[test]
fn its_size_is_that_without_the_mark() {
    let terms = Terms {
        limit: LIMIT,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    let payload = message_of(100);
    let due = unsettled(0, first(0), &[MARK, &payload].concat());
    raw.becomes(Side::Client, &carries(pre(first(0)), &payload), &due);
    raw.is_kept(Side::Client, &carries(pre(first(1)), &message_of(101)));
    assert_eq!(raw.refused(), [101]);
    assert_eq!(raw.gate.meter.sizes[0].sum, 201);
    assert_eq!(raw.gate.gate.unsettled(), 1);
    let heard = raw.hears(Side::Client);
    for unit in units(&heard) {
        frame(unit)
            .flow()
            .expect("nothing but what gives the credit back");
    }
}

#[test]
fn one_that_is_held_until_its_end_is_marked_when_it_goes_on() {
    let terms = Terms {
        limit: LIMIT,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    let (front, back) = BODY.split_at(7);
    raw.is_kept(Side::Client, &carries(pre(more(first(0))), front));
    let due = [
        unsettled(0, more(first(0)), &[MARK, front].concat()),
        carries(next(), back),
    ];
    raw.becomes(Side::Client, &carries(next(), back), &due.concat());
    raw.is_kept(Side::Client, &carries(pre(more(first(1))), front));
    raw.is_kept(Side::Client, &carries(next(), &message_of(100)));
    assert_eq!(raw.refused(), [107]);
    assert_eq!(raw.gate.gate.unsettled(), 1);
}

#[test]
fn one_that_is_refused_with_its_link_is_not_waited_for() {
    let terms = Terms {
        limit: LIMIT,
        on_oversize: OnOversize::Detach,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    raw.says(Side::Client, &carries(pre(more(first(0))), &message_of(60)));
    assert_eq!(raw.gate.gate.unsettled(), 1);
    raw.says(Side::Client, &carries(more(next()), &message_of(60)));
    assert_eq!(raw.refused(), [120]);
    assert_eq!(raw.gate.gate.unsettled(), 0);
}

#[test]
fn a_dry_run_leaves_it_settled() {
    let terms = Terms {
        mode: crate::policy::Mode::DryRun,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    raw.passes(Side::Client, &carries(pre(first(0)), BODY));
    raw.passes(Side::Broker, &brings(first(0), &marked()));
}

#[test]
fn without_the_flag_nothing_of_it_changes() {
    let terms = Terms {
        presettled: Presettled::Forward,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    let says = |flow: Flow, drain| Flow { drain, ..flow };
    for id in 0..5 {
        raw.passes(Side::Client, &carries(pre(first(id)), BODY));
        raw.passes(Side::Broker, &brings(first(id), &marked()));
        raw.passes(Side::Broker, &accepted(id, None));
        let grant = Start::default().grant();
        raw.passes(Side::Broker, &flow(BROKER, says(grant, id % 2 == 1)));
    }
}

#[test]
fn what_waits_of_one_that_is_refused_takes_no_id() {
    let terms = Terms {
        limit: 600,
        on_oversize: OnOversize::Close,
        ..UNSETTLED
    };
    for broker_window in [1, 2] {
        let mut raw = Raw::start(Start {
            terms,
            broker_window,
            ..Start::default()
        });
        // The second part of its first frame waits, or what is behind that, when it is refused.
        raw.says(
            Side::Client,
            &carries(pre(more(first(0))), &message_of(480)),
        );
        raw.says(Side::Client, &carries(more(next()), &message_of(100)));
        raw.says(Side::Client, &carries(more(next()), &message_of(100)));
        let heard = raw.hears(Side::Broker);
        assert_eq!(units(&heard).len(), broker_window as usize);
        let takes = Flow {
            next_incoming_id: Some(broker_window),
            incoming_window: 10,
            next_outgoing_id: 0,
            outgoing_window: 1_000,
            ..Flow::default()
        };
        raw.says(Side::Broker, &flow(BROKER, takes));
        assert_eq!(raw.hears(Side::Broker), NOTHING);
        assert_eq!(raw.gate.gate.unsettled(), 0);
        assert_eq!(raw.refused(), [680]);
    }
}

#[test]
fn with_as_many_runs_as_are_kept_track_of_the_next_one_stays_settled() {
    use crate::protocols::amqp10::presettled::Owed;
    let mut raw = Raw::start(UNSETTLED);
    let other = |transfer| Transfer {
        handle: Handle(3),
        ..transfer
    };
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("out2", Handle(3), Role::Sender)),
    );
    let most = Owed::MOST_RUNS as u32;
    let two_links: Vec<u8> = (0..most)
        .flat_map(|id| match id % 2 {
            0 => carries(pre(first(id)), BODY),
            _ => carries(other(pre(first(id))), BODY),
        })
        .collect();
    raw.says(Side::Client, &two_links);
    raw.hears(Side::Broker);
    assert_eq!(raw.gate.gate.unsettled(), u64::from(most));
    raw.passes(Side::Client, &carries(pre(first(most)), BODY));
    raw.is_kept(Side::Broker, &accepted(0, None));
    send(&mut raw, most + 1..most + 2);
    // Those on one link make one run, of which there is no end.
    let mut raw = Raw::start(UNSETTLED);
    let one_link: Vec<u8> = (0..2 * most)
        .flat_map(|id| carries(pre(first(id)), BODY))
        .collect();
    raw.says(Side::Client, &one_link);
    assert_eq!(raw.gate.gate.unsettled(), 2 * u64::from(most));
}

#[test]
fn one_that_the_mark_would_make_too_large_for_the_broker_stays_settled() {
    for limit in [0, 1_000] {
        let mut raw = Raw::begun(Terms { limit, ..UNSETTLED }.open(), None);
        let mine = link("out", OUT, Role::Sender);
        let theirs = Attach {
            max_message_size: Some(200),
            ..link("out", OUT_AT_BROKER, Role::Receiver)
        };
        raw.passes(Side::Client, &attach(CLIENT, &mine));
        raw.passes(Side::Broker, &attach(BROKER, &theirs));
        let largest = message_of(200 - MARK.len());
        let due = unsettled(0, first(0), &[MARK, &largest].concat());
        raw.becomes(Side::Client, &carries(pre(first(0)), &largest), &due);
        let larger = message_of(201 - MARK.len());
        raw.passes(Side::Client, &carries(pre(first(1)), &larger));
        // What is held is known as well.
        if limit > 0 {
            let (front, back) = larger.split_at(50);
            let frames = [
                carries(pre(more(first(2))), front),
                carries(pre(next()), back),
            ];
            raw.becomes(Side::Client, &frames.concat(), &frames.concat());
        }
        assert_eq!(raw.gate.gate.unsettled(), 1);
    }
}

#[test]
fn one_of_which_all_waits_when_it_is_refused_is_no_delivery_of_the_broker() {
    let terms = Terms {
        limit: 600,
        on_oversize: OnOversize::Close,
        ..UNSETTLED
    };
    let mut raw = Raw::start(Start {
        terms,
        broker_window: 2,
        ..Start::default()
    });
    // The two parts of the first one fill the window.
    raw.says(Side::Client, &carries(pre(first(0)), &message_of(480)));
    raw.says(
        Side::Client,
        &carries(pre(more(first(1))), &message_of(400)),
    );
    raw.says(Side::Client, &carries(more(next()), &message_of(300)));
    assert_eq!(raw.refused(), [700]);
    assert_eq!(units(&raw.hears(Side::Broker)).len(), 2);
    let states = |delivery_count, next_outgoing_id, link_credit| Flow {
        next_incoming_id: Some(0),
        next_outgoing_id,
        handle: Some(OUT),
        delivery_count: Some(delivery_count),
        link_credit: Some(link_credit),
        ..Start::default().grant()
    };
    raw.becomes(
        Side::Client,
        &flow(CLIENT, states(2, 3, 8)),
        &flow(CLIENT, states(1, 2, 8)),
    );
}
