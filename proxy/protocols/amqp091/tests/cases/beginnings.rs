//! How a connection begins: who the client is, what may pass before the broker has accepted it, and
//! what becomes of it without a broker.

use parsers::amqp091::{Close, Tune, Version, encode};

use super::*;
use crate::gate::{HangUp, Phase};

#[test]
fn a_client_is_who_it_says_once_the_broker_has_accepted_it() {
    let mut raw = Raw::new(Terms::default());
    let phase = |raw: &Raw| raw.gate.gate.phase();
    assert_eq!(phase(&raw), Phase::Unidentified);
    raw.passes(Side::Client, &HEADER);
    raw.passes(Side::Broker, &start());
    assert_eq!(phase(&raw), Phase::Unidentified);
    raw.passes(Side::Client, &start_ok());
    assert_eq!(phase(&raw), Phase::Claimed);
    raw.passes(Side::Broker, &tune(TUNE));
    raw.passes(Side::Client, &tune_ok(TUNE));
    assert!(raw.gate.gate.limits().is_none());
    raw.passes(Side::Client, &open());
    assert_eq!(phase(&raw), Phase::Claimed);
    assert!(raw.gate.gate.limits().is_some());
    raw.passes(Side::Broker, &open_ok());
    assert_eq!(phase(&raw), Phase::Accepted);
    let identity = raw.gate.gate.identity();
    let names = [identity.vhost, identity.user, identity.client];
    assert_eq!(names, [Some("prod"), Some("alice"), Some("billing")]);
    assert!(identity.peer.is_some());
    raw.is_quiet();
}

#[test]
fn a_name_is_that_of_the_mechanism_and_else_that_of_the_certificate() {
    let login = b"\x05LOGINS\0\0\0\x05alice\x08PASSWORDS\0\0\0\x01x";
    let subject = Some("CN=carol");
    for (mechanism, response, subject, user) in [
        (&b"PLAIN"[..], &b"\0alice\0x"[..], None, Some("alice")),
        (b"PLAIN", b"\0alice\0x", subject, Some("alice")),
        (b"AMQPLAIN", login, subject, Some("alice")),
        (b"EXTERNAL", b"", subject, subject),
        (b"EXTERNAL", b"alice", subject, subject),
        (b"EXTERNAL", b"alice", None, Some("alice")),
        (b"EXTERNAL", b"", None, None),
        (b"RABBIT-CR-DEMO", b"alice", None, None),
        (b"RABBIT-CR-DEMO", b"alice", subject, subject),
    ] {
        let terms = Terms {
            subject,
            ..Terms::default()
        };
        let mut raw = Raw::new(terms);
        raw.passes(Side::Client, &HEADER);
        raw.passes(Side::Broker, &start());
        raw.passes(Side::Client, &start_ok_with(b"", mechanism, response));
        let identity = raw.gate.gate.identity();
        assert_eq!(identity.user, user, "{mechanism:?} {response:?}");
        assert_eq!(identity.client, None);
    }
}

#[test]
fn a_challenge_of_the_mechanism_passes() {
    let mut raw = Raw::new(Terms::default());
    raw.passes(Side::Client, &HEADER);
    raw.passes(Side::Broker, &start());
    raw.passes(Side::Client, &start_ok_with(b"", b"OTHER", b"alice"));
    for _ in 0..2 {
        raw.passes(Side::Broker, &method(ZERO, 10, 20, b"\0\0\0\x01?"));
        raw.passes(Side::Client, &method(ZERO, 10, 21, b"\0\0\0\x01!"));
    }
    raw.passes(Side::Broker, &tune(TUNE));
    raw.passes(Side::Client, &[tune_ok(TUNE), open()].concat());
    raw.passes(Side::Broker, &open_ok());
    raw.begin();
    raw.passes(Side::Client, &Message::of(100).whole());
}

/// All that a client says at once that waits for nothing.
fn batch(messages: &[Vec<u8>]) -> Vec<u8> {
    let begin = [
        HEADER.to_vec(),
        start_ok(),
        tune_ok(TUNE),
        open(),
        channel_open(ONE),
    ];
    [begin.concat(), messages.concat()].concat()
}

/// All that a broker answers to it.
fn answers() -> Vec<u8> {
    [start(), tune(TUNE), open_ok(), channel_open_ok(ONE)].concat()
}

#[test]
fn a_refusal_waits_for_the_broker_to_accept_the_client() {
    let mut raw = Raw::new(Terms::default());
    let small = Message::of(100).whole();
    let said = batch(&[small.clone(), Message::of(101).whole()]);
    raw.becomes(Side::Client, &said, &batch(&[small]));
    let answers = answers();
    let (before, last) = answers.split_at(answers.len() - channel_open_ok(ONE).len());
    raw.passes(Side::Broker, before);
    raw.is_quiet();
    let returned = Message::of(101).returned(&exceeded(101), &[0, 0]);
    raw.becomes(Side::Broker, last, &[last, &returned].concat());
}

#[test]
fn a_refusal_is_thrown_away_if_the_broker_does_not_accept_the_client() {
    for on_oversize in [OnOversize::Reject, OnOversize::Detach, OnOversize::Close] {
        let mut raw = Raw::new(Terms::with(on_oversize));
        raw.says(Side::Client, &batch(&[Message::of(101).whole()]));
        raw.hears(Side::Broker);
        let refusal = close(530, "NOT_ALLOWED - vhost prod not found");
        let said = [start(), tune(TUNE), refusal].concat();
        raw.passes(Side::Broker, &said);
        raw.is_quiet();
        assert_eq!(SIDES.map(|side| raw.gate.ending(side)), [None, None]);
    }
}

#[test]
fn a_close_over_a_message_waits_for_the_broker_to_accept_the_client() {
    let mut raw = Raw::new(Terms::with(OnOversize::Close));
    let small = Message::of(100).whole();
    let said = batch(&[Message::of(101).whole(), small]);
    raw.becomes(Side::Client, &said, &batch(&[]));
    assert!(raw.gate.waits(Side::Client));
    let said = [start(), tune(TUNE)].concat();
    raw.passes(Side::Broker, &said);
    let last = close(320, &exceeded(101));
    raw.becomes(
        Side::Broker,
        &open_ok(),
        &[open_ok(), last.clone()].concat(),
    );
    raw.expect(Side::Broker, &last);
    raw.has_ended(Ending::by(Side::Client, Reason::Oversize));
}

#[test]
fn only_so_much_passes_before_the_broker_has_accepted_the_client() {
    let terms = Terms {
        limit: 0,
        max_control_size: 1_000,
        ..Terms::default()
    };
    let mut raw = Raw::new(terms);
    let messages = vec![Message::of(100).whole(); 20];
    let said = batch(&messages);
    raw.says(Side::Client, &said);
    let before = raw.hears(Side::Broker);
    assert!(said.starts_with(&before));
    assert!((850..=1_000).contains(&before.len()), "{}", before.len());
    assert!(raw.gate.waits(Side::Client));
    raw.passes(Side::Broker, &answers());
    raw.expect(Side::Broker, &said[before.len()..]);
}

#[test]
fn a_frame_that_is_larger_than_what_may_pass_waits_as_a_whole() {
    let terms = Terms {
        limit: 0,
        max_control_size: 1_000,
        ..Terms::default()
    };
    let mut raw = Raw::new(terms);
    let message = Message::of(2_000);
    let said = batch(&[message.whole()]);
    let body = message.body_in(4_000);
    raw.becomes(Side::Client, &said, &said[..said.len() - body.len()]);
    raw.passes(Side::Broker, &answers());
    raw.expect(Side::Broker, &body);
}

#[test]
fn a_client_that_says_too_much_before_it_opens_is_cut_off_without_a_word() {
    let terms = Terms {
        max_control_size: 1_000,
        ..Terms::default()
    };
    let start_oks = [
        start_ok_with(&[0; 1_000], b"PLAIN", b""),
        // Each is small enough, all together are not.
        start_ok_with(&[0; 900], b"PLAIN", b""),
    ];
    for start_ok in start_oks {
        let mut raw = Raw::new(terms);
        raw.passes(Side::Client, &HEADER);
        raw.passes(Side::Broker, &start());
        raw.says(Side::Client, &start_ok);
        raw.says(Side::Client, &method(ZERO, 10, 21, &[0; 90]));
        raw.expect(Side::Client, &NOTHING);
        raw.has_ended(Ending::by(Side::Client, Reason::Oversize));
        let reports = &raw.gate.meter.reports;
        assert!(matches!(reports[..], [Report::ControlOversize { .. }]));
    }
}

#[test]
fn a_broker_that_wants_another_protocol_says_so_itself() {
    let mut raw = Raw::new(Terms::default());
    raw.passes(Side::Client, b"AMQP\x01\x01\x08\x00");
    raw.is_kept(Side::Broker, b"AMQP\0\0");
    raw.says(Side::Broker, b"\x09\x01");
    raw.expect(Side::Client, &HEADER);
    raw.is_kept(Side::Broker, b"and more");
    raw.is_quiet();
    assert_eq!(raw.gate.meter.reports, []);
}

#[test]
fn a_client_of_0_8_is_closed_by_the_number_that_close_has_there() {
    for header in [b"AMQP\x01\x01\x08\x00", b"AMQP\x01\x01\x09\x01"] {
        let mut raw = Raw::new(Terms::with(OnOversize::Close));
        raw.passes(Side::Client, header);
        raw.passes(Side::Broker, &start());
        raw.passes(Side::Client, &start_ok());
        raw.passes(Side::Broker, &tune(TUNE));
        raw.passes(Side::Client, &[tune_ok(TUNE), open()].concat());
        raw.passes(Side::Broker, &open_ok());
        raw.begin();
        raw.is_kept(Side::Broker, &NOTHING);
        raw.says(Side::Client, &Message::of(101).whole());
        let text = exceeded(101);
        let close = Close {
            reply_code: 320,
            reply_text: text.as_bytes(),
            failed: (0, 0),
        };
        let close = written(|out| encode::connection_close(out, Version::V08, &close));
        raw.expect(Side::Client, &close);
        raw.expect(Side::Broker, &close);
    }
}

#[test]
fn a_client_without_a_broker_is_led_to_where_it_can_be_told() {
    let mut raw = Raw::new(Terms::default());
    raw.passes(Side::Client, &HEADER);
    raw.gate.gate.hang_up(HangUp::BrokerUnreachable);
    raw.gate.settle();
    raw.expect(Side::Client, &start());
    raw.is_kept(Side::Client, &start_ok());
    let proposed = Tune {
        channel_max: 2_047,
        frame_max: 131_072,
        heartbeat: 60,
    };
    raw.expect(Side::Client, &tune(proposed));
    raw.is_kept(Side::Client, &tune_ok(proposed));
    raw.is_quiet();
    assert!(!raw.gate.tick(), "nobody is kept alive");
    raw.is_kept(Side::Client, &[heartbeat(), open()].concat());
    raw.expect(Side::Client, &close(320, "The broker cannot be reached"));
    raw.has_ended(Ending::by(Side::Broker, Reason::UpstreamUnreachable));
}

#[test]
fn a_client_that_is_not_open_is_told_nothing_at_a_drain() {
    let mut raw = Raw::new(Terms::default());
    raw.passes(Side::Client, &HEADER);
    raw.passes(Side::Broker, &start());
    raw.passes(Side::Client, &start_ok());
    raw.gate.gate.hang_up(HangUp::Drain);
    raw.gate.settle();
    raw.is_quiet();
    raw.has_ended(Ending::ours(Reason::Drain));
}
