//! Pre-settled deliveries that go through the broker unsettled (`--presettled unsettled`).
//!
//! A client's pre-settled delivery is made unsettled and marked by a message annotation; the broker's
//! answer ends here. What the broker has not settled counts against the credit of the client, so that
//! it is paced as one that waits for settlement. On the way to a client a marked delivery is made
//! settled again, and accepted in the client's name. The bare message stays as it is. `change` decides
//! what is changed about a delivery, `owed` knows what the broker has to settle, `pacing` what credit
//! that leaves, `outcomes` says what is said over it, and `patience` what waits for it.

mod change;
mod head;
mod outcomes;
mod owed;
mod pacing;
mod patience;

use parsers::amqp10::encode::binary;

pub(super) use change::{Change, How, Rewrite};
pub(super) use head::first_look;
pub(super) use outcomes::{AtEnd, Dues};
pub(super) use owed::Owed;
pub(super) use pacing::Pace;
pub(super) use patience::{Leaving, Patience};

/// What is done with deliveries that clients send settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presettled {
    /// They are forwarded so.
    #[default]
    Forward,
    /// They are forwarded unsettled, so that the broker's settlement paces them.
    Unsettled,
}

/// The key of the message annotation that marks a delivery which was settled when it was sent.
const KEY: &str = "x-opt-sizegate-presettled";

/// The delivery-tag, encoded, of a delivery that its client sent settled.
///
/// Some clients give all of those one tag, which has to be unique among what is unsettled on a link
/// (AMQP 1.0 §2.6.12).
pub(super) fn tag(id: u32) -> Vec<u8> {
    let mut tag = Vec::with_capacity(14);
    binary(&mut tag, &[b"sizegate", &id.to_be_bytes()[..]].concat());
    tag
}
