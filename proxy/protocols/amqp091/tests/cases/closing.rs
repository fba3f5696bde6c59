//! Mode close, and every other way in which a connection ends: one close for each side, once.

use super::*;
use crate::gate::HangUp;

/// Both sides answer the close, and hear nothing more.
fn is_silent(raw: &mut Raw) {
    for side in SIDES {
        raw.says(side, &close_ok());
        raw.says(side, &heartbeat());
        raw.is_quiet();
    }
}

#[test]
fn a_message_over_the_limit_closes_the_connection_at_its_content_header() {
    let mut raw = Raw::confirming(Terms::with(OnOversize::Close));
    raw.passes(Side::Client, &Message::of(100).whole());
    let message = Message::of(101);
    raw.is_kept(Side::Client, &message.publish());
    let last = close(320, &exceeded(101));
    raw.becomes(Side::Client, &message.header(), &last);
    raw.expect(Side::Client, &last);
    raw.has_ended(Ending::by(Side::Client, Reason::Oversize));
    assert_eq!(raw.refused(), [(101, Action::Close)]);
    is_silent(&mut raw);
}

#[test]
fn a_delivery_over_the_limit_closes_the_connection() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Close));
    let last = close(320, &receive_exceeded(101));
    raw.becomes(Side::Broker, &Message::of(101).delivered("c", 1), &last);
    raw.expect(Side::Broker, &last);
    raw.has_ended(Ending::by(Side::Broker, Reason::Oversize));
    is_silent(&mut raw);
}

#[test]
fn a_close_stands_between_frames_also_within_a_content() {
    let mut raw = Raw::begun(Terms::with(OnOversize::Close));
    let delivery = Message::on(TWO, 100);
    let body = delivery.body_in(50);
    raw.passes(
        Side::Broker,
        &[delivery.deliver("c", 1), delivery.header()].concat(),
    );
    let (before, rest) = body.split_at(20);
    raw.passes(Side::Broker, before);
    raw.says(Side::Client, &Message::of(101).whole());
    let last = close(320, &exceeded(101));
    raw.expect(Side::Broker, &last);
    // The broker is within a frame.
    raw.expect(Side::Client, &NOTHING);
    let (end, behind) = rest.split_at(58 - 20);
    raw.says(Side::Broker, &[end, behind].concat());
    raw.expect(Side::Client, &[end, &last].concat());
    is_silent(&mut raw);
}

#[test]
fn a_drain_says_goodbye_to_both_sides() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(100);
    raw.passes(
        Side::Client,
        &[message.publish(), message.header()].concat(),
    );
    raw.gate.gate.hang_up(HangUp::Drain);
    raw.gate.settle();
    let last = close(320, "sizegate is shutting down");
    raw.expect(Side::Client, &last);
    raw.expect(Side::Broker, &last);
    raw.has_ended(Ending::ours(Reason::Drain));
    is_silent(&mut raw);
}

/// A client that has been told that sizegate is shutting down, and has not answered.
fn told() -> Raw {
    let mut raw = Raw::begun(Terms::default());
    raw.gate.gate.hang_up(HangUp::Drain);
    raw.gate.settle();
    for side in SIDES {
        raw.expect(side, &close(320, "sizegate is shutting down"));
    }
    assert_eq!(raw.gate.ending(Side::Client), None, "it may answer");
    raw
}

#[test]
fn what_a_client_sends_before_its_close_ok_is_thrown_away() {
    let mut raw = told();
    let said = [
        Message::of(50).whole(),
        Message::of(5_000).publish(),
        channel_open(TWO),
        heartbeat(),
        frame(1, ZERO, b"\0"),
        close_ok(),
    ];
    for octet in said.concat() {
        assert_eq!(raw.gate.ending(Side::Client), None);
        raw.is_kept(Side::Client, &[octet]);
    }
    raw.has_ended(Ending::ours(Reason::Drain));
    raw.is_quiet();
    assert_eq!(raw.gate.meter.messages[0], [0; 3], "they are no messages");
}

#[test]
fn a_close_ok_is_not_awaited_for_ever() {
    let mut raw = told();
    let frame = frame(3, ONE, &vec![0; (1 << 20) - 8]);
    for _ in 0..64 {
        assert_eq!(raw.gate.ending(Side::Client), None);
        raw.is_kept(Side::Client, &frame);
    }
    raw.says(Side::Client, &heartbeat());
    assert_eq!(
        raw.gate.ending(Side::Client),
        Some(Ending::ours(Reason::Drain))
    );
    // Nor where there is none to be found.
    for side in SIDES {
        let mut raw = told();
        raw.says(side, b"HTTP");
        assert_eq!(raw.gate.ending(side), Some(Ending::ours(Reason::Drain)));
        raw.is_quiet();
        assert_eq!(raw.gate.meter.reports, []);
    }
    // Nor longer than a second: then the time to leave begins, which is the relay's to measure.
    let mut raw = told();
    let second = std::time::Duration::from_secs(1);
    assert_eq!(raw.gate.gate.tick_after(), Some(second));
    assert!(raw.gate.tick());
    let endings = SIDES.map(|side| raw.gate.ending(side));
    assert_eq!(endings, [Some(Ending::ours(Reason::Drain)), None]);
    assert_eq!(raw.gate.gate.tick_after(), None);
    raw.is_kept(Side::Broker, &[heartbeat(), close_ok()].concat());
    raw.has_ended(Ending::ours(Reason::Drain));
    raw.is_quiet();
}

#[test]
fn a_drain_waits_for_the_end_of_a_frame() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(100).whole();
    let (before, last_octet) = message.split_at(message.len() - 1);
    raw.passes(Side::Client, before);
    raw.gate.gate.hang_up(HangUp::Drain);
    raw.gate.settle();
    let last = close(320, "sizegate is shutting down");
    raw.expect(Side::Client, &last);
    raw.expect(Side::Broker, &NOTHING);
    raw.becomes(Side::Client, last_octet, &[last_octet, &last].concat());
    raw.has_ended(Ending::ours(Reason::Drain));
}

#[test]
fn a_connection_that_the_peers_close_is_theirs() {
    for first in SIDES {
        let mut raw = Raw::begun(Terms::default());
        raw.passes(first, &close(200, "bye"));
        // The other side may still be sending, and both still live.
        let other = first.other();
        let last = match other {
            Side::Client => Message::of(50).whole(),
            Side::Broker => Message::of(50).delivered("c", 1),
        };
        raw.passes(other, &last);
        raw.passes(first, &heartbeat());
        raw.passes(other, &close_ok());
        raw.is_kept(other, &heartbeat());
        raw.is_quiet();
        // At a drain there is nothing left to say.
        raw.gate.gate.hang_up(HangUp::Drain);
        raw.gate.settle();
        raw.is_quiet();
        raw.has_ended(Ending::ours(Reason::Drain));
    }
}

#[test]
fn closes_of_both_peers_may_cross() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &close(200, "bye"));
    raw.passes(Side::Broker, &close(320, "CONNECTION_FORCED"));
    raw.passes(Side::Client, &close_ok());
    raw.passes(Side::Broker, &close_ok());
    raw.is_quiet();
}

#[test]
fn a_client_that_has_closed_the_connection_sends_no_messages() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &close(200, "bye"));
    raw.is_kept(Side::Client, &Message::of(50).whole());
    raw.is_kept(Side::Client, &Message::of(5_000).whole());
    raw.is_kept(Side::Client, &channel_open(TWO));
    raw.passes(Side::Broker, &close_ok());
    raw.is_quiet();
}

#[test]
fn nothing_is_said_to_a_client_whose_connection_the_broker_has_closed() {
    for on_oversize in [OnOversize::Reject, OnOversize::Detach, OnOversize::Close] {
        let mut raw = Raw::confirming(Terms::with(on_oversize));
        raw.passes(Side::Broker, &close(320, "CONNECTION_FORCED"));
        raw.says(Side::Client, &Message::of(101).whole());
        raw.is_quiet();
    }
}

#[test]
fn a_frame_over_the_control_size_closes_the_connection() {
    let terms = Terms {
        max_control_size: 1_000,
        ..Terms::default()
    };
    // Class, method and 989 or 988 octets of arguments: 1001 or 1000 of the frame.
    let declare = |len: usize| method(ONE, 50, 10, &vec![b'a'; len]);
    for from in SIDES {
        let mut raw = Raw::begun(terms);
        raw.passes(from, &declare(988));
        let text = "Frame size exceeded: 1001 octets, limit 1000, set by --max-control-size";
        raw.becomes(from, &declare(989)[..7], &close(320, text));
        raw.expect(from, &close(501, text));
        raw.is_kept(from, &declare(989)[7..]);
        raw.has_ended(Ending::by(from, Reason::Oversize));
        let reports = &raw.gate.meter.reports;
        assert!(matches!(
            reports[..],
            [Report::ControlOversize { size: 1_001, .. }]
        ));
    }
}

#[test]
fn a_content_header_over_the_control_size_closes_the_connection() {
    let terms = Terms {
        max_control_size: 1_000,
        ..Terms::default()
    };
    let message = Message::of(10);
    // 7 + 12 of its own, and the frame-end.
    let header = |len: usize| message.header_with(&vec![0; len - 20]);
    for is_held in [false, true] {
        let mut raw = Raw::begun(terms);
        let octets = [message.publish(), header(1_000), message.body_in(10)].concat();
        raw.passes(Side::Client, &octets);
        raw.says(Side::Client, &message.publish());
        if is_held {
            raw.says(Side::Client, &heartbeat());
        }
        raw.says(Side::Client, &header(1_001));
        let text = "Frame size exceeded: 1001 octets, limit 1000, set by --max-control-size";
        raw.expect(Side::Client, &close(501, text));
        raw.has_ended(Ending::by(Side::Client, Reason::Oversize));
    }
}

#[test]
fn a_dry_run_lets_every_frame_pass_and_notes_it_once() {
    let terms = Terms {
        max_control_size: 1_000,
        mode: Mode::DryRun,
        ..Terms::default()
    };
    let message = Message::of(10);
    let octets = [
        message.publish(),
        message.header_with(&[0; 2_000]),
        message.body_in(10),
        method(ONE, 50, 10, &[b'a'; 2_000]),
        Message::of(10).whole(),
    ];
    let octets = octets.concat();
    let mut raw = Raw::begun(terms);
    raw.passes(Side::Client, &octets);
    assert_eq!(raw.gate.meter.reports.len(), 2);
    let mut raw = Raw::begun(terms);
    for octet in &octets {
        raw.says(Side::Client, &[*octet]);
    }
    raw.expect(Side::Broker, &octets);
    assert_eq!(raw.gate.meter.reports.len(), 2);
    assert_eq!(raw.gate.meter.messages[0], [2, 0, 0]);
}

#[test]
fn a_client_at_fault_after_its_close_ends_the_connection_within_a_delivery_too() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(50);
    let delivered = message.delivered("c", 1);
    let (before, rest) = delivered.split_at(delivered.len() - 20);
    raw.passes(Side::Broker, before);
    raw.passes(Side::Client, &close(200, "bye"));
    raw.says(Side::Client, &[9; 8]);
    // The frame is whole before anything else happens to its receiver.
    raw.passes(Side::Broker, rest);
    raw.has_ended(Ending::by(Side::Client, Reason::Malformed));
}
