//! The way through the payload of a message to the address it is sent to.
//!
//! On a link without a target address each message says in its properties where it goes. Only the
//! sections before and the fields up to that one are walked over.

use super::descriptor::{Described, descriptor};
use super::fault::Fault;
use super::fields::{optional, text};
use super::list::list;
use super::value::value_len;
use crate::Parsed;

/// Reads the `to` field of the properties of the message whose payload starts with `payload`.
///
/// ```text
/// +---------------+---------------------------+-------------------------+-------------------+
/// | header 0x70   | delivery-annotations 0x71 | message-annotations 0x72| properties 0x73   |
/// | list, or none | map, or none              | map, or none            | list, or none     |
/// +---------------+---------------------------+-------------------------+-------------------+
///   AMQP 1.0 §3.2; properties: message-id, user-id, to, ... (§3.2.4)
/// ```
///
/// `payload_len` says how many octets of payload there are in all, of which `payload` may be the
/// first few. `None` if there is no such field, if it is not a string, if it ends beyond
/// `payload_len` or `ceiling`, or if this is no message of AMQP 1.0 (another message-format).
pub fn message_to(payload: &[u8], payload_len: usize, ceiling: usize) -> Parsed<Option<&str>> {
    let end = payload_len.min(ceiling);
    let payload = payload.get(..end).unwrap_or(payload);
    match walk(payload) {
        Ok(Parsed::NeedMore(more)) if more > end => Parsed::Value(None),
        Ok(answer) => answer,
        Err(_) => Parsed::Value(None),
    }
}

fn walk(payload: &[u8]) -> Result<Parsed<Option<&str>>, Fault> {
    let mut at = 0;
    // Each section may stand once, in this order, so three are passed at most.
    for _ in 0..=BEFORE_PROPERTIES.len() {
        let section = payload.get(at..).unwrap_or_default();
        let (code, value_at) = match descriptor(section)? {
            Parsed::Value(Described::Known { code, value_at }) => (code, at + value_at),
            Parsed::Value(Described::Unknown) => break,
            Parsed::NeedMore(more) => return Ok(Parsed::NeedMore(at + more)),
        };
        if code == PROPERTIES {
            return to(payload, value_at);
        }
        if !BEFORE_PROPERTIES.contains(&code) {
            break;
        }
        match value_len(payload.get(value_at..).unwrap_or_default())? {
            Parsed::Value(len) => at = value_at + len,
            Parsed::NeedMore(more) => return Ok(Parsed::NeedMore(value_at + more)),
        }
    }
    Ok(Parsed::Value(None))
}

/// Reads the third field of the properties, whose list begins at `list_at`.
fn to(payload: &[u8], list_at: usize) -> Result<Parsed<Option<&str>>, Fault> {
    let list = match list(payload.get(list_at..).unwrap_or_default())? {
        Parsed::Value(list) => list,
        Parsed::NeedMore(more) => return Ok(Parsed::NeedMore(list_at + more)),
    };
    if list.count <= TO {
        return Ok(Parsed::Value(None));
    }
    let end = list_at + list.end;
    let mut at = list_at + list.fields_at;
    let mut field: &[u8] = &[];
    for _ in 0..=TO {
        let rest = payload.get(at..end.min(payload.len())).unwrap_or_default();
        let len = match value_len(rest)? {
            Parsed::Value(len) => len,
            Parsed::NeedMore(more) if at + more > end => return Err(Fault::ValueBeyondEnd),
            Parsed::NeedMore(more) => return Ok(Parsed::NeedMore(at + more)),
        };
        field = rest.get(..len).unwrap_or_default();
        at += len;
    }
    let to = optional(text)(field).map_or(None, |(_, to)| to);
    Ok(Parsed::Value(to))
}

/// The codes of the sections that may stand before the properties.
const BEFORE_PROPERTIES: [u8; 3] = [0x70, 0x71, 0x72];
const PROPERTIES: u8 = 0x73;
/// The index of `to` in the properties.
const TO: u32 = 2;
