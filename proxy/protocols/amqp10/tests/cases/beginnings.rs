//! Before both sides have said hello, and frames of every form.

use super::*;
use crate::gate::{Ending, Phase, Reason};

fn opened(max_frame_size: u32) -> Vec<u8> {
    let mut octets = ProtocolHeader::AMQP.octets().to_vec();
    encode::open(&mut octets, &open(max_frame_size));
    octets
}

/// Everything up to link `out`, as the client says it.
fn hello() -> Vec<u8> {
    let attach = attach(CLIENT, &link("out", OUT, Role::Sender));
    [opened(512), begin(CLIENT, None, 0, 100), attach].concat()
}

/// The broker's answers to it, one by one.
fn answers() -> [Vec<u8>; 3] {
    [
        opened(512),
        begin(BROKER, Some(CLIENT), 0, 100),
        attach(BROKER, &link("out", OUT_AT_BROKER, Role::Receiver)),
    ]
}

#[test]
fn all_that_a_client_says_in_one_go_is_judged_and_answered_when_it_can_be() {
    let mut raw = Raw::new(Terms::default());
    let pipelined = [hello(), message(0, 100), message(1, 101), message(2, 99)].concat();
    let passed = [hello(), message(0, 100), message(1, 99)].concat();
    raw.becomes(Side::Client, &pipelined, &passed);
    assert_eq!(raw.hears(Side::Client), NOTHING);
    let [open, begin, attach] = answers();
    raw.passes(Side::Broker, &open);
    // A client that knows no session is told nothing in it.
    raw.says(Side::Broker, &begin);
    let heard = raw.hears(Side::Client);
    assert!(heard.starts_with(&begin));
    assert_is_rejected(units(&heard[begin.len()..])[0], BROKER, 1, 101, true);
    raw.passes(Side::Broker, &attach);
    raw.passes(Side::Broker, &accepted(0, None));
    raw.becomes(Side::Broker, &accepted(1, None), &accepted(2, Some(2)));
}

#[test]
fn a_refusal_is_thrown_away_when_the_broker_refuses_the_client() {
    let mut raw = Raw::new(Terms::default());
    raw.says(Side::Client, &[hello(), message(0, 101)].concat());
    raw.passes(Side::Broker, &[opened(512), close()].concat());
    assert_eq!(raw.hears(Side::Client), NOTHING);
}

#[test]
fn no_more_than_the_control_size_passes_before_the_broker_has_opened() {
    let terms = Terms {
        max_control_size: 1_024,
        limit: 0,
        ..Terms::default()
    };
    let mut raw = Raw::new(terms);
    let messages: Vec<u8> = (0..20).flat_map(|id| message(id, 100)).collect();
    raw.says(Side::Client, &[hello(), messages.clone()].concat());
    let passed = raw.hears(Side::Broker);
    assert!(passed.len() <= 1_024, "{} octets", passed.len());
    assert!(raw.gate.waits(Side::Client));
    raw.says(Side::Broker, &answers().concat());
    let rest = raw.hears(Side::Broker);
    assert_eq!([passed, rest].concat(), [hello(), messages].concat());
}

#[test]
fn a_client_is_known_by_its_sasl_plain_name() {
    let mut raw = Raw::new(Terms::default());
    assert_eq!(raw.gate.gate.phase(), Phase::Unidentified);
    raw.passes(Side::Client, &ProtocolHeader::SASL.octets());
    let offer = written(|out| encode::sasl_mechanisms(out, "PLAIN"));
    let header = ProtocolHeader::SASL.octets();
    raw.passes(Side::Broker, &[&header[..], &offer].concat());
    let init = written(|out| {
        encode::sasl_init(out, "PLAIN", Some(b"zid\0alice\0secret"), Some("host"));
    });
    raw.passes(Side::Client, &init);
    raw.passes(Side::Broker, &written(|out| encode::sasl_outcome(out, 0)));
    raw.passes(Side::Client, &hello());
    raw.passes(Side::Broker, &answers().concat());
    assert_eq!(raw.gate.gate.identity().user, Some("alice"));
    assert_eq!(raw.gate.gate.identity().client, Some("c"));
    assert_eq!(raw.gate.gate.phase(), Phase::Accepted);
}

#[test]
fn a_client_may_say_all_of_its_sasl_exchange_in_one_go() {
    let mut raw = Raw::new(Terms::default());
    let init = written(|out| encode::sasl_init(out, "ANONYMOUS", Some(b"guest"), None));
    let header = ProtocolHeader::SASL.octets();
    let all = [&header[..], &init, &hello(), &message(0, 100)].concat();
    raw.passes(Side::Client, &all);
    let offer = written(|out| encode::sasl_mechanisms(out, "ANONYMOUS"));
    let outcome = written(|out| encode::sasl_outcome(out, 0));
    let answers = [&header[..], &offer, &outcome, &answers().concat()].concat();
    raw.passes(Side::Broker, &answers);
    assert_eq!(raw.gate.gate.identity().user, None, "nobody is anonymous");
}

#[test]
fn a_scram_name_is_known_from_the_first_response_too() {
    let mut raw = Raw::new(Terms::default());
    raw.passes(Side::Client, &ProtocolHeader::SASL.octets());
    let init = written(|out| encode::sasl_init(out, "SCRAM-SHA-256", Some(b"n,,n=bob,r=x"), None));
    raw.passes(Side::Client, &init);
    assert_eq!(raw.gate.gate.identity().user, Some("bob"));
}

#[test]
fn a_frame_over_the_size_that_its_receiver_takes_closes_the_connection() {
    let terms = Terms {
        limit: 0,
        ..Terms::default()
    };
    let mut raw = Raw::start(terms);
    let size = 512 - message(0, 200).len() + 200;
    let full = message(0, size);
    assert!((511..=512).contains(&full.len()), "{}", full.len());
    raw.passes(Side::Client, &full);
    let too_large = message(1, size + 2);
    // The head is enough.
    raw.becomes(Side::Client, &too_large[..8], &close());
    raw.is_kept(Side::Client, &too_large[8..]);
    let heard = raw.hears(Side::Client);
    let error = frame(&heard)
        .close()
        .expect("a close")
        .error
        .expect("a reason");
    assert_eq!(error.condition, "amqp:connection:framing-error");
    let ending = Ending::by(Side::Client, Reason::Malformed);
    assert_eq!(SIDES.map(|side| raw.gate.ending(side)), [Some(ending); 2]);
}

#[test]
fn an_extended_header_is_no_part_of_a_message() {
    let mut raw = Raw::start(Start::default());
    let extended = |plain: Vec<u8>| {
        let header = FrameHeader {
            size: plain.len() as u32 + 4,
            doff: 3,
            frame_type: FrameType::Amqp,
            channel: CLIENT,
        };
        [&header.octets()[..], &[0xEE; 4], &plain[8..]].concat()
    };
    raw.passes(Side::Client, &extended(message(0, 100)));
    raw.is_kept(Side::Client, &extended(message(1, 101)));
    raw.assert_rejected(1, 101);
    raw.becomes(
        Side::Client,
        &extended(message(2, 50)),
        &extended(message(1, 50)),
    );
    raw.is_kept(Side::Client, &extended(transfer(more(first(3)), 50)));
    let pieces = [
        extended(transfer(more(first(2)), 50)),
        extended(transfer(next(), 50)),
    ];
    raw.becomes(
        Side::Client,
        &extended(transfer(next(), 50)),
        &pieces.concat(),
    );
}

#[test]
fn empty_frames_pass_at_any_time() {
    let empty = written(encode::empty_frame);
    let mut raw = Raw::start(Start::default());
    for side in SIDES {
        raw.passes(side, &empty);
    }
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    for side in SIDES {
        raw.passes(side, &empty);
    }
    raw.is_kept(Side::Client, &transfer(more(next()), 60));
    raw.passes(Side::Client, &empty);
}

#[test]
fn sessions_of_a_thousand_channels_are_told_apart() {
    let mut raw = Raw::new(Terms::default());
    raw.passes(Side::Client, &opened(512));
    raw.passes(Side::Broker, &opened(512));
    let [mine, theirs] = [|nth: u16| Channel(nth), |nth: u16| Channel(1_500 - nth)];
    let sessions = 0..1_000;
    for nth in sessions.clone() {
        raw.passes(Side::Client, &begin(mine(nth), None, 0, 10));
    }
    for nth in sessions.rev() {
        raw.passes(Side::Broker, &begin(theirs(nth), Some(mine(nth)), 0, 10));
    }
    for nth in [0, 999, 500] {
        raw.passes(
            Side::Client,
            &attach(mine(nth), &link("out", OUT, Role::Sender)),
        );
        let answer = link("out", OUT_AT_BROKER, Role::Receiver);
        raw.passes(Side::Broker, &attach(theirs(nth), &answer));
        raw.is_kept(Side::Client, &transfer_on(mine(nth), first(0), 101));
        let heard = raw.hears(Side::Client);
        assert_is_rejected_on(units(&heard)[0], theirs(nth));
        let [was, is] = [1, 0].map(|id| transfer_on(mine(nth), first(id), 10));
        raw.becomes(Side::Client, &was, &is);
    }
}

fn assert_is_rejected_on(octets: &[u8], channel: Channel) {
    let frame = frame(octets);
    assert_eq!(frame.header.channel, channel);
    let state = frame.disposition().expect("a disposition").state;
    assert_refusal(&Fate::read(state), 101, 100, Side::Client);
}
