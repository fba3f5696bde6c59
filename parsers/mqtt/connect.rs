//! CONNECT: who the client says it is, and what it asks of the connection.

use super::fault::{Fault, Malformed};
use super::fields::{Field, Offence, binary, byte, finish, string, two_byte_integer};
use super::fixed_header::{FixedHeader, PacketType, fixed_header};
use super::properties::{ConnectProperties, connect_properties, will_properties};
use crate::Parsed;

/// A version of MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// MQTT 3.1: protocol name MQIsdp, level 3.
    V31,
    /// MQTT 3.1.1: protocol level 4.
    V311,
    /// MQTT 5.0: protocol version 5.
    V5,
}

/// A CONNECT (MQTT 5.0 §3.1), without its credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    /// The version of the protocol that the client speaks.
    pub version: Version,
    /// The client identifier; empty when the broker is to choose one.
    pub client_id: &'a str,
    /// The user name, if one was given.
    pub user_name: Option<&'a str>,
    /// The message to be published when the connection breaks.
    pub will: Option<Will<'a>>,
    /// The largest packet that the client takes, in octets; `None` is no limit.
    pub maximum_packet_size: Option<u32>,
    /// Whether acknowledgements to the client may carry a reason string.
    pub request_problem_information: bool,
    /// How many topic aliases the broker may use in what it sends to the client.
    pub topic_alias_maximum: u16,
}

/// A Will (MQTT 5.0 §3.1.3.2 to §3.1.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Will<'a> {
    /// Its topic name.
    pub topic: &'a str,
    /// Octets of its properties, without their length field; 0 before MQTT 5.0.
    pub properties_len: usize,
    /// Octets of its payload, at most 65,535.
    pub payload_len: usize,
}

/// The first fields of a CONNECT: enough to know how to answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectStart {
    /// The fixed header.
    pub header: FixedHeader,
    /// The version of the protocol, unless it is one that is not known here.
    pub version: Option<Version>,
}

/// Reads the start of a CONNECT, or says by its first octets that this is not one.
///
/// ```text
/// +------+------------------+---------------------------+-------+
/// | 0x10 | remaining length | 00 04 "MQTT"              | level |   level 4, 5
/// |      | 1 to 4           | 00 06 "MQIsdp"            |       |   level 3
/// +------+------------------+---------------------------+-------+
/// ```
///
/// Bridges of mosquitto set the top bit of the level; it is not looked at. Waits for at most 14
/// octets. `None` as soon as an octet differs from what a CONNECT starts with.
pub fn connect_start(input: &[u8]) -> Parsed<Option<ConnectStart>> {
    if input.first().is_some_and(|&first| first != 0x10) {
        return Parsed::Value(None);
    }
    let header = match fixed_header(input) {
        Ok(Parsed::Value(header)) => header,
        Ok(Parsed::NeedMore(more)) => return Parsed::NeedMore(more),
        Err(_) => return Parsed::Value(None),
    };
    let rest = input.get(header.len..).unwrap_or_default();
    let Some(name) = NAMES.into_iter().find(|name| {
        rest.iter()
            .zip(*name)
            .all(|(octet, expected)| octet == expected)
    }) else {
        return Parsed::Value(None);
    };
    let Some(&level) = rest.get(name.len()) else {
        return Parsed::NeedMore(header.len + name.len() + 1);
    };
    let version = match (name, level & 0x7F) {
        (MQISDP, 3) => Some(Version::V31),
        (MQTT, 4) => Some(Version::V311),
        (MQTT, 5) => Some(Version::V5),
        _ => None,
    };
    Parsed::Value(Some(ConnectStart { header, version }))
}

/// Reads a CONNECT that is there as a whole: `packet` is its octets from first to last.
///
/// A client that skips the ceiling on its length would have it read here, so check that first.
pub fn connect<'a>(start: &ConnectStart, packet: &'a [u8]) -> Result<Connect<'a>, Malformed> {
    let Some(version) = start.version else {
        return Err(Malformed {
            at: start.header.len,
            what: Fault::UnknownVersion,
        });
    };
    debug_assert_eq!(start.header.packet_type, PacketType::Connect);
    start.header.check(version)?;
    let body = packet.get(start.header.len..).unwrap_or_default();
    finish(packet.len(), fields(version, body))
}

/// The variable header and the payload (MQTT 5.0 §3.1.2, §3.1.3).
fn fields(version: Version, body: &[u8]) -> Field<'_, Connect<'_>> {
    let (rest, _name) = string(body)?;
    let (rest, _level) = byte(rest)?;
    let flags_at = rest;
    let (rest, flags) = byte(rest)?;
    let has = |bit: u8| flags & bit != 0;
    // Bit 0 was unused in MQTT 3.1 and has had to be 0 ever since.
    if has(0x01) && version != Version::V31 {
        return Err(Offence::failure(flags_at, Fault::ReservedConnectFlag));
    }
    let lone_will_flags = !has(WILL) && has(WILL_RETAIN | WILL_QOS);
    let lone_password = has(PASSWORD) && !has(USER_NAME) && version != Version::V5;
    if (lone_will_flags && version != Version::V31) || lone_password {
        return Err(Offence::failure(flags_at, Fault::ContradictoryFlags));
    }
    if flags & WILL_QOS == WILL_QOS {
        return Err(Offence::failure(flags_at, Fault::ReservedQoS));
    }
    let (rest, _keep_alive) = two_byte_integer(rest)?;
    let (rest, properties) = if version == Version::V5 {
        connect_properties(rest)?
    } else {
        (rest, ConnectProperties::default())
    };
    let (rest, client_id) = string(rest)?;
    let (rest, will) = if has(WILL) {
        let (rest, will) = will_fields(version, rest)?;
        (rest, Some(will))
    } else {
        (rest, None)
    };
    let (rest, user_name) = optional(has(USER_NAME), string, rest)?;
    let (rest, _password) = optional(has(PASSWORD), binary, rest)?;
    if !rest.is_empty() {
        return Err(Offence::failure(rest, Fault::TrailingOctets));
    }
    let connect = Connect {
        version,
        client_id,
        user_name,
        will,
        maximum_packet_size: properties.maximum_packet_size,
        request_problem_information: properties.request_problem_information,
        topic_alias_maximum: properties.topic_alias_maximum,
    };
    Ok((rest, connect))
}

fn will_fields(version: Version, input: &[u8]) -> Field<'_, Will<'_>> {
    let (rest, properties_len) = if version == Version::V5 {
        will_properties(input)?
    } else {
        (input, 0)
    };
    let (rest, topic) = string(rest)?;
    let (rest, payload) = binary(rest)?;
    let will = Will {
        topic,
        properties_len,
        payload_len: payload.len(),
    };
    Ok((rest, will))
}

fn optional<'a, T>(
    present: bool,
    field: impl Fn(&'a [u8]) -> Field<'a, T>,
    input: &'a [u8],
) -> Field<'a, Option<T>> {
    if present {
        field(input).map(|(rest, value)| (rest, Some(value)))
    } else {
        Ok((input, None))
    }
}

const MQTT: &[u8] = b"\0\x04MQTT";
const MQISDP: &[u8] = b"\0\x06MQIsdp";
const NAMES: [&[u8]; 2] = [MQTT, MQISDP];

const USER_NAME: u8 = 0x80;
const PASSWORD: u8 = 0x40;
const WILL_RETAIN: u8 = 0x20;
const WILL_QOS: u8 = 0x18;
const WILL: u8 = 0x04;
