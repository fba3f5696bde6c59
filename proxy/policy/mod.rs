//! Which limit applies, and whether a message is within it.
//!
//! The policy is given an identity, a direction, an address and a size, and answers with a verdict
//! and the limit that decided. It knows no protocol, no frame and no clock; what is done about a
//! message that is over its limit is carried here as configuration and carried out by a protocol.

mod limit;

use std::net::IpAddr;
use std::sync::Arc;

pub use limit::{ByteSize, Limit, Verdict};

/// The limits of one sizegate, as configured; shared by all its connections.
#[derive(Debug)]
pub struct Policy {
    /// The limit where no rule says otherwise, by direction.
    default: [Limit; 2],
    /// What is done to a message over its limit.
    on_oversize: OnOversize,
    /// Whether limits are enforced at all.
    mode: Mode,
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Client to broker: the send direction.
    ToBroker,
    /// Broker to client: the receive direction.
    ToClient,
}

impl Direction {
    /// Both directions, for the metrics to start at zero.
    pub const ALL: [Self; 2] = [Self::ToBroker, Self::ToClient];

    /// The word for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToBroker => "send",
            Self::ToClient => "receive",
        }
    }
}

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

/// Who a client is: as its network address shows, and as it claims itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// The client's network address.
    pub peer: Option<IpAddr>,
    /// The virtual host that it asked for.
    pub vhost: Option<&'a str>,
    /// The user that it authenticates as.
    pub user: Option<&'a str>,
    /// Its MQTT client id, AMQP container-id or connection name.
    pub client: Option<&'a str>,
}

impl Policy {
    /// A policy of one limit for each direction and no rules.
    pub fn new(send: Limit, receive: Limit, on_oversize: OnOversize, mode: Mode) -> Self {
        Self {
            default: [send, receive],
            on_oversize,
            mode,
        }
    }

    /// What is done to a message over its limit.
    pub fn on_oversize(&self) -> OnOversize {
        self.on_oversize
    }

    /// Whether limits are enforced.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Resolves the identity part of all rules, once for a connection.
    pub fn identify(self: &Arc<Self>, _who: &Identity<'_>) -> Limits {
        Limits {
            policy: Arc::clone(self),
        }
    }
}

/// The limits of one connection: what its identity leaves of the rules.
#[derive(Debug)]
pub struct Limits {
    policy: Arc<Policy>,
}

impl Limits {
    /// Judges a message of `size` octets to or from `address`.
    #[inline]
    pub fn judge(&self, direction: Direction, _address: &[u8], size: u64) -> Verdict<'_> {
        let [send, receive] = &self.policy.default;
        let limit = match direction {
            Direction::ToBroker => send,
            Direction::ToClient => receive,
        };
        if limit.allows(size) {
            Verdict::Allowed
        } else if self.policy.mode == Mode::DryRun {
            Verdict::WouldDeny(limit)
        } else {
            Verdict::Denied(limit)
        }
    }
}
