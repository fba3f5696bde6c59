//! One limit and the verdict it leads to.

use std::fmt;
use std::sync::Arc;

/// A number of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// The least size that a limit may have, unless it is 0: no message is smaller than this, and a
    /// limit that nothing can be within is a mistake.
    pub const LEAST_LIMIT: Self = Self(16);
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The largest size that a message may have, and where that was configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The size in octets, inclusive; 0 is no limit.
    pub size: ByteSize,
    /// The flag that set it, as the user typed it.
    pub rule: Arc<str>,
}

impl Limit {
    /// A limit, inclusive; 0 is no limit.
    pub fn new(size: ByteSize, rule: impl Into<Arc<str>>) -> Self {
        Self {
            size,
            rule: rule.into(),
        }
    }

    /// Says whether a message of `size` octets is within the limit.
    #[inline]
    pub fn allows(&self, size: u64) -> bool {
        self.size.0 == 0 || size <= self.size.0
    }

    /// The largest size that is within the limit.
    pub(crate) fn ceiling(&self) -> u64 {
        match self.size.0 {
            0 => u64::MAX,
            size => size,
        }
    }
}

/// The answer to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Within its limit.
    Allowed,
    /// Over this limit.
    Denied(&'a Limit),
    /// Over this limit, and forwarded all the same.
    WouldDeny(&'a Limit),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_inclusive_and_zero_is_none() {
        let limit = Limit::new(ByteSize(100), "--max-message-size");
        assert!(limit.allows(100));
        assert!(!limit.allows(101));
        assert!(Limit::new(ByteSize(0), "--max-message-size").allows(u64::MAX));
    }
}
