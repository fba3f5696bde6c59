//! The log lines that speak of a connection: its refusals, its faults and its end.
//!
//! The fields have the same names on each line, and those of which nothing is known are left out.
//! Values that a peer chose are cut to a bounded length and passed as strings, so that the format
//! escapes them: no client can write a line of its own. Payload octets and credentials never come
//! here.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{error, info, warn};

use super::Panic;
use crate::gate::{Direction, Ending, NotAccepted, Refusal, Side, VerdictKind};
use crate::policy::Identity;

/// Whose connection a line speaks of.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// The number of the connection, unique while this sizegate runs.
    pub connection: u64,
    /// Where the client is.
    pub peer: SocketAddr,
    /// What it speaks, once that is known.
    pub protocol: Option<&'static str>,
    /// Who it says it is.
    pub identity: Identity<'a>,
    /// The configured group that its user is in.
    pub group: Option<&'a str>,
}

/// How much went through a connection that ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closed {
    /// Octets forwarded to the broker.
    pub sent: u64,
    /// Octets forwarded to the client.
    pub received: u64,
    /// How long it lasted.
    pub lasted: Duration,
    /// Pre-settled messages whose outcome was due.
    pub lost: u64,
}

/// Decides which refusals of one connection get a line, and which of its pre-settled messages that
/// the broker did not accept: a burst, then one a second.
#[derive(Debug)]
pub struct RefusalLog {
    /// Lines that may be written at once; at most [`BURST`].
    allowance: u32,
    /// The time up to which the allowance has been made up; none before the first refusal.
    counted: Option<Instant>,
    /// Messages left out since the last line.
    suppressed: u64,
}

impl RefusalLog {
    /// Writes the line of a refusal, or leaves it out and counts that.
    pub fn refused(&mut self, now: Instant, who: &Who<'_>, refusal: &Refusal) {
        if !self.admits(now) {
            self.suppressed += 1;
            return;
        }
        let suppressed = std::mem::take(&mut self.suppressed);
        let message = match refusal.verdict {
            VerdictKind::WouldDeny => "message would be refused",
            VerdictKind::Denied | VerdictKind::Allowed => "message refused",
        };
        let address = refusal.address.as_deref().map(bounded);
        let [vhost, user, group, client] = names(who);
        warn!(
            connection = who.connection,
            peer = %who.peer,
            protocol = who.protocol,
            vhost = vhost.as_deref(),
            user = user.as_deref(),
            group = group.as_deref(),
            client = client.as_deref(),
            address = address.as_deref(),
            direction = refusal.direction.as_str(),
            size = refusal.size,
            limit = refusal.limit,
            rule = &*refusal.rule,
            action = refusal.action.as_str(),
            verdict = refusal.verdict.as_str(),
            suppressed,
            "{message}"
        );
    }

    /// Writes the line of pre-settled messages that the broker did not accept, or leaves it out and
    /// counts them.
    pub fn not_accepted(&mut self, now: Instant, who: &Who<'_>, messages: &NotAccepted) {
        if !self.admits(now) {
            self.suppressed += messages.messages;
            return;
        }
        let suppressed = std::mem::take(&mut self.suppressed);
        let address = messages.address.as_deref().map(bounded);
        let [vhost, user, group, client] = names(who);
        warn!(
            connection = who.connection,
            peer = %who.peer,
            protocol = who.protocol,
            vhost = vhost.as_deref(),
            user = user.as_deref(),
            group = group.as_deref(),
            client = client.as_deref(),
            address = address.as_deref(),
            direction = Direction::ToBroker.as_str(),
            outcome = messages.outcome.as_str(),
            messages = messages.messages,
            suppressed,
            "pre-settled not accepted"
        );
    }

    /// Refusals left out that no line has told of yet.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// Takes one line off the allowance, if there is one.
    fn admits(&mut self, now: Instant) -> bool {
        let counted = *self.counted.get_or_insert(now);
        let earned = now.saturating_duration_since(counted).as_secs() / INTERVAL.as_secs();
        let earned = u32::try_from(earned).unwrap_or(BURST).min(BURST);
        if self.allowance + earned >= BURST {
            self.allowance = BURST;
            self.counted = Some(now);
        } else {
            self.allowance += earned;
            self.counted = Some(counted + INTERVAL * earned);
        }
        let admitted = self.allowance > 0;
        self.allowance = self.allowance.saturating_sub(1);
        admitted
    }
}

impl Default for RefusalLog {
    fn default() -> Self {
        Self {
            allowance: BURST,
            counted: None,
            suppressed: 0,
        }
    }
}

/// Writes the line of a connection's end; `suppressed` is what its [`RefusalLog`] still holds.
pub fn closed(who: &Who<'_>, ending: Ending, closed: Closed, suppressed: u64) {
    let [vhost, user, group, client] = names(who);
    info!(
        connection = who.connection,
        peer = %who.peer,
        protocol = who.protocol,
        vhost = vhost.as_deref(),
        user = user.as_deref(),
        group = group.as_deref(),
        client = client.as_deref(),
        side = ending.side_str(),
        reason = ending.reason.as_str(),
        sent_bytes = closed.sent,
        received_bytes = closed.received,
        duration_seconds = closed.lasted.as_secs_f64(),
        presettled_lost = (closed.lost > 0).then_some(closed.lost),
        suppressed,
        "connection closed"
    );
}

/// Writes the line of the end of a connection that a panic ended; what its client claimed to be is
/// not known any more.
pub fn panicked(who: &Who<'_>, ending: Ending, closed: Closed, suppressed: u64, panic: &Panic) {
    error!(
        connection = who.connection,
        peer = %who.peer,
        protocol = who.protocol,
        side = ending.side_str(),
        reason = ending.reason.as_str(),
        what = &*panic.what,
        place = &*panic.place,
        backtrace = panic.backtrace.as_deref(),
        sent_bytes = closed.sent,
        received_bytes = closed.received,
        duration_seconds = closed.lasted.as_secs_f64(),
        presettled_lost = (closed.lost > 0).then_some(closed.lost),
        suppressed,
        "connection panicked"
    );
}

/// Writes the line of a packet or frame that is not a message and is over its limit.
pub fn control_oversize(who: &Who<'_>, side: Side, verdict: VerdictKind, size: u64, limit: u64) {
    let [vhost, user, group, client] = names(who);
    warn!(
        connection = who.connection,
        peer = %who.peer,
        protocol = who.protocol,
        vhost = vhost.as_deref(),
        user = user.as_deref(),
        group = group.as_deref(),
        client = client.as_deref(),
        side = side.as_str(),
        size,
        limit,
        rule = "--max-control-size",
        action = "close",
        verdict = verdict.as_str(),
        "packet over the control size"
    );
}

/// Writes the line of what a side sent and its protocol does not allow.
pub fn malformed(who: &Who<'_>, side: Side, what: &str) {
    let [vhost, user, group, client] = names(who);
    warn!(
        connection = who.connection,
        peer = %who.peer,
        protocol = who.protocol,
        vhost = vhost.as_deref(),
        user = user.as_deref(),
        group = group.as_deref(),
        client = client.as_deref(),
        side = side.as_str(),
        what = &*bounded(what),
        "malformed"
    );
}

/// Writes the line of a connection that TLS gave up.
pub fn broke(who: &Who<'_>, side: Side, fault: &io::Error) {
    let [vhost, user, group, client] = names(who);
    warn!(
        connection = who.connection,
        peer = %who.peer,
        protocol = who.protocol,
        vhost = vhost.as_deref(),
        user = user.as_deref(),
        group = group.as_deref(),
        client = client.as_deref(),
        side = side.as_str(),
        what = &*bounded(&fault.to_string()),
        "TLS broke"
    );
}

/// The virtual host, user, group and client id of a connection, cut to length.
fn names<'a>(who: &Who<'a>) -> [Option<Cow<'a, str>>; 4] {
    let Identity {
        vhost,
        user,
        client,
        ..
    } = who.identity;
    [vhost, user, who.group, client].map(|name| name.map(bounded))
}

/// At most [`LONGEST`] octets of a text, and a mark where it was cut.
pub(super) fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    let boundaries = text.char_indices().map(|(at, _)| at);
    let end = boundaries.take_while(|&at| at <= LONGEST).last();
    let kept = text.get(..end.unwrap_or(0)).unwrap_or_default();
    Cow::Owned(format!("{kept}{MARK}"))
}

/// How many refusals of a connection get a line at once.
pub(super) const BURST: u32 = 10;
/// How long it takes to be allowed one more.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);
/// How many octets of a text that a peer chose are logged.
pub(super) const LONGEST: usize = 256;
/// What stands in place of the rest.
const MARK: char = '\u{2026}';
