//! What sizegate says itself: the texts of refusals, and the last word of a connection.

use parsers::amqp091::{Close, Malformed, Version, encode};

use crate::gate::{Meter, Refusal, Report, Side, VerdictKind};
use crate::policy::{Action, Limit};

/// The reason for people: size, limit and rule, in plain octets.
pub(super) fn text(size: u64, limit: &Limit) -> String {
    let (octets, rule) = (limit.size, short(&limit.rule));
    format!("Message size exceeded: {size} octets, limit {octets}, set by {rule}")
}

/// A rule cut to a length with which the text around it fits a short string.
fn short(rule: &str) -> &str {
    let mut end = rule.len().min(128);
    while !rule.is_char_boundary(end) {
        end -= 1;
    }
    rule.get(..end).unwrap_or_default()
}

/// What there is to say about a message over its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note<'a> {
    /// The side that sent it.
    pub(super) from: Side,
    pub(super) verdict: VerdictKind,
    pub(super) action: Action,
    /// Exchange and routing key.
    pub(super) address: &'a [u8],
    pub(super) size: u64,
}

/// Writes down a message that is over this limit.
#[cold]
pub(super) fn note(meter: &mut Meter, what: Note<'_>, limit: &Limit) {
    let Note {
        from,
        verdict,
        action,
        address,
        size,
    } = what;
    let direction = super::direction(from);
    meter.message(direction, verdict, size);
    meter.reports.push(Report::Refused(Refusal {
        direction,
        verdict,
        action,
        address: Some(String::from_utf8_lossy(address).into_owned()),
        size,
        limit: limit.size.0,
        rule: limit.rule.clone(),
    }));
}

/// Why a connection is closed.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// It is none of the peers' fault, or of no single frame: 320.
    Forced(String),
    /// A side sent what is not allowed: it hears the code for that, and the other side 320.
    Fault {
        /// The side at fault.
        side: Side,
        /// The reply code.
        code: u16,
        /// The reason for people.
        text: String,
    },
}

impl Why {
    /// The fault of a side.
    pub(super) fn malformed(side: Side, fault: &Malformed) -> Self {
        Self::Fault {
            side,
            code: fault.what.reply_code(),
            text: format!("{fault}, sent by the {}", side.as_str()),
        }
    }

    /// Appends connection.close as `to` hears it.
    pub(super) fn write(&self, to: Side, version: Version, out: &mut Vec<u8>) {
        let (reply_code, text) = match self {
            Self::Forced(text) => (CONNECTION_FORCED, text),
            Self::Fault { side, code, text } if *side == to => (*code, text),
            Self::Fault { text, .. } => (CONNECTION_FORCED, text),
        };
        let close = Close {
            reply_code,
            reply_text: text.as_bytes(),
            failed: (0, 0),
        };
        encode::connection_close(out, version, &close);
    }
}

/// content-too-large (AMQP 0-9-1 §1.2): the code of a refusal, in basic.return and channel.close.
pub(super) const CONTENT_TOO_LARGE: u16 = 311;
/// connection-forced: an operator intervened; the client may come back.
const CONNECTION_FORCED: u16 = 320;
/// frame-error: a frame that the recipient does not take.
pub(super) const FRAME_ERROR: u16 = 501;
/// resource-error: more of something than there is.
pub(super) const RESOURCE_ERROR: u16 = 506;
