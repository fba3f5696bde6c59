//! The drain: the time that connections are given to end, and what is done when it is up.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

use super::Lifecycle;
use crate::telemetry::Metrics;

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Each connection ended by itself or took note of its goodbye.
    Clean,
    /// Some connections were cut.
    Cut,
}

impl Outcome {
    /// The word for the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Cut => "cut",
        }
    }
}

/// How long connections are waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until they are told to go (`--drain-timeout`).
    pub stay: Duration,
    /// From then until they are cut (`--linger`).
    pub linger: Duration,
}

/// Lets all connections go, and comes back when none is left.
///
/// `hurry` is completed by whoever can't wait any longer: what is left then is cut at once.
pub async fn drain(
    lifecycle: &Lifecycle,
    metrics: &Metrics,
    patience: Patience,
    hurry: impl Future<Output = ()>,
) -> Outcome {
    metrics.draining();
    lifecycle.begin_drain();
    // Without this the tracker waits for connections that are still to come.
    lifecycle.connections.close();
    let left = tokio::select! {
        biased;
        left = let_go(lifecycle, patience) => left,
        () = hurry => Left::Some,
    };
    if left == Left::Some && !lifecycle.connections.is_empty() {
        lifecycle.note_cut();
        lifecycle.cut_all();
        // A connection that is cut ends at once; one that can't is not worth waiting for.
        let _ = timeout(GRACE, lifecycle.connections.wait()).await;
    }
    if lifecycle.was_cut() {
        Outcome::Cut
    } else {
        Outcome::Clean
    }
}

/// Waits for connections to end, first by themselves, then after a goodbye.
async fn let_go(lifecycle: &Lifecycle, patience: Patience) -> Left {
    let gone = lifecycle.connections.wait();
    if timeout(patience.stay, gone).await.is_ok() {
        return Left::None;
    }
    lifecycle.say_goodbye();
    // A connection lingers as long by itself and tells when that was not enough; it goes first.
    let gone = lifecycle.connections.wait();
    match timeout(patience.linger.saturating_add(GRACE), gone).await {
        Ok(()) => Left::None,
        Err(_) => Left::Some,
    }
}

/// Whether connections are left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    None,
    Some,
}

/// What is added to a wait so that the one waited for is done first.
const GRACE: Duration = Duration::from_secs(1);
