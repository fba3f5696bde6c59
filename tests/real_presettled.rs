//! Pre-settled messages through real brokers that settle them: they are paced, every one is accounted
//! for, and two sidecars give the client at the other end what the first one sent.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{RabbitMq, Release, Running, Sidecar, field, python};

/// Messages of a run.
const MESSAGES: u64 = 20_000;
/// Messages that a queue holds which is bounded.
const LENGTH: u64 = 300;
/// How long a run may take: far more than it needs on a busy machine.
const LONGEST: Duration = Duration::from_secs(100);

#[test]
fn a_full_queue_refuses_messages_and_each_is_accounted_for() {
    let broker = RabbitMq::shared(Release::V4);
    broker.bound("full", LENGTH);
    let run = Run::of(broker, "full", "1");
    run.assert_paced();
    run.assert_all_accounted_for();
    assert!(run.refused() > 0, "the queue was never full");
    assert!(run.accepted() >= LENGTH);
    let line = run
        .from
        .log_line(|line| field(line, "message") == "pre-settled not accepted");
    assert_eq!(field(&line, "address"), address("full"));
    let outcome = field(&line, "outcome");
    assert!(["rejected", "released"].contains(&&*outcome), "{outcome}");
}

#[test]
fn a_queue_without_bounds_of_rabbitmq_4_accepts_all_at_its_pace() {
    accepts_all(Release::V4);
}

// A message that a full queue of RabbitMQ 3 refuses is not settled by it, neither with us nor
// without us.
#[test]
fn a_queue_without_bounds_of_rabbitmq_3_accepts_all_at_its_pace() {
    accepts_all(Release::V3);
}

fn accepts_all(release: Release) {
    let run = Run::of(RabbitMq::shared(release), "all", "20");
    run.assert_paced();
    run.assert_all_accounted_for();
    assert_eq!(run.accepted(), MESSAGES);
}

/// What became of [`MESSAGES`] that were sent settled through one sidecar and received, slowly,
/// through another.
struct Run {
    from: Sidecar,
    to: Sidecar,
    /// What the sender and the receiver observed.
    sent: Value,
    received: Value,
    /// The most that were seen to be unsettled at one time.
    most_unsettled: u64,
}

impl Run {
    fn of(broker: &RabbitMq, queue: &str, credit: &str) -> Self {
        let sidecar = || Sidecar::start(broker.address(), &["--presettled", "unsettled"]);
        let (from, to) = (sidecar(), sidecar());
        let mut receiver = play("receive", to.listen(), queue, &[credit]);
        assert_eq!(receiver.line(), "ready");
        let metrics = format!("http://{}/metrics", from.admin());
        let arguments = [&*MESSAGES.to_string(), &metrics];
        let sender = play("send", from.listen(), queue, &arguments);
        let start = Instant::now();
        let mut most_unsettled = 0;
        let sent = loop {
            assert!(start.elapsed() < LONGEST, "not all is accounted for");
            let now = from.metrics().value("sizegate_presettled_unsettled", &[]);
            most_unsettled = most_unsettled.max(now as u64);
            if let Some(line) = sender.line_now() {
                break json(&line);
            }
        };
        assert_eq!(sender.finish().code, Some(0));
        while broker.queues().get(queue) != Some(&0) {
            assert!(start.elapsed() < LONGEST, "the queue is never empty");
        }
        let last = play("last", broker.address(), queue, &[]).finish();
        assert_eq!(last.code, Some(0), "{}", last.errors);
        let receiver = receiver.finish();
        assert_eq!(receiver.code, Some(0), "{}", receiver.errors);
        from.metric_becomes("sizegate_connections_active", &[], 0.0);
        to.metric_becomes("sizegate_connections_active", &[], 0.0);
        Self {
            from,
            to,
            sent,
            received: json(&receiver.lines[0]),
            most_unsettled,
        }
    }

    fn count(&self, outcome: &str) -> u64 {
        let name = format!("sizegate_presettled_{outcome}_total");
        self.from.metrics().value(&name, &[]) as u64
    }

    fn accepted(&self) -> u64 {
        self.count("accepted")
    }

    fn refused(&self) -> u64 {
        let outcomes = ["rejected", "released", "modified"];
        outcomes.map(|outcome| self.count(outcome)).iter().sum()
    }

    /// No more were under way at a time than the broker grants at once.
    fn assert_paced(&self) {
        let (most, granted) = (self.most_unsettled, self.sent["credit"].as_u64().unwrap());
        assert!(
            most > 0 && most <= granted,
            "{most} unsettled, {granted} granted"
        );
    }

    /// Each was accepted and arrived once, settled and without the mark, or was counted as refused.
    fn assert_all_accounted_for(&self) {
        let (accepted, refused) = (self.accepted(), self.refused());
        assert_eq!(self.sent["sent"], MESSAGES);
        assert_eq!(accepted + refused, MESSAGES, "{accepted} and {refused}");
        assert_eq!(self.count("lost"), 0);
        assert_eq!(self.received["received"], accepted);
        assert_eq!(self.received["settled"], accepted, "all are restored");
        assert_eq!(self.received["wrong"], 0);
        let metrics = self.to.metrics();
        let restored = metrics.value("sizegate_presettled_restored_total", &[]) as u64;
        assert_eq!(restored, accepted);
        for (sidecar, direction) in [(&self.from, "send"), (&self.to, "receive")] {
            let metrics = sidecar.metrics();
            assert!(metrics.value("sizegate_malformed_total", &[]) < 0.5);
            assert!(metrics.value("sizegate_presettled_unsettled", &[]) < 0.5);
            let labels = [("direction", direction), ("verdict", "denied")];
            assert!(metrics.value("sizegate_messages_total", &labels) < 0.5);
        }
    }
}

/// A client that does something with a queue.
fn play(what: &str, at: SocketAddr, queue: &str, arguments: &[&str]) -> Running {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/clients/proton_presettled.py"
    );
    let (host, port) = (at.ip().to_string(), at.port().to_string());
    let address = address(queue);
    let mut all = vec![script, what, &host, &port, &address];
    all.extend(arguments);
    Running::start_with(&python(), &all, &[("PYTHONDONTWRITEBYTECODE", "1")])
}

/// The address of a queue of this name, which is made when it is used.
fn address(queue: &str) -> String {
    format!("/queue/{queue}")
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON of the client")
}
