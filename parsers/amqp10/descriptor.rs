//! Descriptors: the number or the symbol that says what a described value is.

use super::fault::Fault;
use crate::Parsed;

/// Which performative or SASL frame body a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the specification's own")]
pub enum Descriptor {
    Open,
    Begin,
    Attach,
    Flow,
    Transfer,
    Disposition,
    Detach,
    End,
    Close,
    SaslMechanisms,
    SaslInit,
    SaslChallenge,
    SaslResponse,
    SaslOutcome,
    /// A descriptor that is not known here; the body is passed on as it is.
    Unknown,
}

impl Descriptor {
    pub(super) fn from_code(code: u8) -> Self {
        match code {
            0x10 => Self::Open,
            0x11 => Self::Begin,
            0x12 => Self::Attach,
            0x13 => Self::Flow,
            0x14 => Self::Transfer,
            0x15 => Self::Disposition,
            0x16 => Self::Detach,
            0x17 => Self::End,
            0x18 => Self::Close,
            0x40 => Self::SaslMechanisms,
            0x41 => Self::SaslInit,
            0x42 => Self::SaslChallenge,
            0x43 => Self::SaslResponse,
            0x44 => Self::SaslOutcome,
            _ => Self::Unknown,
        }
    }
}

/// What stands before a described value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Described {
    /// A descriptor of the specification, and the offset of the value it describes.
    Known { code: u8, value_at: usize },
    /// Any other descriptor.
    Unknown,
}

/// Reads the descriptor of the described value at the front of `input` (AMQP 1.0 §1.2, §1.5).
///
/// ```text
/// +------+------+----------------------------+-------+
/// | 0x00 | 0x53 | code, 1 octet              | value |   smallulong
/// | 0x00 | 0x80 | code, 8 octets             | value |   ulong
/// | 0x00 | 0xA3 | length, 1 octet  | symbol  | value |   sym8
/// | 0x00 | 0xB3 | length, 4 octets | symbol  | value |   sym32
/// +------+------+----------------------------+-------+
/// ```
///
/// Waits for no symbol that is longer than all that are known.
pub(super) fn descriptor(input: &[u8]) -> Result<Parsed<Described>, Fault> {
    let known = |code, value_at| Ok(Parsed::Value(Described::Known { code, value_at }));
    let unknown = Ok(Parsed::Value(Described::Unknown));
    let symbol = |at: usize, len: usize| {
        if !SYMBOLS.iter().any(|(_, name)| name.len() == len) {
            return unknown;
        }
        let end = at + len;
        let Some(symbol) = input.get(at..end) else {
            return Ok(Parsed::NeedMore(end));
        };
        match SYMBOLS.iter().find(|(_, name)| name.as_bytes() == symbol) {
            Some(&(code, _)) => known(code, end),
            None => unknown,
        }
    };
    match input {
        [] => Ok(Parsed::NeedMore(3)),
        [0x00] => Ok(Parsed::NeedMore(3)),
        [0x00, 0x53] => Ok(Parsed::NeedMore(3)),
        &[0x00, 0x53, code, ..] => known(code, 3),
        [0x00, 0x80, ulong @ ..] => match ulong {
            &[0, 0, 0, 0, 0, 0, 0, code, ..] => known(code, 10),
            [_, _, _, _, _, _, _, _, ..] => unknown,
            _ => Ok(Parsed::NeedMore(10)),
        },
        [0x00, 0xA3] => Ok(Parsed::NeedMore(3)),
        &[0x00, 0xA3, len, ..] => symbol(3, usize::from(len)),
        &[0x00, 0xB3, a, b, c, d, ..] => symbol(6, u32::from_be_bytes([a, b, c, d]) as usize),
        [0x00, 0xB3, ..] => Ok(Parsed::NeedMore(6)),
        [0x00, ..] => unknown,
        _ => Err(Fault::NotDescribed),
    }
}

/// The described value that `raw` is as a whole: its code, if it is a known one, and the value.
pub(super) fn described(raw: &[u8]) -> Result<Option<(u8, &[u8])>, Fault> {
    match descriptor(raw)? {
        Parsed::Value(Described::Known { code, value_at }) => {
            Ok(Some((code, raw.get(value_at..).unwrap_or_default())))
        }
        Parsed::Value(Described::Unknown) => Ok(None),
        Parsed::NeedMore(_) => Err(Fault::ValueBeyondEnd),
    }
}

/// The symbols of the types that are read here, with their codes (AMQP 1.0 §2.7, §2.8, §3.2 to
/// §3.5, §4.5, §5.3).
const SYMBOLS: [(u8, &str); 36] = [
    (0x10, "amqp:open:list"),
    (0x11, "amqp:begin:list"),
    (0x12, "amqp:attach:list"),
    (0x13, "amqp:flow:list"),
    (0x14, "amqp:transfer:list"),
    (0x15, "amqp:disposition:list"),
    (0x16, "amqp:detach:list"),
    (0x17, "amqp:end:list"),
    (0x18, "amqp:close:list"),
    (0x1D, "amqp:error:list"),
    (0x23, "amqp:received:list"),
    (0x24, "amqp:accepted:list"),
    (0x25, "amqp:rejected:list"),
    (0x26, "amqp:released:list"),
    (0x27, "amqp:modified:list"),
    (0x28, "amqp:source:list"),
    (0x29, "amqp:target:list"),
    (0x30, "amqp:coordinator:list"),
    (0x31, "amqp:declare:list"),
    (0x32, "amqp:discharge:list"),
    (0x33, "amqp:declared:list"),
    (0x34, "amqp:transactional-state:list"),
    (0x40, "amqp:sasl-mechanisms:list"),
    (0x41, "amqp:sasl-init:list"),
    (0x42, "amqp:sasl-challenge:list"),
    (0x43, "amqp:sasl-response:list"),
    (0x44, "amqp:sasl-outcome:list"),
    (0x70, "amqp:header:list"),
    (0x71, "amqp:delivery-annotations:map"),
    (0x72, "amqp:message-annotations:map"),
    (0x73, "amqp:properties:list"),
    (0x74, "amqp:application-properties:map"),
    (0x75, "amqp:data:binary"),
    (0x76, "amqp:amqp-sequence:list"),
    (0x77, "amqp:amqp-value:*"),
    (0x78, "amqp:footer:map"),
];
