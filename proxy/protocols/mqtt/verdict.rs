//! The verdict on one PUBLISH, or on the Will of a CONNECT.

use parsers::mqtt::{FixedHeader, Publish, QoS, Will};

use super::MessageSize;
use crate::gate::{Direction, Meter, Refusal, Report, VerdictKind};
use crate::policy::{Action, Limit, OnOversize};

/// The size of a PUBLISH in octets, as configured.
#[inline]
pub(super) fn message_size(
    counts: MessageSize,
    header: &FixedHeader,
    publish: &Publish<'_>,
) -> u64 {
    counts.of(
        header.packet_len(),
        header.remaining_length,
        publish.payload_len,
    )
}

impl MessageSize {
    /// Which of these octets of a PUBLISH count: of the whole packet, behind its fixed header, or of
    /// its payload.
    #[inline]
    pub(super) fn of(self, packet_len: usize, remaining_length: usize, payload_len: usize) -> u64 {
        let size = match self {
            Self::Packet => packet_len,
            Self::RemainingLength => remaining_length,
            Self::Payload => payload_len,
        };
        size as u64
    }
}

/// The size of a Will in octets: its topic, properties and payload, or its payload alone.
///
/// The PUBLISH that a broker will make of it has a head that only the broker knows.
pub(super) fn will_size(counts: MessageSize, will: &Will<'_>) -> u64 {
    let size = match counts {
        MessageSize::Packet | MessageSize::RemainingLength => {
            will.topic.len() + will.properties_len + will.payload_len
        }
        MessageSize::Payload => will.payload_len,
    };
    size as u64
}

/// A message over its limit that is to be refused.
#[derive(Clone, Debug)]
pub(super) struct Oversize {
    /// Its size in octets.
    pub(super) size: u64,
    /// The limit that it is over.
    pub(super) limit: Limit,
}

impl Oversize {
    /// The reason for people: size, limit and rule, in plain octets.
    pub(super) fn text(&self) -> String {
        format!(
            "Message size exceeded: {} octets, limit {}, set by {}",
            self.size, self.limit.size, self.limit.rule
        )
    }
}

/// What there is to say about a message over its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note<'a> {
    pub(super) direction: Direction,
    pub(super) verdict: VerdictKind,
    pub(super) action: Action,
    pub(super) topic: &'a [u8],
    /// Its size, as configured.
    pub(super) message_size: u64,
}

/// Writes down a message whose `size` is over this limit.
#[cold]
pub(super) fn note(meter: &mut Meter, what: Note<'_>, size: u64, limit: &Limit) {
    let Note {
        direction,
        verdict,
        action,
        topic,
        message_size,
    } = what;
    meter.message(direction, verdict, message_size);
    meter.reports.push(Report::Refused(Refusal {
        direction,
        verdict,
        action,
        address: Some(String::from_utf8_lossy(topic).into_owned()),
        size,
        limit: limit.size.0,
        rule: limit.rule.clone(),
    }));
}

/// What a refusal of a PUBLISH does, as its sender sees it.
///
/// MQTT has no smaller unit around a message than the connection, so `detach` is `close`. A
/// positive acknowledgement of a message that goes nowhere, all that MQTT 3.x has, is a drop.
pub(super) fn action(on_oversize: OnOversize, qos: QoS, v5: bool) -> Action {
    match (on_oversize, qos) {
        (OnOversize::Detach | OnOversize::Close, _) => Action::Close,
        (OnOversize::Reject, QoS::AtLeastOnce(_) | QoS::ExactlyOnce(_)) if v5 => Action::Reject,
        (OnOversize::Reject, _) => Action::Drop,
    }
}
