//! What a gate writes down while it works: counts of messages, and reports of what is worth a line.
//!
//! The relay makes a meter for each turn of a connection and empties it into the shared metrics at
//! the end of it, so that a run of small messages costs plain additions and no shared memory.

use std::sync::Arc;

use super::Side;
use crate::policy::{Action, Direction};

/// Counts and reports of one turn.
#[derive(Debug, Default)]
pub struct Meter {
    /// Messages by direction and verdict.
    pub messages: [[u64; 3]; 2],
    /// Sizes of messages by direction.
    pub sizes: [Histogram; 2],
    /// Octets of the peers' own that went on as [`super::Step::Inject`], by direction.
    pub released: [u64; 2],
    /// Pre-settled messages that went to the broker unsettled, by what became of them.
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Messages that were pre-settled again on their way to the client.
    pub restored: u64,
    /// What is worth a log line; empty for compliant traffic.
    pub reports: Vec<Report>,
}

impl Meter {
    /// Counts octets that were held and go on now.
    #[expect(
        clippy::indexing_slicing,
        reason = "the enum has as many variants as the array"
    )]
    pub fn released(&mut self, direction: Direction, octets: u64) {
        self.released[direction as usize] += octets;
    }

    /// Counts pre-settled messages that went to the broker unsettled and whose fate is sealed.
    #[expect(
        clippy::indexing_slicing,
        reason = "the enum has as many variants as the array"
    )]
    pub fn outcome(&mut self, outcome: Outcome, messages: u64) {
        self.outcomes[outcome as usize] += messages;
    }

    /// Counts a message whose verdict has fallen.
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "each enum has as many variants as its array"
    )]
    pub fn message(&mut self, direction: Direction, verdict: VerdictKind, size: u64) {
        self.messages[direction as usize][verdict as usize] += 1;
        self.sizes[direction as usize].observe(size);
    }
}

/// What became of a message: the label of `sizegate_messages_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictKind {
    /// Within its limit.
    Allowed,
    /// Over its limit and refused.
    Denied,
    /// Over its limit and forwarded, since this is a dry run.
    WouldDeny,
}

impl VerdictKind {
    /// Every verdict, for the metrics to start at zero.
    pub const ALL: [Self; 3] = [Self::Allowed, Self::Denied, Self::WouldDeny];

    /// The word for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::WouldDeny => "would-deny",
        }
    }
}

/// What became of a pre-settled message that went to the broker unsettled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The broker took it over.
    Accepted,
    /// The broker would not have it.
    Rejected,
    /// The broker did nothing with it.
    Released,
    /// The broker did nothing with it, and would have it changed.
    Modified,
    /// The broker did not say, and cannot any more.
    Lost,
}

impl Outcome {
    /// Every outcome, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Accepted,
        Self::Rejected,
        Self::Released,
        Self::Modified,
        Self::Lost,
    ];

    /// The word for logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Released => "released",
            Self::Modified => "modified",
            Self::Lost => "lost",
        }
    }
}

/// How often which sizes were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Messages up to each of [`Histogram::BOUNDS`] and above the one before; the last is the rest.
    pub counts: [u64; Self::BOUNDS.len() + 1],
    /// Octets of all messages; the largest number there is where they are more.
    pub sum: u64,
}

impl Histogram {
    /// The upper bounds of the buckets in octets, inclusive: powers of four from 64.
    #[expect(clippy::indexing_slicing, reason = "evaluated when this is compiled")]
    pub const BOUNDS: [u64; 12] = {
        let mut bounds = [64; 12];
        let mut at = 1;
        while at < bounds.len() {
            bounds[at] = bounds[at - 1] * 4;
            at += 1;
        }
        bounds
    };

    /// Notes one message of this many octets.
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "one more count than bounds, and `min` keeps it"
    )]
    pub fn observe(&mut self, size: u64) {
        // 64 is 4^3: sizes up to it share the first bucket, and each factor of four is one more.
        let bits = u64::BITS - (size.saturating_sub(1) >> 6).leading_zeros();
        let bucket = bits.div_ceil(2).min(Self::BOUNDS.len() as u32) as usize;
        self.counts[bucket] += 1;
        // A size may be no more than a claim: AMQP 0-9-1 gives it 64 bits.
        self.sum = self.sum.saturating_add(size);
    }
}

/// Something that happened and is worth a log line and a metric of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A message was over its limit.
    Refused(Refusal),
    /// A packet or frame that is not a message was over `--max-control-size`.
    ControlOversize {
        /// The side that sent it.
        side: Side,
        /// Denied, or would-deny in a dry run.
        verdict: VerdictKind,
        /// Its size in octets.
        size: u64,
        /// The limit in octets.
        limit: u64,
    },
    /// A side sent what its protocol does not allow; the text says what and where.
    Malformed {
        /// The side at fault.
        side: Side,
        /// What was wrong, in the reader's words.
        what: String,
    },
    /// Pre-settled messages did not become the broker's, and their sender cannot be told.
    NotAccepted(NotAccepted),
}

/// Pre-settled messages that went to the broker unsettled and that it did not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAccepted {
    /// What became of them.
    pub outcome: Outcome,
    /// How many there are.
    pub messages: u64,
    /// Where they were addressed to, when they said so.
    pub address: Option<String>,
}

/// A message over its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which way it went.
    pub direction: Direction,
    /// Denied, or would-deny in a dry run.
    pub verdict: VerdictKind,
    /// What is done about it.
    pub action: Action,
    /// Where it was addressed to, when it said so.
    pub address: Option<String>,
    /// Its size in octets.
    pub size: u64,
    /// The limit in octets.
    pub limit: u64,
    /// The rule that set the limit.
    pub rule: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_falls_into_the_first_bucket_whose_bound_holds_it() {
        for bound in Histogram::BOUNDS {
            for size in [bound - 1, bound, bound + 1] {
                let mut histogram = Histogram::default();
                histogram.observe(size);
                let expected = Histogram::BOUNDS
                    .iter()
                    .position(|&bound| size <= bound)
                    .unwrap_or(Histogram::BOUNDS.len());
                assert_eq!(histogram.counts[expected], 1, "{size} octets");
                assert_eq!(histogram.sum, size);
            }
        }
    }

    #[test]
    fn sizes_that_no_number_holds_together_are_counted_all_the_same() {
        let mut histogram = Histogram::default();
        histogram.observe(u64::MAX);
        histogram.observe(1);
        assert_eq!(histogram.counts[Histogram::BOUNDS.len()], 1);
        assert_eq!(histogram.counts[0], 1);
        assert_eq!(histogram.sum, u64::MAX);
    }

    #[test]
    fn no_size_is_without_a_bucket() {
        let mut histogram = Histogram::default();
        histogram.observe(0);
        histogram.observe(u64::MAX / 2);
        assert_eq!(histogram.counts[0], 1);
        assert_eq!(histogram.counts[Histogram::BOUNDS.len()], 1);
    }
}
