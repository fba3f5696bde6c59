//! The metrics of one protocol, looked up once and held by each of its connections.

use std::sync::Arc;

use prometheus::{IntCounter, IntCounterVec, IntGauge};

use super::metrics::{OTHER, Shared};
use super::sizes::Sizes;
use crate::gate::{Ending, Meter, Reason, Side, VerdictKind};
use crate::policy::{Action, Direction};

/// Where the connections of one protocol are counted.
#[derive(Debug)]
pub struct ProtocolMetrics {
    name: &'static str,
    /// By direction and verdict, as [`Meter::messages`] has them.
    messages: [[IntCounter; 3]; 2],
    /// By direction, as [`Meter::sizes`] has them.
    sizes: [Arc<Sizes>; 2],
    connections: IntCounter,
    active: IntGauge,
    /// Every way for a connection to end.
    closed: Vec<(Ending, IntCounter)>,
    malformed: [IntCounter; 2],
    denied: IntCounterVec,
    vhosts: Arc<[Arc<str>]>,
    groups: Arc<[Arc<str>]>,
}

impl ProtocolMetrics {
    pub(super) fn new(name: &'static str, shared: &mut Shared) -> Self {
        let metrics = Self {
            name,
            messages: Direction::ALL.map(|direction| {
                VerdictKind::ALL.map(|verdict| {
                    let labels = [name, direction.as_str(), verdict.as_str()];
                    shared.messages.with_label_values(&labels)
                })
            }),
            sizes: Direction::ALL.map(|it| shared.sizes.series(&[name, it.as_str()])),
            connections: shared.connections.with_label_values(&[name]),
            active: shared.active.with_label_values(&[name]),
            closed: endings()
                .map(|ending| {
                    let labels = [name, ending.side_str(), ending.reason.as_str()];
                    (ending, shared.closed.with_label_values(&labels))
                })
                .collect(),
            malformed: [Side::Client, Side::Broker]
                .map(|side| shared.malformed.with_label_values(&[name, side.as_str()])),
            denied: shared.denied.clone(),
            vhosts: Arc::clone(&shared.vhosts),
            groups: Arc::clone(&shared.groups),
        };
        metrics.start_denied();
        metrics
    }

    /// Adds what a gate wrote down in one turn: counts and sizes, not the reports.
    #[inline]
    pub fn absorb(&self, meter: &Meter) {
        let seen = meter.messages.iter().zip(&meter.sizes);
        for ((counters, sizes), (messages, seen)) in self.messages.iter().zip(&self.sizes).zip(seen)
        {
            if *messages == [0; 3] {
                continue;
            }
            for (counter, &count) in counters.iter().zip(messages) {
                if count != 0 {
                    counter.inc_by(count);
                }
            }
            sizes.add(seen);
        }
    }

    /// A connection turned out to speak this protocol; it counts as active until the answer is
    /// dropped.
    #[must_use]
    pub fn opened(&self) -> Active {
        self.connections.inc();
        self.active.inc();
        Active(self.active.clone())
    }

    /// A connection ended.
    pub fn closed(&self, ending: Ending) {
        if let Some((_, counter)) = self.closed.iter().find(|(known, _)| *known == ending) {
            counter.inc();
        }
    }

    /// A message, or a packet that is not one, was refused; labels that are not configured count
    /// as `other`.
    pub fn denied(&self, direction: Direction, action: Action, vhost: &str, group: &str) {
        let vhost = known(&self.vhosts, vhost);
        let group = known(&self.groups, group);
        self.denied_series(direction, action, vhost, group).inc();
    }

    /// A side sent what the protocol does not allow.
    pub fn malformed(&self, side: Side) {
        let [client, broker] = &self.malformed;
        match side {
            Side::Client => client.inc(),
            Side::Broker => broker.inc(),
        }
    }

    /// Starts the counters of refusals at zero: all of them if they are few, else those of the
    /// labels `other`.
    fn start_denied(&self) {
        let few = self.vhosts.len() * self.groups.len() <= FEW;
        let start = |all: &Arc<[Arc<str>]>| {
            let count = if few { all.len() } else { 1 };
            all.iter().take(count).cloned().collect::<Vec<_>>()
        };
        let groups = start(&self.groups);
        for vhost in start(&self.vhosts) {
            for group in &groups {
                for direction in Direction::ALL {
                    for action in Action::ALL {
                        self.denied_series(direction, action, &vhost, group);
                    }
                }
            }
        }
    }

    fn denied_series(
        &self,
        direction: Direction,
        action: Action,
        vhost: &str,
        group: &str,
    ) -> IntCounter {
        let labels = [self.name, direction.as_str(), action.as_str(), vhost, group];
        self.denied.with_label_values(&labels)
    }
}

/// Holds a connection among the active ones.
#[derive(Debug)]
pub struct Active(IntGauge);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Every way for a connection to end.
fn endings() -> impl Iterator<Item = Ending> {
    let sides = [None, Some(Side::Client), Some(Side::Broker)];
    sides
        .into_iter()
        .flat_map(|side| Reason::ALL.map(|reason| Ending { side, reason }))
}

/// The value of a closed set that a label takes.
fn known<'a>(values: &'a [Arc<str>], value: &str) -> &'a str {
    let found = values.iter().find(|known| ***known == *value);
    found.map_or(OTHER, |known| known)
}

/// Up to how many pairs of vhost and group all counters of refusals exist from the start.
const FEW: usize = 64;
