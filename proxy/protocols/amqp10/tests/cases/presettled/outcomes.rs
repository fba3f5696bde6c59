//! The broker's dispositions of pre-settled deliveries end at sizegate, and are counted.

use super::*;
use crate::gate::Outcome;

#[test]
fn what_the_broker_accepts_is_counted_and_the_client_hears_nothing() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..4);
    assert_eq!(raw.gate.gate.unsettled(), 4);
    raw.is_kept(Side::Broker, &accepted(1, None));
    assert_eq!(raw.gate.gate.unsettled(), 3);
    raw.is_kept(Side::Broker, &accepted(0, Some(3)));
    assert_eq!(raw.gate.gate.unsettled(), 0);
    assert_eq!(raw.gate.meter.outcomes, [4, 0, 0, 0, 0]);
    assert_eq!(not_accepted(&raw), []);
}

#[test]
fn what_the_broker_does_not_accept_is_reported_with_its_address() {
    let out = Some("out");
    for (fate, outcome) in [
        (Fate::rejected("c", "d"), Outcome::Rejected),
        (Fate::Released, Outcome::Released),
        (Fate::Modified, Outcome::Modified),
        // Settled without a word on what became of it.
        (Fate::Forgotten, Outcome::Lost),
    ] {
        let mut raw = Raw::start(UNSETTLED);
        send(&mut raw, 0..4);
        raw.is_kept(Side::Broker, &says(&fate, true, 0, 2));
        let mut counted = [0; 5];
        counted[outcome as usize] = 3;
        assert_eq!(raw.gate.meter.outcomes, counted);
        assert_eq!(not_accepted(&raw), [(outcome, 3, out)]);
        assert_eq!(raw.gate.gate.unsettled(), 1);
    }
}

/// A gate with the client's deliveries 0 to 9, those with odd ids pre-settled.
fn with_both() -> Raw {
    let mut raw = Raw::start(UNSETTLED);
    for id in 0..10 {
        if id % 2 == 1 {
            send(&mut raw, id..id + 1);
        } else {
            raw.passes(Side::Client, &carries(first(id), BODY));
        }
    }
    raw
}

#[test]
fn of_a_range_the_client_hears_what_it_did_not_settle() {
    let due =
        |ids: &[u32]| -> Vec<u8> { ids.iter().flat_map(|&id| accepted(id, Some(id))).collect() };
    let mut raw = with_both();
    raw.becomes(Side::Broker, &accepted(2, Some(5)), &due(&[2, 4]));
    // What is said twice, or backwards, is not heard twice.
    raw.becomes(Side::Broker, &accepted(7, Some(0)), &due(&[0, 6]));
    raw.is_kept(Side::Broker, &accepted(1, Some(7)));
    assert_eq!(raw.gate.meter.outcomes[0], 4);
    assert_eq!(raw.gate.gate.unsettled(), 1);
}

#[test]
fn what_is_settled_already_is_no_news_to_the_client() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..2);
    raw.is_kept(Side::Broker, &accepted(0, Some(1)));
    raw.is_kept(Side::Broker, &accepted(0, Some(1)));
    assert_eq!(raw.gate.meter.outcomes[0], 2);
}

#[test]
fn what_a_client_says_of_what_it_has_settled_is_not_for_the_broker() {
    let mut raw = Raw::start(Start {
        terms: UNSETTLED,
        rcv_settle_mode: ReceiverSettleMode::Second,
        ..Start::default()
    });
    raw.passes(Side::Client, &carries(first(0), BODY));
    send(&mut raw, 1..2);
    raw.passes(Side::Client, &carries(first(2), BODY));
    let settles = |first, last| disposition(CLIENT, settled(Role::Sender, first, Some(last)));
    let due = [settles(0, 0), settles(2, 2)].concat();
    raw.becomes(Side::Client, &settles(0, 2), &due);
    assert_eq!(raw.gate.gate.unsettled(), 1);
}

#[test]
fn how_far_a_delivery_has_come_settles_nothing() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..1);
    raw.is_kept(Side::Broker, &says(&Fate::Received, false, 0, 0));
    assert_eq!(raw.gate.gate.unsettled(), 1);
    assert_eq!(raw.gate.meter.outcomes, [0; 5]);
}

#[test]
fn a_broker_that_settles_second_is_answered() {
    let mut raw = Raw::start(Start {
        terms: UNSETTLED,
        rcv_settle_mode: ReceiverSettleMode::Second,
        ..Start::default()
    });
    send(&mut raw, 0..3);
    raw.is_kept(Side::Broker, &says(&Fate::rejected("c", "d"), false, 0, 1));
    let settles = disposition(CLIENT, settled(Role::Sender, 0, Some(1)));
    assert_eq!(raw.hears(Side::Broker), settles);
    raw.is_kept(Side::Broker, &says(&Fate::Accepted, false, 2, 2));
    let settles = disposition(CLIENT, settled(Role::Sender, 2, None));
    assert_eq!(raw.hears(Side::Broker), settles);
    assert_eq!(raw.gate.meter.outcomes, [1, 2, 0, 0, 0]);
    assert_eq!(raw.gate.gate.unsettled(), 0);
}

#[test]
fn a_delivery_may_say_itself_that_the_broker_settles_second() {
    let mut raw = Raw::start(UNSETTLED);
    let second = |transfer| Transfer {
        rcv_settle_mode: Some(ReceiverSettleMode::Second),
        ..transfer
    };
    let due = unsettled(0, second(first(0)), &marked());
    raw.becomes(Side::Client, &carries(pre(second(first(0))), BODY), &due);
    raw.is_kept(Side::Broker, &says(&Fate::Accepted, false, 0, 0));
    let settles = disposition(CLIENT, settled(Role::Sender, 0, None));
    assert_eq!(raw.hears(Side::Broker), settles);
}

#[test]
fn a_broker_may_say_first_what_becomes_of_it_and_settle_it_later() {
    let mut raw = Raw::start(UNSETTLED);
    send(&mut raw, 0..3);
    raw.is_kept(Side::Broker, &says(&Fate::rejected("c", "d"), false, 1, 2));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
    assert_eq!(raw.gate.gate.unsettled(), 3);
    assert_eq!(raw.gate.meter.outcomes, [0; 5]);
    // Without saying it again, or saying something else.
    raw.is_kept(Side::Broker, &says(&Fate::Forgotten, true, 1, 1));
    raw.is_kept(Side::Broker, &says(&Fate::Accepted, true, 2, 2));
    assert_eq!(raw.gate.meter.outcomes, [1, 1, 0, 0, 0]);
    assert_eq!(raw.gate.gate.unsettled(), 1);
}

#[test]
fn a_delivery_may_be_settled_before_its_last_frame() {
    let mut raw = Raw::start(UNSETTLED);
    let (front, back) = BODY.split_at(7);
    let due = unsettled(0, more(first(0)), &[MARK, front].concat());
    raw.becomes(Side::Client, &carries(pre(more(first(0))), front), &due);
    raw.is_kept(Side::Broker, &says(&Fate::rejected("c", "d"), true, 0, 0));
    raw.passes(Side::Client, &carries(next(), back));
    assert_eq!(raw.gate.meter.outcomes, [0, 1, 0, 0, 0]);
    assert_eq!(raw.gate.gate.unsettled(), 0);
}

#[test]
fn links_of_one_session_are_told_apart() {
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
    send(&mut raw, 0..2);
    let due = unsettled(2, other(first(2)), &marked());
    raw.becomes(Side::Client, &carries(other(pre(first(2))), BODY), &due);
    raw.is_kept(Side::Broker, &says(&Fate::Released, true, 1, 2));
    let [out, out2] = [Some("out"), Some("out2")];
    let due = [(Outcome::Released, 1, out), (Outcome::Released, 1, out2)];
    assert_eq!(not_accepted(&raw), due);
}

#[test]
fn on_a_link_without_an_address_each_message_is_reported_with_its_own() {
    let mut raw = Raw::begun(UNSETTLED.open(), None);
    for (side, channel, role) in [
        (Side::Client, CLIENT, Role::Sender),
        (Side::Broker, BROKER, Role::Receiver),
    ] {
        let attaches = Attach {
            target: Terminus::Node {
                address: None,
                dynamic: false,
            },
            ..link("anonymous", OUT, role)
        };
        raw.passes(side, &attach(channel, &attaches));
    }
    let long = "l".repeat(100);
    for (id, to) in (0..).zip(["a", "b", &long]) {
        let len = to.len() as u8;
        let properties = [
            &[0x00, 0x53, 0x73, 0xC0, len + 5, 3, 0x40, 0x40, 0xA1, len][..],
            to.as_bytes(),
        ];
        let payload = [&properties.concat(), BODY].concat();
        let due = unsettled(id, first(id), &[MARK, &payload].concat());
        raw.becomes(Side::Client, &carries(pre(first(id)), &payload), &due);
    }
    raw.is_kept(Side::Broker, &says(&Fate::Released, true, 0, 2));
    let due = ["a", "b", &long].map(|to| (Outcome::Released, 1, Some(to)));
    assert_eq!(not_accepted(&raw), due);
}

#[test]
fn sessions_are_told_apart() {
    let mut raw = Raw::start(UNSETTLED);
    let (client, broker) = (Channel(4), Channel(8));
    raw.passes(Side::Client, &begin(client, None, 0, 100));
    raw.passes(Side::Broker, &begin(broker, Some(client), 0, 100));
    raw.passes(
        Side::Client,
        &attach(client, &link("other", OUT, Role::Sender)),
    );
    raw.passes(
        Side::Broker,
        &attach(broker, &link("other", OUT_AT_BROKER, Role::Receiver)),
    );
    send(&mut raw, 0..2);
    let on = |channel, transfer: &Transfer<'_>, payload: &[u8]| {
        written(|out| encode::transfer(out, channel, transfer, payload))
    };
    let tag = tag(0);
    let becomes = Transfer {
        delivery_tag: Some(&tag),
        settled: Some(false),
        ..first(0)
    };
    raw.becomes(
        Side::Client,
        &on(client, &pre(first(0)), BODY),
        &on(client, &becomes, &marked()),
    );
    let state = Fate::Accepted.octets();
    let accepts = Disposition {
        state: state.as_deref(),
        ..settled(Role::Receiver, 0, Some(1))
    };
    raw.is_kept(Side::Broker, &disposition(broker, accepts));
    assert_eq!(raw.gate.gate.unsettled(), 2);
    raw.is_kept(Side::Broker, &disposition(BROKER, accepts));
    assert_eq!(raw.gate.gate.unsettled(), 0);
}
