//! Waiting for an event, with a deadline.

use std::time::{Duration, Instant};

/// How long an event may take before a test gives up on it: far more than it needs on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Looks until there is something to see, and panics when the deadline passes without.
///
/// For what can only be looked at and does not announce itself: a metric, a process, a port.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(
            start.elapsed() < DEADLINE,
            "{what}: not within {DEADLINE:?}"
        );
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
}

/// Leaves the processor to what is being waited for.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
