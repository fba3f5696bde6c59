//! The head of a message may be cut anywhere: by reads, and by frames.

use super::*;

/// What the bare message follows, and what stands there once it is marked.
fn heads() -> Vec<(Vec<u8>, Vec<u8>)> {
    let map = |octets: &[u8]| [&[0x00, 0x53, 0x72], octets].concat();
    let some = map(b"\xC1\x06\x02\xA3\x01a\x52\x09");
    let with_some = map(b"\xC1\x22\x04\xA3\x19x-opt-sizegate-presettled\x41\xA3\x01a\x52\x09");
    let before = [HEADER, DELIVERY_ANNOTATIONS].concat();
    vec![
        (Vec::new(), MARK.to_vec()),
        (before.clone(), [&before, MARK].concat()),
        (
            [&before, &some[..]].concat(),
            [&before, &with_some[..]].concat(),
        ),
    ]
}

/// The payloads of the transfers that a side hears, put together, and the first one's settled.
pub(super) fn put_together(heard: &[u8]) -> (Vec<u8>, Option<bool>) {
    let transfers: Vec<_> = units(heard)
        .into_iter()
        .filter_map(|octets| Some((frame(octets).transfer().ok()?, octets)))
        .collect();
    let (last, before) = transfers.split_last().expect("a transfer");
    assert!(!last.0.more && before.iter().all(|(transfer, _)| transfer.more));
    let payloads: Vec<&[u8]> = transfers
        .iter()
        .map(|(transfer, octets)| &octets[transfer.payload_at..])
        .collect();
    assert!(payloads.iter().all(|payload| !payload.is_empty()));
    (payloads.concat(), transfers[0].0.settled)
}

/// Sends a payload in frames that end at these offsets, all of them or octet by octet.
pub(super) fn send_cut(
    raw: &mut Raw,
    from: Side,
    transfer: Transfer<'static>,
    payload: &[u8],
    cuts: &[usize],
    by_octets: bool,
) {
    let mut at = 0;
    let mut octets = Vec::new();
    for (nth, &cut) in cuts.iter().chain([&payload.len()]).enumerate() {
        let flags = if nth == 0 { transfer } else { next() };
        let flags = if cut < payload.len() {
            more(flags)
        } else {
            flags
        };
        octets.extend(match from {
            Side::Client => carries(flags, &payload[at..cut]),
            Side::Broker => brings(flags, &payload[at..cut]),
        });
        at = cut;
    }
    if by_octets {
        for octet in octets {
            raw.says(from, &[octet]);
        }
    } else {
        raw.says(from, &octets);
    }
}

/// All ways to cut a payload once or twice.
fn cuts(len: usize) -> Vec<Vec<usize>> {
    let once = (1..len).map(|cut| vec![cut]);
    let twice = (1..len).flat_map(|one| (one + 1..len).map(move |other| vec![one, other]));
    once.chain(twice).collect()
}

#[test]
fn wherever_frames_end_the_message_is_marked() {
    for (was, is) in heads() {
        let payload = [&was, BODY].concat();
        for cuts in cuts(payload.len()) {
            for limit in [0, LIMIT] {
                let mut raw = Raw::start(Terms { limit, ..UNSETTLED });
                send_cut(
                    &mut raw,
                    Side::Client,
                    pre(first(0)),
                    &payload,
                    &cuts,
                    false,
                );
                let (heard, settled) = put_together(&raw.hears(Side::Broker));
                assert_eq!(heard, [&is, BODY].concat(), "{cuts:?}");
                assert_eq!(settled, Some(false), "{cuts:?}");
                assert_eq!(raw.gate.gate.unsettled(), 1);
            }
        }
    }
}

#[test]
fn wherever_frames_end_the_message_is_restored() {
    for (is, was) in heads() {
        let payload = [&was, BODY].concat();
        let cuts = cuts(payload.len());
        for cuts in cuts.iter().step_by(5) {
            for receive_limit in [0, LIMIT] {
                let terms = Terms {
                    receive_limit,
                    ..UNSETTLED
                };
                let mut raw = Raw::start(terms);
                send_cut(&mut raw, Side::Broker, first(0), &payload, cuts, false);
                let (heard, settled) = put_together(&raw.hears(Side::Client));
                assert_eq!(heard, [&is, BODY].concat(), "{cuts:?}");
                assert_eq!(settled, Some(true), "{cuts:?}");
                assert_eq!(raw.gate.meter.restored, 1);
            }
        }
    }
}

#[test]
fn wherever_reads_end_it_makes_no_difference() {
    for (plain, marked) in heads() {
        for cuts in [&[][..], &[1], &[9], &[4, 20]] {
            let mut raw = Raw::start(UNSETTLED);
            let payload = [&plain, BODY].concat();
            let cuts: Vec<usize> = cuts
                .iter()
                .copied()
                .filter(|&it| it < payload.len())
                .collect();
            send_cut(&mut raw, Side::Client, pre(first(0)), &payload, &cuts, true);
            let (heard, _) = put_together(&raw.hears(Side::Broker));
            assert_eq!(heard, [&marked, BODY].concat(), "{cuts:?}");
            let payload = [&marked, BODY].concat();
            send_cut(&mut raw, Side::Broker, first(0), &payload, &cuts, true);
            let (heard, _) = put_together(&raw.hears(Side::Client));
            assert_eq!(heard, [&plain, BODY].concat(), "{cuts:?}");
        }
    }
}

#[test]
fn frames_behind_the_head_are_not_held() {
    let mut raw = Raw::start(UNSETTLED);
    raw.is_kept(Side::Client, &carries(pre(more(first(0))), &HEADER[..5]));
    let second = [&HEADER[5..], BODY].concat();
    let due = [HEADER, MARK, BODY].concat();
    let due = unsettled(0, more(first(0)), &due);
    raw.becomes(Side::Client, &carries(more(next()), &second), &due);
    raw.passes(Side::Client, &carries(more(next()), b"more"));
    raw.passes(Side::Client, &carries(next(), b"end"));
}

#[test]
fn a_frame_of_nothing_but_the_mark_is_joined_with_the_next() {
    let mut raw = Raw::start(UNSETTLED);
    raw.is_kept(Side::Broker, &brings(more(first(0)), MARK));
    let due = brings(pre(more(first(0))), BODY);
    raw.becomes(Side::Broker, &brings(more(next()), BODY), &due);
    raw.passes(Side::Broker, &brings(next(), b"end"));
    // It was one frame less for the client, whose window it does not take.
    let takes = |next_incoming_id| Flow {
        next_incoming_id: Some(next_incoming_id),
        incoming_window: 300,
        next_outgoing_id: 0,
        outgoing_window: 1_000,
        ..Flow::default()
    };
    raw.hears(Side::Broker);
    raw.becomes(
        Side::Client,
        &flow(CLIENT, takes(2)),
        &flow(CLIENT, takes(3)),
    );
}

#[test]
fn a_head_that_is_longer_than_a_control_frame_is_not_awaited() {
    let terms = Terms {
        max_control_size: 512,
        ..UNSETTLED
    };
    // The section says that it is longer, and what there is of it passes at once.
    let mut raw = Raw::start(terms);
    let head = [
        &[0x00, 0x53, 0x71, 0xD1],
        &600_u32.to_be_bytes()[..],
        &[0; 4],
    ]
    .concat();
    raw.passes(Side::Client, &carries(pre(more(first(0))), &head));
    raw.passes(Side::Broker, &brings(more(first(0)), &head));
    // Of one that ends just there, all is awaited.
    let mut raw = Raw::start(terms);
    let entry = |len: usize| {
        let value = [&[0xB0], &(len as u32).to_be_bytes()[..], &vec![7; len]].concat();
        let entries = [b"\xA3\x01d", &value[..]].concat();
        let size = entries.len() as u32 + 4;
        [
            &[0x00, 0x53, 0x71, 0xD1],
            &size.to_be_bytes()[..],
            &2_u32.to_be_bytes(),
            &entries,
        ]
        .concat()
    };
    for (id, len, is_marked) in [(0, 489, true), (1, 490, false)] {
        let head = [&entry(len)[..], &[0x00, 0x53, 0x75]].concat();
        assert_eq!(head.len() <= 512, is_marked);
        let (front, back) = head.split_at(300);
        let rest = [back, b"\xA0\x01b"].concat();
        let frames = [
            carries(pre(more(first(id))), front),
            carries(pre(next()), &rest),
        ]
        .concat();
        raw.says(Side::Client, &frames);
        let (_, settled) = put_together(&raw.hears(Side::Broker));
        assert_eq!(settled, Some(!is_marked), "{len}");
    }
}

#[test]
fn without_memory_for_the_head_the_message_passes_as_it_is() {
    let terms = Terms {
        hold_memory: 10,
        ..UNSETTLED
    };
    let mut raw = Raw::start(terms);
    let frames = [
        carries(pre(more(first(0))), &HEADER[..5]),
        carries(next(), &[&HEADER[5..], BODY].concat()),
    ];
    raw.becomes(Side::Client, &frames.concat(), &frames.concat());
    assert_eq!(raw.gate.gate.unsettled(), 0);
    // It takes no credit that only a settlement would bring back.
    let grants = Flow {
        delivery_count: Some(1),
        next_incoming_id: Some(2),
        ..Start::default().grant()
    };
    raw.passes(Side::Broker, &flow(BROKER, grants));
    let frames = [
        brings(more(first(0)), &MARK[..5]),
        brings(next(), &[&MARK[5..], BODY].concat()),
    ];
    raw.becomes(Side::Broker, &frames.concat(), &frames.concat());
}

#[test]
fn one_that_is_broken_off_in_its_head_reaches_nobody() {
    let mut raw = Raw::start(UNSETTLED);
    raw.is_kept(Side::Client, &carries(pre(more(first(0))), &HEADER[..5]));
    let aborts = Transfer {
        aborted: true,
        ..next()
    };
    raw.is_kept(Side::Client, &carries(aborts, &[]));
    let again = Flow {
        next_incoming_id: Some(2),
        delivery_count: Some(1),
        ..Start::default().grant()
    };
    assert_eq!(raw.hears(Side::Client), flow(BROKER, again));
    raw.becomes(
        Side::Client,
        &carries(first(1), BODY),
        &carries(first(0), BODY),
    );
}
