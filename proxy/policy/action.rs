//! What is done about a message over its limit, as configured and as carried out.
//!
//! The words only: which action a protocol takes for which of its messages is the protocol's to
//! decide.

/// What the operator wants done to a message over its limit (`--on-oversize`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOversize {
    /// Refuse the one message.
    #[default]
    Reject,
    /// End the smallest unit that the protocol has around the message.
    Detach,
    /// End the connection.
    Close,
}

/// What was done, or would have been done, to one message over its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Refused in the protocol's own words.
    Reject,
    /// Thrown away, and its sender not told, because the protocol has no word for it.
    Drop,
    /// Its link or channel was ended.
    Detach,
    /// Its connection was ended.
    Close,
}

impl Action {
    /// Every action, for the metrics to start at zero.
    pub const ALL: [Self; 4] = [Self::Reject, Self::Drop, Self::Detach, Self::Close];

    /// The word for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Drop => "drop",
            Self::Detach => "detach",
            Self::Close => "close",
        }
    }
}

/// Whether limits are enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A message over its limit is refused.
    #[default]
    Enforce,
    /// It is forwarded, counted and logged (`--dry-run`).
    DryRun,
}
