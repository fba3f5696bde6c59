//! What sizegate says itself: refusals, detaches, flows, and the last word of a connection.
//!
//! A word is said to one side in the name of the other, at the next boundary between frames, and on
//! a session not before that other side's begin has gone by.

use parsers::amqp10::encode;
use parsers::amqp10::{
    AmqpError, Channel, Close, Detach, Disposition, Flow, Handle, InfoValue, Open, Outcome,
    ProtocolHeader, Role, condition,
};

use crate::gate::{Direction, Meter, Refusal, Report, VerdictKind};
use crate::policy::{Action, Limit};

/// Something to be said on a session.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// A delivery has been rejected.
    Rejected {
        /// The delivery-id as its sender knows it.
        id: u32,
        /// Whether that settles it.
        settled: bool,
        /// The transaction that it belongs to.
        txn_id: Option<Box<[u8]>>,
        /// Why, for people.
        text: String,
    },
    /// Deliveries have been accepted.
    Accepted {
        /// The delivery-ids as their sender knows them.
        first: u32,
        last: u32,
        /// Whether that settles them.
        settled: bool,
    },
    /// Their sender has settled deliveries.
    Settled {
        /// The delivery-ids as their receiver knows them.
        first: u32,
        last: u32,
    },
    /// A flow.
    Flow(Flow),
    /// What the other side said itself, at a time when it could not go on yet.
    Frame(Vec<u8>),
    /// A link has been detached, for good.
    Detach {
        /// The handle of the side in whose name it is said.
        handle: Handle,
        /// Why, for people.
        text: String,
    },
}

impl Word {
    /// Appends the frame that says it.
    pub(super) fn write(&self, channel: Channel, out: &mut Vec<u8>) {
        match self {
            Self::Rejected {
                id,
                settled,
                txn_id,
                text,
            } => {
                let mut state = Vec::new();
                let outcome = Outcome::Rejected(too_large(text));
                encode::state(&mut state, &outcome, txn_id.as_deref());
                encode::disposition(
                    out,
                    channel,
                    &Disposition {
                        role: Role::Receiver,
                        first: *id,
                        last: None,
                        settled: *settled,
                        state: Some(&state),
                        batchable: false,
                    },
                );
            }
            Self::Accepted {
                first,
                last,
                settled,
            } => {
                let mut state = Vec::new();
                encode::state(&mut state, &Outcome::Accepted, None);
                let run = Disposition {
                    settled: *settled,
                    state: Some(&state),
                    ..of_run(Role::Receiver, *first, *last)
                };
                encode::disposition(out, channel, &run);
            }
            Self::Settled { first, last } => {
                encode::disposition(out, channel, &of_run(Role::Sender, *first, *last));
            }
            Self::Frame(frame) => out.extend_from_slice(frame),
            Self::Flow(flow) => encode::flow(out, channel, flow),
            Self::Detach { handle, text } => encode::detach(
                out,
                channel,
                &Detach {
                    handle: *handle,
                    closed: true,
                    error: Some(too_large(text)),
                },
            ),
        }
    }
}

/// What settles deliveries.
fn of_run(role: Role, first: u32, last: u32) -> Disposition<'static> {
    Disposition {
        role,
        first,
        last: (last != first).then_some(last),
        settled: true,
        state: None,
        batchable: false,
    }
}

fn too_large(text: &str) -> AmqpError<'_> {
    AmqpError {
        condition: condition::MESSAGE_SIZE_EXCEEDED,
        description: Some(text),
        info: &[],
    }
}

/// The reason for people: size, limit and rule, in plain octets.
pub(super) fn text(size: Size, limit: &Limit) -> String {
    let (at_least, size) = match size {
        Size::Whole(size) => ("", size),
        Size::AtLeast(size) => ("at least ", size),
    };
    let (octets, rule) = (limit.size, short(&limit.rule));
    format!("Message size exceeded: {at_least}{size} octets, limit {octets}, set by {rule}")
}

/// A size as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// The end of the message has come.
    Whole(u64),
    /// It has not.
    AtLeast(u64),
}

/// A rule cut to a length that fits the smallest frame that a peer must take (AMQP 1.0 §2.4.1).
fn short(rule: &str) -> &str {
    let mut end = rule.len().min(128);
    while !rule.is_char_boundary(end) {
        end -= 1;
    }
    rule.get(..end).unwrap_or_default()
}

/// Writes down a message that is over its limit.
#[cold]
pub(super) fn note(
    meter: &mut Meter,
    direction: Direction,
    verdict: VerdictKind,
    address: Option<&str>,
    size: u64,
    limit: &Limit,
    action: Action,
) {
    meter.message(direction, verdict, size);
    meter.reports.push(Report::Refused(Refusal {
        direction,
        verdict,
        action,
        address: address.map(Into::into),
        size,
        limit: limit.size.0,
        rule: limit.rule.clone(),
    }));
}

/// Why a connection is closed.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// A message was over its limit.
    Oversize {
        /// Its size so far.
        size: u64,
        /// The limit.
        limit: Limit,
    },
    /// A side sent what is not allowed.
    Framing(String),
    /// A side used more than it may.
    Resources(String),
    /// It is none of the peers' doing.
    Forced(&'static str),
    /// There is no word for it.
    Silence,
}

impl Why {
    /// Appends the close that says so; the first `greeted` tells what has to go before it.
    pub(super) fn write(&self, greeted: Greeted, out: &mut Vec<u8>) {
        let rule;
        let info;
        let error = match self {
            Self::Silence => return,
            Self::Oversize { size, limit } => {
                rule = short(&limit.rule);
                info = [
                    ("size", InfoValue::Number(*size)),
                    ("limit", InfoValue::Number(limit.size.0)),
                    ("rule", InfoValue::Text(rule)),
                ];
                AmqpError {
                    condition: condition::CONNECTION_FORCED,
                    // The words of Apache Qpid Dispatch, which programs may look for.
                    description: Some("Message size exceeded"),
                    info: &info,
                }
            }
            Self::Framing(text) => described(condition::FRAMING_ERROR, text),
            Self::Resources(text) => described(condition::RESOURCE_LIMIT_EXCEEDED, text),
            Self::Forced(text) => described(condition::CONNECTION_FORCED, text),
        };
        greeted.write(out);
        encode::close(out, &Close { error: Some(error) });
    }
}

/// What a side has been sent in the name of the other, before a close may be said to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeted {
    /// Nothing.
    Not,
    /// A protocol header.
    WithHeader,
    /// A protocol header and an open.
    WithOpen,
}

impl Greeted {
    /// Appends what is missing.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        if self == Self::Not {
            out.extend_from_slice(&ProtocolHeader::AMQP.octets());
        }
        if self != Self::WithOpen {
            encode::open(
                out,
                &Open {
                    container_id: "sizegate",
                    hostname: None,
                    max_frame_size: u32::MAX,
                    channel_max: Channel(u16::MAX),
                    idle_time_out: None,
                },
            );
        }
    }
}

/// Appends the SASL header and the mechanisms that need no broker (AMQP 1.0 §5.3.3.1).
pub(super) fn sasl_offer(out: &mut Vec<u8>) {
    out.extend_from_slice(&ProtocolHeader::SASL.octets());
    out.extend_from_slice(SASL_MECHANISMS);
}

/// ```text
/// size 43, doff 2, SASL | sasl-mechanisms | list | array of 3 symbols
/// ```
const SASL_MECHANISMS: &[u8] = b"\0\0\0\x2B\x02\x01\0\0\0\x53\x40\xC0\x1E\x01\xE0\x1B\x03\xA3\
    \x09ANONYMOUS\x05PLAIN\x08EXTERNAL";

fn described<'a>(condition: &'static str, text: &'a str) -> AmqpError<'a> {
    AmqpError {
        condition,
        description: Some(text),
        info: &[],
    }
}

#[cfg(test)]
mod tests {
    use parsers::Parsed;
    use parsers::amqp10::{Mechanism, frame_header, performative};

    use super::*;

    #[test]
    fn the_mechanisms_that_are_offered_can_be_read() {
        let Ok(Parsed::Value(header)) = frame_header(SASL_MECHANISMS) else {
            panic!("a header");
        };
        assert_eq!(header.frame_len(), SASL_MECHANISMS.len());
        let Ok(Parsed::Value(body)) = performative(&header, SASL_MECHANISMS, 512) else {
            panic!("a body");
        };
        let offered: Vec<_> = body.sasl_mechanisms().unwrap().collect();
        let expected = [Mechanism::Anonymous, Mechanism::Plain, Mechanism::External];
        assert_eq!(offered, expected);
    }
}
