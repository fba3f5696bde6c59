//! The limits of one connection: what a client's identity leaves of the rules.

use std::sync::Arc;

use super::clients::Labels;
use super::subject::Both;
use super::table::{Reach, Table};
use super::{AddressSyntax, Direction, Identity, Limit, Mode, Policy, Verdict};

/// The limits of one connection.
///
/// It is small, since the rules stay in the policy: some 100 octets, and four for each scope with
/// rules for addresses that the client is in.
#[derive(Debug)]
pub struct Limits {
    /// The rules.
    policy: Arc<Policy>,
    /// How the addresses of the connection are read.
    syntax: AddressSyntax,
    /// What the client can meet in each direction.
    reach: Both<Reach>,
    /// What the client is counted under.
    labels: Labels,
}

impl Limits {
    /// Finds what the rules have for a client.
    pub(super) fn new(policy: &Arc<Policy>, who: &Identity<'_>, syntax: AddressSyntax) -> Self {
        let found = policy.clients.find(who);
        let reach = |direction| policy.table(direction, syntax).reach(&found.scopes);
        Self {
            policy: Arc::clone(policy),
            syntax,
            reach: Both {
                to_broker: reach(Direction::ToBroker),
                to_client: reach(Direction::ToClient),
            },
            labels: found.labels,
        }
    }

    /// Judges a message of `size` octets to or from `address`.
    ///
    /// Allocates nothing and takes no lock. What is within every limit that the client could meet is
    /// allowed without a look at its address.
    #[inline]
    pub fn judge(&self, direction: Direction, address: &[u8], size: u64) -> Verdict<'_> {
        if self.allow_anywhere(direction, size) {
            return Verdict::Allowed;
        }
        self.weigh(self.limit(direction, address), size)
    }

    /// Whether a message of `size` octets is within every limit that this client could meet.
    ///
    /// For nearly all messages that is all there is to ask; those above it are for [`Limits::judge`].
    #[inline]
    pub fn allow_anywhere(&self, direction: Direction, size: u64) -> bool {
        size <= self.reach.get(direction).floor
    }

    /// Whether a limit in this direction may depend on the address.
    #[inline]
    pub fn heeds_addresses(&self, direction: Direction) -> bool {
        !self.reach.get(direction).scopes.is_empty()
    }

    /// The limit for messages to or from `address`.
    ///
    /// For protocols in which an address holds for many messages, which are then to be weighed
    /// against the limit by [`Limits::weigh`].
    pub fn limit(&self, direction: Direction, address: &[u8]) -> &Limit {
        let table = self.table(direction);
        table.limit(table.decide(self.reach.get(direction), address))
    }

    /// Judges a message of `size` octets by a limit that was found before.
    #[inline]
    pub fn weigh<'a>(&self, limit: &'a Limit, size: u64) -> Verdict<'a> {
        match self.policy.mode() {
            _ if limit.allows(size) => Verdict::Allowed,
            Mode::Enforce => Verdict::Denied(limit),
            Mode::DryRun => Verdict::WouldDeny(limit),
        }
    }

    /// The largest limit that this client could meet: what can be promised before an address is
    /// known. No limit counts as the largest of all.
    ///
    /// It may be larger than any that is met, where rules for addresses leave none out.
    pub fn largest(&self, direction: Direction) -> &Limit {
        self.table(direction)
            .limit(self.reach.get(direction).largest)
    }

    /// The virtual host to count this client under: one of [`Policy::vhost_labels`].
    pub fn vhost_label(&self) -> &str {
        self.policy.clients.vhost_text(self.labels).unwrap_or(OTHER)
    }

    /// The group to count this client under: one of [`Policy::group_labels`].
    pub fn group_label(&self) -> &str {
        self.group().unwrap_or(OTHER)
    }

    /// The group that this client is in; of several, the first by precedence.
    pub fn group(&self) -> Option<&str> {
        self.policy.clients.group_text(self.labels)
    }

    /// The policy that these limits are part of.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// How many scopes a verdict looks at, for tests.
    #[cfg(test)]
    pub(super) fn scope_count(&self) -> usize {
        Direction::ALL
            .iter()
            .map(|&direction| self.reach.get(direction).scopes.len())
            .sum()
    }

    fn table(&self, direction: Direction) -> &Table {
        self.policy.table(direction, self.syntax)
    }
}

/// The label of what no configured pattern matches.
pub(super) const OTHER: &str = "other";
