//! Two gates, one at each end: what the first one marks, the second one restores, whatever a broker does
//! to the frames between them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::heads::{put_together, send_cut};
use super::*;

const RECORDED: [&[u8]; 3] = [
    include_bytes!("../../../../../../parsers/testdata/amqp10/messages/proton.bin"),
    include_bytes!("../../../../../../parsers/testdata/amqp10/messages/rhea.bin"),
    include_bytes!("../../../../../../parsers/testdata/amqp10/messages/fe2o3.bin"),
];

/// The messages of all libraries, each of which stands behind its length.
fn recorded() -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for mut recorded in RECORDED {
        while let Some((len, rest)) = recorded.split_first_chunk() {
            let (message, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
            messages.push(message.to_vec());
            recorded = rest;
        }
    }
    assert_eq!(messages.len(), 48);
    messages
}

/// Offsets within a payload, in order.
fn offsets(cuts: &[Index], len: usize) -> Vec<usize> {
    let mut offsets: Vec<usize> = cuts.iter().map(|cut| 1 + cut.index(len - 1)).collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// Sends a payload settled through one gate, and what comes of it through another one, in frames that
/// are cut like this.
fn assert_restored(payload: &[u8], cuts: [&[Index]; 2], limit: u64) {
    let terms = Terms {
        limit,
        receive_limit: limit,
        ..UNSETTLED
    };
    let mut one = Raw::start(terms);
    let cut = offsets(cuts[0], payload.len());
    send_cut(&mut one, Side::Client, pre(first(0)), payload, &cut, false);
    let (marked, settled) = put_together(&one.hears(Side::Broker));
    assert_eq!(settled, Some(false));
    assert!(marked.len() > payload.len());

    let mut other = Raw::start(terms);
    let cut = offsets(cuts[1], marked.len());
    send_cut(&mut other, Side::Broker, first(0), &marked, &cut, false);
    let (restored, settled) = put_together(&other.hears(Side::Client));
    assert_eq!(settled, Some(true));
    assert_eq!(restored, payload);
    let heard = other.hears(Side::Broker);
    let last = units(&heard).pop().expect("an answer");
    let answer = frame(last).disposition().expect("a disposition");
    assert_eq!(Fate::read(answer.state), Fate::Accepted);
}

#[test]
fn recorded_messages_of_all_libraries_are_restored() {
    for message in recorded() {
        assert_restored(&message, [&[], &[]], 0);
        // It is as large as it may be, at both ends.
        assert_restored(&message, [&[], &[]], message.len() as u64);
    }
}

proptest! {
    #[test]
    fn recorded_messages_are_restored_however_they_are_cut(
        message in prop::sample::select(recorded()),
        cuts in (vec(any::<Index>(), 0..6), vec(any::<Index>(), 0..6)),
        limited in any::<bool>(),
    ) {
        let limit = if limited { message.len() as u64 } else { 0 };
        assert_restored(&message, [&cuts.0, &cuts.1], limit);
    }
}
