//! The credit of a client is what the broker leaves it, less what the broker has not settled.

use super::*;

/// The broker's flow: it knows so many deliveries, and allows so many more.
fn grants(delivery_count: u32, link_credit: u32) -> Vec<u8> {
    flow(BROKER, granting(delivery_count, link_credit))
}

fn granting(delivery_count: u32, link_credit: u32) -> Flow {
    Flow {
        next_incoming_id: Some(delivery_count),
        incoming_window: 100,
        delivery_count: Some(delivery_count),
        link_credit: Some(link_credit),
        ..Start::default().grant()
    }
}

/// Deliveries that the client may send by the flows that it has heard, if there were any, after it
/// has sent so many.
fn credit(raw: &mut Raw, sent: u32) -> Option<i64> {
    let heard = raw.hears(Side::Client);
    let flows = units(&heard);
    assert!(flows.len() <= 1, "{} flows", flows.len());
    let flow = frame(flows.first()?).flow().expect("a flow");
    let told = i64::from(flow.delivery_count?) + i64::from(flow.link_credit?);
    Some(told - i64::from(sent))
}

#[test]
fn a_grant_is_lessened_by_what_is_not_settled() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..6);
    // The 4 that are left stay; of 6 more, none is told before something is settled.
    raw.says(Side::Broker, &grants(6, 10));
    assert_eq!(credit(&mut raw, 6), Some(4));
    raw.says(Side::Broker, &accepted(0, Some(5)));
    assert_eq!(credit(&mut raw, 6), Some(10));
}

#[test]
fn unsettled_deliveries_of_the_client_do_not_count() {
    let mut raw = Raw::start(UNSETTLED);
    for id in 0..6 {
        raw.passes(Side::Client, &carries(first(id), BODY));
    }
    raw.passes(Side::Broker, &grants(6, 10));
    raw.passes(Side::Broker, &accepted(0, Some(5)));
}

#[test]
fn credit_is_the_smaller_of_both() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..9);
    raw.says(Side::Broker, &accepted(0, Some(5)));
    assert_eq!(credit(&mut raw, 9), None, "nothing was withheld");
    // 3 are not settled; 2 are left of a grant of 5 that knew of 6.
    raw.says(Side::Broker, &grants(6, 5));
    assert_eq!(credit(&mut raw, 9), Some(2));
    raw.says(Side::Broker, &grants(9, 5));
    assert_eq!(credit(&mut raw, 9), Some(2));
    raw.says(Side::Broker, &grants(9, 20));
    assert_eq!(credit(&mut raw, 9), Some(17));
}

#[test]
fn to_repeat_a_grant_takes_nothing_away() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..5);
    for known in 0..5 {
        raw.says(Side::Broker, &grants(known, 10 - known));
        assert_eq!(credit(&mut raw, 5), Some(5), "{known}");
    }
}

#[test]
fn many_settlements_that_come_together_make_one_flow() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..10);
    raw.says(Side::Broker, &grants(10, 10));
    assert_eq!(credit(&mut raw, 10), Some(0));
    let burst: Vec<u8> = (0..7).flat_map(|id| accepted(id, None)).collect();
    raw.says(Side::Broker, &burst);
    assert_eq!(credit(&mut raw, 10), Some(7));
}

#[test]
fn a_client_that_has_credit_is_told_of_more_by_halves() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..10);
    raw.says(Side::Broker, &grants(10, 20));
    assert_eq!(credit(&mut raw, 10), Some(10));
    let mut told = Vec::new();
    for id in 0..10 {
        raw.says(Side::Broker, &accepted(id, None));
        told.extend(credit(&mut raw, 10));
    }
    assert_eq!(told, [20]);
}

#[test]
fn what_was_not_told_is_told_when_the_rest_is_used_up() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..10);
    raw.says(Side::Broker, &grants(10, 12));
    assert_eq!(credit(&mut raw, 10), Some(2));
    raw.says(Side::Broker, &accepted(0, Some(2)));
    assert_eq!(credit(&mut raw, 10), None);
    send(&mut raw, 10..11);
    assert_eq!(credit(&mut raw, 11), None);
    send(&mut raw, 11..12);
    assert_eq!(credit(&mut raw, 12), Some(3));
}

#[test]
fn a_client_is_slowed_to_the_pace_of_settlement() {
    let mut raw = Raw::start(UNSETTLED);
    let (mut sent, mut settled, mut flows) = (0, 0, 0);
    let mut may_send = 10;
    while settled < 400 {
        let before = sent;
        while sent < may_send {
            send(&mut raw, sent..sent + 1);
            sent += 1;
            may_send += credit(&mut raw, sent).map_or(0, |credit| sent + credit as u32 - may_send);
        }
        assert!(raw.gate.gate.unsettled() <= 10, "{sent} sent");
        assert!(sent > before || settled > 0);
        // The broker grants as if nothing had to be settled, and settles four at a time.
        raw.says(Side::Broker, &grants(sent, 10));
        if let Some(credit) = credit(&mut raw, sent) {
            may_send = sent + credit as u32;
        }
        raw.says(Side::Broker, &accepted(settled, Some(settled + 3)));
        settled += 4;
        if let Some(credit) = credit(&mut raw, sent) {
            may_send = sent + credit as u32;
            flows += 1;
        }
        assert!(
            may_send <= settled + 10,
            "{may_send} with {settled} settled"
        );
    }
    assert!(flows <= 100, "{flows} flows for 400 settlements");
}

#[test]
fn credit_that_is_asked_back_is_given_by_both() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..8);
    raw.says(Side::Broker, &grants(8, 10));
    assert_eq!(credit(&mut raw, 8), Some(2));
    // What the client was never told of goes back at once, and it is asked for the rest.
    let drains = Flow {
        drain: true,
        ..granting(8, 10)
    };
    raw.says(Side::Broker, &flow(BROKER, drains));
    let back = Flow {
        next_incoming_id: Some(0),
        next_outgoing_id: 8,
        handle: Some(OUT),
        delivery_count: Some(16),
        link_credit: Some(2),
        ..drains
    };
    assert_eq!(raw.hears(Side::Broker), flow(CLIENT, back));
    let heard = raw.hears(Side::Client);
    let asks = frame(&heard).flow().expect("a flow");
    assert!(asks.drain);
    let told = asks.delivery_count.unwrap_or_default() + asks.link_credit.unwrap_or_default();
    assert_eq!(told, 10, "the client knows of 2 more than it has sent");
    // The client gives its own part back.
    let gives = Flow {
        delivery_count: Some(10),
        link_credit: Some(0),
        ..back
    };
    let all = Flow {
        delivery_count: Some(18),
        ..gives
    };
    raw.becomes(Side::Client, &flow(CLIENT, gives), &flow(CLIENT, all));
    // Settlements leave nothing, since nothing is granted.
    raw.says(Side::Broker, &accepted(0, Some(7)));
    assert_eq!(credit(&mut raw, 10), None);
    raw.says(Side::Broker, &grants(18, 5));
    assert_eq!(credit(&mut raw, 10), Some(5));
}

#[test]
fn what_a_client_was_told_it_may_have_used_and_only_the_rest_is_given_back_for_it() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..4);
    // It was told of 10 in all; by a smaller grant that allows 11 in all it is told of 7.
    raw.says(Side::Broker, &grants(4, 7));
    assert_eq!(credit(&mut raw, 4), Some(3));
    let drains = Flow {
        drain: true,
        ..granting(4, 7)
    };
    raw.says(Side::Broker, &flow(BROKER, drains));
    let back = Flow {
        next_incoming_id: Some(0),
        next_outgoing_id: 4,
        handle: Some(OUT),
        delivery_count: Some(5),
        link_credit: Some(6),
        ..drains
    };
    assert_eq!(raw.hears(Side::Broker), flow(CLIENT, back));
    assert_eq!(credit(&mut raw, 4), Some(6));
    // What was on its way all the same is within what the broker allows.
    send(&mut raw, 4..10);
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn credit_that_is_granted_and_asked_back_in_one_goes_to_the_client() {
    let mut raw = Raw::start(UNSETTLED);
    let drains = |delivery_count, link_credit| Flow {
        drain: true,
        ..granting(delivery_count, link_credit)
    };
    raw.passes(Side::Broker, &flow(BROKER, drains(0, 15)));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
    // But for what is not settled.
    send(&mut raw, 0..3);
    raw.says(Side::Broker, &flow(BROKER, drains(3, 20)));
    assert_eq!(credit(&mut raw, 3), Some(17));
    let heard = raw.hears(Side::Broker);
    let back = frame(&heard).flow().expect("what is given back");
    assert_eq!((back.delivery_count, back.link_credit), (Some(6), Some(17)));
}

#[test]
fn what_a_refused_message_took_is_given_back_with_the_rest() {
    let terms = Terms {
        limit: LIMIT,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    send(&mut raw, 0..4);
    raw.says(Side::Broker, &grants(4, 7));
    assert_eq!(credit(&mut raw, 4), Some(3));
    raw.is_kept(Side::Client, &carries(pre(first(4)), &message_of(101)));
    assert_eq!(credit(&mut raw, 5), Some(3));
    // It allows 11, which are 12 for the client, who was told of 10.
    let drains = Flow {
        drain: true,
        ..granting(4, 7)
    };
    raw.says(Side::Broker, &flow(BROKER, drains));
    let heard = raw.hears(Side::Broker);
    let back = frame(&heard).flow().expect("what is given back");
    assert_eq!((back.delivery_count, back.link_credit), (Some(6), Some(5)));
    assert_eq!(credit(&mut raw, 5), Some(5));
}

#[test]
fn what_is_given_back_does_not_count_a_message_that_is_coming_in() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..4);
    raw.says(Side::Broker, &grants(4, 8));
    assert_eq!(credit(&mut raw, 4), Some(4));
    // It has to be cut in two, and only a part of it is there.
    let large = carries(pre(first(4)), &message_of(480));
    raw.is_kept(Side::Client, &large[..300]);
    let drains = Flow {
        drain: true,
        ..granting(4, 8)
    };
    raw.says(Side::Broker, &flow(BROKER, drains));
    raw.says(Side::Client, &large[300..]);
    let heard = raw.hears(Side::Broker);
    let units = units(&heard);
    let back = frame(units[0]).flow().expect("what was never told");
    assert_eq!((back.delivery_count, back.link_credit), (Some(6), Some(6)));
    assert_eq!(units.len(), 3, "and the message behind it");
}

#[test]
fn a_flow_of_the_client_states_the_credit_of_the_broker() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..8);
    raw.says(Side::Broker, &grants(8, 10));
    assert_eq!(credit(&mut raw, 8), Some(2));
    let states = |link_credit| Flow {
        next_incoming_id: Some(0),
        next_outgoing_id: 8,
        handle: Some(OUT),
        echo: true,
        ..granting(8, link_credit)
    };
    raw.becomes(
        Side::Client,
        &flow(CLIENT, states(2)),
        &flow(CLIENT, states(10)),
    );
}

#[test]
fn a_broker_need_not_say_what_it_knows() {
    let mut raw = Raw::start(Start {
        terms: UNSETTLED,
        client_count: u32::MAX - 1,
        ..Start::default()
    });
    send(&mut raw, 0..3);
    let silent = Flow {
        delivery_count: None,
        ..granting(0, 10)
    };
    // As if it knew none of the 3 that have wrapped the count around: nothing has changed.
    raw.passes(Side::Broker, &flow(BROKER, silent));
    let more = Flow {
        link_credit: Some(12),
        ..silent
    };
    raw.passes(Side::Broker, &flow(BROKER, more));
    // It knows of all of them, and would let 12 more come.
    let knows = granting(1, 12);
    let told = Flow {
        link_credit: Some(9),
        ..knows
    };
    raw.becomes(Side::Broker, &flow(BROKER, knows), &flow(BROKER, told));
}

#[test]
fn a_grant_without_end_is_lessened_too() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..3);
    raw.passes(Side::Broker, &grants(0, u32::MAX));
    raw.becomes(Side::Broker, &grants(3, u32::MAX), &grants(3, u32::MAX - 3));
    raw.becomes(
        Side::Broker,
        &[accepted(0, None), grants(3, u32::MAX)].concat(),
        &grants(3, u32::MAX - 2),
    );
}

#[test]
fn a_delivery_that_is_refused_takes_no_credit() {
    let terms = Terms {
        limit: LIMIT,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    send(&mut raw, 0..2);
    raw.is_kept(Side::Client, &carries(pre(first(2)), &message_of(101)));
    assert_eq!(credit(&mut raw, 3), Some(8));
    assert_eq!(raw.gate.gate.unsettled(), 2);
}
