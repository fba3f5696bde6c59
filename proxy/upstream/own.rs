//! The connections of this process to brokers, so that one that is led back to it is known.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::transport::Hop;

/// The connections to brokers that are open, on all threads.
///
/// A connection that was redirected still has the two ends that its maker sees: where it came from,
/// and where it meant to go. No two connections have both the same, so the table holds one entry
/// for each open socket and no more, and an innocent client never looks like one of them.
#[derive(Debug, Default)]
pub struct OwnConnections(Mutex<HashSet<Hop>>);

impl OwnConnections {
    /// Enters a connection that was made, before anything is written to it.
    pub(super) fn enter(self: &Arc<Self>, hop: Hop) -> Entry {
        self.hops().insert(hop);
        Entry {
            all: Arc::clone(self),
            hop,
        }
    }

    /// Whether a client's connection is one of these.
    pub(super) fn contains(&self, hop: Hop) -> bool {
        self.hops().contains(&hop)
    }

    fn hops(&self) -> MutexGuard<'_, HashSet<Hop>> {
        // A panic elsewhere has left the set whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps one connection among them.
#[derive(Debug)]
pub struct Entry {
    all: Arc<OwnConnections>,
    hop: Hop,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.hops().remove(&self.hop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(from: &str, to: &str) -> Hop {
        Hop {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
        }
    }

    #[test]
    fn a_connection_is_known_by_both_of_its_ends_as_long_as_it_is_open() {
        let all = Arc::new(OwnConnections::default());
        let ours = hop("10.0.0.1:40000", "10.0.0.9:1883");
        let entry = all.enter(ours);
        assert!(all.contains(ours));
        // The kernel gives one port to several connections, if they lead elsewhere.
        assert!(!all.contains(hop("10.0.0.1:40000", "10.0.0.8:1883")));
        assert!(!all.contains(hop("10.0.0.1:40001", "10.0.0.9:1883")));
        drop(entry);
        assert!(!all.contains(ours));
    }

    #[test]
    fn nothing_is_left_of_connections_that_have_ended() {
        let all = Arc::new(OwnConnections::default());
        for port in 1..=u16::MAX {
            let _gone = all.enter(hop(&format!("10.0.0.1:{port}"), "10.0.0.9:1883"));
        }
        assert!(all.hops().is_empty());
    }
}
