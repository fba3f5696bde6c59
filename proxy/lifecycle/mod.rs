//! What happens to sizegate while it runs: signals, certificates that are replaced, and its end.
//!
//! [`Lifecycle`] is what all of the program can see of it: tokens that say how far the end has
//! come, and the tracker that knows which connections are left. [`drain`] moves the tokens, and
//! [`Signals`] says when. [`Certificates`] are read again as they change. What a goodbye is in a protocol, and how a connection is cut, is for the
//! relay.

mod certificates;
mod drain;
mod signals;

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use certificates::Certificates;
pub use drain::{Outcome, Patience, drain};
pub use signals::{Hangups, Signals};

/// What all of the program can see of its end.
///
/// ```text
/// Running --begin_drain--> Draining --say_goodbye--> Goodbye --cut_all--> Cut
/// ```
#[derive(Debug, Default)]
pub struct Lifecycle {
    /// The stage, for those who ask often; each token below wakes those who wait for one.
    stage: AtomicU8,
    /// Cancelled: no more connections are accepted.
    pub accepting: CancellationToken,
    /// Cancelled: each connection says goodbye at the next place where its protocol allows it.
    pub goodbye: CancellationToken,
    /// Cancelled: each connection ends at once.
    pub cut: CancellationToken,
    /// A task for each connection that has not ended.
    pub connections: TaskTracker,
    /// Set once a connection was ended that had not taken note of its goodbye.
    was_cut: AtomicBool,
}

impl Lifecycle {
    /// A program that runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far the end of the program has come.
    #[inline]
    pub fn stage(&self) -> Stage {
        match self.stage.load(Acquire) {
            0 => Stage::Running,
            1 => Stage::Draining,
            2 => Stage::Goodbye,
            _ => Stage::Cut,
        }
    }

    /// Whether the program is on its way out.
    pub fn draining(&self) -> bool {
        self.stage() > Stage::Running
    }

    /// Lets no more connections in.
    pub fn begin_drain(&self) {
        self.reach(Stage::Draining);
        self.accepting.cancel();
    }

    /// Has each connection say goodbye.
    pub fn say_goodbye(&self) {
        self.begin_drain();
        self.reach(Stage::Goodbye);
        self.goodbye.cancel();
    }

    /// Ends each connection at once.
    pub fn cut_all(&self) {
        self.reach(Stage::Cut);
        // Who waits for an earlier stage is to be woken by this one too.
        self.say_goodbye();
        self.cut.cancel();
    }

    fn reach(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Release);
    }

    /// Notes that a connection was ended that had not taken note of its goodbye.
    pub fn note_cut(&self) {
        self.was_cut.store(true, Relaxed);
    }

    /// Whether that happened to any connection.
    pub fn was_cut(&self) -> bool {
        self.was_cut.load(Relaxed)
    }
}

/// How far the end of the program has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// It has not begun.
    Running,
    /// No more connections are accepted.
    Draining,
    /// Each connection says goodbye at the next place where its protocol allows it.
    Goodbye,
    /// Each connection ends at once.
    Cut,
}

#[cfg(test)]
mod tests;
