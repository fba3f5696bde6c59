//! The contract between the relay and a protocol.
//!
//! A [`Gate`] is made for each connection once its protocol is known. It is sans-io: the relay hands
//! it octets of one [`Side`], and it answers with the one [`Step`] to take next. It knows neither
//! sockets nor clocks; the relay knows neither frames nor limits. What happened is written down in
//! a [`Meter`], which the relay empties into metrics and log lines.

#[cfg(test)]
pub(crate) mod harness;
mod hold;
mod meter;
mod opaque;
mod step;

use std::time::Duration;

pub use hold::{HoldBudget, Reservation};
pub use meter::{Histogram, Meter, NotAccepted, Outcome, Refusal, Report, VerdictKind};
pub use opaque::Opaque;
pub use step::{Ending, HangUp, Phase, Reason, Side, Step};

pub use crate::policy::{Direction, Identity, Limits};

/// What stands between the two sides of one connection and decides on each octet.
///
/// The octets of one side form a stream, and each step speaks of the front of it: the relay asks
/// for a step, carries it out to its last octet, and only then asks for the next one of that side.
/// So a gate that is asked knows that the stream to the other side stands where it left it.
pub trait Gate: Send {
    /// Decides what happens next in the stream that comes from `from`.
    ///
    /// `input` holds the octets that were received and not yet decided, possibly none. Octets for
    /// [`Step::Inject`] are appended to `inject`, which is empty when this is called.
    fn step(&mut self, from: Side, input: &[u8], meter: &mut Meter, inject: &mut Vec<u8>) -> Step;

    /// Says whether `from`'s stream has a step to take that no new octet of it brings about:
    /// an injection that waits for its turn, or the end of the connection.
    fn pending(&self, from: Side) -> bool;

    /// Asks for an end that the relay wants: the gate says goodbye in the protocol's own words at
    /// the next place in the streams where that is legal.
    fn hang_up(&mut self, why: HangUp);

    /// How long from now the gate wants [`Gate::tick`] called, though nothing comes, if it does.
    fn tick_after(&mut self) -> Option<Duration> {
        None
    }

    /// The time that [`Gate::tick_after`] named has passed.
    fn tick(&mut self) {}

    /// Pre-settled messages of the client that went to the broker unsettled and whose outcome is
    /// due; with the connection they are lost.
    fn unsettled(&self) -> u64 {
        0
    }

    /// How far the client has come in saying who it is.
    fn phase(&self) -> Phase;

    /// Who the client says it is, for logs.
    fn identity(&self) -> Identity<'_>;

    /// What the client is held to, once it has said who it is.
    fn limits(&self) -> Option<&Limits>;
}
