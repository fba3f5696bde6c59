//! The limits as a table for people (`--check`).

use std::fmt::Write;

use super::pattern::Pattern;
use super::precedence::{Fit, Precedence};
use super::rule::{GroupName, Rule, Selector};
use super::{AddressSyntax, Direction, Limit, PolicySpec};

impl PolicySpec {
    /// The limits in order of precedence, one line for each rule and then the defaults.
    ///
    /// The order may depend on how addresses are read; only then there are two tables.
    pub fn listing(&self) -> String {
        let names = self.rows(AddressSyntax::Name);
        let topics = self.rows(AddressSyntax::Topic);
        if names == topics {
            return columns(&names);
        }
        format!(
            "Where addresses are names:\n{}\nWhere addresses are topics:\n{}",
            columns(&names),
            columns(&topics)
        )
    }

    /// The cells of the table, its head included.
    fn rows(&self, syntax: AddressSyntax) -> Vec<[String; 4]> {
        let mut rows = vec![["DIRECTION", "LIMIT", "RANK", "RULE"].map(str::to_owned)];
        let directions = [
            (Direction::ToBroker, &self.send_rules),
            (Direction::ToClient, &self.receive_rules),
        ];
        for (direction, rules) in directions {
            let mut sorted: Vec<_> = rules
                .iter()
                .enumerate()
                .map(|(given, rule)| (Precedence::of(rule, given, self.member(rule), syntax), rule))
                .collect();
            sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
            let row = |(_, rule): (_, &Rule)| row(direction, rule.limit(), rule.selectors());
            rows.extend(sorted.into_iter().map(row));
        }
        rows.push(row(Direction::ToBroker, &self.send, &[]));
        rows.push(row(Direction::ToClient, &self.receive, &[]));
        rows
    }

    /// The narrowest entry in the lists of users of the group that a rule names.
    fn member(&self, rule: &Rule) -> Fit {
        let of_rule = |name: &GroupName| {
            let named =
                |selector: &Selector| matches!(selector, Selector::Group(own) if own == name);
            rule.selectors().iter().any(named)
        };
        let groups = self.groups.iter().filter(|group| of_rule(&group.name));
        let fits = groups
            .flat_map(|group| &group.users)
            .map(|user| Fit::of(user.wildcard()));
        fits.max().unwrap_or(Fit::ANY)
    }
}

/// The cells of one limit.
fn row(direction: Direction, limit: &Limit, selectors: &[Selector]) -> [String; 4] {
    let size = match limit.size.0 {
        0 => "none".to_owned(),
        size => size.to_string(),
    };
    let ranks: Vec<String> = selectors
        .iter()
        .map(|selector| format!("{} {}", selector.rank(), selector.name()))
        .collect();
    let ranks = match ranks.as_slice() {
        [] => "default".to_owned(),
        ranks => ranks.join(", "),
    };
    [
        direction.as_str().to_owned(),
        size,
        ranks,
        limit.rule.to_string(),
    ]
}

/// Lines of cells, each column as wide as its widest cell, and sizes to the right of theirs.
fn columns(rows: &[[String; 4]]) -> String {
    let width = |cell: fn(&[String; 4]) -> &String| {
        rows.iter()
            .map(|row| cell(row).chars().count())
            .max()
            .unwrap_or(0)
    };
    let directions = width(|[direction, ..]| direction);
    let sizes = width(|[_, size, ..]| size);
    let ranks = width(|[_, _, ranks, _]| ranks);
    let mut text = String::new();
    for [direction, size, rank, rule] in rows {
        let line = writeln!(
            text,
            "{direction:directions$}  {size:>sizes$}  {rank:ranks$}  {rule}"
        );
        line.expect("a String takes whatever is written to it");
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::policy::tests::{group, rule, spec};

    #[test]
    fn rules_are_listed_in_order_of_precedence_and_the_defaults_last() {
        let mut spec = spec(
            1 << 20,
            &[
                "vhost:prod=0",
                "user:alice=1024",
                "group:*/devs,vhost:prod=64",
            ],
        );
        spec.receive_rules
            .push(rule("--receive-limit", "peer:10.0.0.0/8=2048"));
        spec.groups.push(group("*/devs=bob"));
        assert_eq!(
            spec.listing(),
            "\
DIRECTION    LIMIT  RANK              RULE
send          1024  3 user            --limit user:alice=1024
send            64  2 group, 1 vhost  --limit group:*/devs,vhost:prod=64
send          none  1 vhost           --limit vhost:prod=0
receive       2048  6 peer            --receive-limit peer:10.0.0.0/8=2048
send       1048576  default           --max-message-size
receive       none  default           --max-receive-size
"
        );
    }

    #[test]
    fn two_orders_are_listed_where_a_name_is_a_topic_filter() {
        let spec = spec(0, &["address:a/#=16", "address:a/*=32"]);
        let listing = spec.listing();
        let (names, topics) = listing
            .split_once("\nWhere addresses are topics:\n")
            .unwrap();
        let second = |table: &str| {
            table
                .lines()
                .find(|line| line.contains("a/*"))
                .unwrap()
                .to_owned()
        };
        assert!(names.starts_with("Where addresses are names:\n"));
        assert!(names.find("a/#") < names.find("a/*"), "{names}");
        assert!(topics.find("a/*") < topics.find("a/#"), "{topics}");
        assert_eq!(second(names), second(topics));
    }
}
