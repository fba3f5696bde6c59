//! The fixed header: what kind of packet this is and how long it is.

use super::connect::Version;
use super::fault::{Fault, Malformed};
use crate::Parsed;

/// A fixed header (MQTT 5.0 §2.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedHeader {
    /// The control packet type.
    pub packet_type: PacketType,
    /// The lower four bits of the first octet.
    pub flags: u8,
    /// Octets of the fixed header itself, 2 to 5.
    pub len: usize,
    /// Octets that follow the fixed header, at most 268,435,455.
    pub remaining_length: usize,
}

impl FixedHeader {
    /// The octets of the whole control packet, which is what Maximum Packet Size counts.
    #[inline]
    pub fn packet_len(&self) -> usize {
        self.len + self.remaining_length
    }

    /// Checks that the remaining length is in its shortest form, as MQTT 5.0 demands (§1.5.5).
    #[inline]
    pub fn check_shortest(&self) -> Result<(), Malformed> {
        if self.len == 1 + integer_len(self.remaining_length) {
            Ok(())
        } else {
            Err(Malformed {
                at: 1,
                what: Fault::PaddedInteger,
            })
        }
    }

    /// Checks flags and remaining length against what `version` allows for the packet type.
    ///
    /// The flags of MQTT 3.1 are not checked but for PUBLISH: it called them "not used", and lets
    /// DUP stand on repeated requests. QoS and DUP of a PUBLISH are [`super::publish`]'s.
    pub fn check(&self, version: Version) -> Result<(), Malformed> {
        use PacketType as P;
        let at_flags = |what| Err(Malformed { at: 0, what });
        let at_length = Err(Malformed {
            at: 1,
            what: Fault::ImpossibleLength,
        });
        let flags = match self.packet_type {
            P::Publish => self.flags,
            P::Pubrel | P::Subscribe | P::Unsubscribe => 0b0010,
            P::Auth if version != Version::V5 => return at_flags(Fault::ReservedType),
            _ => 0,
        };
        if self.flags != flags && version != Version::V31 {
            return at_flags(Fault::ReservedFlags);
        }
        let v5 = version == Version::V5;
        let possible = match (self.packet_type, self.remaining_length) {
            (P::Pingreq | P::Pingresp, n) => n == 0,
            (P::Disconnect | P::Auth, n) => v5 || n == 0,
            (P::Puback | P::Pubrec | P::Pubrel | P::Pubcomp, n) => n == 2 || (v5 && n > 2),
            (P::Connack, n) => {
                if v5 {
                    n >= 3
                } else {
                    n == 2
                }
            }
            (P::Unsuback, n) => {
                if v5 {
                    n >= 3
                } else {
                    n == 2
                }
            }
            (P::Publish, n) => n >= 2,
            (P::Connect | P::Subscribe | P::Suback | P::Unsubscribe, n) => n >= 3,
        };
        if possible { Ok(()) } else { at_length }
    }
}

/// A control packet type, with its number (MQTT 5.0 §2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the specification's own")]
pub enum PacketType {
    Connect = 1,
    Connack = 2,
    Publish = 3,
    Puback = 4,
    Pubrec = 5,
    Pubrel = 6,
    Pubcomp = 7,
    Subscribe = 8,
    Suback = 9,
    Unsubscribe = 10,
    Unsuback = 11,
    Pingreq = 12,
    Pingresp = 13,
    Disconnect = 14,
    Auth = 15,
}

impl PacketType {
    fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            1 => Self::Connect,
            2 => Self::Connack,
            3 => Self::Publish,
            4 => Self::Puback,
            5 => Self::Pubrec,
            6 => Self::Pubrel,
            7 => Self::Pubcomp,
            8 => Self::Subscribe,
            9 => Self::Suback,
            10 => Self::Unsubscribe,
            11 => Self::Unsuback,
            12 => Self::Pingreq,
            13 => Self::Pingresp,
            14 => Self::Disconnect,
            15 => Self::Auth,
            _ => return None,
        })
    }
}

/// Reads the fixed header at the front of `input`.
///
/// ```text
///  octet 0          1 to 4
/// +--------+------+------------------+
/// | type   | flags| remaining length |   MQTT 5.0 §2.1.1, 3.1.1 §2.2
/// | 4 bits | 4    | variable byte int|
/// +--------+------+------------------+
/// ```
///
/// MQTT 3.1.1 does not demand the shortest encoding of the length, so that is left to
/// [`FixedHeader::len`] and the caller, who knows the version: [`FixedHeader::check_shortest`].
#[inline]
pub fn fixed_header(input: &[u8]) -> Result<Parsed<FixedHeader>, Malformed> {
    let Some((&first, rest)) = input.split_first() else {
        return Ok(Parsed::NeedMore(2));
    };
    let Some(packet_type) = PacketType::from_bits(first >> 4) else {
        return Err(Malformed {
            at: 0,
            what: Fault::ReservedType,
        });
    };
    match variable_byte_integer(rest) {
        Integer::Value { value, len } => Ok(Parsed::Value(FixedHeader {
            packet_type,
            flags: first & 0x0F,
            len: 1 + len,
            remaining_length: value,
        })),
        Integer::Incomplete => Ok(Parsed::NeedMore(input.len() + 1)),
        Integer::Overlong => Err(Malformed {
            at: 1,
            what: Fault::OverlongInteger,
        }),
    }
}

/// The octets of the control packet with this remaining length, encoded in its shortest form.
pub fn packet_len(remaining_length: usize) -> usize {
    1 + integer_len(remaining_length) + remaining_length
}

/// What stands where a variable byte integer should (MQTT 5.0 §1.5.5).
pub(super) enum Integer {
    /// An integer of up to 268,435,455 and the octets it took, 1 to 4.
    Value { value: usize, len: usize },
    /// The octets end before the integer does.
    Incomplete,
    /// The fourth octet still has its continuation bit set.
    Overlong,
}

/// Reads a variable byte integer: seven bits an octet, the least significant first, the top bit
/// set on all octets but the last.
#[inline]
pub(super) fn variable_byte_integer(input: &[u8]) -> Integer {
    let mut value = 0;
    for (index, &octet) in input.iter().take(4).enumerate() {
        value |= usize::from(octet & 0x7F) << (7 * index);
        if octet & 0x80 == 0 {
            return Integer::Value {
                value,
                len: index + 1,
            };
        }
    }
    if input.len() < 4 {
        Integer::Incomplete
    } else {
        Integer::Overlong
    }
}

/// The octets that `value` takes as a variable byte integer.
pub(super) fn integer_len(value: usize) -> usize {
    match value {
        0..=0x7F => 1,
        0x80..=0x3FFF => 2,
        0x4000..=0x1F_FFFF => 3,
        _ => 4,
    }
}
