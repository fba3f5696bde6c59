//! As much of PromQL as it takes to see which metrics and labels an expression is about.

use std::collections::BTreeSet;

/// A metric in an expression, with what is asked of its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    /// The name of the series, with `_bucket` and the like.
    pub(super) name: String,
    /// Label, operator and value.
    pub(super) matchers: Vec<(String, String, String)>,
}

/// Which labels an aggregation keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    By(BTreeSet<String>),
    Without(BTreeSet<String>),
}

/// The metrics of sizegate in an expression.
pub(super) fn selectors(expression: &str) -> Vec<Selector> {
    let starts = expression.match_indices("sizegate_").map(|(at, _)| at);
    let selector = |at: usize| {
        let rest = &expression[at..];
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let matchers = rest.strip_prefix('{').map(|rest| {
            let (matchers, _) = rest.split_once('}').expect("an end of the matchers");
            matchers.split(',').map(matcher).collect()
        });
        Selector {
            name: name.to_owned(),
            matchers: matchers.unwrap_or_default(),
        }
    };
    starts.map(selector).collect()
}

fn matcher(text: &str) -> (String, String, String) {
    let (head, value) = text.split_once('"').expect("a value in quotes");
    let (value, _) = value.split_once('"').expect("its end");
    let label = head.trim().trim_end_matches(['=', '!', '~']);
    let operator = head.trim().trim_start_matches(label);
    (label.to_owned(), operator.to_owned(), value.to_owned())
}

/// The groupings of an expression, from left to right.
pub(super) fn groupings(expression: &str) -> Vec<Grouping> {
    let mut found = Vec::new();
    for (at, _) in expression.match_indices(" (") {
        let (before, list) = expression.split_at(at);
        let (list, _) = list[2..].split_once(')').expect("an end of the list");
        let labels = list
            .split(',')
            .map(|label| label.trim().to_owned())
            .collect();
        match before.rsplit(' ').next() {
            Some("by") => found.push(Grouping::By(labels)),
            Some("without") => found.push(Grouping::Without(labels)),
            _ => {}
        }
    }
    found
}

/// The labels that a text in a template calls by their names.
pub(super) fn template(text: &str, before: &str) -> BTreeSet<String> {
    let calls = text.split("{{").skip(1);
    let calls = calls.filter_map(|call| call.split("}}").next());
    let names = calls.filter_map(|call| call.trim().strip_prefix(before));
    names
        .filter(|name| !name.starts_with('$'))
        .map(|name| name.split(' ').next().unwrap().to_owned())
        .collect()
}

#[test]
fn an_expression_is_taken_apart() {
    let selector = |name: &str, matchers: &[[&str; 3]]| Selector {
        name: name.to_owned(),
        matchers: matchers
            .iter()
            .map(|[label, operator, value]| {
                (
                    (*label).to_owned(),
                    (*operator).to_owned(),
                    (*value).to_owned(),
                )
            })
            .collect(),
    };
    let labels = |labels: &[&str]| labels.iter().map(|&label| label.to_owned()).collect();
    let expression = "sum by (a, b) (rate(sizegate_x_total{a=\"1\", b!~\"2|3\"}[5m])) / sizegate_y";
    assert_eq!(
        selectors(expression),
        [
            selector("sizegate_x_total", &[["a", "=", "1"], ["b", "!~", "2|3"]]),
            selector("sizegate_y", &[]),
        ]
    );
    assert_eq!(groupings(expression), [Grouping::By(labels(&["a", "b"]))]);
    let expression = "sum without (c)\n(sizegate_z{}) > 0".replace("{}", "");
    assert_eq!(groupings(&expression), [Grouping::Without(labels(&["c"]))]);
    let text = "{{ $value | humanize }} of {{ $labels.a }} and {{$labels.b | title}}";
    assert_eq!(template(text, "$labels."), labels(&["a", "b"]));
    assert_eq!(template("{{a}} {{b}}", ""), labels(&["a", "b"]));
}
