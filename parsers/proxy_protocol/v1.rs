//! Version 1: a line that people can read.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::{self, FromStr};

use nom::bytes::complete::{tag, take_till};
use nom::combinator::{all_consuming, cut};
use nom::error::{ErrorKind, ParseError};
use nom::sequence::terminated;
use nom::{Err, IResult, Parser};

use super::fault::{Fault, Malformed};
use super::{Addresses, Header, Version, signed};
use crate::Parsed;

/// Reads a line.
///
/// ```text
/// PROXY SP TCP4 SP source SP destination SP source port SP destination port CR LF   §2.1
/// PROXY SP TCP6 SP source SP destination SP source port SP destination port CR LF
/// PROXY SP UNKNOWN [SP anything] CR LF
/// ```
///
/// One space each, ports without leading zeros, 107 octets at most. The fields are looked at once
/// the line is whole, as the specification demands. An IPv6 address may end as an IPv4 one does
/// (`::ffff:192.0.2.1`): the specification does not have that, and `inet_ntop` of those who write
/// headers does.
pub(super) fn header(input: &[u8]) -> Result<Parsed<Header>, Malformed> {
    signed(input, SIGNATURE)?;
    let rest = input.get(SIGNATURE.len()..).unwrap_or_default();
    let whole = PROTOCOLS.iter().find(|it| rest.starts_with(it.name));
    let Some(protocol) = whole else {
        // Of the protocols that it may become, the one with the shortest line.
        let lines = PROTOCOLS.iter().filter(|it| it.name.starts_with(rest));
        return match lines.map(|it| it.shortest).min() {
            Some(shortest) => Ok(Parsed::NeedMore(shortest)),
            None => malformed(SIGNATURE.len(), Fault::UnknownProtocol),
        };
    };
    let fields_at = SIGNATURE.len() + protocol.name.len();
    if protocol.family == Family::Unknown {
        match rest.get(protocol.name.len()..).unwrap_or_default() {
            [] | [b' ', ..] | [b'\r'] | [b'\r', b'\n', ..] => {}
            _ => return malformed(fields_at, Fault::TrailingOctets),
        }
    }
    let line = input.get(..LONGEST).unwrap_or(input);
    let Some(end) = line.windows(CRLF.len()).position(|pair| pair == CRLF) else {
        let missing = if input.ends_with(b"\r") { 1 } else { 2 };
        let least = protocol.shortest.max(input.len() + missing);
        return if least <= LONGEST {
            Ok(Parsed::NeedMore(least))
        } else {
            malformed(LONGEST, Fault::LineTooLong)
        };
    };
    let fields = line.get(fields_at..end).unwrap_or_default();
    let addresses = match protocol.family {
        Family::V4 => Some(addresses::<Ipv4Addr>(fields)),
        Family::V6 => Some(addresses::<Ipv6Addr>(fields)),
        Family::Unknown => None,
    };
    let addresses = addresses.transpose().map_err(|offence| Malformed {
        at: end - offence.rest.len(),
        what: offence.what,
    })?;
    Ok(Parsed::Value(Header {
        version: Version::V1,
        len: end + CRLF.len(),
        addresses,
    }))
}

/// What a line may announce.
struct Protocol {
    /// The word for it, with the space behind it where fields must follow.
    name: &'static [u8],
    family: Family,
    /// Octets of its shortest line.
    shortest: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
    Unknown,
}

const PROTOCOLS: [Protocol; 3] = [
    Protocol {
        name: b"TCP4 ",
        family: Family::V4,
        shortest: b"PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n".len(),
    },
    Protocol {
        name: b"TCP6 ",
        family: Family::V6,
        shortest: b"PROXY TCP6 :: :: 0 0\r\n".len(),
    },
    Protocol {
        name: b"UNKNOWN",
        family: Family::Unknown,
        shortest: SHORTEST,
    },
];

/// Reads the four fields of a line.
fn addresses<A>(fields: &[u8]) -> Result<Addresses, Offence<'_>>
where
    A: FromStr,
    (A, u16): Into<SocketAddr>,
{
    let address = || field(Fault::BadAddress, |word| word.parse::<A>().ok());
    let port = || field(Fault::BadPort, port);
    let mut line = all_consuming((
        terminated(address(), space),
        terminated(address(), space),
        terminated(port(), space),
        port(),
    ));
    match line.parse(fields) {
        Ok((_, (source, destination, source_port, destination_port))) => Ok(Addresses {
            source: (source, source_port).into(),
            destination: (destination, destination_port).into(),
        }),
        Err(Err::Error(offence) | Err::Failure(offence)) => Err(offence),
        Err(Err::Incomplete(_)) => Err(Offence {
            rest: &[],
            what: Fault::FieldMissing,
        }),
    }
}

/// One word of a line.
fn field<'a, T>(
    what: Fault,
    read: impl Fn(&str) -> Option<T>,
) -> impl Parser<&'a [u8], Output = T, Error = Offence<'a>> {
    move |input: &'a [u8]| {
        let (rest, word) = take_till(|octet| octet == b' ').parse(input)?;
        let what = if word.is_empty() && rest.is_empty() {
            Fault::FieldMissing
        } else {
            what
        };
        match str::from_utf8(word).ok().and_then(&read) {
            Some(value) => Ok((rest, value)),
            None => Err(Err::Failure(Offence { rest: input, what })),
        }
    }
}

/// The one space between two words.
fn space(input: &[u8]) -> IResult<&[u8], &[u8], Offence<'_>> {
    cut(tag(&b" "[..])).parse(input)
}

/// A port: no sign, no leading zero.
fn port(word: &str) -> Option<u16> {
    let is_plain = word.bytes().all(|octet| octet.is_ascii_digit());
    let is_padded = word.len() > 1 && word.starts_with('0');
    word.parse().ok().filter(|_| is_plain && !is_padded)
}

/// What was wrong, with the octets from there to the end of the line.
struct Offence<'a> {
    rest: &'a [u8],
    what: Fault,
}

impl<'a> ParseError<&'a [u8]> for Offence<'a> {
    fn from_error_kind(rest: &'a [u8], kind: ErrorKind) -> Self {
        let what = match kind {
            ErrorKind::Eof => Fault::TrailingOctets,
            _ => Fault::FieldMissing,
        };
        Self { rest, what }
    }

    fn append(_: &'a [u8], _: ErrorKind, other: Self) -> Self {
        other
    }
}

fn malformed<T>(at: usize, what: Fault) -> Result<T, Malformed> {
    Err(Malformed { at, what })
}

/// How a line begins.
pub(super) const SIGNATURE: &[u8] = b"PROXY ";
/// How it ends.
pub(super) const CRLF: &[u8] = b"\r\n";
/// Octets of the shortest line: `PROXY UNKNOWN` and its end.
pub(super) const SHORTEST: usize = 15;
/// Octets of the longest line (§2.1).
pub(super) const LONGEST: usize = 107;
