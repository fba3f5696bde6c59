//! Real brokers and real client libraries of AMQP 1.0: compliant traffic is as without us, and of
//! what is too large exactly the right messages are refused, and nothing else is harmed.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod compliant;
mod endings;
mod fe2o3;
mod plan;
mod presettled;
mod receive;
mod send;
#[path = "../support/mod.rs"]
mod support;

use support::Sidecar;

/// The limit of these tests.
const LIMIT: usize = 20_000;

/// The address of a queue of this name, which is made when it is used.
fn address(queue: &str) -> String {
    format!("/queue/{queue}")
}

/// Waits until nobody is connected; then so many messages have been allowed and refused, each was
/// counted once, and nothing was malformed.
fn expect_counts(sidecar: &Sidecar, direction: &str, allowed: usize, denied: &[(&str, usize)]) {
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    let metrics = sidecar.metrics();
    let expect = |name: &str, labels: &[(&str, &str)], expected: usize| {
        let mut all = vec![("protocol", "amqp10"), ("direction", direction)];
        all.extend(labels);
        let count = metrics.sum(name, &all).unwrap_or(0.0);
        assert!(
            (count - expected as f64).abs() < 0.5,
            "{name}{all:?} is {count}, not {expected}"
        );
    };
    let total = denied.iter().map(|(_, count)| count).sum();
    expect(
        "sizegate_messages_total",
        &[("verdict", "allowed")],
        allowed,
    );
    expect("sizegate_messages_total", &[("verdict", "denied")], total);
    expect("sizegate_messages_denied_total", &[], total);
    for (action, count) in denied {
        expect(
            "sizegate_messages_denied_total",
            &[("action", action)],
            *count,
        );
    }
    assert!(metrics.value("sizegate_malformed_total", &[]) < 0.5);
    assert!(metrics.value("sizegate_held_bytes", &[]) < 0.5);
}
