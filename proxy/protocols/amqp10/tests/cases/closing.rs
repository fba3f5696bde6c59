//! Mode close, and every other way in which a connection ends: one close for each side, once.

use super::*;
use crate::gate::{Ending, HangUp, Reason};

/// The condition and the description of a close that is for an error.
fn reason(octets: &[u8]) -> (String, String) {
    let error = frame(octets)
        .close()
        .expect("a close")
        .error
        .expect("a reason");
    (
        error.condition.to_owned(),
        error.description.unwrap_or_default().to_owned(),
    )
}

/// Each side has been sent one close: the client with the words of Dispatch.
fn assert_closed(raw: &mut Raw) {
    assert_eq!(raw.hears(Side::Broker), close());
    let heard = raw.hears(Side::Client);
    let units = units(&heard);
    let last = units.last().expect("a close");
    let forced = (
        "amqp:connection:forced".into(),
        "Message size exceeded".into(),
    );
    assert_eq!(reason(last), forced);
    let ending = Ending::by(Side::Client, Reason::Oversize);
    assert_eq!(SIDES.map(|side| raw.gate.ending(side)), [Some(ending); 2]);
}

/// Both sides answer the close, and hear nothing more.
fn assert_silent(raw: &mut Raw) {
    for side in SIDES {
        raw.says(side, &close());
        assert_eq!(SIDES.map(|side| raw.hears(side)), [NOTHING, NOTHING]);
    }
}

#[test]
fn nothing_is_said_to_a_side_that_has_been_sent_a_close() {
    let mut raw = Raw::start(Start::default());
    raw.passes(Side::Client, &close());
    let large = Transfer {
        handle: IN_AT_BROKER,
        ..first(0)
    };
    // Nobody is there to hear that it was refused.
    raw.is_kept(Side::Broker, &transfer_on(BROKER, large, 101));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn the_sender_is_told_rejected_and_then_both_sides_close() {
    let mut raw = Raw::start(OnOversize::Close);
    raw.says(Side::Client, &message(0, 101));
    assert_eq!(raw.hears(Side::Broker), close());
    let heard = raw.hears(Side::Client);
    let units = units(&heard);
    assert_is_rejected(units[0], BROKER, 0, 101, true);
    let last = units.last().expect("a close");
    assert_eq!(reason(last).1, "Message size exceeded");
    assert_silent(&mut raw);
}

#[test]
fn the_close_carries_size_limit_and_rule() {
    let mut raw = Raw::start(OnOversize::Close);
    raw.says(Side::Client, &message(0, 101));
    let heard = raw.hears(Side::Client);
    let last = *units(&heard).last().expect("a close");
    let has = |octets: &[u8]| last.windows(octets.len()).any(|part| part == octets);
    // The info map: symbols, small ulongs and a string (AMQP 1.0 §2.8.14).
    assert!(has(b"\xA3\x04size\x53\x65"), "{last:02X?}");
    assert!(has(b"\xA3\x05limit\x53\x64"), "{last:02X?}");
    assert!(
        has(b"\xA3\x04rule\xA1\x12--max-message-size"),
        "{last:02X?}"
    );
}

#[test]
fn a_settled_delivery_closes_the_connection_too() {
    let mut raw = Raw::start(OnOversize::Close);
    let settled = Transfer {
        settled: Some(true),
        ..first(0)
    };
    raw.says(Side::Client, &transfer(settled, 101));
    assert_closed(&mut raw);
    assert_silent(&mut raw);
}

#[test]
fn a_sender_that_never_ends_is_cut_off_after_a_while() {
    let mut raw = Raw::start(OnOversize::Close);
    raw.passes(Side::Client, &transfer(more(first(0)), 60));
    raw.is_kept(Side::Client, &transfer(more(next()), 60));
    raw.is_kept(Side::Client, &transfer(more(next()), 60));
    let told = raw.hears(Side::Client);
    assert!(units(&told).iter().all(|unit| frame(unit).flow().is_ok()));
    assert!(raw.gate.tick(), "it is waited for");
    assert_closed(&mut raw);
    raw.is_kept(Side::Client, &transfer(next(), 60));
    assert_silent(&mut raw);
}

#[test]
fn outcomes_of_what_was_sent_before_are_waited_for() {
    let mut raw = Raw::start(OnOversize::Close);
    raw.passes(Side::Client, &message(0, 100));
    raw.is_kept(Side::Client, &message(1, 101));
    let heard = raw.hears(Side::Client);
    assert_is_rejected(units(&heard)[0], BROKER, 1, 101, true);
    assert_eq!(raw.gate.ending(Side::Client), None);
    raw.says(Side::Broker, &accepted(0, None));
    let heard = raw.hears(Side::Client);
    assert_eq!(units(&heard)[0], accepted(0, None));
    assert_eq!(reason(units(&heard)[1]).0, "amqp:connection:forced");
    assert_eq!(raw.hears(Side::Broker), close());
    assert_silent(&mut raw);
}

#[test]
fn outcomes_on_a_link_that_was_closed_are_not_waited_for() {
    let mut raw = Raw::start(OnOversize::Close);
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("out2", Handle(3), Role::Sender)),
    );
    raw.passes(
        Side::Broker,
        &attach(BROKER, &link("out2", Handle(13), Role::Receiver)),
    );
    raw.passes(Side::Client, &message(0, 100));
    raw.passes(Side::Client, &detach(CLIENT, OUT, true));
    raw.passes(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
    let large = Transfer {
        handle: Handle(3),
        ..first(1)
    };
    raw.says(Side::Client, &transfer(large, 101));
    assert_closed(&mut raw);
}

#[test]
fn outcomes_that_do_not_come_are_waited_for_in_vain() {
    let mut raw = Raw::start(OnOversize::Close);
    raw.passes(Side::Client, &message(0, 100));
    raw.is_kept(Side::Client, &message(1, 101));
    assert!(raw.gate.tick());
    assert_closed(&mut raw);
}

#[test]
fn a_side_that_closes_itself_meanwhile_is_not_sent_another() {
    for side in SIDES {
        let mut raw = Raw::start(OnOversize::Close);
        raw.passes(Side::Client, &message(0, 100));
        raw.is_kept(Side::Client, &message(1, 101));
        raw.hears(Side::Client);
        raw.passes(side, &close());
        raw.gate.tick();
        let told = SIDES.map(|side| raw.hears(side));
        let closes = told[side as usize].len().min(1) + told[side.other() as usize].len();
        assert!(closes <= 1, "{told:02X?}");
        assert!(told[side.other() as usize].is_empty(), "a second close");
    }
}

#[test]
fn a_message_of_the_broker_closes_the_connection_with_the_same_words() {
    let mut raw = Raw::start(OnOversize::Close);
    let large = Transfer {
        handle: IN_AT_BROKER,
        ..first(0)
    };
    raw.says(Side::Broker, &transfer_on(BROKER, large, 101));
    let heard = raw.hears(Side::Broker);
    let units = units(&heard);
    assert_is_rejected(units[0], CLIENT, 0, 101, true);
    assert_eq!(*units.last().expect("a close"), close());
    assert_eq!(reason(&raw.hears(Side::Client)).1, "Message size exceeded");
    assert_silent(&mut raw);
}

#[test]
fn a_drain_says_goodbye_to_both_sides_once() {
    let mut raw = Raw::start(Start::default());
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    raw.gate.gate.hang_up(HangUp::Drain);
    raw.gate.settle();
    assert_eq!(raw.hears(Side::Broker), close());
    assert_eq!(reason(&raw.hears(Side::Client)).0, "amqp:connection:forced");
    let ending = Ending::ours(Reason::Drain);
    assert_eq!(SIDES.map(|side| raw.gate.ending(side)), [Some(ending); 2]);
    assert_silent(&mut raw);
}

#[test]
fn a_drain_does_not_cut_a_frame_in_two() {
    let mut raw = Raw::start(Start::default());
    let message = message(0, 100);
    let (start, end) = message.split_at(message.len() - 10);
    raw.passes(Side::Client, start);
    raw.gate.gate.hang_up(HangUp::Drain);
    raw.gate.settle();
    assert_eq!(raw.hears(Side::Broker), NOTHING);
    raw.becomes(Side::Client, end, &[end, &close()].concat());
}

#[test]
fn after_the_close_of_one_side_a_drain_closes_the_other_way_only() {
    let mut raw = Raw::start(Start::default());
    raw.passes(Side::Client, &close());
    raw.gate.gate.hang_up(HangUp::Drain);
    raw.gate.settle();
    assert_eq!(raw.hears(Side::Broker), NOTHING, "a second close");
}

#[test]
fn octets_that_are_no_frame_close_the_connection_and_reach_nobody() {
    let mut raw = Raw::start(Start::default());
    // SIZE 4 is less than a frame header.
    raw.becomes(Side::Client, &[0, 0, 0, 4, 2, 0, 0, 3], &close());
    let (condition, _) = reason(&raw.hears(Side::Client));
    assert_eq!(condition, "amqp:connection:framing-error");
    let ending = Ending::by(Side::Client, Reason::Malformed);
    assert_eq!(raw.gate.ending(Side::Client), Some(ending));
    assert_silent(&mut raw);
}

#[test]
fn a_broker_that_is_malformed_is_at_fault_itself() {
    let mut raw = Raw::start(Start::default());
    raw.says(Side::Broker, &[0, 0, 0, 16, 1, 0, 0, 7]);
    let (condition, _) = reason(&raw.hears(Side::Client));
    assert_eq!(condition, "amqp:connection:framing-error");
    let ending = Ending::by(Side::Broker, Reason::Malformed);
    assert_eq!(raw.gate.ending(Side::Client), Some(ending));
}

#[test]
fn what_is_no_message_is_under_the_control_size() {
    let terms = Terms {
        max_control_size: 300,
        ..Terms::default()
    };
    let mut raw = Raw::start(terms);
    let name = "n".repeat(100);
    let large = attach(CLIENT, &link(&name, Handle(3), Role::Sender));
    assert!(large.len() > 300);
    raw.becomes(Side::Client, &large, &close());
    let (condition, text) = reason(&raw.hears(Side::Client));
    assert_eq!(condition, "amqp:connection:framing-error");
    assert!(text.contains("--max-control-size"), "{text}");
    let ending = Ending::by(Side::Client, Reason::Oversize);
    assert_eq!(raw.gate.ending(Side::Client), Some(ending));
}
