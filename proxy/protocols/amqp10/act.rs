//! What is done with a frame that does not go on as it is, and why a run of frames ends.

use parsers::amqp10::Malformed;

use super::presettled::{AtEnd, Rewrite};

/// What is done with a frame that does not go on as it is.
#[derive(Debug)]
pub(super) enum Act {
    /// So many octets are thrown away.
    Withhold(u64),
    /// So many octets are thrown away, the last of a delivery that was refused; then its sender is
    /// told, unless it has aborted the delivery.
    WithholdLast(u64, Answer),
    /// The sender of a delivery that was refused is told.
    Answer(Answer),
    /// So many octets are thrown away, these take their place, and so many more are forwarded.
    Replace(u64, Vec<u8>, u64),
    /// These octets are sent, and so many more are forwarded.
    Send(Vec<u8>, u64),
    /// So many octets are forwarded.
    Forward(u64),
    /// So many more octets are added to a frame that is being held.
    Hold(HoldFrame),
}

/// Who is told that a delivery was refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Where its link is: the session, and the place in it.
    pub(super) at: (usize, usize),
    /// Whether its sender has aborted it, which settles it.
    pub(super) is_aborted: bool,
}

/// A frame that is on its way into a delivery that is held.
#[derive(Debug)]
pub(super) struct HoldFrame {
    /// Where its link is: the session, and the place in it.
    pub(super) at: (usize, usize),
    /// What has come of it.
    pub(super) frame: Vec<u8>,
    /// Octets that have not.
    pub(super) left: usize,
    /// Whether all that is held of the delivery goes out after this frame, and whether more follows.
    pub(super) then: Then,
    /// What is changed about a frame that is held by itself.
    pub(super) rewrite: Option<Box<Rewrite>>,
}

/// What follows a frame that was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// More frames to hold.
    HoldOn,
    /// The release of the whole delivery.
    Release,
    /// Its own release, when its receiver takes more: its delivery is not held.
    Queue {
        /// The sender's delivery-id.
        id: u32,
        /// Whether it is the first frame of its delivery.
        is_first: bool,
        /// What is due once it has gone out.
        at_end: AtEnd,
    },
    /// The release of what is held; the frames that follow pass as they come.
    Stream,
}

/// Why the run of frames ends before the next one.
#[derive(Debug)]
pub(super) enum Halt {
    /// This many octets of it are needed.
    NeedMore(usize),
    /// It has to wait for the other side.
    Wait,
    /// This is to be done with it.
    Act(Act),
    /// It is not allowed.
    Malformed(Malformed),
    /// The connection has been ended over it.
    Over,
}

impl From<Malformed> for Halt {
    fn from(fault: Malformed) -> Self {
        Self::Malformed(fault)
    }
}
