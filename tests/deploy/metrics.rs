//! What the running program serves, as alerts and the dashboard may use it.

use std::collections::{BTreeMap, BTreeSet};

use super::flags::with_secrets;
use super::manifest::pod;
use super::promql::{Grouping, Selector, groupings, selectors};
use super::support::{FakeBroker, Sidecar};

/// Names of series, with their labels and the values of these.
#[derive(Debug)]
pub(super) struct Served {
    /// The metrics themselves, without `_bucket` and the like.
    pub(super) families: BTreeSet<String>,
    series: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Served {
    /// What a sizegate serves that has certificates.
    pub(super) fn read() -> Self {
        let (_, pod) = pod("mosquitto-tls.yaml");
        let (arguments, _secrets) = with_secrets(&pod);
        let tls: Vec<&str> = arguments
            .iter()
            .map(String::as_str)
            .filter(|argument| argument.starts_with("--tls-"))
            .flat_map(|argument| argument.split('='))
            .collect();
        let broker = FakeBroker::start();
        let sidecar = Sidecar::start(broker.address(), &tls);
        let (status, text) = sidecar.get("/metrics");
        assert_eq!(status, 200);
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let families = types.map(|line| line.split(' ').next().unwrap().to_owned());
        let mut series = BTreeMap::<_, BTreeMap<_, BTreeSet<_>>>::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, _) = line.rsplit_once(' ').unwrap();
            let (name, labels) = name.split_once('{').unwrap_or((name, ""));
            let known = series.entry(name.to_owned()).or_default();
            for label in labels.trim_end_matches('}').split_terminator(',') {
                let (label, value) = label.split_once('=').unwrap();
                let values = known.entry(label.to_owned()).or_default();
                values.insert(value.trim_matches('"').to_owned());
            }
        }
        Self {
            families: families.collect(),
            series,
        }
    }

    /// What is wrong with an expression: series and labels that are not served, values that never
    /// occur, and groupings by what is not there.
    pub(super) fn problems(&self, expression: &str) -> Vec<String> {
        let used = selectors(expression);
        let mut problems = Vec::new();
        if used.is_empty() {
            problems.push("no metric of sizegate".to_owned());
        }
        for Selector { name, matchers } in &used {
            let Some(labels) = self.series.get(name) else {
                problems.push(format!("{name} is not served"));
                continue;
            };
            for (label, operator, value) in matchers {
                if OF_THE_TARGET.contains(&label.as_str()) {
                    continue;
                }
                let Some(values) = labels.get(label) else {
                    problems.push(format!("{name} has no label {label}"));
                    continue;
                };
                if operator == "=" && !values.contains(value) {
                    problems.push(format!("{name} never has {label}=\"{value}\""));
                }
            }
        }
        let known = self.labels(&used);
        for grouping in groupings(expression) {
            let (Grouping::By(labels) | Grouping::Without(labels)) = grouping;
            let strange = labels.iter().filter(|&label| !known.contains(label));
            problems.extend(strange.map(|label| format!("nothing has the label {label}")));
        }
        problems
    }

    /// The labels of what comes out of an expression.
    pub(super) fn labels_of(&self, expression: &str) -> BTreeSet<String> {
        let mut labels = self.labels(&selectors(expression));
        for grouping in groupings(expression) {
            match grouping {
                Grouping::By(kept) => labels = kept,
                Grouping::Without(dropped) => labels.retain(|label| !dropped.contains(label)),
            }
        }
        labels
    }

    /// The labels that these have, with those that they get when they are scraped.
    fn labels(&self, used: &[Selector]) -> BTreeSet<String> {
        let series = used.iter().filter_map(|used| self.series.get(&used.name));
        let own = series.flat_map(|labels| labels.keys().cloned());
        own.chain(OF_THE_TARGET.map(str::to_owned)).collect()
    }
}

/// The labels that Prometheus adds.
const OF_THE_TARGET: [&str; 2] = ["instance", "job"];

#[test]
fn what_is_not_served_is_found_in_an_expression() {
    let served = Served::parse("# TYPE sizegate_x counter\nsizegate_x{a=\"1\",b=\"2\"} 0\n");
    for (expression, problem) in [
        ("rate(sizegate_y[5m])", "sizegate_y is not served"),
        ("sizegate_x{c=\"1\"}", "sizegate_x has no label c"),
        ("sizegate_x{a=\"2\"}", "sizegate_x never has a=\"2\""),
        ("sum by (c) (sizegate_x)", "nothing has the label c"),
        ("sum without (c) (sizegate_x)", "nothing has the label c"),
        ("up == 0", "no metric of sizegate"),
    ] {
        assert_eq!(served.problems(expression), [problem]);
    }
    let good = "sum by (a, instance) (rate(sizegate_x{b=\"2\", instance=\"i\"}[5m]))";
    assert_eq!(served.problems(good), Vec::<String>::new());
    let labels = ["a".to_owned(), "instance".to_owned()];
    assert_eq!(served.labels_of(good), labels.into());
}
