//! A policy as it is configured, before it is compiled.

use std::collections::HashSet;

use super::rule::{Group, GroupName, Rule, Selector};
use super::{Limit, Mode, OnOversize};

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

    /// Every rule for a group that nobody declared.
    ///
    /// A policy can be compiled all the same: such a rule never decides.
    pub fn undeclared_groups(&self) -> Vec<UndeclaredGroup> {
        let declared: HashSet<&GroupName> = self.groups.iter().map(|group| &group.name).collect();
        let rules = self.send_rules.iter().chain(&self.receive_rules);
        let undeclared = rules.flat_map(|rule| {
            let names = rule
                .selectors()
                .iter()
                .filter_map(|selector| match selector {
                    Selector::Group(name) if !declared.contains(name) => Some(name),
                    _ => None,
                });
            names.map(|name| UndeclaredGroup {
                rule: rule.limit().rule.to_string(),
                group: name.to_string(),
            })
        });
        undeclared.collect()
    }
}

/// A rule for a group that nobody declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}`: there is no group `{group}`; declare it, such as --group {group}=alice,bob")]
pub struct UndeclaredGroup {
    /// The rule.
    pub rule: String,
    /// The group that it names.
    pub group: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ByteSize;

    #[test]
    fn every_rule_for_an_undeclared_group_is_told() {
        let unset = Limit::new(ByteSize(0), "unset");
        let mut spec = PolicySpec::new(unset.clone(), unset);
        for group in ["v/declared", "v/other"] {
            let mut rule = Rule::new(ByteSize(16), format!("--limit group:{group}=16"));
            rule.narrow(Selector::Group(GroupName::new(group).unwrap()))
                .unwrap();
            spec.send_rules.push(rule);
        }
        let name = GroupName::new("v/declared").unwrap();
        spec.groups.push(Group {
            name,
            users: Vec::new(),
        });
        let told: Vec<String> = spec
            .undeclared_groups()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            told,
            ["`--limit group:v/other=16`: there is no group `v/other`; \
                 declare it, such as --group v/other=alice,bob"]
        );
    }
}
