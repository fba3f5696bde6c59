use std::sync::Arc;

use crate::gate::{Ending, Meter, Outcome, Reason, Side, VerdictKind};
use crate::policy::{Action, Direction};
use crate::telemetry::Metrics;

fn metrics() -> Metrics {
    Metrics::new(
        &["mqtt"],
        &["tenant-*".into()],
        &[],
        &Arc::new(crate::gate::HoldBudget::new(0)),
    )
    .expect("metrics that have names")
}

/// The value of a series, written as the text format writes it.
fn value(metrics: &Metrics, series: &str) -> Option<f64> {
    let text = metrics.render();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    Some(value.parse().expect("a number"))
}

#[test]
fn every_series_of_a_small_configuration_starts_at_zero() {
    let text = metrics().render();
    let series = |text: &str| -> Vec<(String, String)> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.rsplit_once(' ').expect("a series and its value"))
            .map(|(series, value)| (series.to_owned(), value.to_owned()))
            .collect()
    };
    let all = series(&text);
    for expected in [
        "sizegate_messages_total{direction=\"receive\",protocol=\"mqtt\",verdict=\"would-deny\"}",
        "sizegate_messages_denied_total{action=\"drop\",direction=\"send\",group=\"other\",\
         protocol=\"mqtt\",vhost=\"tenant-*\"}",
        "sizegate_message_size_bytes_bucket{direction=\"send\",protocol=\"mqtt\",le=\"64\"}",
        "sizegate_message_size_bytes_count{direction=\"send\",protocol=\"mqtt\"}",
        "sizegate_connections_total{protocol=\"mqtt\"}",
        "sizegate_connections_active{protocol=\"unknown\"}",
        "sizegate_connections_closed_total{protocol=\"unknown\",reason=\"handshake-timeout\",\
         side=\"client\"}",
        "sizegate_forwarded_bytes_total{direction=\"receive\"}",
        "sizegate_malformed_total{protocol=\"mqtt\",side=\"broker\"}",
        "sizegate_upstream_connect_errors_total{reason=\"refused\"}",
        "sizegate_presettled_unsettled",
        "sizegate_presettled_rejected_total",
        "sizegate_draining",
    ] {
        assert!(
            all.iter().any(|(series, _)| series == expected),
            "{expected}\n{text}"
        );
    }
    let not_zero: Vec<&str> = all
        .iter()
        .filter(|(_, value)| value != "0")
        .map(|(series, _)| series.as_str())
        .collect();
    let build = format!(
        "sizegate_build_info{{version=\"{}\"}}",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(not_zero, [build.as_str(), "sizegate_upstream_up"]);
}

#[test]
fn pre_settled_messages_are_counted_by_what_became_of_them() {
    let metrics = metrics();
    let mut meter = Meter::default();
    for (count, outcome) in (1..).zip(Outcome::ALL) {
        meter.outcome(outcome, count);
    }
    meter.restored = 6;
    metrics.presettled(&meter);
    metrics.presettled(&meter);
    for (count, name) in [
        (2.0, "accepted_total"),
        (4.0, "rejected_total"),
        (6.0, "released_total"),
        (8.0, "modified_total"),
        (10.0, "lost_total"),
        (12.0, "restored_total"),
    ] {
        let name = format!("sizegate_presettled_{name}");
        assert_eq!(value(&metrics, &name), Some(count), "{name}");
    }
}

#[test]
fn pre_settled_messages_under_way_are_those_of_all_connections() {
    let metrics = metrics();
    metrics.unsettled(0, 7);
    metrics.unsettled(0, 2);
    metrics.unsettled(7, 3);
    assert_eq!(value(&metrics, "sizegate_presettled_unsettled"), Some(5.0));
    metrics.unsettled(3, 0);
    metrics.unsettled(2, 0);
    assert_eq!(value(&metrics, "sizegate_presettled_unsettled"), Some(0.0));
}

#[test]
fn a_meter_is_added_to_its_protocol() {
    let metrics = metrics();
    let mqtt = metrics.protocol("mqtt");
    let mut meter = Meter::default();
    meter.message(Direction::ToBroker, VerdictKind::Allowed, 64);
    meter.message(Direction::ToBroker, VerdictKind::Allowed, 65);
    meter.message(Direction::ToBroker, VerdictKind::Denied, 1_000_000_000);
    meter.message(Direction::ToClient, VerdictKind::WouldDeny, 7);
    mqtt.absorb(&meter);
    mqtt.absorb(&meter);

    let send = "direction=\"send\",protocol=\"mqtt\"";
    let receive = "direction=\"receive\",protocol=\"mqtt\"";
    for (series, expected) in [
        (
            format!("sizegate_messages_total{{{send},verdict=\"allowed\"}}"),
            4.0,
        ),
        (
            format!("sizegate_messages_total{{{send},verdict=\"denied\"}}"),
            2.0,
        ),
        (
            format!("sizegate_messages_total{{{send},verdict=\"would-deny\"}}"),
            0.0,
        ),
        (
            format!("sizegate_messages_total{{{receive},verdict=\"would-deny\"}}"),
            2.0,
        ),
        (
            format!("sizegate_message_size_bytes_bucket{{{send},le=\"64\"}}"),
            2.0,
        ),
        (
            format!("sizegate_message_size_bytes_bucket{{{send},le=\"256\"}}"),
            4.0,
        ),
        (
            format!("sizegate_message_size_bytes_bucket{{{send},le=\"268435456\"}}"),
            4.0,
        ),
        (
            format!("sizegate_message_size_bytes_bucket{{{send},le=\"+Inf\"}}"),
            6.0,
        ),
        (format!("sizegate_message_size_bytes_count{{{send}}}"), 6.0),
        (
            format!("sizegate_message_size_bytes_sum{{{send}}}"),
            2_000_000_258.0,
        ),
        (
            format!("sizegate_message_size_bytes_sum{{{receive}}}"),
            14.0,
        ),
    ] {
        assert_eq!(value(&metrics, &series), Some(expected), "{series}");
    }
}

#[test]
fn a_connection_is_active_from_its_opening_to_its_drop() {
    let metrics = metrics();
    let mqtt = metrics.protocol("mqtt");
    let active = mqtt.opened();
    assert_eq!(
        value(&metrics, "sizegate_connections_active{protocol=\"mqtt\"}"),
        Some(1.0)
    );
    mqtt.closed(Ending::by(Side::Client, Reason::Closed));
    drop(active);
    assert_eq!(
        value(&metrics, "sizegate_connections_active{protocol=\"mqtt\"}"),
        Some(0.0)
    );
    assert_eq!(
        value(&metrics, "sizegate_connections_total{protocol=\"mqtt\"}"),
        Some(1.0)
    );
}

#[test]
fn every_end_of_a_connection_is_counted_by_side_and_reason() {
    let metrics = metrics();
    for side in [None, Some(Side::Client), Some(Side::Broker)] {
        for reason in Reason::ALL {
            let ending = Ending { side, reason };
            metrics.protocol("unknown").closed(ending);
            let (side, reason) = (ending.side_str(), reason.as_str());
            let labels = format!("protocol=\"unknown\",reason=\"{reason}\",side=\"{side}\"");
            let series = format!("sizegate_connections_closed_total{{{labels}}}");
            assert_eq!(value(&metrics, &series), Some(1.0), "{series}");
        }
    }
}

#[test]
fn labels_that_are_not_configured_count_as_other() {
    let metrics = metrics();
    let denied = |vhost: &str| {
        let labels = format!(
            "action=\"reject\",direction=\"send\",group=\"other\",protocol=\"mqtt\",\
             vhost=\"{vhost}\""
        );
        value(
            &metrics,
            &format!("sizegate_messages_denied_total{{{labels}}}"),
        )
    };
    let mqtt = metrics.protocol("mqtt");
    mqtt.denied(Direction::ToBroker, Action::Reject, "tenant-*", "nobody");
    mqtt.denied(Direction::ToBroker, Action::Reject, "stranger", "other");
    mqtt.denied(Direction::ToBroker, Action::Reject, "", "");
    assert_eq!(denied("tenant-*"), Some(1.0));
    assert_eq!(denied("other"), Some(2.0));
    assert_eq!(denied("stranger"), None);

    metrics.upstream_error("refused");
    metrics.upstream_error("a text that is not in the set");
    let errors = |reason: &str| {
        let series = format!("sizegate_upstream_connect_errors_total{{reason=\"{reason}\"}}");
        value(&metrics, &series)
    };
    assert_eq!((errors("refused"), errors("other")), (Some(1.0), Some(1.0)));

    metrics.protocol("gopher").malformed(Side::Broker);
    let series = "sizegate_malformed_total{protocol=\"unknown\",side=\"broker\"}";
    assert_eq!(value(&metrics, series), Some(1.0));
}

#[test]
fn a_large_configuration_starts_with_the_labels_other_alone() {
    let many: Vec<Arc<str>> = (0..100).map(|at| at.to_string().into()).collect();
    let metrics = Metrics::new(
        &["mqtt"],
        &many,
        &many,
        &Arc::new(crate::gate::HoldBudget::new(0)),
    )
    .expect("metrics that have names");
    let series = |metrics: &Metrics| {
        let text = metrics.render();
        text.lines()
            .filter(|line| line.starts_with("sizegate_messages_denied_total{"))
            .count()
    };
    assert_eq!(series(&metrics), 16);
    metrics
        .protocol("mqtt")
        .denied(Direction::ToBroker, Action::Drop, "7", "8");
    assert_eq!(series(&metrics), 17);
}

#[test]
fn the_state_of_the_program_is_shown() {
    let metrics = metrics();
    metrics.forwarded(Direction::ToBroker, 5);
    metrics.forwarded(Direction::ToClient, 7);
    metrics.upstream_up(false);
    metrics.draining();
    for (series, expected) in [
        ("sizegate_forwarded_bytes_total{direction=\"send\"}", 5.0),
        ("sizegate_forwarded_bytes_total{direction=\"receive\"}", 7.0),
        ("sizegate_upstream_up", 0.0),
        ("sizegate_draining", 1.0),
    ] {
        assert_eq!(value(&metrics, series), Some(expected), "{series}");
    }
    metrics.upstream_up(true);
    assert_eq!(value(&metrics, "sizegate_upstream_up"), Some(1.0));
}
