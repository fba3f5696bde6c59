//! The receive direction: what a broker sends over the limit, it is told.

use super::*;

fn from_broker(transfer: Transfer<'static>) -> Transfer<'static> {
    Transfer {
        handle: IN_AT_BROKER,
        ..transfer
    }
}

fn delivery(id: u32, payload: usize) -> Vec<u8> {
    transfer_on(BROKER, from_broker(first(id)), payload)
}

/// The client's flow for link `in`.
fn grant(next_incoming_id: u32, delivery_count: u32, link_credit: u32) -> Flow {
    Flow {
        next_incoming_id: Some(next_incoming_id),
        incoming_window: 100,
        next_outgoing_id: 0,
        outgoing_window: 1_000,
        handle: Some(IN),
        delivery_count: Some(delivery_count),
        link_credit: Some(link_credit),
        ..Flow::default()
    }
}

#[test]
fn the_broker_is_told_rejected_and_the_client_nothing() {
    let mut raw = Raw::start(Start::default());
    raw.passes(Side::Client, &flow(CLIENT, grant(0, 0, 1)));
    raw.passes(Side::Broker, &delivery(0, 100));
    raw.passes(Side::Client, &flow(CLIENT, grant(1, 1, 1)));
    raw.is_kept(Side::Broker, &delivery(1, 101));
    let heard = raw.hears(Side::Broker);
    let units = units(&heard);
    assert_is_rejected(units[0], CLIENT, 1, 101, true);
    // Its only credit comes back.
    assert_eq!(units[1], flow(CLIENT, grant(2, 2, 1)));
    assert_eq!(units.len(), 2);
    raw.becomes(Side::Broker, &delivery(2, 50), &delivery(1, 50));
    assert_eq!(raw.gate.meter.messages[1], [2, 1, 0]);
}

#[test]
fn it_is_told_after_its_last_frame() {
    let mut raw = Raw::start(Start::default());
    raw.is_kept(
        Side::Broker,
        &transfer_on(BROKER, more(from_broker(first(0))), 101),
    );
    assert_eq!(raw.hears(Side::Broker), NOTHING);
    raw.is_kept(Side::Broker, &transfer_on(BROKER, from_broker(next()), 101));
    let heard = raw.hears(Side::Broker);
    assert_is_rejected(units(&heard)[0], CLIENT, 0, 202, true);
}

#[test]
fn outcomes_of_the_client_reach_the_deliveries_that_they_are_for() {
    let mut raw = Raw::start(Start::default());
    raw.is_kept(Side::Broker, &delivery(0, 101));
    raw.becomes(Side::Broker, &delivery(1, 10), &delivery(0, 10));
    raw.hears(Side::Broker);
    let state = Fate::Released.octets();
    let released = |first, last| {
        disposition(
            CLIENT,
            Disposition {
                state: state.as_deref(),
                ..settled(Role::Receiver, first, last)
            },
        )
    };
    raw.becomes(Side::Client, &released(0, None), &released(1, Some(1)));
}

#[test]
fn each_direction_has_its_own_limit() {
    let terms = Terms {
        limit: 50,
        receive_limit: 0,
        ..Terms::default()
    };
    let mut raw = Raw::start(terms);
    raw.passes(Side::Broker, &delivery(0, 400));
    raw.is_kept(Side::Client, &message(0, 51));
}

#[test]
fn a_refusal_in_one_direction_leaves_the_ids_of_the_other_alone() {
    let mut raw = Raw::start(Start::default());
    raw.is_kept(Side::Client, &message(0, 101));
    raw.hears(Side::Client);
    raw.passes(Side::Broker, &delivery(0, 10));
    raw.is_kept(Side::Broker, &delivery(1, 101));
    raw.hears(Side::Broker);
    raw.becomes(Side::Client, &message(1, 10), &message(0, 10));
    raw.becomes(Side::Broker, &delivery(2, 10), &delivery(1, 10));
}
