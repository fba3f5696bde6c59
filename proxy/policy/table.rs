//! All rules of one direction for one way to read addresses, in order of precedence.
//!
//! Each rule has a [`Position`], and of the rules that match, the one with the least decides. The
//! rules are kept by scope, so that a verdict depends on the scopes that a client is in, which are
//! few, and not on how many there are.

use super::clients::ScopeId;
use super::precedence::Precedence;
use super::rule::Rule;
use super::scope::{Draft, Scope};
use super::{AddressSyntax, Limit};

/// The rules of one direction.
#[derive(Debug)]
pub(crate) struct Table {
    /// The limits of the rules by position.
    limits: Box<[Limit]>,
    /// The limit where no rule decides.
    default: Limit,
    /// What each scope limits, by its id.
    scopes: Box<[Scope]>,
}

/// A rule, ready to be put into a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    /// The rule.
    pub(crate) rule: &'a Rule,
    /// The clients that it is for.
    pub(crate) scope: ScopeId,
    /// Its place in the order.
    pub(crate) precedence: Precedence,
}

/// The place of a rule among all rules of its table; the least decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(u32);

impl Position {
    /// That of the default, which comes after all rules.
    const DEFAULT: Self = Self(u32::MAX);
}

/// What one client can meet in one direction.
#[derive(Debug)]
pub(crate) struct Reach {
    /// Whatever is no larger is within every limit that the client can meet.
    pub(crate) floor: u64,
    /// The rule with the largest limit that the client can meet.
    pub(crate) largest: Position,
    /// What decides where no rule with an address does.
    everywhere: Position,
    /// The scopes with a rule for addresses that comes before `everywhere`, the earliest first.
    pub(crate) scopes: Box<[ScopeId]>,
}

impl Table {
    /// Puts rules in order, for so many scopes.
    pub(crate) fn new(
        mut entries: Vec<Entry<'_>>,
        default: &Limit,
        syntax: AddressSyntax,
        scope_count: usize,
    ) -> Self {
        entries.sort_by(|one, other| one.precedence.cmp(&other.precedence));
        let mut drafts = vec![Draft::default(); scope_count];
        for (entry, position) in entries.iter().zip((0..).map(Position)) {
            if let Some(draft) = drafts.get_mut(entry.scope.0 as usize) {
                draft.add(entry.rule, position);
            }
        }
        Self {
            limits: entries
                .iter()
                .map(|entry| entry.rule.limit().clone())
                .collect(),
            default: default.clone(),
            scopes: drafts
                .into_iter()
                .map(|draft| draft.finish(syntax))
                .collect(),
        }
    }

    /// Says what a client that is in these scopes can meet.
    pub(crate) fn reach(&self, scopes: &[ScopeId]) -> Reach {
        let known = scopes.iter().filter_map(|&id| Some((id, self.scope(id)?)));
        let everywhere = known
            .clone()
            .filter_map(|(_, scope)| scope.everywhere())
            .min();
        let everywhere = everywhere.unwrap_or(Position::DEFAULT);
        let mut floor = self.limit(everywhere).ceiling();
        let mut largest = everywhere;
        let mut kept = Vec::new();
        for (id, scope) in known {
            let Some(span) = scope.span_before(everywhere) else {
                continue;
            };
            floor = floor.min(span.smallest);
            if self.limit(span.largest).ceiling() > self.limit(largest).ceiling() {
                largest = span.largest;
            }
            kept.push((scope.first(), id));
        }
        kept.sort_unstable();
        Reach {
            floor,
            largest,
            everywhere,
            scopes: kept.into_iter().map(|(_, id)| id).collect(),
        }
    }

    /// The rule that decides for an address.
    pub(crate) fn decide(&self, reach: &Reach, address: &[u8]) -> Position {
        let mut best = reach.everywhere;
        for scope in reach.scopes.iter().filter_map(|&id| self.scope(id)) {
            // The scopes are in order: none of those that are left has a rule that comes earlier.
            if scope.first().is_none_or(|first| first >= best) {
                break;
            }
            if let Some(position) = scope.find(address) {
                best = best.min(position);
            }
        }
        best
    }

    /// The limit at a position.
    pub(crate) fn limit(&self, position: Position) -> &Limit {
        self.limits
            .get(position.0 as usize)
            .unwrap_or(&self.default)
    }

    fn scope(&self, id: ScopeId) -> Option<&Scope> {
        self.scopes.get(id.0 as usize)
    }
}
