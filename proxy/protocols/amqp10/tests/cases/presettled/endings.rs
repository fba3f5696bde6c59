//! What ends while outcomes are due: it waits for them, not for long, and what stays open is lost.

use super::*;
use crate::gate::Outcome;

fn end(channel: Channel) -> Vec<u8> {
    let end = parsers::amqp10::End { error: None };
    written(|out| encode::end(out, channel, &end))
}

/// What the client may say last.
fn endings() -> [Vec<u8>; 4] {
    let detaches = |closed| detach(CLIENT, OUT, closed);
    [detaches(true), detaches(false), end(CLIENT), close()]
}

#[test]
fn it_waits_for_the_outcomes() {
    for last in endings() {
        let mut raw = Raw::start(UNSETTLED);
        send(&mut raw, 0..3);
        raw.is_kept(Side::Client, &last);
        raw.says(Side::Broker, &accepted(0, Some(1)));
        assert_eq!(raw.hears(Side::Broker), NOTHING);
        raw.says(Side::Broker, &says(&Fate::rejected("c", "d"), true, 2, 2));
        assert_eq!(raw.hears(Side::Broker), last);
        assert_eq!(raw.gate.meter.outcomes, [2, 1, 0, 0, 0]);
        assert_eq!(raw.hears(Side::Client), NOTHING, "it sends nothing more");
    }
}

#[test]
fn with_nothing_due_it_passes_at_once() {
    for last in endings() {
        let mut raw = Raw::start(UNSETTLED);
        send(&mut raw, 0..1);
        raw.is_kept(Side::Broker, &accepted(0, None));
        raw.passes(Side::Client, &last);
    }
}

#[test]
fn after_a_while_it_passes_without_them() {
    for last in endings() {
        let mut raw = Raw::start(UNSETTLED);
        send(&mut raw, 0..3);
        assert!(!raw.gate.tick(), "nothing waits");
        raw.is_kept(Side::Client, &last);
        assert!(raw.gate.tick());
        assert_eq!(raw.hears(Side::Broker), NOTHING);
        assert!(raw.gate.tick());
        assert_eq!(raw.hears(Side::Broker), last);
        assert!(!raw.gate.tick(), "nothing waits any more");
    }
}

#[test]
fn what_a_gone_link_leaves_open_is_lost() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..3);
    raw.is_kept(Side::Client, &detach(CLIENT, OUT, true));
    raw.gate.tick();
    raw.gate.tick();
    raw.hears(Side::Broker);
    assert_eq!(raw.gate.gate.unsettled(), 3, "the broker may still say");
    raw.is_kept(Side::Broker, &accepted(0, None));
    raw.passes(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
    assert_eq!(raw.gate.gate.unsettled(), 0);
    assert_eq!(raw.gate.meter.outcomes, [1, 0, 0, 0, 2]);
    assert_eq!(not_accepted(&raw), [(Outcome::Lost, 2, Some("out"))]);
    // What it says after that is no news to anybody.
    raw.is_kept(Side::Broker, &accepted(0, Some(2)));
    assert_eq!(raw.gate.meter.outcomes, [1, 0, 0, 0, 2]);
}

#[test]
fn what_a_gone_session_leaves_open_is_lost() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..3);
    raw.passes(Side::Broker, &end(BROKER));
    assert_eq!(raw.gate.gate.unsettled(), 3);
    raw.passes(Side::Client, &end(CLIENT));
    assert_eq!(raw.gate.gate.unsettled(), 0);
    assert_eq!(not_accepted(&raw), [(Outcome::Lost, 3, Some("out"))]);
}

#[test]
fn where_the_broker_ends_first_nothing_is_awaited() {
    for (theirs, mine) in [
        (
            detach(BROKER, OUT_AT_BROKER, true),
            detach(CLIENT, OUT, true),
        ),
        (end(BROKER), end(CLIENT)),
        (close(), close()),
    ] {
        let mut raw = Raw::start(UNSETTLED);
        send(&mut raw, 0..2);
        raw.passes(Side::Broker, &theirs);
        raw.passes(Side::Client, &mine);
        // What goes with the connection is counted when that is gone.
        let lost = raw.gate.meter.outcomes[Outcome::Lost as usize];
        assert_eq!(lost + raw.gate.gate.unsettled(), 2);
    }
}

#[test]
fn a_link_that_the_broker_detaches_meanwhile_goes_at_once() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..2);
    let mine = detach(CLIENT, OUT, true);
    raw.is_kept(Side::Client, &mine);
    raw.passes(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
    assert_eq!(raw.hears(Side::Broker), mine);
    assert_eq!(raw.gate.meter.outcomes[Outcome::Lost as usize], 2);
}

#[test]
fn other_links_go_on_while_one_waits_to_be_detached() {
    let mut raw = Raw::start(UNSETTLED);
    let other = |transfer| Transfer {
        handle: Handle(3),
        ..transfer
    };
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("out2", Handle(3), Role::Sender)),
    );
    raw.passes(
        Side::Broker,
        &attach(BROKER, &link("out2", Handle(13), Role::Receiver)),
    );
    send(&mut raw, 0..1);
    raw.is_kept(Side::Client, &detach(CLIENT, OUT, true));
    raw.passes(Side::Client, &carries(other(first(1)), BODY));
    raw.says(Side::Broker, &accepted(0, Some(1)));
    assert_eq!(raw.hears(Side::Client), accepted(1, Some(1)));
    assert_eq!(raw.hears(Side::Broker), detach(CLIENT, OUT, true));
}

#[test]
fn a_link_by_the_same_handle_or_name_comes_behind_it() {
    for (name, handle) in [("new", OUT), ("out", Handle(9))] {
        let mut raw = Raw::start(UNSETTLED);
        send(&mut raw, 0..1);
        let mine = detach(CLIENT, OUT, true);
        let again = attach(CLIENT, &link(name, handle, Role::Sender));
        raw.is_kept(Side::Client, &[&mine[..], &again].concat());
        raw.says(Side::Broker, &accepted(0, None));
        assert_eq!(raw.hears(Side::Broker), [mine, again].concat());
    }
}

#[test]
fn a_client_that_is_told_to_go_leaves_what_is_due_to_the_end() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..2);
    raw.gate.gate.hang_up(crate::gate::HangUp::Drain);
    raw.gate.settle();
    assert!(raw.gate.ending(Side::Client).is_some());
    assert_eq!(raw.gate.gate.unsettled(), 2);
}

#[test]
fn a_connection_that_is_closed_for_a_message_waits_for_outcomes_too() {
    let terms = Terms {
        limit: LIMIT,
        on_oversize: OnOversize::Close,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    send(&mut raw, 0..2);
    raw.is_kept(Side::Client, &carries(first(2), &message_of(101)));
    raw.hears(Side::Client);
    assert!(raw.gate.ending(Side::Client).is_none());
    raw.says(Side::Broker, &accepted(0, Some(1)));
    let heard = raw.hears(Side::Client);
    let error = frame(units(&heard)[0]).close().expect("a close").error;
    assert_eq!(error.expect("a reason").condition, "amqp:connection:forced");
    assert_eq!(raw.gate.meter.outcomes[0], 2);
}

#[test]
fn a_link_may_be_left_with_frames_that_wait_and_outcomes_that_are_due() {
    let mut raw = Raw::start(Start {
        terms: UNSETTLED,
        broker_window: 1,
        ..Start::default()
    });
    let payload = message_of(480);
    raw.says(Side::Client, &carries(pre(first(0)), &payload));
    let mine = detach(CLIENT, OUT, true);
    raw.says(Side::Client, &mine);
    assert_eq!(units(&raw.hears(Side::Broker)).len(), 1);
    let takes = Flow {
        next_incoming_id: Some(1),
        incoming_window: 10,
        next_outgoing_id: 0,
        outgoing_window: 1_000,
        ..Flow::default()
    };
    raw.says(Side::Broker, &flow(BROKER, takes));
    let heard = raw.hears(Side::Broker);
    assert_eq!(units(&heard).len(), 1, "the rest of the message alone");
    raw.says(Side::Broker, &accepted(0, None));
    assert_eq!(raw.hears(Side::Broker), mine);
}
