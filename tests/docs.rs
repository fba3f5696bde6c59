//! The README against the program: its tables name what exists, and all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use sizegate::telemetry::{Metrics, UPSTREAM_REASONS};

const README: &str = include_str!("../README.md");

/// The cells of the table under a heading, without its head.
fn table(heading: &str) -> Vec<Vec<String>> {
    let (_, section) = README
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("the README has no heading {heading}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    rows.skip(2)
        // A bar within a cell is written with a backslash before it.
        .map(|row| row.replace("\\|", "\0"))
        .map(|row| {
            row.split('|')
                .map(|cell| cell.trim().replace('\0', "|"))
                .collect()
        })
        .collect()
}

fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// The words in backticks.
fn codes(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_flags_and_their_defaults_are_those_of_the_help() {
    let documented: Vec<(String, String)> = table("Flags")
        .iter()
        .map(|row| match row.as_slice() {
            [flag, default, _] => (code(flag).expect("a flag").to_owned(), default.clone()),
            _ => panic!("{row:?} has not three cells"),
        })
        .collect();
    let defined: Vec<(String, String)> = sizegate::cli::flags()
        .iter()
        .map(|flag| {
            let name = flag
                .value
                .map_or(flag.name.to_owned(), |it| format!("{} {it}", flag.name));
            let default = match (flag.default, flag.value) {
                (Some(default), _) => format!("`{default}`"),
                (None, Some(_)) if flag.meaning.ends_with("required") => "required".to_owned(),
                (None, Some(_)) => "none".to_owned(),
                (None, None) => "off".to_owned(),
            };
            (name, default)
        })
        .collect();
    assert_eq!(documented, defined);
}

#[test]
fn the_metrics_are_those_that_are_served() {
    let documented: BTreeMap<String, (String, BTreeSet<String>)> = table("Metrics")
        .iter()
        .map(|row| match row.as_slice() {
            [metric, kind, labels, _] => {
                let labels = codes(labels).into_iter().map(str::to_owned).collect();
                (
                    code(metric).expect("a metric").to_owned(),
                    (kind.clone(), labels),
                )
            }
            _ => panic!("{row:?} has not four cells"),
        })
        .collect();

    let metrics = Metrics::new(
        &["mqtt"],
        &[],
        &[],
        &Arc::new(sizegate::gate::HoldBudget::new(0)),
    )
    .expect("metrics that have names");
    // There is none where there are no certificates.
    metrics.certificate_expiry("server", SystemTime::now());
    let text = metrics.render();
    let mut served = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a name and a type");
        served.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, labels)) = line.split_once('{') else {
            continue;
        };
        let name = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|part| series.strip_suffix(part))
            .unwrap_or(series);
        let (_, known) = served.get_mut(name).expect("a type for each metric");
        let names = labels
            .split(',')
            .filter_map(|label| Some(label.split_once("=\"")?.0));
        known.extend(names.filter(|label| *label != "le").map(str::to_owned));
    }
    assert_eq!(documented, served);
}

#[test]
fn the_reasons_are_those_that_are_counted() {
    let (_, text) = README.split_once("The reasons of ").expect("the sentence");
    let sentence = text.split("\n\n").next().unwrap_or_default();
    let closed = sizegate::gate::Reason::ALL
        .iter()
        .map(|reason| reason.as_str());
    let metrics = [
        "sizegate_connections_closed_total",
        "sizegate_upstream_connect_errors_total",
    ];
    let counted: BTreeSet<&str> = closed.chain(UPSTREAM_REASONS).chain(metrics).collect();
    assert_eq!(codes(sentence), counted);
}
