//! Search structures: which of thousands of patterns match a name, without trying each.
//!
//! They hold values beside patterns and know nothing of rules. Names that are no patterns are found
//! by hashing, so their number does not matter; of the patterns, only those are tried whose literal
//! beginning and end fit.

mod networks;
mod patterns;
mod prefixes;
mod topics;

pub(crate) use networks::{Networks, canonical};
pub(crate) use patterns::Patterns;
pub(crate) use topics::Topics;

/// Counts one look at a table or a pattern, so that a test can say what a verdict costs.
#[inline]
fn probe() {
    #[cfg(test)]
    probes::COUNT.with(|count| count.set(count.get() + 1));
}

/// The count of looks, for tests.
#[cfg(test)]
pub(crate) mod probes {
    use std::cell::Cell;

    thread_local! {
        /// Looks since the thread began.
        pub(super) static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    /// How many looks `work` takes.
    pub(crate) fn taken_by(work: impl FnOnce()) -> u64 {
        let before = COUNT.get();
        work();
        COUNT.get() - before
    }
}
