//! The dashboard: it shows what is served, and all of it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::alerts::promtool;
use super::manifest::deploy;
use super::metrics::Served;
use super::promql::{selectors, template};

#[test]
fn every_panel_of_the_dashboard_shows_what_is_served_by_labels_that_it_has() {
    let served = Served::read();
    for (expression, legend) in expressions() {
        let problems = served.problems(&expression);
        assert_eq!(problems, Vec::<String>::new(), "{expression}");
        let kept = served.labels_of(&expression);
        let named = template(&legend, "");
        assert!(
            named.is_subset(&kept),
            "{expression}: {named:?} of {kept:?}"
        );
    }
}

#[test]
fn every_metric_is_on_the_dashboard() {
    let shown: BTreeSet<String> = expressions()
        .iter()
        .flat_map(|(expression, _)| selectors(expression))
        .map(|selector| selector.name.trim_end_matches("_bucket").to_owned())
        .collect();
    // Of pre-settled deliveries it shows what waits and what was lost on their senders.
    let left_out = |metric: &&String| metric.starts_with("sizegate_presettled_");
    let served = Served::read().families;
    let missing = served.difference(&shown).filter(|it| !left_out(it));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn prometheus_understands_every_panel_of_the_dashboard() {
    let rules: Vec<Value> = expressions()
        .iter()
        .enumerate()
        .map(|(at, (expression, _))| {
            let expression = expression.replace("$__rate_interval", "5m");
            json!({"record": format!("panel:{at}"), "expr": expression})
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("panels.yaml");
    let groups = json!({"groups": [{"name": "panels", "rules": rules}]});
    fs::write(&file, groups.to_string()).unwrap();
    promtool(&["check", "rules", file.to_str().unwrap()]);
}

#[test]
fn no_two_panels_of_the_dashboard_are_in_one_place() {
    let mut taken = BTreeSet::new();
    let mut names = BTreeSet::new();
    for panel in panels() {
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("x") + side("w") <= WIDTH, "{panel}");
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(taken.insert((x, y)), "{} is over another", panel["title"]);
            }
        }
        assert!(
            names.insert(panel["id"].as_u64()),
            "{} has another's id",
            panel["title"]
        );
    }
}

/// Columns of a dashboard of Grafana.
const WIDTH: u64 = 24;

fn panels() -> Vec<Value> {
    let text = fs::read_to_string(deploy("dashboard.json")).unwrap();
    let mut dashboard: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(dashboard["panels"].take()).unwrap()
}

/// Every expression with the legend of what comes out.
fn expressions() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for panel in panels().iter().filter(|panel| panel["type"] != "row") {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{} shows nothing", panel["title"]);
        for target in targets {
            let text = |name: &str| target[name].as_str().unwrap().to_owned();
            found.push((text("expr"), text("legendFormat")));
        }
    }
    assert!(!found.is_empty());
    found
}
