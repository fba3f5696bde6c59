//! The PUBLISH that nearly all small messages are: the straight path for them.

use super::connect::Version;
use super::fixed_header::{Integer, integer_len, variable_byte_integer};

/// A PUBLISH of QoS 0 without properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonPublish {
    /// Octets of the whole packet.
    pub packet_len: usize,
    /// Octets of the fixed header.
    pub header_len: usize,
    /// Octets of the application message.
    pub payload_len: usize,
}

/// Reads the PUBLISH that starts `input`, if its head is there and has the form that nearly all
/// have; `None` is for [`super::fixed_header`] and [`super::publish`] to decide.
///
/// ```text
/// +--------------+------------------+-----+------------+------+---------+
/// | 0x30 or 0x31 | remaining length | len | topic name | 0x00 | payload |
/// | 1            | 1 to 4           | 2   | len        | 1    |         |
/// +--------------+------------------+-----+------------+------+---------+
///                 in its shortest form                  MQTT 5.0 only    MQTT 5.0 §3.3
/// ```
#[inline]
pub fn common_publish(version: Version, input: &[u8]) -> Option<CommonPublish> {
    let (&(0x30 | 0x31), rest) = input.split_first()? else {
        return None;
    };
    let Integer::Value { value, len } = variable_byte_integer(rest) else {
        return None;
    };
    if len != integer_len(value) {
        return None;
    }
    let header_len = 1 + len;
    let topic_at = header_len + 2;
    let &[high, low] = input.get(header_len..topic_at)? else {
        return None;
    };
    let topic_end = topic_at + usize::from(u16::from_be_bytes([high, low]));
    let payload_at = if version == Version::V5 {
        if input.get(topic_end) != Some(&0) {
            return None;
        }
        topic_end + 1
    } else if topic_end <= input.len() {
        topic_end
    } else {
        return None;
    };
    let packet_len = header_len + value;
    Some(CommonPublish {
        packet_len,
        header_len,
        payload_len: packet_len.checked_sub(payload_at)?,
    })
}
