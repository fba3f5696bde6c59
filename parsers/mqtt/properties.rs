//! The properties of CONNECT, of its Will and of PUBLISH.

use std::num::NonZeroU16;

use nom::Parser;
use nom::bytes::complete::take;

use super::fault::Fault;
use super::fields::{
    Field, Offence, binary, byte, four_byte_integer, string, two_byte_integer, variable_integer,
};

/// The properties of a CONNECT that matter for a size limit (MQTT 5.0 §3.1.2.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectProperties {
    /// The largest packet that the client takes, in octets; `None` is no limit (§3.1.2.11.4).
    pub(super) maximum_packet_size: Option<u32>,
    /// Whether reason strings may stand outside of CONNACK, DISCONNECT and PUBLISH (§3.1.2.11.7).
    pub(super) request_problem_information: bool,
    /// How many topic aliases the client takes (§3.1.2.11.5).
    pub(super) topic_alias_maximum: u16,
}

impl Default for ConnectProperties {
    fn default() -> Self {
        Self {
            maximum_packet_size: None,
            request_problem_information: true,
            topic_alias_maximum: 0,
        }
    }
}

/// Reads the properties of a CONNECT.
pub(super) fn connect_properties(input: &[u8]) -> Field<'_, ConnectProperties> {
    let (rest, mut octets) = block(input)?;
    let mut seen = Seen::default();
    let mut properties = ConnectProperties::default();
    while !octets.is_empty() {
        let start = octets;
        let (after, identifier) = variable_integer(octets)?;
        seen.note(start, identifier)?;
        octets = match identifier {
            // Session Expiry Interval
            0x11 => four_byte_integer(after)?.0,
            // Authentication Method, Authentication Data
            0x15 => string(after)?.0,
            0x16 => binary(after)?.0,
            // Request Problem Information, Request Response Information
            0x17 | 0x19 => match byte(after)? {
                (after, value @ 0..=1) => {
                    if identifier == 0x17 {
                        properties.request_problem_information = value == 1;
                    }
                    after
                }
                _ => return Err(Offence::failure(start, Fault::BadPropertyValue)),
            },
            // Receive Maximum
            0x21 => match two_byte_integer(after)? {
                (_, 0) => return Err(Offence::failure(start, Fault::BadPropertyValue)),
                (after, _) => after,
            },
            // Topic Alias Maximum
            0x22 => {
                let (after, maximum) = two_byte_integer(after)?;
                properties.topic_alias_maximum = maximum;
                after
            }
            USER_PROPERTY => user_property(after)?.0,
            // Maximum Packet Size
            0x27 => match four_byte_integer(after)? {
                (_, 0) => return Err(Offence::failure(start, Fault::BadPropertyValue)),
                (after, size) => {
                    properties.maximum_packet_size = Some(size);
                    after
                }
            },
            _ => return Err(Offence::failure(start, Fault::UnknownProperty)),
        };
    }
    Ok((rest, properties))
}

/// Reads the properties of a Will (MQTT 5.0 §3.1.3.2) and answers with their octets.
pub(super) fn will_properties(input: &[u8]) -> Field<'_, usize> {
    let (rest, mut octets) = block(input)?;
    let len = octets.len();
    let mut seen = Seen::default();
    while !octets.is_empty() {
        let start = octets;
        let (after, identifier) = variable_integer(octets)?;
        seen.note(start, identifier)?;
        octets = match identifier {
            // Payload Format Indicator
            0x01 => match byte(after)? {
                (after, 0..=1) => after,
                _ => return Err(Offence::failure(start, Fault::BadPropertyValue)),
            },
            // Message Expiry Interval, Will Delay Interval
            0x02 | 0x18 => four_byte_integer(after)?.0,
            // Content Type, Response Topic
            0x03 | 0x08 => string(after)?.0,
            // Correlation Data
            0x09 => binary(after)?.0,
            USER_PROPERTY => user_property(after)?.0,
            _ => return Err(Offence::failure(start, Fault::UnknownProperty)),
        };
    }
    Ok((rest, len))
}

/// Finds the Topic Alias among the properties of a PUBLISH (MQTT 5.0 §3.3.2.3), given without their
/// length. Text is not checked to be UTF-8: it is the receiver's.
pub(super) fn publish_properties(mut octets: &[u8]) -> Field<'_, Option<NonZeroU16>> {
    let mut seen = Seen::default();
    let mut alias = None;
    while !octets.is_empty() {
        let start = octets;
        let (after, identifier) = variable_integer(octets)?;
        // A message that matches several subscriptions carries the identifier of each.
        if identifier != SUBSCRIPTION_IDENTIFIER {
            seen.note(start, identifier)?;
        }
        octets = match identifier {
            // Payload Format Indicator
            0x01 => byte(after)?.0,
            // Message Expiry Interval
            0x02 => four_byte_integer(after)?.0,
            // Content Type, Response Topic, Correlation Data
            0x03 | 0x08 | 0x09 => binary(after)?.0,
            SUBSCRIPTION_IDENTIFIER => variable_integer(after)?.0,
            // Topic Alias
            0x23 => {
                let (after, value) = two_byte_integer(after)?;
                alias = NonZeroU16::new(value);
                if alias.is_none() {
                    return Err(Offence::failure(start, Fault::BadPropertyValue));
                }
                after
            }
            USER_PROPERTY => (binary, binary).parse(after)?.0,
            _ => return Err(Offence::failure(start, Fault::UnknownProperty)),
        };
    }
    Ok((octets, alias))
}

/// Reads a property length and the octets it counts.
fn block(input: &[u8]) -> Field<'_, &[u8]> {
    let (rest, len) = variable_integer(input)?;
    take(len).parse(rest)
}

fn user_property(input: &[u8]) -> Field<'_, ()> {
    (string, string).map(|_| ()).parse(input)
}

/// The identifiers met so far; all known ones are below 64.
#[derive(Default)]
struct Seen(u64);

impl Seen {
    /// Notes an identifier; only a user property may stand more than once.
    fn note<'a>(&mut self, at: &'a [u8], identifier: usize) -> Result<(), nom::Err<Offence<'a>>> {
        let Some(bit) = u32::try_from(identifier)
            .ok()
            .and_then(|n| 1_u64.checked_shl(n))
        else {
            return Err(Offence::failure(at, Fault::UnknownProperty));
        };
        if self.0 & bit != 0 && identifier != USER_PROPERTY {
            return Err(Offence::failure(at, Fault::RepeatedProperty));
        }
        self.0 |= bit;
        Ok(())
    }
}

const SUBSCRIPTION_IDENTIFIER: usize = 0x0B;
const USER_PROPERTY: usize = 0x26;
