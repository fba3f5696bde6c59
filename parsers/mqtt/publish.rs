//! The head of a PUBLISH: everything before its payload that a limit needs.

use std::num::NonZeroU16;

use super::connect::Version;
use super::fault::{Fault, Malformed};
use super::fixed_header::{FixedHeader, Integer, integer_len, variable_byte_integer};
use crate::Parsed;

/// The head of a PUBLISH (MQTT 5.0 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish<'a> {
    /// How its receipt is acknowledged, and the packet identifier that does it.
    pub qos: QoS,
    /// Whether this may be a re-delivery.
    pub dup: bool,
    /// The topic name; empty when a topic alias stands for it. Not checked to be UTF-8.
    pub topic: &'a [u8],
    /// Octets of the properties without their length field; 0 before MQTT 5.0.
    pub properties_len: usize,
    /// Octets of the application message.
    pub payload_len: usize,
}

/// The quality of service of a PUBLISH, with the packet identifier where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QoS {
    /// At most once.
    AtMostOnce,
    /// At least once, acknowledged by PUBACK.
    AtLeastOnce(NonZeroU16),
    /// Exactly once, acknowledged by PUBREC.
    ExactlyOnce(NonZeroU16),
}

/// Reads the head of the PUBLISH that starts `input` and whose fixed header is `header`.
///
/// ```text
/// +--------------+-----+--------------------+---------+--------------------+------------+---------+
/// | fixed header | len | topic name         | id      | property length    | properties | payload |
/// | 2 to 5       | 2   | len                | 2       | variable, 1 to 4   |            |         |
/// +--------------+-----+--------------------+---------+--------------------+------------+---------+
///                                            QoS 1, 2   MQTT 5.0 only
/// ```
///
/// Waits for at most 65,548 octets: all of the above up to the properties.
#[inline]
pub fn publish<'a>(
    header: &FixedHeader,
    version: Version,
    input: &'a [u8],
) -> Result<Parsed<Publish<'a>>, Malformed> {
    let malformed = |at, what| Err(Malformed { at, what });
    let dup = header.flags & 0b1000 != 0;
    let qos = (header.flags >> 1) & 0b11;
    match qos {
        0 if dup => return malformed(0, Fault::DuplicateWithoutQoS),
        0..=2 => {}
        _ => return malformed(0, Fault::ReservedQoS),
    }
    let packet_len = header.packet_len();
    let topic_at = header.len + 2;
    if topic_at > packet_len {
        return malformed(header.len, Fault::FieldBeyondPacket);
    }
    let Some(&[high, low]) = input.get(header.len..topic_at) else {
        return Ok(Parsed::NeedMore(topic_at));
    };
    let id_at = topic_at + usize::from(u16::from_be_bytes([high, low]));
    let id_len = if qos == 0 { 0 } else { 2 };
    let properties_at = id_at + id_len;
    let least = properties_at + usize::from(version == Version::V5);
    if least > packet_len {
        return malformed(header.len, Fault::FieldBeyondPacket);
    }
    let (Some(topic), Some(id)) = (input.get(topic_at..id_at), input.get(id_at..properties_at))
    else {
        return Ok(Parsed::NeedMore(least));
    };
    let qos = match id {
        &[high, low] => {
            let Some(id) = NonZeroU16::new(u16::from_be_bytes([high, low])) else {
                return malformed(id_at, Fault::ZeroPacketId);
            };
            if qos == 1 {
                QoS::AtLeastOnce(id)
            } else {
                QoS::ExactlyOnce(id)
            }
        }
        _ => QoS::AtMostOnce,
    };

    let (properties_len, payload_at) = if version == Version::V5 {
        let field = input
            .get(properties_at..packet_len.min(input.len()))
            .unwrap_or_default();
        match variable_byte_integer(field) {
            Integer::Value { value, len } if len != integer_len(value) => {
                return malformed(properties_at, Fault::PaddedInteger);
            }
            Integer::Value { value, len } => (value, properties_at + len + value),
            Integer::Overlong => return malformed(properties_at, Fault::OverlongInteger),
            Integer::Incomplete if input.len() >= packet_len => {
                return malformed(properties_at, Fault::FieldBeyondPacket);
            }
            Integer::Incomplete => return Ok(Parsed::NeedMore(input.len() + 1)),
        }
    } else {
        (0, properties_at)
    };
    let Some(payload_len) = packet_len.checked_sub(payload_at) else {
        return malformed(properties_at, Fault::FieldBeyondPacket);
    };
    Ok(Parsed::Value(Publish {
        qos,
        dup,
        topic,
        properties_len,
        payload_len,
    }))
}
