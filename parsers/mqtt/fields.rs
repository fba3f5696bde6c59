//! The field types of bounded packets, as nom parsers over a packet that is there as a whole.

use nom::bytes::complete::take;
use nom::error::{ErrorKind, ParseError};
use nom::number::complete::{be_u8, be_u16, be_u32};
use nom::{Err, IResult, Parser};

use super::fault::{Fault, Malformed};
use super::fixed_header::{Integer, integer_len, variable_byte_integer};

/// A parser's answer inside a packet.
pub(super) type Field<'a, T> = IResult<&'a [u8], T, Offence<'a>>;

/// What was wrong, with the octets from there to the end of the packet.
#[derive(Debug)]
pub(super) struct Offence<'a> {
    rest: &'a [u8],
    what: Fault,
}

impl<'a> Offence<'a> {
    /// A failure that no other branch of a parser may try to mend.
    pub(super) fn failure(rest: &'a [u8], what: Fault) -> Err<Self> {
        Err::Failure(Self { rest, what })
    }
}

impl<'a> ParseError<&'a [u8]> for Offence<'a> {
    /// nom's own parsers fail here only by running out of octets.
    fn from_error_kind(rest: &'a [u8], _: ErrorKind) -> Self {
        Self {
            rest,
            what: Fault::FieldBeyondPacket,
        }
    }

    fn append(_: &'a [u8], _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// Turns a parser's answer over the end of a packet of `packet_len` octets into ours.
pub(super) fn finish<T>(packet_len: usize, answer: Field<'_, T>) -> Result<T, Malformed> {
    let offence = match answer {
        Ok((_, value)) => return Ok(value),
        Err(Err::Error(offence) | Err::Failure(offence)) => offence,
        Err(Err::Incomplete(_)) => Offence {
            rest: &[],
            what: Fault::FieldBeyondPacket,
        },
    };
    Err(Malformed {
        at: packet_len - offence.rest.len(),
        what: offence.what,
    })
}

/// One octet.
pub(super) fn byte(input: &[u8]) -> Field<'_, u8> {
    be_u8(input)
}

/// A two byte integer (MQTT 5.0 §1.5.2).
pub(super) fn two_byte_integer(input: &[u8]) -> Field<'_, u16> {
    be_u16(input)
}

/// A four byte integer (MQTT 5.0 §1.5.3).
pub(super) fn four_byte_integer(input: &[u8]) -> Field<'_, u32> {
    be_u32(input)
}

/// A variable byte integer (MQTT 5.0 §1.5.5), in its shortest form.
pub(super) fn variable_integer(input: &[u8]) -> Field<'_, usize> {
    match variable_byte_integer(input) {
        Integer::Value { value, len } if len == integer_len(value) => {
            take(len).map(|_| value).parse(input)
        }
        Integer::Value { .. } => Err(Offence::failure(input, Fault::PaddedInteger)),
        Integer::Overlong => Err(Offence::failure(input, Fault::OverlongInteger)),
        Integer::Incomplete => Err(Offence::failure(input, Fault::FieldBeyondPacket)),
    }
}

/// Binary data (MQTT 5.0 §1.5.6).
pub(super) fn binary(input: &[u8]) -> Field<'_, &[u8]> {
    let (rest, len) = two_byte_integer(input)?;
    take(usize::from(len)).parse(rest)
}

/// A UTF-8 encoded string (MQTT 5.0 §1.5.4): no ill-formed UTF-8, no U+0000.
pub(super) fn string(input: &[u8]) -> Field<'_, &str> {
    let (rest, octets) = binary(input)?;
    match std::str::from_utf8(octets) {
        Ok(text) if !octets.contains(&0) => Ok((rest, text)),
        _ => Err(Offence::failure(input, Fault::NotUtf8)),
    }
}
