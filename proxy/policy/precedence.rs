//! Which of the rules that match a message decides.
//!
//! 1. The rule whose highest selector ranks highest (peer, address, client, user, group, vhost).
//! 2. Of those, the one with more selectors.
//! 3. Of those, their selectors are compared in pairs, the highest-ranking pair first: a name comes
//!    before a pattern, and of two patterns the one with more text before its first wildcard.
//! 4. Of those, the one that was given first.
//!
//! Nothing of this depends on the message, so all rules are sorted once and the least that matches
//! decides. It does depend on how addresses are read: `sensors/#` is a name, or a pattern.

use std::cmp::Reverse;

use super::AddressSyntax;
use super::index::canonical;
use super::pattern::Pattern;
use super::rule::{Rule, Selector};

/// The place of a rule in the order; the least decides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Precedence {
    /// The rank of the highest selector; 0 without any.
    rank: Reverse<u8>,
    /// How many selectors there are.
    selectors: Reverse<usize>,
    /// How narrow each of them is, the highest rank first.
    fits: Vec<Reverse<(Fit, Fit)>>,
    /// How many rules were given before this one.
    given: usize,
}

impl Precedence {
    /// The place of a rule, given after so many others.
    ///
    /// A group is as narrow as its virtual host, then as the entry of its list of users by which
    /// the user is in it (`member`): who is listed by name is that group's rather than of one that
    /// takes everybody.
    pub(crate) fn of(rule: &Rule, given: usize, member: Fit, syntax: AddressSyntax) -> Self {
        let selectors = rule.selectors();
        let fit = |selector: &Selector| match selector {
            Selector::Group(_) => Reverse((Fit::of_selector(selector, syntax), member)),
            _ => Reverse((Fit::of_selector(selector, syntax), Fit::NAME)),
        };
        Self {
            rank: Reverse(selectors.first().map_or(0, Selector::rank)),
            selectors: Reverse(selectors.len()),
            fits: selectors.iter().map(fit).collect(),
            given,
        }
    }
}

/// How narrow a pattern is; the greater comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fit {
    /// It has no wildcard.
    name: bool,
    /// The octets before the first wildcard; 0 for a name, so that all names are equal.
    prefix: usize,
}

impl Fit {
    /// That of a name.
    pub(crate) const NAME: Self = Self {
        name: true,
        prefix: 0,
    };

    /// That of a pattern which matches everything.
    pub(crate) const ANY: Self = Self {
        name: false,
        prefix: 0,
    };

    /// That of a pattern whose first wildcard stands here, if it has one.
    pub(crate) fn of(wildcard: Option<usize>) -> Self {
        wildcard.map_or(Self::NAME, |prefix| Self {
            name: false,
            prefix,
        })
    }

    /// That of a selector by itself; a network's prefix is its prefix length.
    fn of_selector(selector: &Selector, syntax: AddressSyntax) -> Self {
        match selector {
            Selector::Peer(network) => {
                let network = canonical(*network);
                let prefix = network.prefix_len();
                Self::of((prefix < network.max_prefix_len()).then_some(prefix.into()))
            }
            Selector::Address(pattern) if syntax == AddressSyntax::Topic => {
                // What is no filter matches nothing, wherever it stands.
                pattern
                    .filter()
                    .map_or(Self::ANY, |filter| Self::of(filter.wildcard()))
            }
            Selector::Address(pattern) => Self::of(pattern.glob().wildcard()),
            Selector::Client(glob) | Selector::User(glob) => Self::of(glob.wildcard()),
            Selector::Group(name) => name
                .vhost()
                .map_or(Self::ANY, |vhost| Self::of(vhost.wildcard())),
            Selector::Vhost(pattern) => Self::of(pattern.wildcard()),
        }
    }
}
