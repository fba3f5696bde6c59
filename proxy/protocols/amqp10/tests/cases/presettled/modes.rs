//! What the two sides are shown of each other's snd-settle-mode.

use super::*;
use SenderSettleMode::{Mixed, Settled, Unsettled};
use parsers::amqp10::SenderSettleMode;

/// What the broker is shown of a client's attach, and the client of the broker's answer.
fn shown(role: Role, target: Terminus<'_>, modes: [SenderSettleMode; 2]) -> [SenderSettleMode; 2] {
    let other = match role {
        Role::Sender => Role::Receiver,
        Role::Receiver => Role::Sender,
    };
    let mut raw = Raw::begun(UNSETTLED.open(), None);
    let attaches = [(Side::Client, CLIENT, role), (Side::Broker, BROKER, other)];
    let mut shown = [Mixed; 2];
    for (nth, (side, channel, role)) in attaches.into_iter().enumerate() {
        let mut said = Attach {
            source: target,
            target,
            snd_settle_mode: modes[nth],
            ..link("new", Handle(3), role)
        };
        raw.says(side, &attach(channel, &said));
        let heard = raw.hears(side.other());
        shown[nth] = frame(&heard).attach().expect("an attach").snd_settle_mode;
        // Nothing else of it is changed.
        said.snd_settle_mode = shown[nth];
        assert_eq!(frame(&heard).attach(), Ok(said));
    }
    shown
}

fn node(address: &str) -> Terminus<'_> {
    Terminus::Node {
        address: Some(address),
        dynamic: false,
    }
}

#[test]
fn a_client_that_sends_settled_is_shown_as_one_that_may() {
    for (modes, expected) in [
        ([Settled, Mixed], [Mixed, Settled]),
        ([Settled, Unsettled], [Mixed, Settled]),
        // A broker that takes nothing else is not sent anything else.
        ([Settled, Settled], [Mixed, Settled]),
        ([Mixed, Mixed], [Mixed, Mixed]),
        ([Mixed, Unsettled], [Mixed, Unsettled]),
        ([Unsettled, Unsettled], [Unsettled, Unsettled]),
    ] {
        assert_eq!(shown(Role::Sender, node("q"), modes), expected);
    }
}

#[test]
fn a_broker_that_sends_unsettled_is_shown_as_one_that_may() {
    for (modes, expected) in [
        ([Mixed, Unsettled], [Mixed, Mixed]),
        ([Settled, Unsettled], [Settled, Mixed]),
        ([Settled, Settled], [Settled, Settled]),
        ([Mixed, Mixed], [Mixed, Mixed]),
        // A client that wants nothing else gets nothing else.
        ([Unsettled, Unsettled], [Unsettled, Unsettled]),
    ] {
        assert_eq!(shown(Role::Receiver, node("q"), modes), expected);
    }
}

#[test]
fn links_for_management_and_transactions_are_shown_as_they_are() {
    let targets = ["$management", "$cbs", "/management"].map(node);
    for target in targets.into_iter().chain([Terminus::Coordinator]) {
        for role in [Role::Sender, Role::Receiver] {
            for modes in [[Settled, Mixed], [Mixed, Unsettled]] {
                assert_eq!(shown(role, target, modes), modes, "{target:?}");
            }
        }
    }
}

#[test]
fn what_is_sent_to_management_stays_settled() {
    let mut raw = Raw::begun(UNSETTLED.open(), None);
    let target = node("$management");
    for (side, channel, role) in [
        (Side::Client, CLIENT, Role::Sender),
        (Side::Broker, BROKER, Role::Receiver),
    ] {
        let attaches = Attach {
            target,
            ..link("new", OUT, role)
        };
        raw.passes(side, &attach(channel, &attaches));
    }
    raw.passes(Side::Client, &carries(pre(first(0)), BODY));
    raw.passes(Side::Broker, &accepted(0, None));
}

/// A gate with a link on which the client sends, and of which the two sides say this.
fn sending(client: SenderSettleMode, broker: SenderSettleMode) -> Raw {
    let mut raw = Raw::begun(UNSETTLED.open(), None);
    for (side, channel, mode, role) in [
        (Side::Client, CLIENT, client, Role::Sender),
        (Side::Broker, BROKER, broker, Role::Receiver),
    ] {
        let attaches = Attach {
            snd_settle_mode: mode,
            ..link("new", OUT, role)
        };
        raw.says(side, &attach(channel, &attaches));
        raw.hears(side.other());
    }
    raw
}

#[test]
fn on_a_link_of_settled_deliveries_the_first_frame_need_not_say_so() {
    let mut raw = sending(Settled, Mixed);
    let (front, back) = BODY.split_at(7);
    let tag = tag(0);
    let silent = Transfer {
        delivery_tag: Some(&tag),
        ..more(first(0))
    };
    let due = carries(silent, &[MARK, front].concat());
    raw.becomes(Side::Client, &carries(more(first(0)), front), &due);
    let last = Transfer {
        settled: Some(false),
        ..next()
    };
    raw.becomes(
        Side::Client,
        &carries(pre(next()), back),
        &carries(last, back),
    );
    assert_eq!(raw.gate.gate.unsettled(), 1);
}

#[test]
fn a_broker_that_takes_settled_deliveries_alone_gets_them() {
    let mut raw = sending(Mixed, Settled);
    raw.passes(Side::Client, &carries(pre(first(0)), BODY));
}

#[test]
fn a_client_that_asks_for_unsettled_deliveries_gets_marked_ones_as_they_are() {
    let mut raw = Raw::begun(UNSETTLED.open(), None);
    let asks = Attach {
        snd_settle_mode: Unsettled,
        ..link("new", IN, Role::Receiver)
    };
    raw.passes(Side::Client, &attach(CLIENT, &asks));
    let answers = Attach {
        snd_settle_mode: Unsettled,
        ..link("new", IN_AT_BROKER, Role::Sender)
    };
    raw.passes(Side::Broker, &attach(BROKER, &answers));
    raw.passes(Side::Broker, &brings(first(0), &marked()));
}

#[test]
fn a_broker_that_attaches_first_is_shown_as_one_that_may_send_both() {
    let mut raw = Raw::begun(UNSETTLED.open(), None);
    let said = |mode| Attach {
        snd_settle_mode: mode,
        ..link("new", IN_AT_BROKER, Role::Sender)
    };
    raw.says(Side::Broker, &attach(BROKER, &said(Unsettled)));
    let heard = raw.hears(Side::Client);
    assert_eq!(frame(&heard).attach(), Ok(said(Mixed)));
}
