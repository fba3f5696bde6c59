//! The memory that all gates together may hold messages in.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A number of octets that may be held at once, in all connections together (`--hold-memory`).
#[derive(Debug)]
pub struct HoldBudget {
    most: u64,
    held: AtomicU64,
}

impl HoldBudget {
    /// A budget of this many octets.
    pub fn new(most: u64) -> Self {
        Self {
            most,
            held: AtomicU64::new(0),
        }
    }

    /// Octets that are held now.
    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// Takes octets out of the budget, unless it has not as many left.
    fn reserve(&self, octets: u64) -> bool {
        let enough = |held: u64| held.checked_add(octets).filter(|&held| held <= self.most);
        self.held.fetch_update(Relaxed, Relaxed, enough).is_ok()
    }
}

/// What one message takes out of the budget; given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<HoldBudget>,
    octets: u64,
}

impl Reservation {
    /// A reservation of nothing.
    pub fn new(budget: &Arc<HoldBudget>) -> Self {
        Self {
            budget: Arc::clone(budget),
            octets: 0,
        }
    }

    /// Takes more, or says that there is no more.
    pub fn grow(&mut self, octets: u64) -> bool {
        let grown = self.budget.reserve(octets);
        if grown {
            self.octets += octets;
        }
        grown
    }

    /// Gives some of it back.
    pub fn shrink(&mut self, octets: u64) {
        let octets = octets.min(self.octets);
        self.octets -= octets;
        self.budget.held.fetch_sub(octets, Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_shared_and_given_back() {
        let budget = Arc::new(HoldBudget::new(100));
        let mut one = Reservation::new(&budget);
        let mut other = Reservation::new(&budget);
        assert!(one.grow(60));
        assert!(!other.grow(41));
        assert!(other.grow(40));
        one.shrink(30);
        assert_eq!(budget.held(), 70);
        drop(one);
        assert_eq!(budget.held(), 40);
        assert!(other.grow(60));
        assert!(!other.grow(u64::MAX));
    }
}
