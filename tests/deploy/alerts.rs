//! The alerts: they are about what is served, and each of them fires when it should.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::manifest::{deploy, read};
use super::metrics::Served;
use super::promql::template;

#[test]
fn every_alert_is_about_what_is_served_and_names_labels_that_it_has() {
    let served = Served::read();
    for alert in alerts() {
        let name = &alert["alert"];
        let expression = alert["expr"].as_str().unwrap();
        let problems = served.problems(expression);
        assert_eq!(problems, Vec::<String>::new(), "{name}");
        let kept = served.labels_of(expression);
        for text in ["summary", "description"] {
            let text = alert["annotations"][text].as_str().unwrap();
            let named = template(text, "$labels.");
            assert!(named.is_subset(&kept), "{name}: {named:?} of {kept:?}");
        }
    }
}

#[test]
fn every_alert_says_how_bad_it_is() {
    for alert in alerts() {
        let severity = alert["labels"]["severity"].as_str().unwrap();
        assert!(
            ["info", "warning", "critical"].contains(&severity),
            "{alert}"
        );
    }
}

#[test]
fn every_alert_fires_when_it_should_and_none_without_a_reason() {
    let names: BTreeSet<String> = alerts()
        .iter()
        .map(|alert| alert["alert"].as_str().unwrap().to_owned())
        .collect();
    let tried = REASONS.iter().map(|(alert, ..)| (*alert).to_owned());
    assert_eq!(names, tried.collect());

    let alerts =
        |filter: &str| format!("count by (alertname) (ALERTS{{alertstate=\"firing\"{filter}}})");
    let test = |series: &[[&str; 2]], expression: String, expected: Value| {
        let series: Vec<_> = series
            .iter()
            .map(|[series, values]| json!({"series": series, "values": values}))
            .collect();
        json!({
            "interval": "1m",
            "input_series": series,
            "promql_expr_test": [{"expr": expression, "eval_time": "90m", "exp_samples": expected}],
        })
    };
    let mut tests: Vec<_> = REASONS
        .iter()
        .map(|(alert, series, values)| {
            let fires = format!("{{alertname=\"{alert}\"}}");
            let expression = alerts(&format!(", alertname=\"{alert}\""));
            test(
                &[[series, values]],
                expression,
                json!([{"labels": fires, "value": 1}]),
            )
        })
        .collect();
    tests.push(test(&QUIET, alerts(""), json!([])));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tests.yaml");
    let all = json!({
        "rule_files": [deploy("alerts.yaml")],
        "evaluation_interval": "1m",
        "tests": tests,
    });
    fs::write(&file, all.to_string()).unwrap();
    promtool(&["check", "rules", deploy("alerts.yaml").to_str().unwrap()]);
    promtool(&["test", "rules", file.to_str().unwrap()]);
}

/// For each alert a series, and its values by the minute, of which it fires at the end.
const REASONS: [(&str, &str, &str); 17] = [
    ("SizegateBrokerUnreachable", "sizegate_upstream_up", "0x90"),
    (
        "SizegateBrokerConnectErrors",
        "sizegate_upstream_connect_errors_total{reason=\"refused\"}",
        "0+1x90",
    ),
    (
        "SizegateBrokerMalformed",
        "sizegate_malformed_total{protocol=\"mqtt\",side=\"broker\"}",
        "0x85 1x5",
    ),
    (
        "SizegateMessagesRefused",
        "sizegate_messages_denied_total{action=\"reject\",vhost=\"v\"}",
        "0x85 1x5",
    ),
    (
        "SizegateMessagesRefusedAgainAndAgain",
        "sizegate_messages_denied_total{action=\"reject\",vhost=\"v\"}",
        "0+90x90",
    ),
    (
        "SizegateMessagesWouldBeRefused",
        "sizegate_messages_total{verdict=\"would-deny\"}",
        "0x85 1x5",
    ),
    (
        "SizegatePresettledRejected",
        "sizegate_presettled_rejected_total",
        "0x85 1x5",
    ),
    (
        "SizegateHoldMemoryShort",
        "sizegate_held_bytes",
        "65000000x90",
    ),
    (
        "SizegateConnectionsTurnedAway",
        "sizegate_connections_closed_total{reason=\"too-many-connections\"}",
        "0x87 1x3",
    ),
    (
        "SizegatePanicked",
        "sizegate_connections_closed_total{reason=\"panic\"}",
        "0x85 1x5",
    ),
    (
        "SizegateHandshakesTimeOut",
        "sizegate_connections_closed_total{reason=\"handshake-timeout\"}",
        "0+90x90",
    ),
    (
        "SizegateClientsMalformed",
        "sizegate_malformed_total{protocol=\"mqtt\",side=\"client\"}",
        "0+10x90",
    ),
    ("SizegateMissing", "sizegate_upstream_up", "1x90"),
    ("SizegateDrainHangs", "sizegate_draining", "1x90"),
    // The time of a test begins at 0: six days.
    (
        "SizegateCertificateExpires",
        "sizegate_certificate_expiry_timestamp_seconds{role=\"server\"}",
        "518400x90",
    ),
    (
        "SizegateCertificateExpiresToday",
        "sizegate_certificate_expiry_timestamp_seconds{role=\"server\"}",
        "80000x90",
    ),
    (
        "SizegateCertificateNotTaken",
        "sizegate_certificate_reloads_total{result=\"failure\"}",
        "0x85 1x5",
    ),
];

/// A sizegate of which there is nothing to say.
const QUIET: [[&str; 2]; 12] = [
    ["sizegate_build_info", "1x90"],
    ["sizegate_upstream_up", "1x90"],
    [
        "sizegate_upstream_connect_errors_total{reason=\"refused\"}",
        "3x90",
    ],
    ["sizegate_malformed_total{side=\"client\"}", "3x90"],
    ["sizegate_malformed_total{side=\"broker\"}", "3x90"],
    ["sizegate_messages_denied_total", "3x90"],
    ["sizegate_messages_total{verdict=\"allowed\"}", "0+5000x90"],
    ["sizegate_held_bytes", "60000000x90"],
    [
        "sizegate_connections_closed_total{reason=\"closed\"}",
        "0+5000x90",
    ],
    ["sizegate_draining", "0x90"],
    // Eight days.
    [
        "sizegate_certificate_expiry_timestamp_seconds{role=\"server\"}",
        "691200x90",
    ],
    [
        "sizegate_certificate_reloads_total{result=\"success\"}",
        "0+1x90",
    ],
];

fn alerts() -> Vec<Value> {
    let (mut rules, _) = read("alerts.yaml", &[]).remove(0);
    let groups: Vec<Value> = serde_json::from_value(rules["groups"].take()).unwrap();
    let rules = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap());
    rules.cloned().collect()
}

/// Runs Prometheus' own tool, which has to be pleased.
pub(super) fn promtool(words: &[&str]) {
    let output = Command::new("promtool")
        .args(words)
        .output()
        .expect("promtool, which tests/run installs with the package prometheus");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {text} {errors}");
}
