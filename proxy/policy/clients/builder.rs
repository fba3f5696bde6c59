//! How scopes are gathered from rules.

use std::collections::{BTreeSet, HashMap};

use super::{Clients, Key, Membership, ScopeId, SelectorId, Watched};
use crate::policy::index::canonical;
use crate::policy::pattern::{Glob, Pattern};
use crate::policy::precedence::Fit;
use crate::policy::rule::{Group, GroupName, Rule, Selector};

/// Collects the scopes of rules until [`Clients`] can be made of them.
#[derive(Debug)]
pub(crate) struct Builder {
    /// The distinct selectors; ids are given in order from 0.
    selectors: HashMap<Key, SelectorId>,
    /// The distinct scopes by their selectors, which are sorted; ids are given in order from 0.
    scopes: HashMap<Box<[SelectorId]>, ScopeId>,
    /// The groups, each once, in the order in which they were first declared.
    groups: Vec<Members>,
    /// Where each group is in `groups`.
    by_name: HashMap<GroupName, usize>,
}

/// A group with all its users.
#[derive(Debug)]
struct Members {
    name: GroupName,
    users: Vec<Glob>,
}

impl Builder {
    /// Begins with the groups that rules may name.
    pub(crate) fn new(groups: &[Group]) -> Self {
        let mut builder = Self {
            selectors: HashMap::new(),
            scopes: HashMap::from([(Box::default(), ScopeId::EVERYBODY)]),
            groups: Vec::new(),
            by_name: HashMap::new(),
        };
        for Group { name, users } in groups {
            let next = builder.groups.len();
            let at = *builder.by_name.entry(name.clone()).or_insert(next);
            match builder.groups.get_mut(at) {
                Some(group) => group.users.extend_from_slice(users),
                None => builder.groups.push(Members {
                    name: name.clone(),
                    users: users.clone(),
                }),
            }
        }
        builder
    }

    /// The scopes that make up the clients of a rule, each with what it needs for its precedence.
    ///
    /// There is one, unless the rule names a group: then there is one for each kind of entry in the
    /// group's list of users, and none if nobody declared the group.
    pub(crate) fn scopes_of(&mut self, rule: &Rule) -> Vec<(ScopeId, Fit)> {
        let mut common = Vec::new();
        let mut members = vec![(None, Fit::NAME)];
        for selector in rule.selectors() {
            let key = match selector {
                Selector::Address(_) => continue,
                Selector::Group(name) => {
                    members = self.members_of(name);
                    continue;
                }
                Selector::Peer(network) => Key::Peer(canonical(*network)),
                Selector::Client(glob) => Key::Client(glob.clone()),
                Selector::User(glob) => Key::User(glob.clone()),
                Selector::Vhost(pattern) => Key::Vhost(pattern.clone()),
            };
            common.push(self.selector(key));
        }
        let scope = |(member, fit): (Option<SelectorId>, Fit)| {
            (self.scope(common.iter().copied().chain(member)), fit)
        };
        members.into_iter().map(scope).collect()
    }

    /// Makes what can be searched.
    pub(crate) fn build(mut self) -> Clients {
        let members = self.memberships();
        let scopes = in_order(self.scopes, |id| id.0);
        let mut selectors: Vec<Watched> = in_order(self.selectors, |id| id.0)
            .into_iter()
            .map(|selector| Watched {
                selector,
                scopes: Vec::new(),
            })
            .collect();
        watch(&mut selectors, &scopes);
        Clients {
            peers: pick(&selectors, |key| match key {
                Key::Peer(network) => Some(*network),
                _ => None,
            }),
            clients: pick(&selectors, |key| match key {
                Key::Client(glob) => Some(glob.clone()),
                _ => None,
            }),
            users: pick(&selectors, |key| match key {
                Key::User(glob) => Some(glob.clone()),
                _ => None,
            }),
            vhosts: pick(&selectors, |key| match key {
                Key::Vhost(pattern) => Some(pattern.clone()),
                _ => None,
            }),
            members: members.into_iter().collect(),
            selectors: selectors.into(),
            scopes: scopes.into(),
            groups: self.groups.into_iter().map(|group| group.name).collect(),
        }
    }

    /// The selectors of a group, one for each kind of entry in its list of users.
    fn members_of(&mut self, name: &GroupName) -> Vec<(Option<SelectorId>, Fit)> {
        let Some(&at) = self.by_name.get(name) else {
            return Vec::new();
        };
        let users = self.groups.get(at).map_or(&[][..], |group| &group.users);
        let fits: BTreeSet<Fit> = users.iter().map(|user| Fit::of(user.wildcard())).collect();
        let member = |fit| (Some(self.selector(Key::Member(at, fit))), fit);
        fits.into_iter().map(member).collect()
    }

    /// What each user listed in a group is a member of.
    fn memberships(&mut self) -> HashMap<Glob, Vec<Membership>> {
        let mut memberships: HashMap<Glob, Vec<Membership>> = HashMap::new();
        let groups: Vec<_> = self
            .groups
            .iter()
            .map(|group| group.name.vhost().cloned())
            .collect();
        for (at, vhost) in groups.into_iter().enumerate() {
            let vhost = vhost.map(|pattern| self.selector(Key::Vhost(pattern)));
            let users = self
                .groups
                .get(at)
                .map_or(Vec::new(), |group| group.users.clone());
            for user in users {
                let selector = self.selector(Key::Member(at, Fit::of(user.wildcard())));
                let membership = Membership { vhost, selector };
                memberships.entry(user).or_default().push(membership);
            }
        }
        memberships
    }

    fn selector(&mut self, key: Key) -> SelectorId {
        let next = SelectorId(id(self.selectors.len()));
        *self.selectors.entry(key).or_insert(next)
    }

    fn scope(&mut self, selectors: impl Iterator<Item = SelectorId>) -> ScopeId {
        let mut selectors: Vec<_> = selectors.collect();
        selectors.sort_unstable();
        let next = ScopeId(id(self.scopes.len()));
        *self.scopes.entry(selectors.into()).or_insert(next)
    }
}

/// Puts each scope under the one of its selectors that the fewest scopes have, so that few are
/// looked at in vain: `vhost:v,user:u1` to `vhost:v,user:u9999` are each found by their user.
fn watch(selectors: &mut [Watched], scopes: &[Box<[SelectorId]>]) {
    let mut uses: HashMap<SelectorId, usize> = HashMap::new();
    for selector in scopes.iter().flatten() {
        *uses.entry(*selector).or_default() += 1;
    }
    for (number, scope) in scopes.iter().enumerate() {
        let rarest = scope.iter().min_by_key(|selector| uses.get(selector));
        if let Some(watched) = rarest.and_then(|rarest| selectors.get_mut(rarest.0 as usize)) {
            watched.scopes.push(ScopeId(id(number)));
        }
    }
}

/// A search structure of the selectors of one kind.
fn pick<K, C>(selectors: &[Watched], kind: impl Fn(&Key) -> Option<K>) -> C
where
    C: FromIterator<(K, SelectorId)>,
{
    let numbered = selectors.iter().zip(0..);
    let of_kind = |(watched, id): (&Watched, u32)| Some((kind(&watched.selector)?, SelectorId(id)));
    numbered.filter_map(of_kind).collect()
}

/// The keys of a map in the order of their ids, which go from 0 without a gap.
fn in_order<K, I>(ids: HashMap<K, I>, number: impl Fn(&I) -> u32) -> Vec<K> {
    let mut keys: Vec<(K, I)> = ids.into_iter().collect();
    keys.sort_unstable_by_key(|(_, id)| number(id));
    keys.into_iter().map(|(key, _)| key).collect()
}

/// A number as an id.
fn id(number: usize) -> u32 {
    u32::try_from(number)
        .expect("there are fewer than 2^32 rules, which a command line cannot hold")
}
