//! Every metric: its name, its help text and its labels, and where it is counted.
//!
//! All label values come from sets that are closed when the program starts, and all series but
//! those of a large configuration start at zero, so that the first event is a rate and not a birth.
//! Counting is an addition to an atomic; nothing here locks or allocates for an allowed message.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{
    Error, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use super::protocol::ProtocolMetrics;
use super::sizes::SizesVec;
use crate::gate::{HoldBudget, Meter, Outcome};
use crate::policy::Direction;

/// All metrics of one sizegate.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// By name, [`UNKNOWN`] last.
    protocols: Vec<(&'static str, Arc<ProtocolMetrics>)>,
    forwarded: [IntCounter; 2],
    upstream_up: IntGauge,
    upstream_errors: IntCounterVec,
    certificate_expiry: IntGaugeVec,
    certificate_reloads: [IntCounter; 2],
    draining: IntGauge,
    held: IntGauge,
    unsettled: IntGauge,
    /// As [`Meter::outcomes`] has them.
    outcomes: [IntCounter; Outcome::ALL.len()],
    restored: IntCounter,
    /// Where the octets that are held are counted.
    hold: Arc<HoldBudget>,
}

impl Metrics {
    /// Metrics for these protocols, and for these texts of configured patterns as labels.
    ///
    /// Fails if two of them have one name, which is an error of this room.
    pub fn new(
        protocols: &[&'static str],
        vhosts: &[Arc<str>],
        groups: &[Arc<str>],
        hold: &Arc<HoldBudget>,
    ) -> Result<Self, Error> {
        let registry = Registry::new();
        let mut shared = Shared {
            messages: MESSAGES.counters(&registry)?,
            denied: DENIED.counters(&registry)?,
            sizes: SizesVec::new(SIZES.name, SIZES.help, SIZES.labels)?,
            connections: CONNECTIONS.counters(&registry)?,
            active: ACTIVE.gauges(&registry)?,
            closed: CLOSED.counters(&registry)?,
            malformed: MALFORMED.counters(&registry)?,
            vhosts: with_other(vhosts),
            groups: with_other(groups),
        };
        let names = protocols.iter().copied().chain([UNKNOWN]);
        let protocols = names
            .map(|name| (name, Arc::new(ProtocolMetrics::new(name, &mut shared))))
            .collect();
        registry.register(Box::new(shared.sizes))?;

        let forwarded = FORWARDED.counters(&registry)?;
        let upstream_errors = UPSTREAM_ERRORS.counters(&registry)?;
        for reason in UPSTREAM_REASONS {
            upstream_errors.with_label_values(&[reason]);
        }
        let upstream_up = UPSTREAM_UP
            .gauges(&registry)?
            .with_label_values::<&str>(&[]);
        upstream_up.set(1);
        BUILD_INFO
            .gauges(&registry)?
            .with_label_values(&[env!("CARGO_PKG_VERSION")])
            .set(1);
        let certificate_reloads = CERTIFICATE_RELOADS.counters(&registry)?;
        Ok(Self {
            protocols,
            forwarded: Direction::ALL.map(|it| forwarded.with_label_values(&[it.as_str()])),
            upstream_up,
            upstream_errors,
            certificate_expiry: CERTIFICATE_EXPIRY.gauges(&registry)?,
            certificate_reloads: RELOAD_RESULTS
                .map(|result| certificate_reloads.with_label_values(&[result])),
            draining: DRAINING.gauges(&registry)?.with_label_values::<&str>(&[]),
            held: HELD.gauges(&registry)?.with_label_values::<&str>(&[]),
            unsettled: UNSETTLED.gauges(&registry)?.with_label_values::<&str>(&[]),
            outcomes: [
                ACCEPTED.counter(&registry)?,
                REJECTED.counter(&registry)?,
                RELEASED.counter(&registry)?,
                MODIFIED.counter(&registry)?,
                LOST.counter(&registry)?,
            ],
            restored: RESTORED.counter(&registry)?,
            hold: Arc::clone(hold),
            registry,
        })
    }

    /// The metrics of one protocol; fetched once for a connection.
    ///
    /// A connection whose protocol is not known yet, or is none of ours, has `unknown`.
    pub fn protocol(&self, name: &str) -> Arc<ProtocolMetrics> {
        let found = self.protocols.iter().find(|(known, _)| *known == name);
        let (_, metrics) = found
            .or(self.protocols.last())
            .expect("the unknown protocol is always there");
        Arc::clone(metrics)
    }

    /// Octets went on to the other side.
    #[inline]
    pub fn forwarded(&self, direction: Direction, octets: u64) {
        let [to_broker, to_client] = &self.forwarded;
        match direction {
            Direction::ToBroker => to_broker.inc_by(octets),
            Direction::ToClient => to_client.inc_by(octets),
        }
    }

    /// Adds what a gate wrote down of pre-settled messages in one turn.
    #[inline]
    pub fn presettled(&self, meter: &Meter) {
        for (counter, &count) in self.outcomes.iter().zip(&meter.outcomes) {
            if count != 0 {
                counter.inc_by(count);
            }
        }
        if meter.restored != 0 {
            self.restored.inc_by(meter.restored);
        }
    }

    /// A connection has another number of pre-settled messages under way than before.
    pub fn unsettled(&self, before: u64, now: u64) {
        let as_signed = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.unsettled.add(as_signed(now) - as_signed(before));
    }

    /// The broker was reached, or was not.
    pub fn upstream_up(&self, up: bool) {
        self.upstream_up.set(up.into());
    }

    /// The broker was not reached for this reason, one of [`UPSTREAM_REASONS`].
    pub fn upstream_error(&self, reason: &'static str) {
        let known = UPSTREAM_REASONS.contains(&reason);
        let reason = if known { reason } else { OTHER };
        self.upstream_errors.with_label_values(&[reason]).inc();
    }

    /// The certificates of a role, one of a closed set, are valid up to this time.
    pub fn certificate_expiry(&self, role: &'static str, not_after: SystemTime) {
        let since = not_after.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        let gauge = self.certificate_expiry.with_label_values(&[role]);
        gauge.set(seconds);
    }

    /// Files that had changed were read again, and could be used or could not.
    pub fn certificate_reload(&self, usable: bool) {
        let [success, failure] = &self.certificate_reloads;
        if usable { success } else { failure }.inc();
    }

    /// sizegate shuts down.
    pub fn draining(&self) {
        self.draining.set(1);
    }

    /// Everything in Prometheus' text format 0.0.4.
    pub fn render(&self) -> String {
        self.held
            .set(i64::try_from(self.hold.held()).unwrap_or(i64::MAX));
        let families = self.registry.gather();
        // It fails for a family without name or series; the registry gives out neither.
        TextEncoder::new()
            .encode_to_string(&families)
            .unwrap_or_default()
    }
}

/// What the metrics of all protocols are taken from.
pub(super) struct Shared {
    pub(super) messages: IntCounterVec,
    pub(super) denied: IntCounterVec,
    pub(super) sizes: SizesVec,
    pub(super) connections: IntCounterVec,
    pub(super) active: IntGaugeVec,
    pub(super) closed: IntCounterVec,
    pub(super) malformed: IntCounterVec,
    /// The values of the label, [`OTHER`] first.
    pub(super) vhosts: Arc<[Arc<str>]>,
    /// The values of the label, [`OTHER`] first.
    pub(super) groups: Arc<[Arc<str>]>,
}

/// The protocol of a connection as long as it is not known.
pub(super) const UNKNOWN: &str = "unknown";
/// The value of a label that is none of those configured.
pub(super) const OTHER: &str = "other";

fn with_other(configured: &[Arc<str>]) -> Arc<[Arc<str>]> {
    let mut values = vec![Arc::from(OTHER)];
    for value in configured {
        if !values.contains(value) {
            values.push(Arc::clone(value));
        }
    }
    values.into()
}

/// Why a broker was not reached: the values of a label of [`Metrics::upstream_error`].
pub const UPSTREAM_REASONS: [&str; 7] = [
    "resolve",
    "refused",
    "unreachable",
    "timeout",
    "tls",
    "loop",
    OTHER,
];

/// A metric before it is registered.
struct Spec {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
}

impl Spec {
    fn counters(&self, registry: &Registry) -> Result<IntCounterVec, Error> {
        let vec = IntCounterVec::new(Opts::new(self.name, self.help), self.labels)?;
        registry.register(Box::new(vec.clone()))?;
        Ok(vec)
    }

    fn counter(&self, registry: &Registry) -> Result<IntCounter, Error> {
        Ok(self.counters(registry)?.with_label_values::<&str>(&[]))
    }

    fn gauges(&self, registry: &Registry) -> Result<IntGaugeVec, Error> {
        let vec = IntGaugeVec::new(Opts::new(self.name, self.help), self.labels)?;
        registry.register(Box::new(vec.clone()))?;
        Ok(vec)
    }
}

const MESSAGES: Spec = Spec {
    name: "sizegate_messages_total",
    help: "Messages whose verdict has fallen.",
    labels: &["protocol", "direction", "verdict"],
};
const DENIED: Spec = Spec {
    name: "sizegate_messages_denied_total",
    help: "Messages over their limit that were refused.",
    labels: &["protocol", "direction", "action", "vhost", "group"],
};
const SIZES: Spec = Spec {
    name: "sizegate_message_size_bytes",
    help: "Sizes of messages, whatever their verdict.",
    labels: &["protocol", "direction"],
};
const CONNECTIONS: Spec = Spec {
    name: "sizegate_connections_total",
    help: "Connections whose protocol became known.",
    labels: &["protocol"],
};
const ACTIVE: Spec = Spec {
    name: "sizegate_connections_active",
    help: "Connections whose protocol is known and that have not ended.",
    labels: &["protocol"],
};
const CLOSED: Spec = Spec {
    name: "sizegate_connections_closed_total",
    help: "Connections that ended, by the side that ended them and its reason.",
    labels: &["protocol", "side", "reason"],
};
const FORWARDED: Spec = Spec {
    name: "sizegate_forwarded_bytes_total",
    help: "Octets forwarded from one side to the other.",
    labels: &["direction"],
};
const MALFORMED: Spec = Spec {
    name: "sizegate_malformed_total",
    help: "Connections on which a side sent what its protocol does not allow.",
    labels: &["protocol", "side"],
};
const UPSTREAM_UP: Spec = Spec {
    name: "sizegate_upstream_up",
    help: "0 if the last attempt to reach the broker failed, else 1.",
    labels: &[],
};
const UPSTREAM_ERRORS: Spec = Spec {
    name: "sizegate_upstream_connect_errors_total",
    help: "Attempts to reach the broker that failed.",
    labels: &["reason"],
};
const CERTIFICATE_EXPIRY: Spec = Spec {
    name: "sizegate_certificate_expiry_timestamp_seconds",
    help: "When the first of the certificates in force for a role expires, in seconds since 1970.",
    labels: &["role"],
};
const CERTIFICATE_RELOADS: Spec = Spec {
    name: "sizegate_certificate_reloads_total",
    help: "Times that files of TLS had changed and were read again.",
    labels: &["result"],
};
/// What came of reading files again.
const RELOAD_RESULTS: [&str; 2] = ["success", "failure"];
const DRAINING: Spec = Spec {
    name: "sizegate_draining",
    help: "1 while sizegate shuts down, else 0.",
    labels: &[],
};

const HELD: Spec = Spec {
    name: "sizegate_held_bytes",
    help: "Octets of messages that are held until their end is there.",
    labels: &[],
};
const UNSETTLED: Spec = Spec {
    name: "sizegate_presettled_unsettled",
    help: "Pre-settled messages that went to the broker unsettled and whose outcome is due.",
    labels: &[],
};
const ACCEPTED: Spec = Spec {
    name: "sizegate_presettled_accepted_total",
    help: "Pre-settled messages that went to the broker unsettled and that it accepted.",
    labels: &[],
};
const REJECTED: Spec = Spec {
    name: "sizegate_presettled_rejected_total",
    help: "Pre-settled messages that went to the broker unsettled and that it rejected.",
    labels: &[],
};
const RELEASED: Spec = Spec {
    name: "sizegate_presettled_released_total",
    help: "Pre-settled messages that went to the broker unsettled and that it released.",
    labels: &[],
};
const MODIFIED: Spec = Spec {
    name: "sizegate_presettled_modified_total",
    help: "Pre-settled messages that went to the broker unsettled and that it wants modified.",
    labels: &[],
};
const LOST: Spec = Spec {
    name: "sizegate_presettled_lost_total",
    help: "Pre-settled messages that went to the broker unsettled and of which it did not say what \
           became of them.",
    labels: &[],
};
const RESTORED: Spec = Spec {
    name: "sizegate_presettled_restored_total",
    help: "Messages that had been pre-settled and were made so again on their way to a client.",
    labels: &[],
};
const BUILD_INFO: Spec = Spec {
    name: "sizegate_build_info",
    help: "Always 1; the version that runs is its label.",
    labels: &["version"],
};
