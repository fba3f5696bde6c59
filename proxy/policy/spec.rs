//! A policy as it is configured, before it is compiled.

use std::collections::HashSet;

use super::rule::{Group, GroupName, Rule, Selector};
use super::{ByteSize, Limit, Mode, OnOversize};

/// Everything that a policy is made of.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    /// The limit of the send direction where no rule says otherwise.
    pub send: Limit,
    /// The limit of the receive direction where no rule says otherwise.
    pub receive: Limit,
    /// The rules of the send direction, as given.
    pub send_rules: Vec<Rule>,
    /// The rules of the receive direction, as given.
    pub receive_rules: Vec<Rule>,
    /// The groups that rules may name, as given.
    pub groups: Vec<Group>,
    /// What is done to a message over its limit.
    pub on_oversize: OnOversize,
    /// Whether limits are enforced at all.
    pub mode: Mode,
}

impl PolicySpec {
    /// A limit for each direction and no rules, to be enforced by refusing single messages.
    pub fn new(send: Limit, receive: Limit) -> Self {
        Self {
            send,
            receive,
            send_rules: Vec::new(),
            receive_rules: Vec::new(),
            groups: Vec::new(),
            on_oversize: OnOversize::default(),
            mode: Mode::default(),
        }
    }

    /// Everything that is wrong with it as a whole: first limits, then groups.
    ///
    /// A policy can be compiled all the same: a rule whose group was not declared never decides.
    pub fn problems(&self) -> Vec<PolicyProblem> {
        let declared: HashSet<&GroupName> = self.groups.iter().map(|group| &group.name).collect();
        let rules = || self.send_rules.iter().chain(&self.receive_rules);
        let limits = [&self.send, &self.receive]
            .into_iter()
            .chain(rules().map(Rule::limit));
        let small =
            limits
                .filter(|limit| limit.is_too_small())
                .map(|limit| PolicyProblem::TooSmall {
                    rule: limit.rule.to_string(),
                    size: limit.size,
                });
        let undeclared = rules().flat_map(|rule| {
            let names = rule
                .selectors()
                .iter()
                .filter_map(|selector| match selector {
                    Selector::Group(name) if !declared.contains(name) => Some(name),
                    _ => None,
                });
            names.map(|name| PolicyProblem::UndeclaredGroup {
                rule: rule.limit().rule.to_string(),
                group: name.to_string(),
            })
        });
        small.chain(undeclared).collect()
    }
}

/// Something that is wrong with a policy as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyProblem {
    /// No message could be within the limit.
    #[error(
        "`{rule}`: no message is as small as {size} octets; \
         give 0 for no limit, or at least {}, such as 1Ki",
        ByteSize::LEAST_LIMIT
    )]
    TooSmall {
        /// The flag that set the limit.
        rule: String,
        /// The limit.
        size: ByteSize,
    },
    /// A rule names a group that nobody declared.
    #[error("`{rule}`: there is no group `{group}`; declare it, such as --group {group}=alice,bob")]
    UndeclaredGroup {
        /// The rule.
        rule: String,
        /// The group that it names.
        group: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_small_limit_and_every_undeclared_group_is_a_problem() {
        let limit = |size, rule: &str| Limit::new(ByteSize(size), rule);
        let mut spec = PolicySpec::new(limit(15, "--max-message-size 15"), limit(0, "unset"));
        for (group, size) in [("v/declared", 16), ("v/other", 1)] {
            let mut rule = Rule::new(ByteSize(size), format!("--limit group:{group}={size}"));
            rule.narrow(Selector::Group(GroupName::new(group).unwrap()))
                .unwrap();
            spec.send_rules.push(rule);
        }
        let name = GroupName::new("v/declared").unwrap();
        spec.groups.push(Group {
            name,
            users: Vec::new(),
        });
        let problems: Vec<String> = spec.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "`--max-message-size 15`: no message is as small as 15 octets; \
                 give 0 for no limit, or at least 16, such as 1Ki",
                "`--limit group:v/other=1`: no message is as small as 1 octets; \
                 give 0 for no limit, or at least 16, such as 1Ki",
                "`--limit group:v/other=1`: there is no group `v/other`; \
                 declare it, such as --group v/other=alice,bob",
            ]
        );
    }
}
