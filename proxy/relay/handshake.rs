//! How long a client may take to say who it is.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// The time that a client has to say who it is.
pub(super) struct Handshake {
    /// When it is over.
    time: Pin<Box<Sleep>>,
    /// Since when the client waits for its broker to be reached and to say its first word, while it
    /// does: its time stands still.
    stands_still_since: Option<Instant>,
}

impl Handshake {
    /// The time up to a deadline.
    pub(super) fn until(deadline: Instant) -> Self {
        Self {
            time: Box::pin(sleep_until(deadline)),
            stands_still_since: None,
        }
    }

    /// The client waits for its broker from here on.
    pub(super) fn stands_still(&mut self) {
        self.stands_still_since = Some(Instant::now());
    }

    /// Gives the client the time back that it waited for its broker.
    pub(super) fn goes_on(&mut self) {
        if let Some(since) = self.stands_still_since.take() {
            let deadline = self.time.deadline() + since.elapsed();
            self.time.as_mut().reset(deadline);
        }
    }

    /// Ready once the time is over.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.stands_still_since {
            Some(_) => Poll::Pending,
            None => self.time.as_mut().poll(cx),
        }
    }
}
