//! What one connection adds to the metrics and to the log.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::Instant;

use crate::gate::{
    Direction, Ending, Gate, Identity, Limits, Meter, Outcome, Reason, Refusal, Report, Side,
    VerdictKind,
};
use crate::telemetry::{self, Active, Closed, Metrics, ProtocolMetrics, RefusalLog, Who};

/// The account of one connection.
#[derive(Debug)]
pub(super) struct Tally {
    metrics: Arc<Metrics>,
    protocol: Arc<ProtocolMetrics>,
    /// Holds the connection among the active ones of its protocol, once that is known.
    _active: Option<Active>,
    /// What it speaks, once that is known.
    protocol_name: Option<&'static str>,
    /// The number of the connection.
    connection: u64,
    /// Where the client is.
    peer: SocketAddr,
    /// When the client was accepted.
    since: Instant,
    /// Octets written to the broker and to the client.
    carried: [u64; 2],
    /// Which refusals get a line.
    refusals: RefusalLog,
    /// Pre-settled messages under way, as the metrics have it.
    unsettled: u64,
    /// Whether the end of the connection has been booked.
    is_closed: bool,
}

impl Tally {
    /// The account of a connection whose protocol is not known yet; in a box, since it goes from
    /// hand to hand and a task has room for it in each.
    pub(super) fn new(metrics: &Arc<Metrics>, connection: u64, peer: SocketAddr) -> Box<Self> {
        Box::new(Self {
            metrics: Arc::clone(metrics),
            protocol: metrics.protocol(UNKNOWN),
            _active: None,
            protocol_name: None,
            connection,
            peer,
            since: Instant::now(),
            carried: [0; 2],
            refusals: RefusalLog::default(),
            unsettled: 0,
            is_closed: false,
        })
    }

    /// Books the connection on a protocol from here on.
    pub(super) fn speaks(&mut self, protocol: &'static str) {
        self.protocol = self.metrics.protocol(protocol);
        self._active = Some(self.protocol.opened());
        self.protocol_name = Some(protocol);
    }

    /// Books one turn: the octets carried to the broker and to the client, and what the gate wrote
    /// down.
    pub(super) fn take(&mut self, meter: &mut Meter, carried: [u64; 2], gate: &dyn Gate) {
        self.protocol.absorb(meter);
        self.metrics.presettled(meter);
        self.note_unsettled(gate.unsettled());
        let forwarded = carried.into_iter().zip(meter.released);
        let forwarded = forwarded.map(|(carried, released)| carried + released);
        let sums = Direction::ALL.into_iter().zip(&mut self.carried);
        for ((direction, sum), octets) in sums.zip(forwarded) {
            if octets != 0 {
                self.metrics.forwarded(direction, octets);
                *sum += octets;
            }
        }
        for report in meter.reports.drain(..) {
            self.report(&report, gate);
        }
    }

    /// Where the client is.
    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Learns where the client is from one who knows better than the socket.
    pub(super) fn comes_from(&mut self, peer: SocketAddr) {
        self.peer = peer;
    }

    #[inline]
    fn note_unsettled(&mut self, now: u64) {
        if now != self.unsettled {
            self.metrics.unsettled(self.unsettled, now);
            self.unsettled = now;
        }
    }

    /// The number of the connection.
    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    /// Whom a log line speaks of.
    fn who<'a>(&self, identity: Identity<'a>, limits: Option<&'a Limits>) -> Who<'a> {
        Who {
            connection: self.connection,
            peer: self.peer,
            protocol: self.protocol_name,
            identity,
            group: limits.and_then(Limits::group),
        }
    }

    /// Writes down what TLS found wrong with a side.
    pub(super) fn broke(&self, side: Side, fault: &io::Error, gate: &dyn Gate) {
        let who = self.who(gate.identity(), gate.limits());
        telemetry::broke(&who, side, fault);
    }

    /// Books the end of the connection.
    pub(super) fn close(mut self, ending: Ending, gate: Option<&dyn Gate>) {
        let closed = self.end(ending, gate.map_or(0, Gate::unsettled));
        let suppressed = self.refusals.suppressed();
        let identity = gate.map(Gate::identity).unwrap_or_default();
        let who = self.who(identity, gate.and_then(Gate::limits));
        telemetry::closed(&who, ending, closed, suppressed);
    }

    /// Counts the end of the connection; so many pre-settled messages are lost with it.
    fn end(&mut self, ending: Ending, lost: u64) -> Closed {
        self.is_closed = true;
        self.protocol.closed(ending);
        let mut meter = Meter::default();
        meter.outcome(Outcome::Lost, lost);
        self.metrics.presettled(&meter);
        self.note_unsettled(0);
        let [sent, received] = self.carried;
        Closed {
            sent,
            received,
            lasted: self.since.elapsed(),
            lost,
        }
    }

    #[cold]
    fn report(&mut self, report: &Report, gate: &dyn Gate) {
        let who = self.who(gate.identity(), gate.limits());
        match report {
            Report::Refused(refusal) => {
                self.refusals.refused(Instant::now(), &who, refusal);
                if refusal.verdict == VerdictKind::Denied {
                    self.deny(refusal, gate.limits());
                }
            }
            Report::ControlOversize {
                side,
                verdict,
                size,
                limit,
            } => telemetry::control_oversize(&who, *side, *verdict, *size, *limit),
            Report::NotAccepted(messages) => {
                self.refusals.not_accepted(Instant::now(), &who, messages);
            }
            Report::Malformed { side, what } => {
                self.protocol.malformed(*side);
                telemetry::malformed(&who, *side, what);
            }
        }
    }

    fn deny(&self, refusal: &Refusal, limits: Option<&Limits>) {
        let vhost = limits.map_or(OTHER, Limits::vhost_label);
        let group = limits.map_or(OTHER, Limits::group_label);
        self.protocol
            .denied(refusal.direction, refusal.action, vhost, group);
    }
}

impl Drop for Tally {
    /// Books the end of a connection that a panic ended. The gate is not asked about anything: it
    /// may be what panicked.
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        if let Some(panic) = telemetry::ending() {
            let ending = Ending::ours(Reason::Panic);
            let closed = self.end(ending, self.unsettled);
            let suppressed = self.refusals.suppressed();
            let who = self.who(Identity::default(), None);
            telemetry::panicked(&who, ending, closed, suppressed, &panic);
        }
    }
}

/// The protocol label of a connection whose protocol is not known.
const UNKNOWN: &str = "unknown";
/// The label of what is not configured.
const OTHER: &str = "other";
