//! The reckoning: what the clients, the brokers and sizegate have counted must agree.

use std::time::Duration;

use crate::guest::Visits;
use crate::lane::{Lane, Received, Sent};
use crate::stage::{Protocol, Stage};
use crate::support::{Metrics, wait_for};
use crate::watch::Memory;

/// Prints all figures, and fails if one is not as it should be.
pub(crate) fn check(
    mut stage: Stage,
    outcomes: &[(Lane, Sent, Received)],
    guests: &Visits,
    memory: &Memory,
    descriptors: usize,
) {
    nothing_is_left(&stage, descriptors);
    let metrics = stage.sidecar.metrics();
    println!(
        "{:8} published   refused    learnt forwarded  withheld  received  connects   \
         outcome       gap",
        ""
    );
    for label in ["mqtt", "amqp10", "amqp091"] {
        let total = Total::of(label, outcomes, guests);
        total.print();
        total.agrees_with(&metrics);
        total.agrees_with_broker(&stage);
    }
    nobody_is_to_blame(&metrics);
    memory.is_flat();
    stage.sidecar.signal("TERM");
    assert_eq!(stage.sidecar.wait().code(), Some(0), "the exit code");
    println!("Everything adds up.");
}

/// All connections have ended, and what they had was given back.
fn nothing_is_left(stage: &Stage, descriptors: usize) {
    for gauge in ["sizegate_connections_active", "sizegate_held_bytes"] {
        stage.sidecar.metric_becomes(gauge, &[], 0.0);
    }
    wait_for("the descriptors of before", || {
        (stage.sidecar.descriptors() <= descriptors).then_some(())
    });
    println!("no connection, no held octet, {descriptors} descriptors as at the start");
}

/// What was sent and received with one protocol.
#[derive(Debug, Default)]
struct Total {
    label: &'static str,
    small: u64,
    middle: u64,
    large: u64,
    refused: u64,
    /// Large messages of which nobody can be told, or only by success.
    silent: u64,
    received: u64,
    /// Of what was forwarded to the broker.
    octets: u64,
    connects: u64,
    /// The longest wait of a publisher for what became of a message.
    outcome: Duration,
    /// The longest time of a subscriber without a message.
    gap: Duration,
}

impl Total {
    fn of(label: &'static str, outcomes: &[(Lane, Sent, Received)], guests: &Visits) -> Self {
        let mut total = Self {
            label,
            ..Self::default()
        };
        for (lane, sent, received) in outcomes {
            if lane.protocol.label() != label {
                continue;
            }
            assert_eq!(received.messages, sent.small, "{}", lane.name);
            total.small += sent.small;
            total.middle += sent.middle;
            total.large += sent.large;
            total.refused += sent.refused;
            total.octets += sent.octets;
            total.silent += sent.silent;
            total.received += received.messages;
            // And that of the subscriber.
            total.connects += sent.connects + 1;
            total.outcome = total.outcome.max(sent.longest);
            total.gap = total.gap.max(received.longest);
        }
        let knocked = guests
            .iter()
            .filter(|(protocol, _)| protocol.label() == label);
        total.connects += knocked.map(|(_, count)| count).sum::<u64>();
        total
    }

    fn print(&self) {
        println!(
            "{:8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} ms {:>6} ms",
            self.label,
            self.small + self.middle + self.large,
            self.large,
            self.refused,
            self.small + self.middle,
            self.middle,
            self.received,
            self.connects,
            self.outcome.as_millis(),
            self.gap.as_millis()
        );
    }

    /// Published is forwarded and refused, and every refusal that can be told was learnt.
    fn agrees_with(&self, metrics: &Metrics) {
        assert_eq!(self.large, self.refused + self.silent, "{self:?}");
        let send = |key, value| vec![("direction", "send"), (key, value)];
        let receive = |key, value| vec![("direction", "receive"), (key, value)];
        let forwarded = self.small + self.middle;
        for (name, labels, expected) in [
            ("messages", send("verdict", "allowed"), forwarded),
            ("messages", send("verdict", "denied"), self.large),
            ("messages_denied", send("action", "reject"), self.refused),
            ("messages_denied", send("action", "drop"), self.silent),
            ("messages", receive("verdict", "allowed"), self.received),
            ("messages", receive("verdict", "denied"), self.middle),
            ("connections", Vec::new(), self.connects),
            ("connections_closed", Vec::new(), self.connects),
        ] {
            let name = format!("sizegate_{name}_total");
            let labels = [&[("protocol", self.label)], &labels[..]].concat();
            let counted = metrics.sum(&name, &labels).unwrap_or(0.0);
            assert_eq!(counted as u64, expected, "{name}{labels:?}");
        }
    }

    /// What the broker counts is what was forwarded, and nothing stays in it.
    fn agrees_with_broker(&self, stage: &Stage) {
        let forwarded = self.small + self.middle;
        if self.label == Protocol::Mqtt5.label() {
            // It says so once a second.
            wait_for("mosquitto has counted what was forwarded", || {
                (stage.mosquitto.published_octets() == self.octets).then_some(())
            });
        } else {
            let counted = stage.rabbitmq.published(self.label);
            assert_eq!(counted, forwarded, "{} at the broker", self.label);
            for (queue, messages) in stage.rabbitmq.queues() {
                assert_eq!(messages, 0, "{queue}");
            }
        }
    }
}

/// Nothing was malformed, and every connection ended because its client left.
fn nobody_is_to_blame(metrics: &Metrics) {
    let malformed = metrics.sum("sizegate_malformed_total", &[]);
    assert_eq!(malformed.unwrap_or(0.0), 0.0, "malformed");
    let name = "sizegate_connections_closed_total";
    let all = metrics.sum(name, &[]);
    let left = ["closed", "reset"].map(|reason| {
        let count = metrics.sum(name, &[("reason", reason)]);
        count.unwrap_or(0.0)
    });
    assert_eq!(all, Some(left.iter().sum()), "{left:?} have left");
    println!(
        "{} connections closed, {} reset by their clients",
        left[0], left[1]
    );
}

impl Memory {
    /// Fails if it has grown since the caches are full.
    fn is_flat(&self) {
        println!(
            "memory: {} KiB early, {} KiB late, {} KiB at most",
            self.early_kib, self.late_kib, self.most_kib
        );
        assert!(
            self.late_kib <= self.early_kib + GROWTH_KIB,
            "memory has grown"
        );
    }
}

/// What memory may grow by: less than an octet for each message of half an hour.
const GROWTH_KIB: u64 = 1024;
