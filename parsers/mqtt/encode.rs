//! The few packets that sizegate says itself.

use super::fixed_header::{FixedHeader, PacketType};
use super::publish::{Publish, QoS};

/// An acknowledgement of a PUBLISH or of a PUBREL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// PUBACK, PUBREC or PUBCOMP.
    pub packet_type: PacketType,
    /// The packet identifier that it answers.
    pub packet_id: u16,
    /// The reason code; 0 is success, the only one there was before MQTT 5.0.
    pub reason_code: u8,
    /// A reason string for people (MQTT 5.0 §3.4.2.2.2).
    pub reason_string: Option<&'a str>,
}

/// Appends a PUBACK, PUBREC or PUBCOMP (MQTT 5.0 §3.4, §3.5, §3.7).
///
/// Success without a string takes the short form of two octets, which MQTT 3.x has as well.
pub fn acknowledgement(out: &mut Vec<u8>, ack: &Acknowledgement<'_>) {
    let id = ack.packet_id.to_be_bytes();
    packet(
        out,
        ack.packet_type,
        &id,
        ack.reason_code,
        ack.reason_string,
        0,
    );
}

/// Appends a CONNACK of MQTT 5.0 with Session Present 0 (§3.2).
pub fn connack(out: &mut Vec<u8>, reason_code: u8, reason_string: Option<&str>) {
    // A CONNACK has no short form: code and property length always stand (§3.2.2).
    packet(
        out,
        PacketType::Connack,
        &[0],
        reason_code,
        reason_string,
        2,
    );
}

/// Appends a DISCONNECT of MQTT 5.0 (§3.14).
pub fn disconnect(out: &mut Vec<u8>, reason_code: u8, reason_string: Option<&str>) {
    packet(
        out,
        PacketType::Disconnect,
        &[],
        reason_code,
        reason_string,
        0,
    );
}

/// Appends the head of a PUBLISH of MQTT 5.0 (§3.3): that of `publish`, but with this topic.
///
/// `properties` are its properties as received. `None` if the packet would be longer than one can
/// be; nothing is appended then.
pub fn publish_head(
    out: &mut Vec<u8>,
    header: &FixedHeader,
    publish: &Publish<'_>,
    topic: &[u8],
    properties: &[u8],
) -> Option<()> {
    let topic_len = u16::try_from(topic.len()).ok()?;
    let id = match publish.qos {
        QoS::AtMostOnce => None,
        QoS::AtLeastOnce(id) | QoS::ExactlyOnce(id) => Some(id.get().to_be_bytes()),
    };
    let properties_len = integer(properties.len());
    let remaining_length = 2
        + topic.len()
        + id.map_or(0, |id| id.len())
        + properties_len.len()
        + properties.len()
        + publish.payload_len;
    if remaining_length > LONGEST {
        return None;
    }
    out.push((PacketType::Publish as u8) << 4 | header.flags);
    out.extend_from_slice(&integer(remaining_length));
    out.extend_from_slice(&topic_len.to_be_bytes());
    out.extend_from_slice(topic);
    out.extend(id.into_iter().flatten());
    out.extend_from_slice(&properties_len);
    out.extend_from_slice(properties);
    Some(())
}

/// Appends fixed header, `head`, reason code and properties, and leaves out as much of the end as
/// may be left out, but not so much that fewer than `least` octets follow the head.
fn packet(
    out: &mut Vec<u8>,
    packet_type: PacketType,
    head: &[u8],
    reason_code: u8,
    reason_string: Option<&str>,
    least: usize,
) {
    // A string beyond a two byte length is cut by the caller's ceiling long before.
    let reason_string = reason_string.filter(|text| text.len() <= usize::from(u16::MAX));
    let properties_len = reason_string.map_or(0, |text| 1 + 2 + text.len());
    let tail_len = if properties_len > 0 {
        1 + integer(properties_len).len() + properties_len
    } else {
        usize::from(reason_code != 0).max(least)
    };
    out.push((packet_type as u8) << 4);
    out.extend_from_slice(&integer(head.len() + tail_len));
    out.extend_from_slice(head);
    if tail_len > 0 {
        out.push(reason_code);
    }
    if tail_len > 1 {
        out.extend_from_slice(&integer(properties_len));
    }
    if let Some(text) = reason_string {
        out.push(REASON_STRING);
        out.extend_from_slice(&(text.len() as u16).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    }
}

/// A variable byte integer in its shortest form (MQTT 5.0 §1.5.5).
pub(super) fn integer(mut value: usize) -> Vec<u8> {
    let mut octets = Vec::with_capacity(4);
    loop {
        let low = (value & 0x7F) as u8;
        value >>= 7;
        if value == 0 {
            octets.push(low);
            return octets;
        }
        octets.push(low | 0x80);
    }
}

const REASON_STRING: u8 = 0x1F;
/// The largest remaining length (MQTT 5.0 §1.5.5).
pub(super) const LONGEST: usize = 268_435_455;
