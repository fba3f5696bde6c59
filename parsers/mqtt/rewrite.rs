//! CONNECT and CONNACK with a smaller Maximum Packet Size, all else as it was received.
//!
//! Knows the properties of both packets, and that a property that is added makes two lengths grow.
//! Which size to say is the caller's to decide.

use nom::bytes::complete::take;
use nom::{Err, Parser};

use super::encode::{LONGEST, integer};
use super::fault::{Fault, Malformed};
use super::fields::{Field, Offence, binary, byte, finish, two_byte_integer, variable_integer};
use super::fixed_header::FixedHeader;

/// A CONNECT whose Maximum Packet Size is at most `ceiling`, and whose Topic Alias Maximum is then
/// 0 (MQTT 5.0 §3.1.2.11); `None` where it needs no change, or would be too long for a packet.
///
/// `packet` is the whole CONNECT of an MQTT 5.0 client, which has been read before.
pub fn lower_connect(header: &FixedHeader, packet: &[u8], ceiling: u32) -> Option<Vec<u8>> {
    let body = packet.get(header.len..)?;
    let (rest, _name) = binary(body).ok()?;
    // Level, flags and Keep Alive come before the properties.
    let (rest, _) = take::<_, _, Offence<'_>>(4_usize).parse(rest).ok()?;
    let properties = Properties::find(packet, rest, CONNECT).ok()?;
    let mut lowered = properties.lower(header, packet, ceiling)?;
    if let Some(at) = properties.topic_alias_maximum {
        // It stands before what was added at the end, and behind what has grown.
        let from_end = packet.len() - at + lowered.added;
        let value = lowered.octets.len().checked_sub(from_end)?;
        lowered
            .octets
            .get_mut(value..value + 2)?
            .copy_from_slice(&[0, 0]);
    }
    Some(lowered.octets)
}

/// A CONNACK whose Maximum Packet Size is at most `ceiling` (MQTT 5.0 §3.2.2.3.6); `None` where it
/// needs no change.
///
/// `packet` is the whole CONNACK of an MQTT 5.0 broker.
pub fn lower_connack(
    header: &FixedHeader,
    packet: &[u8],
    ceiling: u32,
) -> Result<Option<Vec<u8>>, Malformed> {
    // Acknowledge flags and reason code come before the properties.
    let rest = packet.get(header.len + 2..).unwrap_or_default();
    let properties = Properties::find(packet, rest, CONNACK)?;
    let lowered = properties.lower(header, packet, ceiling);
    Ok(lowered.map(|lowered| lowered.octets))
}

/// Where the properties of a packet stand, counted from its first octet.
struct Properties {
    /// Their length field.
    len_at: usize,
    /// The first of them.
    start: usize,
    /// What follows the last of them.
    end: usize,
    /// The value of Maximum Packet Size, and where it stands.
    maximum_packet_size: Option<(usize, u32)>,
    /// Where the value of Topic Alias Maximum stands.
    topic_alias_maximum: Option<usize>,
}

/// A rewritten packet.
struct Lowered {
    octets: Vec<u8>,
    /// Octets that were added between the received properties and what follows them.
    added: usize,
}

impl Properties {
    /// Finds them at the front of `rest`, which is the end of `packet`.
    fn find(packet: &[u8], rest: &[u8], known: &[(usize, Kind)]) -> Result<Self, Malformed> {
        finish(packet.len(), Self::walk(packet.len(), rest, known))
    }

    fn walk<'a>(packet_len: usize, rest: &'a [u8], known: &[(usize, Kind)]) -> Field<'a, Self> {
        let at = |rest: &[u8]| packet_len - rest.len();
        let (after_len, len) = variable_integer(rest)?;
        let (after, mut octets) = take(len).parse(after_len)?;
        let mut properties = Self {
            len_at: at(rest),
            start: at(after_len),
            end: at(after),
            maximum_packet_size: None,
            topic_alias_maximum: None,
        };
        while !octets.is_empty() {
            let (value, identifier) = variable_integer(octets)?;
            let Some((_, kind)) = known.iter().find(|(known, _)| *known == identifier) else {
                return Err(Offence::failure(octets, Fault::UnknownProperty));
            };
            let value_at = properties.end - value.len();
            let rest = kind.skip(value)?;
            match identifier {
                MAXIMUM_PACKET_SIZE if properties.maximum_packet_size.is_some() => {
                    return Err(Offence::failure(octets, Fault::RepeatedProperty));
                }
                MAXIMUM_PACKET_SIZE => {
                    let size = value.iter().take(4);
                    let size = size.fold(0, |size, &octet| size << 8 | u32::from(octet));
                    if size == 0 {
                        return Err(Offence::failure(octets, Fault::BadPropertyValue));
                    }
                    properties.maximum_packet_size = Some((value_at, size));
                }
                TOPIC_ALIAS_MAXIMUM => properties.topic_alias_maximum = Some(value_at),
                _ => {}
            }
            octets = rest;
        }
        Ok((after, properties))
    }

    /// The packet with this Maximum Packet Size, if it has a larger one or none.
    fn lower(&self, header: &FixedHeader, packet: &[u8], ceiling: u32) -> Option<Lowered> {
        let value = ceiling.to_be_bytes();
        match self.maximum_packet_size {
            Some((_, size)) if size <= ceiling => None,
            Some((at, _)) => {
                let mut octets = packet.to_vec();
                octets
                    .get_mut(at..at + value.len())?
                    .copy_from_slice(&value);
                Some(Lowered { octets, added: 0 })
            }
            None => {
                let added = 1 + value.len();
                let len_field = integer(self.end - self.start + added);
                let before = packet.get(header.len..self.len_at)?;
                let received = packet.get(self.start..self.end)?;
                let behind = packet.get(self.end..)?;
                let remaining_length =
                    before.len() + len_field.len() + received.len() + added + behind.len();
                if remaining_length > LONGEST {
                    return None;
                }
                let mut octets = packet.get(..1)?.to_vec();
                octets.extend_from_slice(&integer(remaining_length));
                octets.extend_from_slice(before);
                octets.extend_from_slice(&len_field);
                octets.extend_from_slice(received);
                octets.push(MAXIMUM_PACKET_SIZE as u8);
                octets.extend_from_slice(&value);
                octets.extend_from_slice(behind);
                Some(Lowered { octets, added })
            }
        }
    }
}

/// What the value of a property looks like (MQTT 5.0 §2.2.2.2).
#[derive(Clone, Copy)]
enum Kind {
    Byte,
    TwoByteInteger,
    FourByteInteger,
    /// A UTF-8 encoded string or binary data.
    Counted,
    /// A string pair.
    Pair,
}

impl Kind {
    /// What follows a value.
    fn skip(self, input: &[u8]) -> Result<&[u8], Err<Offence<'_>>> {
        Ok(match self {
            Self::Byte => byte(input)?.0,
            Self::TwoByteInteger => two_byte_integer(input)?.0,
            Self::FourByteInteger => take(4_usize).parse(input)?.0,
            Self::Counted => binary(input)?.0,
            Self::Pair => (binary, binary).parse(input)?.0,
        })
    }
}

const MAXIMUM_PACKET_SIZE: usize = 0x27;
const TOPIC_ALIAS_MAXIMUM: usize = 0x22;

/// The properties of a CONNECT (MQTT 5.0 §3.1.2.11).
const CONNECT: &[(usize, Kind)] = &[
    (0x11, Kind::FourByteInteger), // Session Expiry Interval
    (0x15, Kind::Counted),         // Authentication Method
    (0x16, Kind::Counted),         // Authentication Data
    (0x17, Kind::Byte),            // Request Problem Information
    (0x19, Kind::Byte),            // Request Response Information
    (0x21, Kind::TwoByteInteger),  // Receive Maximum
    (TOPIC_ALIAS_MAXIMUM, Kind::TwoByteInteger),
    (0x26, Kind::Pair), // User Property
    (MAXIMUM_PACKET_SIZE, Kind::FourByteInteger),
];

/// The properties of a CONNACK (MQTT 5.0 §3.2.2.3).
const CONNACK: &[(usize, Kind)] = &[
    (0x11, Kind::FourByteInteger), // Session Expiry Interval
    (0x12, Kind::Counted),         // Assigned Client Identifier
    (0x13, Kind::TwoByteInteger),  // Server Keep Alive
    (0x15, Kind::Counted),         // Authentication Method
    (0x16, Kind::Counted),         // Authentication Data
    (0x1A, Kind::Counted),         // Response Information
    (0x1C, Kind::Counted),         // Server Reference
    (0x1F, Kind::Counted),         // Reason String
    (0x21, Kind::TwoByteInteger),  // Receive Maximum
    (TOPIC_ALIAS_MAXIMUM, Kind::TwoByteInteger),
    (0x24, Kind::Byte), // Maximum QoS
    (0x25, Kind::Byte), // Retain Available
    (0x26, Kind::Pair), // User Property
    (MAXIMUM_PACKET_SIZE, Kind::FourByteInteger),
    (0x28, Kind::Byte), // Wildcard Subscription Available
    (0x29, Kind::Byte), // Subscription Identifier Available
    (0x2A, Kind::Byte), // Shared Subscription Available
];
