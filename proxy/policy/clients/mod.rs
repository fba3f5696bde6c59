//! Who a client is, in terms of the rules: which scopes it is in.
//!
//! A scope is a set of selectors without addresses, as rules have them; a client is in it if all of
//! them match. Rules with the same selectors share a scope, and the scope of no selectors takes
//! every client. What a scope limits is not known here.

mod builder;

use super::Identity;
use super::index::{Networks, Patterns};
use super::pattern::{Glob, Pattern, VhostPattern};
use super::precedence::Fit;
use super::rule::GroupName;

pub(crate) use builder::Builder;

/// The scopes of all rules, to be searched by identity.
#[derive(Debug)]
pub(crate) struct Clients {
    /// The network selectors.
    peers: Networks<SelectorId>,
    /// The client selectors.
    clients: Patterns<Glob, SelectorId>,
    /// The user selectors.
    users: Patterns<Glob, SelectorId>,
    /// The virtual hosts of selectors and of groups.
    vhosts: Patterns<VhostPattern, SelectorId>,
    /// The users of groups, with the groups that they are in.
    members: Patterns<Glob, Vec<Membership>>,
    /// Every selector, by its id.
    selectors: Box<[Watched]>,
    /// The selectors of each scope, by its id.
    scopes: Box<[Box<[SelectorId]>]>,
    /// The groups in the order in which they were first declared.
    groups: Box<[GroupName]>,
}

/// A distinct selector of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SelectorId(u32);

/// A distinct set of selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ScopeId(pub(crate) u32);

impl ScopeId {
    /// The scope of no selectors.
    const EVERYBODY: Self = Self(0);
}

/// A selector, and the scopes to look at where it matches.
#[derive(Debug)]
struct Watched {
    /// What it is.
    selector: Key,
    /// Scopes that have it. A scope with several selectors is watched by one of them only, the one
    /// that the fewest scopes have.
    scopes: Vec<ScopeId>,
}

/// A selector without an address. Those of a group are one for each kind of entry in its list of
/// users, since they differ in precedence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Peer(ipnet::IpNet),
    Client(Glob),
    User(Glob),
    Vhost(VhostPattern),
    /// Where the group stands in the list of groups, and how narrow the entries are.
    Member(usize, Fit),
}

/// That a user is in a group, if its virtual host fits.
#[derive(Debug)]
struct Membership {
    /// The virtual host of the group; none is any.
    vhost: Option<SelectorId>,
    /// The selector that then matches.
    selector: SelectorId,
}

/// What was found about a client.
#[derive(Debug)]
pub(crate) struct Found {
    /// The scopes that it is in.
    pub(crate) scopes: Vec<ScopeId>,
    /// The labels that it has.
    pub(crate) labels: Labels,
}

/// The virtual host and the group under which a client is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Labels {
    vhost: Option<SelectorId>,
    group: Option<SelectorId>,
}

impl Clients {
    /// Finds the scopes and the labels of a client.
    pub(crate) fn find(&self, who: &Identity<'_>) -> Found {
        let mut found: Vec<SelectorId> = Vec::new();
        if let Some(vhost) = who.vhost {
            found.extend(self.vhosts.all(vhost.as_bytes()));
        }
        let vhost = self.narrowest(&found);
        if let Some(user) = who.user {
            let memberships = self.members.all(user.as_bytes()).flatten();
            let fits = |m: &&Membership| m.vhost.is_none_or(|vhost| found.contains(&vhost));
            let member: Vec<_> = memberships.filter(fits).map(|m| m.selector).collect();
            found.extend(member);
            found.extend(self.users.all(user.as_bytes()));
        }
        if let Some(client) = who.client {
            found.extend(self.clients.all(client.as_bytes()));
        }
        if let Some(peer) = who.peer {
            self.peers.find(peer, |&selector| found.push(selector));
        }
        found.sort_unstable();
        found.dedup();
        let is_member = |id: &&SelectorId| matches!(self.key(**id), Some(Key::Member(..)));
        let group = self.narrowest(found.iter().filter(is_member));
        Found {
            scopes: self.scopes_of(&found),
            labels: Labels { vhost, group },
        }
    }

    /// How many scopes there are.
    pub(crate) fn scope_count(&self) -> usize {
        self.scopes.len()
    }

    /// The text of the virtual host's label, if there is one.
    pub(crate) fn vhost_text(&self, labels: Labels) -> Option<&str> {
        match self.key(labels.vhost?)? {
            Key::Vhost(pattern) => Some(pattern.text()),
            _ => None,
        }
    }

    /// The text of the group's label, if there is one.
    pub(crate) fn group_text(&self, labels: Labels) -> Option<&str> {
        match self.key(labels.group?)? {
            Key::Member(group, _) => self.groups.get(*group).map(GroupName::as_str),
            _ => None,
        }
    }

    /// All virtual hosts that can be labels, in the order in which they were given.
    pub(crate) fn vhost_texts(&self) -> impl Iterator<Item = &str> {
        self.selectors
            .iter()
            .filter_map(|watched| match &watched.selector {
                Key::Vhost(pattern) => Some(pattern.text()),
                _ => None,
            })
    }

    /// All groups, in the order in which they were given.
    pub(crate) fn group_texts(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(GroupName::as_str)
    }

    /// The scopes whose selectors are all among those found, which are sorted.
    fn scopes_of(&self, found: &[SelectorId]) -> Vec<ScopeId> {
        let has = |selector: &SelectorId| found.binary_search(selector).is_ok();
        let complete = |scope: &&ScopeId| {
            let selectors = self.scopes.get(scope.0 as usize);
            selectors.is_some_and(|selectors| selectors.iter().all(has))
        };
        let watched = found
            .iter()
            .filter_map(|id| self.selectors.get(id.0 as usize));
        let scopes = watched.flat_map(|watched| &watched.scopes).filter(complete);
        [ScopeId::EVERYBODY].iter().chain(scopes).copied().collect()
    }

    /// The narrowest of some selectors, and of those the first given.
    fn narrowest<'a>(&self, ids: impl IntoIterator<Item = &'a SelectorId>) -> Option<SelectorId> {
        let place = |id: &&SelectorId| (self.fit(**id), std::cmp::Reverse(self.given(**id)));
        ids.into_iter().max_by_key(place).copied()
    }

    /// How narrow a virtual host or a group is.
    fn fit(&self, id: SelectorId) -> (Fit, Fit) {
        match self.key(id) {
            Some(Key::Vhost(pattern)) => (Fit::of(pattern.wildcard()), Fit::NAME),
            Some(Key::Member(group, member)) => {
                let vhost = self.groups.get(*group).and_then(GroupName::vhost);
                (
                    vhost.map_or(Fit::ANY, |vhost| Fit::of(vhost.wildcard())),
                    *member,
                )
            }
            _ => (Fit::ANY, Fit::ANY),
        }
    }

    /// A number that tells which of two virtual hosts, or of two groups, was given first.
    fn given(&self, id: SelectorId) -> usize {
        match self.key(id) {
            Some(Key::Member(group, _)) => *group,
            _ => id.0 as usize,
        }
    }

    fn key(&self, id: SelectorId) -> Option<&Key> {
        self.selectors
            .get(id.0 as usize)
            .map(|watched| &watched.selector)
    }
}
