//! What the rules with one and the same scope say.
//!
//! Some are for every address, and of those only the first matters; the others are searched by
//! address. The clients that a scope takes are not known here.

use std::collections::HashSet;

use super::AddressSyntax;
use super::index::{Patterns, Topics};
use super::pattern::{AddressPattern, Glob};
use super::rule::{Rule, Selector};
use super::table::Position;

/// The rules of one scope, to be searched by address.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The first rule that is for every address.
    everywhere: Option<Position>,
    /// The rules with an address; boxed because few scopes of a table may have any.
    addresses: Option<Box<Addresses>>,
    /// For each rule with an address, by position: what it and those before it span.
    spans: Box<[Span]>,
}

/// The extremes of the first few rules of a scope that have an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The last of these rules.
    last: Position,
    /// The smallest size that one of them limits to; `u64::MAX` if none does.
    pub(crate) smallest: u64,
    /// The one with the largest limit.
    pub(crate) largest: Position,
}

/// Rules by address, in the one way or the other.
#[derive(Debug)]
enum Addresses {
    Names(Patterns<Glob, Position>),
    Topics(Topics<Position>),
}

impl Scope {
    /// The first rule that is for every address.
    pub(crate) fn everywhere(&self) -> Option<Position> {
        self.everywhere
    }

    /// The first rule that has an address.
    pub(crate) fn first(&self) -> Option<Position> {
        self.spans.first().map(|span| span.last)
    }

    /// What the rules span that have an address and come before a position, if there are any.
    pub(crate) fn span_before(&self, position: Position) -> Option<&Span> {
        let before = self.spans.partition_point(|span| span.last < position);
        before.checked_sub(1).and_then(|last| self.spans.get(last))
    }

    /// The first rule that matches an address.
    ///
    /// Within a scope a name comes before every pattern, so that it need not be compared with them.
    pub(crate) fn find(&self, address: &[u8]) -> Option<Position> {
        match self.addresses.as_deref()? {
            Addresses::Names(names) => names
                .named(address)
                .or_else(|| names.wild(address).min())
                .copied(),
            Addresses::Topics(topics) => topics.named(address).or_else(|| topics.wild(address)),
        }
    }
}

/// A scope whose rules are still being gathered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft<'a> {
    /// The first rule that is for every address.
    everywhere: Option<Position>,
    /// The rules with an address, by position.
    addresses: Vec<(&'a AddressPattern, &'a Rule, Position)>,
}

impl<'a> Draft<'a> {
    /// Adds a rule, which comes after all that were added before.
    pub(crate) fn add(&mut self, rule: &'a Rule, position: Position) {
        let address = rule.selectors().iter().find_map(|selector| match selector {
            Selector::Address(pattern) => Some(pattern),
            _ => None,
        });
        match address {
            Some(address) => self.addresses.push((address, rule, position)),
            None => {
                self.everywhere.get_or_insert(position);
            }
        }
    }

    /// Makes what can be searched.
    pub(crate) fn finish(mut self, syntax: AddressSyntax) -> Scope {
        // Who gives an address twice has the first rule decide, and the second never.
        let mut seen = HashSet::new();
        self.addresses.retain(|(address, ..)| {
            let legible = syntax == AddressSyntax::Name || address.filter().is_some();
            legible && seen.insert(address.text())
        });
        let pairs = self
            .addresses
            .iter()
            .map(|&(address, _, position)| (address, position));
        let addresses = match syntax {
            _ if self.addresses.is_empty() => None,
            AddressSyntax::Name => Some(Addresses::Names(
                pairs
                    .map(|(address, position)| (address.glob().clone(), position))
                    .collect(),
            )),
            AddressSyntax::Topic => Some(Addresses::Topics(
                pairs
                    .filter_map(|(address, position)| Some((address.filter()?, position)))
                    .collect(),
            )),
        };
        Scope {
            everywhere: self.everywhere,
            addresses: addresses.map(Box::new),
            spans: spans(
                self.addresses
                    .iter()
                    .map(|&(_, rule, position)| (rule, position)),
            ),
        }
    }
}

/// The extremes after each of some rules.
fn spans<'a>(rules: impl Iterator<Item = (&'a Rule, Position)>) -> Box<[Span]> {
    let mut smallest = u64::MAX;
    let mut largest = None;
    let span = |(rule, position): (&'a Rule, Position)| {
        let ceiling = rule.limit().ceiling();
        smallest = smallest.min(ceiling);
        let most = match largest {
            Some((most, at)) if most >= ceiling => (most, at),
            _ => (ceiling, position),
        };
        largest = Some(most);
        Span {
            last: position,
            smallest,
            largest: most.1,
        }
    };
    rules.map(span).collect()
}
