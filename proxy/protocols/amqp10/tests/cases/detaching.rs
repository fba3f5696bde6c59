//! Mode detach: the link of a message over the limit ends, on both sides, and nothing else does.

use super::*;

/// A gate that has just detached link `out`, of a message in several frames.
fn detached() -> Raw {
    let mut raw = Raw::start(OnOversize::Detach);
    raw.passes(Side::Client, &message(0, 100));
    raw.passes(Side::Client, &transfer(more(first(1)), 60));
    raw.says(Side::Client, &transfer(more(next()), 60));
    assert_is_detached(&raw.hears(Side::Broker), CLIENT, OUT, Side::Client);
    assert_is_detached(
        &raw.hears(Side::Client),
        BROKER,
        OUT_AT_BROKER,
        Side::Client,
    );
    raw
}

fn other(transfer: Transfer<'static>) -> Transfer<'static> {
    Transfer {
        handle: Handle(3),
        ..transfer
    }
}

#[test]
fn a_delivery_is_streamed_and_its_link_detached_on_both_sides_where_it_passes_the_limit() {
    detached();
}

#[test]
fn a_single_frame_over_the_limit_is_not_begun() {
    let mut raw = Raw::start(OnOversize::Detach);
    raw.says(Side::Client, &message(0, 101));
    assert_is_detached(&raw.hears(Side::Broker), CLIENT, OUT, Side::Client);
    assert_is_detached(
        &raw.hears(Side::Client),
        BROKER,
        OUT_AT_BROKER,
        Side::Client,
    );
}

#[test]
fn what_still_comes_on_the_link_is_thrown_away_up_to_the_clients_detach() {
    let mut raw = detached();
    raw.is_kept(Side::Client, &transfer(next(), 60));
    raw.is_kept(Side::Client, &message(2, 10));
    raw.is_kept(Side::Client, &transfer(more(first(3)), 10));
    raw.is_kept(Side::Client, &detach(CLIENT, OUT, true));
    raw.is_kept(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
    assert_eq!(raw.refused(), [120]);
}

#[test]
fn the_ids_of_other_links_have_no_gap_behind_it() {
    let mut raw = detached();
    raw.is_kept(Side::Client, &transfer(next(), 10));
    raw.is_kept(Side::Client, &message(2, 10));
    raw.is_kept(Side::Client, &detach(CLIENT, OUT, true));
    raw.is_kept(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("out2", Handle(3), Role::Sender)),
    );
    raw.passes(
        Side::Broker,
        &attach(BROKER, &link("out2", Handle(13), Role::Receiver)),
    );
    // The broker has seen the deliveries 0 and, in part, 1.
    let [was, is] = [other(first(3)), other(first(2))];
    raw.becomes(Side::Client, &transfer(was, 10), &transfer(is, 10));
    raw.becomes(Side::Broker, &accepted(2, None), &accepted(3, Some(3)));
}

#[test]
fn both_handles_can_be_used_again_at_once() {
    for name in ["out", "another"] {
        let mut raw = detached();
        raw.is_kept(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
        raw.is_kept(Side::Client, &detach(CLIENT, OUT, true));
        raw.passes(
            Side::Client,
            &attach(CLIENT, &link(name, OUT, Role::Sender)),
        );
        raw.passes(
            Side::Broker,
            &attach(BROKER, &link(name, OUT_AT_BROKER, Role::Receiver)),
        );
        raw.passes(Side::Client, &message(2, 100));
        raw.says(Side::Client, &message(3, 101));
        assert_is_detached(&raw.hears(Side::Broker), CLIENT, OUT, Side::Client);
        assert_is_detached(
            &raw.hears(Side::Client),
            BROKER,
            OUT_AT_BROKER,
            Side::Client,
        );
    }
}

#[test]
fn the_client_may_attach_again_before_the_broker_has_answered() {
    let mut raw = detached();
    raw.is_kept(Side::Client, &detach(CLIENT, OUT, true));
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("out", OUT, Role::Sender)),
    );
    raw.is_kept(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
    raw.passes(
        Side::Broker,
        &attach(BROKER, &link("out", OUT_AT_BROKER, Role::Receiver)),
    );
    raw.passes(Side::Client, &message(2, 100));
}

#[test]
fn a_detach_of_the_client_that_crosses_is_the_answer_to_ours() {
    for closed in [true, false] {
        let mut raw = detached();
        raw.is_kept(Side::Client, &detach(CLIENT, OUT, closed));
        raw.is_kept(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
        raw.passes(
            Side::Client,
            &attach(CLIENT, &link("out", OUT, Role::Sender)),
        );
    }
}

#[test]
fn a_detach_of_the_broker_that_crosses_is_the_answer_to_ours() {
    for closed in [true, false] {
        let mut raw = detached();
        raw.is_kept(Side::Broker, &detach(BROKER, OUT_AT_BROKER, closed));
        raw.is_kept(Side::Client, &detach(CLIENT, OUT, true));
        raw.passes(
            Side::Client,
            &attach(CLIENT, &link("out", OUT, Role::Sender)),
        );
    }
}

#[test]
fn flows_of_a_link_that_is_gone_say_nothing_of_it() {
    let mut raw = detached();
    let of_session = Flow {
        next_incoming_id: Some(2),
        incoming_window: 90,
        next_outgoing_id: 0,
        outgoing_window: 1_000,
        ..Flow::default()
    };
    let of_link = Flow {
        handle: Some(OUT_AT_BROKER),
        delivery_count: Some(1),
        link_credit: Some(10),
        ..of_session
    };
    raw.says(Side::Broker, &flow(BROKER, of_link));
    let heard = raw.hears(Side::Client);
    let heard = frame(&heard).flow().expect("a flow");
    // The client's third frame was thrown away.
    let due = Flow {
        next_incoming_id: Some(3),
        ..of_session
    };
    assert_eq!(heard, due);
}

#[test]
fn a_settled_delivery_ends_its_link_like_any_other() {
    let mut raw = Raw::start(OnOversize::Detach);
    let settled = Transfer {
        settled: Some(true),
        ..first(0)
    };
    raw.says(Side::Client, &transfer(settled, 101));
    assert_is_detached(&raw.hears(Side::Broker), CLIENT, OUT, Side::Client);
    assert_is_detached(
        &raw.hears(Side::Client),
        BROKER,
        OUT_AT_BROKER,
        Side::Client,
    );
}

#[test]
fn a_link_that_the_broker_has_not_attached_yet_is_detached_once_it_has() {
    let mut raw = Raw::start(OnOversize::Detach);
    let late = attach(CLIENT, &link("late", Handle(3), Role::Sender));
    raw.passes(Side::Client, &late);
    raw.says(Side::Client, &transfer(other(first(0)), 101));
    assert_is_detached(&raw.hears(Side::Broker), CLIENT, Handle(3), Side::Client);
    assert_eq!(
        raw.hears(Side::Client),
        NOTHING,
        "it knows no handle for it"
    );
    let answer = attach(BROKER, &link("late", Handle(13), Role::Receiver));
    raw.says(Side::Broker, &answer);
    let heard = raw.hears(Side::Client);
    let units = units(&heard);
    assert_eq!(units[0], answer);
    assert_is_detached(units[1], BROKER, Handle(13), Side::Client);
    assert_eq!(units.len(), 2);
}

#[test]
fn a_message_of_the_broker_detaches_the_link_that_it_sends_on() {
    let mut raw = Raw::start(OnOversize::Detach);
    let from_broker = Transfer {
        handle: IN_AT_BROKER,
        ..first(0)
    };
    raw.says(Side::Broker, &transfer_on(BROKER, from_broker, 101));
    assert_is_detached(&raw.hears(Side::Client), BROKER, IN_AT_BROKER, Side::Broker);
    assert_is_detached(&raw.hears(Side::Broker), CLIENT, IN, Side::Broker);
    raw.is_kept(Side::Broker, &detach(BROKER, IN_AT_BROKER, true));
    raw.is_kept(Side::Client, &detach(CLIENT, IN, true));
    raw.passes(Side::Client, &message(0, 100));
}

#[test]
fn a_session_may_end_while_a_link_of_it_is_being_detached() {
    let mut raw = detached();
    let end =
        |channel| written(|out| encode::end(out, channel, &parsers::amqp10::End { error: None }));
    raw.passes(Side::Broker, &end(BROKER));
    raw.passes(Side::Client, &end(CLIENT));
    raw.passes(Side::Client, &begin(CLIENT, None, 0, 10));
    raw.passes(Side::Broker, &begin(BROKER, Some(CLIENT), 0, 10));
}
