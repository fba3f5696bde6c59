//! What comes of octets does not depend on how they were cut, be they allowed or not.

use parsers::amqp091::Fault;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::words::*;
use super::{SIDES, Terms};
use crate::gate::harness::Harness;
use crate::gate::{Report, Side};
use crate::policy::OnOversize;

/// Frames of a side that may follow each other, and some that may not.
fn frames(from: Side) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let frame = (0..16_usize, 0..3_u16, 90..110_usize, 1..5_u64);
    let frame = frame.prop_map(move |(kind, channel, size, tag)| {
        let channel = parsers::amqp091::Channel(channel);
        let message = Message {
            mandatory: tag == 1,
            ..Message::on(channel, size)
        };
        let method = match from {
            Side::Client => message.publish(),
            Side::Broker => message.deliver("c", tag),
        };
        let confirm = match from {
            Side::Client => confirm_select(channel, tag == 1),
            Side::Broker => confirm_select_ok(channel),
        };
        match kind {
            0..6 => [method, message.header(), message.body_in(size)].concat(),
            6 => [method, message.header(), message.body_in(40)].concat(),
            7 => method,
            8 => message.header(),
            9 => message.body_in(50),
            10 => ack(channel, tag, tag == 2),
            11 => heartbeat(),
            12 => confirm,
            13 => channel_close(channel, 200, "bye", (0, 0)),
            14 => channel_close_ok(channel),
            _ => channel_open(channel),
        }
    });
    vec(frame, 0..14)
}

/// A gate whose channels 1 and 2 are open.
fn begun(terms: Terms) -> Harness {
    let mut gate = terms.open();
    let client = [HEADER.to_vec(), start_ok(), tune_ok(TUNE), open()].concat();
    gate.feed(Side::Client, &client);
    gate.feed(Side::Broker, &[start(), tune(TUNE), open_ok()].concat());
    for channel in [ONE, TWO] {
        gate.feed(Side::Client, &channel_open(channel));
        gate.feed(Side::Broker, &channel_open_ok(channel));
    }
    for side in SIDES {
        gate.sent_to(side);
    }
    gate
}

/// What both sides are sent, what was counted, and what there is to report.
type Outcome = ([Vec<u8>; 2], [[u64; 3]; 2], Vec<Report>);

fn play(terms: Terms, from: Side, octets: &[u8], cuts: &[Index]) -> Outcome {
    let mut gate = begun(terms);
    let mut rest = octets;
    for cut in cuts {
        let (piece, behind) = rest.split_at(cut.index(rest.len() + 1));
        gate.feed(from, piece);
        rest = behind;
    }
    gate.feed(from, rest);
    let sent = SIDES.map(|side| gate.sent_to(side));
    (sent, gate.meter.messages, gate.meter.reports)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_comes_of_octets_does_not_depend_on_the_cuts(
        (from, frames) in prop_oneof![Just(Side::Client), Just(Side::Broker)]
            .prop_flat_map(|from| (Just(from), frames(from))),
        flaw in any::<Option<(Index, u8)>>(),
        cuts in vec(any::<Index>(), 0..12),
        on_oversize in 0..3_usize,
        max_control_size in prop_oneof![Just(512), Just(128)],
    ) {
        let modes = [OnOversize::Reject, OnOversize::Detach, OnOversize::Close];
        let mut octets = frames.concat();
        if let (Some((at, octet)), false) = (flaw, octets.is_empty()) {
            let at = at.index(octets.len());
            octets[at] = octet;
        }
        let terms = Terms {
            max_control_size,
            ..Terms::with(modes[on_oversize])
        };
        let whole = play(terms, from, &octets, &[]);
        let cut = play(terms, from, &octets, &cuts);
        prop_assert_eq!(whole.1, cut.1, "what is counted");
        prop_assert_eq!(&whole.2, &cut.2, "what is reported");
        // Part of a frame whose end turns out to be wrong may have gone on.
        let broken = Fault::BadFrameEnd.to_string();
        let is_broken = |report: &Report| match report {
            Report::Malformed { what, .. } => what.starts_with(&broken),
            _ => false,
        };
        if !whole.2.iter().any(is_broken) {
            prop_assert_eq!(whole.0, cut.0);
        }
    }
}
