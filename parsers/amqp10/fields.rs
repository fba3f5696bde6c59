//! The fields of a list, as nom parsers over a list that is there as a whole.
//!
//! A field that is left out at the end of a list is null (AMQP 1.0 §1.4), so `optional` and
//! `mandatory` read past the end as well as over a null.

use nom::bytes::complete::take;
use nom::combinator::map_res;
use nom::error::{ErrorKind, FromExternalError, ParseError};
use nom::number::complete::{be_u8, be_u16, be_u32, be_u64};
use nom::{Err, IResult, Parser};

use super::fault::{Fault, Malformed};
use super::value::value_len;
use crate::Parsed;

/// A parser's answer inside a list.
pub(super) type Field<'a, T> = IResult<&'a [u8], T, Offence<'a>>;

/// What was wrong, with the octets from there to the end of the list.
#[derive(Debug)]
pub(super) struct Offence<'a> {
    rest: &'a [u8],
    pub(super) what: Fault,
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
            what: Fault::ValueBeyondEnd,
        }
    }

    fn append(_: &'a [u8], _: ErrorKind, other: Self) -> Self {
        other
    }
}

impl<'a> FromExternalError<&'a [u8], Fault> for Offence<'a> {
    fn from_external_error(rest: &'a [u8], _: ErrorKind, what: Fault) -> Self {
        Self { rest, what }
    }
}

/// Turns a parser's answer over the end of a list that ends at `end` into ours.
pub(super) fn finish<T>(end: usize, answer: Field<'_, T>) -> Result<T, Malformed> {
    let offence = match answer {
        Ok((_, value)) => return Ok(value),
        Err(Err::Error(offence) | Err::Failure(offence)) => offence,
        Err(Err::Incomplete(_)) => Offence {
            rest: &[],
            what: Fault::ValueBeyondEnd,
        },
    };
    Err(Malformed {
        at: end - offence.rest.len(),
        what: offence.what,
    })
}

/// A field that may be null or left out.
pub(super) fn optional<'a, T>(
    mut parser: impl FnMut(&'a [u8]) -> Field<'a, T>,
) -> impl FnMut(&'a [u8]) -> Field<'a, Option<T>> {
    move |input| match input {
        [] => Ok((input, None)),
        [NULL, rest @ ..] => Ok((rest, None)),
        _ => parser(input).map(|(rest, value)| (rest, Some(value))),
    }
}

/// A field that may not be null.
pub(super) fn mandatory<'a, T>(
    parser: impl FnMut(&'a [u8]) -> Field<'a, T>,
) -> impl FnMut(&'a [u8]) -> Field<'a, T> {
    let mut parser = optional(parser);
    move |input| match parser(input)? {
        (rest, Some(value)) => Ok((rest, value)),
        (_, None) => Err(Offence::failure(input, Fault::MandatoryMissing)),
    }
}

/// Any value, with its constructor.
pub(super) fn any(input: &[u8]) -> Field<'_, &[u8]> {
    match value_len(input) {
        Ok(Parsed::Value(len)) => take(len).parse(input),
        Ok(Parsed::NeedMore(_)) => Err(Offence::failure(input, Fault::ValueBeyondEnd)),
        Err(what) => Err(Offence::failure(input, what)),
    }
}

/// A value that is read by `reader`; what it finds wrong is told at the value's constructor.
pub(super) fn nested<'a, T>(
    reader: impl FnMut(&'a [u8]) -> Result<T, Fault>,
) -> impl FnMut(&'a [u8]) -> Field<'a, T> {
    let mut parser = map_res(any, reader);
    move |input| parser.parse(input)
}

/// A boolean (AMQP 1.0 §1.6.2): 0x41 true, 0x42 false, 0x56 and an octet.
pub(super) fn boolean(input: &[u8]) -> Field<'_, bool> {
    match input {
        [0x41, rest @ ..] | [0x56, 0x01, rest @ ..] => Ok((rest, true)),
        [0x42, rest @ ..] | [0x56, 0x00, rest @ ..] => Ok((rest, false)),
        _ => Err(Offence::failure(input, Fault::UnexpectedType)),
    }
}

/// A ubyte (AMQP 1.0 §1.6.3).
pub(super) fn ubyte(input: &[u8]) -> Field<'_, u8> {
    match be_u8(input)? {
        (rest, 0x50) => be_u8(rest),
        _ => Err(Offence::failure(input, Fault::UnexpectedType)),
    }
}

/// A ushort (AMQP 1.0 §1.6.4).
pub(super) fn ushort(input: &[u8]) -> Field<'_, u16> {
    match be_u8(input)? {
        (rest, 0x60) => be_u16(rest),
        _ => Err(Offence::failure(input, Fault::UnexpectedType)),
    }
}

/// A uint (AMQP 1.0 §1.6.5): 0x43 zero, 0x52 smalluint, 0x70.
pub(super) fn uint(input: &[u8]) -> Field<'_, u32> {
    match be_u8(input)? {
        (rest, 0x43) => Ok((rest, 0)),
        (rest, 0x52) => be_u8.map(u32::from).parse(rest),
        (rest, 0x70) => be_u32(rest),
        _ => Err(Offence::failure(input, Fault::UnexpectedType)),
    }
}

/// A ulong (AMQP 1.0 §1.6.6): 0x44 zero, 0x53 smallulong, 0x80.
pub(super) fn ulong(input: &[u8]) -> Field<'_, u64> {
    match be_u8(input)? {
        (rest, 0x44) => Ok((rest, 0)),
        (rest, 0x53) => be_u8.map(u64::from).parse(rest),
        (rest, 0x80) => be_u64(rest),
        _ => Err(Offence::failure(input, Fault::UnexpectedType)),
    }
}

/// A binary (AMQP 1.0 §1.6.19): 0xA0 vbin8, 0xB0 vbin32.
pub(super) fn binary(input: &[u8]) -> Field<'_, &[u8]> {
    match be_u8(input)? {
        (rest, 0xA0) => short(rest),
        (rest, 0xB0) => long(rest),
        _ => Err(Offence::failure(input, Fault::UnexpectedType)),
    }
}

/// A string or a symbol (AMQP 1.0 §1.6.20, §1.6.21): 0xA1 str8, 0xB1 str32, 0xA3 sym8, 0xB3 sym32.
///
/// Peers confuse the two, and receivers mostly take either; so do we.
pub(super) fn text(input: &[u8]) -> Field<'_, &str> {
    let (rest, octets) = match be_u8(input)? {
        (rest, 0xA1 | 0xA3) => short(rest)?,
        (rest, 0xB1 | 0xB3) => long(rest)?,
        _ => return Err(Offence::failure(input, Fault::UnexpectedType)),
    };
    match std::str::from_utf8(octets) {
        Ok(text) => Ok((rest, text)),
        Err(_) => Err(Offence::failure(input, Fault::NotUtf8)),
    }
}

/// One of a few numbers that a type is restricted to.
pub(super) fn choice<'a, T>(of: impl Fn(u8) -> Option<T>) -> impl FnMut(&'a [u8]) -> Field<'a, T> {
    move |input| {
        let (rest, code) = ubyte(input)?;
        match of(code) {
            Some(value) => Ok((rest, value)),
            None => Err(Offence::failure(input, Fault::UnknownChoice)),
        }
    }
}

fn short(input: &[u8]) -> Field<'_, &[u8]> {
    let (rest, len) = be_u8(input)?;
    take(len).parse(rest)
}

fn long(input: &[u8]) -> Field<'_, &[u8]> {
    let (rest, len) = be_u32(input)?;
    take(len).parse(rest)
}

/// The constructor of null (AMQP 1.0 §1.6.1).
pub(super) const NULL: u8 = 0x40;
