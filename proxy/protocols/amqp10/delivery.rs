//! One delivery on its way: how large it is so far, and what becomes of its frames.

use std::collections::VecDeque;

use parsers::amqp10::Transfer;

use super::presettled::{AtEnd, Change};
use crate::gate::Reservation;
use crate::policy::Limit;

/// A delivery whose last frame has not come.
#[derive(Debug)]
pub(super) struct Delivery {
    /// The sender's delivery-id.
    pub(super) id: u32,
    /// Payload octets of all frames so far.
    pub(super) octets: u64,
    /// Whether the sender has settled it already; sticks once it is so (AMQP 1.0 §2.7.5).
    pub(super) settled: bool,
    /// Whether the receiver settles it second (§2.8.3).
    pub(super) second: bool,
    /// The transaction that it belongs to.
    pub(super) txn_id: Option<Box<[u8]>>,
    /// The limit that it is judged by; none for what is exempt or unlimited.
    pub(super) limit: Option<Limit>,
    /// Frames so far.
    pub(super) frames: u64,
    /// Whether its receiver has seen nothing of it and never will.
    pub(super) is_unseen: bool,
    /// Whether its verdict has been written down.
    pub(super) is_counted: bool,
    /// What is changed about it.
    pub(super) change: Change,
    /// Octets of its payload that its receiver is not sent for that.
    pub(super) shortening: u64,
    /// What becomes of its frames.
    pub(super) course: Course,
}

/// What becomes of the frames of a delivery.
#[derive(Debug)]
pub(super) enum Course {
    /// They are forwarded as they come.
    Passing,
    /// They are held until the last one comes, or all of the head.
    Held(Held, Until),
    /// They are thrown away: it was refused.
    Swallowed,
}

/// Up to where frames are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Up to the last one.
    End,
    /// Up to the one in which what is changed about the delivery is decided.
    Head,
}

/// Whole frames that are held back.
#[derive(Debug)]
pub(super) struct Held {
    /// As they came.
    pub(super) frames: VecDeque<Vec<u8>>,
    /// Their octets, taken out of what all connections may hold.
    pub(super) reservation: Reservation,
}

impl Delivery {
    /// A delivery with its first frame, which is to be counted by [`Delivery::count`].
    pub(super) fn new(
        id: u32,
        transfer: &Transfer<'_>,
        second: bool,
        txn_id: Option<&[u8]>,
        limit: Option<Limit>,
    ) -> Self {
        Self {
            id,
            octets: 0,
            settled: transfer.settled == Some(true),
            second,
            txn_id: txn_id.map(Into::into),
            limit,
            frames: 0,
            is_unseen: false,
            is_counted: false,
            change: Change::Nothing,
            shortening: 0,
            course: Course::Passing,
        }
    }

    /// Takes over what is changed about it; what that makes shorter is not counted.
    pub(super) fn set_change(&mut self, change: Change) {
        self.shortening = change.shortening();
        // What goes to the broker unsettled is settled for its sender, whatever its frames say.
        self.settled |= change.unsettles();
        self.change = change;
    }

    /// Octets of all frames so far, as its receiver is sent them but for a mark that is added: what
    /// counts against the limit.
    pub(super) fn size(&self) -> u64 {
        self.octets.saturating_sub(self.shortening)
    }

    /// What is due when a frame of it has gone out.
    pub(super) fn at_end(&self, is_last: bool, is_aborted: bool) -> AtEnd {
        if is_aborted {
            AtEnd::Abort
        } else if is_last && self.settled {
            AtEnd::Forget
        } else if is_last && self.change.restores() {
            let second = self.second;
            AtEnd::Accept { second }
        } else {
            AtEnd::Wait
        }
    }

    /// Counts a frame; the payload of one that aborts the delivery does not (AMQP 1.0 §2.7.5).
    pub(super) fn count(&mut self, transfer: &Transfer<'_>, payload_len: usize) {
        self.frames += 1;
        if !transfer.aborted {
            self.octets += payload_len as u64;
        }
        self.settled |= transfer.settled == Some(true);
    }

    /// Whether its receiver has seen nothing of it because it is held.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.course, Course::Held(..))
    }

    /// Frames that are held.
    pub(super) fn held_frames(&self) -> u32 {
        match &self.course {
            Course::Held(held, _) => held.frames.len() as u32,
            Course::Passing | Course::Swallowed => 0,
        }
    }

    /// The limit that it is over, if it is.
    pub(super) fn exceeded(&self) -> Option<&Limit> {
        self.limit
            .as_ref()
            .filter(|limit| !limit.allows(self.size()))
    }
}
