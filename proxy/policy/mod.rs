//! Which limit applies, and whether a message is within it.
//!
//! The policy is given an identity, a direction, an address and a size, and answers with a verdict
//! and the limit that decided. It knows no protocol, no frame and no clock; what is done about a
//! message that is over its limit is carried here as configuration and carried out by a protocol.
//!
//! The configuration is a [`PolicySpec`] of [`Rule`]s. Compiled into a [`Policy`], it is searched
//! by identity once for a connection (`clients`), which gives [`Limits`], and by address for each
//! message that is not small enough for all limits (`table`, `scope`, `index`).

mod action;
mod clients;
mod index;
mod limit;
mod limits;
mod listing;
mod pattern;
mod precedence;
mod rule;
mod scope;
mod spec;
mod subject;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use action::{Action, Mode, OnOversize};
pub use limit::{ByteSize, Limit, Verdict};
pub use limits::Limits;
pub use pattern::{AddressPattern, Glob, PatternError, VhostPattern};
pub use rule::{Group, GroupName, GroupNameError, Rule, Selector};
pub use spec::{PolicySpec, UndeclaredGroup};
pub use subject::{AddressSyntax, Direction, Identity};

use clients::{Builder, Clients, ScopeId};
use limits::OTHER;
use precedence::{Fit, Precedence};
use subject::Both;
use table::{Entry, Table};

/// The limits of one sizegate, as configured; shared by all its connections.
#[derive(Debug)]
pub struct Policy {
    /// The scopes of all rules, by identity.
    clients: Clients,
    /// The rules where addresses are names.
    names: Both<Table>,
    /// The rules where addresses are topics.
    topics: Both<Table>,
    /// What is done to a message over its limit.
    on_oversize: OnOversize,
    /// Whether limits are enforced at all.
    mode: Mode,
}

impl Policy {
    /// A policy of one limit for each direction and no rules.
    pub fn new(send: Limit, receive: Limit, on_oversize: OnOversize, mode: Mode) -> Self {
        Self::compile(&PolicySpec {
            on_oversize,
            mode,
            ..PolicySpec::new(send, receive)
        })
    }

    /// The policy of a configuration, whose problems are not looked for.
    pub fn compile(spec: &PolicySpec) -> Self {
        let mut builder = Builder::new(&spec.groups);
        let mut scoped = |rules| Scoped::all(rules, &mut builder);
        let rules = Both {
            to_broker: scoped(&spec.send_rules),
            to_client: scoped(&spec.receive_rules),
        };
        let clients = builder.build();
        let table = |rules: &[Scoped<'_>], default, syntax| {
            let entries = rules.iter().map(|scoped| scoped.entry(syntax)).collect();
            Table::new(entries, default, syntax, clients.scope_count())
        };
        let tables = |syntax| Both {
            to_broker: table(&rules.to_broker, &spec.send, syntax),
            to_client: table(&rules.to_client, &spec.receive, syntax),
        };
        Self {
            names: tables(AddressSyntax::Name),
            topics: tables(AddressSyntax::Topic),
            clients,
            on_oversize: spec.on_oversize,
            mode: spec.mode,
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
    pub fn identify(self: &Arc<Self>, who: &Identity<'_>, syntax: AddressSyntax) -> Limits {
        Limits::new(self, who, syntax)
    }

    /// Every label that [`Limits::vhost_label`] can give, for the metrics to start at zero: the
    /// patterns for virtual hosts of rules and groups as they were written, and `other`.
    pub fn vhost_labels(&self) -> Vec<&str> {
        labels(self.clients.vhost_texts())
    }

    /// Every label that [`Limits::group_label`] can give, for the metrics to start at zero: the
    /// groups as `VHOST/NAME`, and `other`.
    pub fn group_labels(&self) -> Vec<&str> {
        labels(self.clients.group_texts())
    }

    /// The rules of one direction.
    fn table(&self, direction: Direction, syntax: AddressSyntax) -> &Table {
        match syntax {
            AddressSyntax::Name => self.names.get(direction),
            AddressSyntax::Topic => self.topics.get(direction),
        }
    }
}

/// A rule whose clients are known.
struct Scoped<'a> {
    rule: &'a Rule,
    /// How many rules were given before.
    given: usize,
    /// Its clients.
    scope: ScopeId,
    /// How they are listed in the rule's group.
    member: Fit,
}

impl<'a> Scoped<'a> {
    /// All rules of one direction; a rule for a group may be there more than once.
    fn all(rules: &'a [Rule], builder: &mut Builder) -> Vec<Self> {
        let mut all = Vec::new();
        for (given, rule) in rules.iter().enumerate() {
            let scopes = builder.scopes_of(rule).into_iter();
            all.extend(scopes.map(|(scope, member)| Self {
                rule,
                given,
                scope,
                member,
            }));
        }
        all
    }

    /// The rule as a table takes it.
    fn entry(&self, syntax: AddressSyntax) -> Entry<'a> {
        Entry {
            rule: self.rule,
            scope: self.scope,
            precedence: Precedence::of(self.rule, self.given, self.member, syntax),
        }
    }
}

/// Labels from configured texts: each once, and the one for everything else.
fn labels<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    texts.filter(|&text| text != OTHER).chain([OTHER]).collect()
}
