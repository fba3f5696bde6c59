//! The data fields of method arguments, as nom parsers over a frame that is there as a whole.

use nom::bytes::complete::take;
use nom::error::{ErrorKind, ParseError};
use nom::number::complete::{be_u8, be_u16, be_u32, be_u64};
use nom::{Err, IResult, Parser};

use super::fault::{Fault, Malformed};
use super::table::Table;

/// A parser's answer inside the arguments of a method.
pub(super) type Field<'a, T> = IResult<&'a [u8], T, Offence<'a>>;

/// What was wrong, with the octets from there to the end of the arguments.
#[derive(Debug)]
pub(super) struct Offence<'a> {
    rest: &'a [u8],
    what: Fault,
}

impl<'a> ParseError<&'a [u8]> for Offence<'a> {
    /// nom's own parsers fail here only by running out of octets.
    fn from_error_kind(rest: &'a [u8], _: ErrorKind) -> Self {
        Self {
            rest,
            what: Fault::ArgumentBeyondEnd,
        }
    }

    fn append(_: &'a [u8], _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// Turns a parser's answer over arguments that end at `end` into ours; they may not go on behind the
/// last one.
pub(super) fn all<T>(end: usize, answer: Field<'_, T>) -> Result<T, Malformed> {
    match answer {
        Ok((rest, _)) if !rest.is_empty() => Err(Malformed {
            at: end - rest.len(),
            what: Fault::TrailingOctets,
        }),
        answer => first(end, answer),
    }
}

/// The same where only the first arguments are read.
pub(super) fn first<T>(end: usize, answer: Field<'_, T>) -> Result<T, Malformed> {
    let offence = match answer {
        Ok((_, value)) => return Ok(value),
        Err(Err::Error(offence) | Err::Failure(offence)) => offence,
        Err(Err::Incomplete(_)) => Offence {
            rest: &[],
            what: Fault::ArgumentBeyondEnd,
        },
    };
    Err(Malformed {
        at: end - offence.rest.len(),
        what: offence.what,
    })
}

/// An octet (AMQP 0-9-1 §4.2.5.1); also up to eight bits in one (§4.2.5.2).
#[inline]
pub(super) fn octet(input: &[u8]) -> Field<'_, u8> {
    be_u8(input)
}

/// A short integer.
#[inline]
pub(super) fn short(input: &[u8]) -> Field<'_, u16> {
    be_u16(input)
}

/// A long integer.
#[inline]
pub(super) fn long(input: &[u8]) -> Field<'_, u32> {
    be_u32(input)
}

/// A long long integer.
#[inline]
pub(super) fn longlong(input: &[u8]) -> Field<'_, u64> {
    be_u64(input)
}

/// A short string (AMQP 0-9-1 §4.2.5.3).
#[inline]
pub(super) fn shortstr(input: &[u8]) -> Field<'_, &[u8]> {
    let (rest, len) = octet(input)?;
    take(len).parse(rest)
}

/// A long string (AMQP 0-9-1 §4.2.5.3).
pub(super) fn longstr(input: &[u8]) -> Field<'_, &[u8]> {
    let (rest, len) = long(input)?;
    take(len).parse(rest)
}

/// A field table (AMQP 0-9-1 §4.2.5.5), whose fields are read by whoever asks for one.
pub(super) fn table(input: &[u8]) -> Field<'_, Table<'_>> {
    let (rest, octets) = longstr(input)?;
    Ok((rest, Table(octets)))
}
