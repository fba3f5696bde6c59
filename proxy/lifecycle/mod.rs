//! How sizegate stops: signals, and the order in which connections are let go.
//!
//! [`Lifecycle`] is what all of the program can see of it: tokens that say how far the end has
//! come, and the tracker that knows which connections are left. [`drain`] moves the tokens, and
//! [`Signals`] says when. What a goodbye is in a protocol, and how a connection is cut, is for the
//! relay.

mod drain;
mod signals;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use drain::{Outcome, Patience, drain};
pub use signals::Signals;

/// How far the end of the program has come.
///
/// ```text
/// running --begin_drain--> draining --goodbye--> leaving --cut--> over
/// ```
#[derive(Debug, Default)]
pub struct Lifecycle {
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

    /// Whether the program is on its way out.
    pub fn draining(&self) -> bool {
        self.accepting.is_cancelled()
    }

    /// Lets no more connections in.
    pub fn begin_drain(&self) {
        self.accepting.cancel();
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

#[cfg(test)]
mod tests;
