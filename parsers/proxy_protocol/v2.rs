//! Version 2: a binary header whose length stands in front.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use nom::number::complete::{be_u16, be_u32, be_u128};
use nom::{IResult, Parser};

use super::fault::{Fault, Malformed};
use super::{Addresses, CEILING, Header, Version, checksum, signed};
use crate::Parsed;

/// Reads a binary header.
///
/// ```text
///  octet 0     12        13                 14       16
/// +-----------+---------+------------------+--------+-----------+------+
/// | signature | version | family transport | length | addresses | TLVs |   §2.2
/// | 12        | command | 4 bits    4 bits | 2      | 0 to 216  |      |
/// |           | 4, 4    |                  |        |           |      |
/// +-----------+---------+------------------+--------+-----------+------+
///
/// command   0 LOCAL, 1 PROXY
/// family    0 UNSPEC, 1 INET (4 + 4 + 2 + 2 octets), 2 INET6 (16 + 16 + 2 + 2), 3 UNIX (108 + 108)
/// transport 0 UNSPEC, 1 STREAM, 2 DGRAM
/// ```
///
/// What is wrong in the first 16 octets is told as soon as it is there, a length above the ceiling
/// included, so that nobody waits for what would not be taken. The block of a LOCAL header, and of
/// one that is not of TCP, is skipped unseen.
pub(super) fn header(input: &[u8]) -> Result<Parsed<Header>, Malformed> {
    signed(input, SIGNATURE)?;
    let command = input.get(12).map(|&octet| command(octet)).transpose()?;
    let family = match (command, input.get(13)) {
        (Some(Command::Proxy), Some(&octet)) => family(octet)?,
        // The receiver is to discard the block, "including the family which is ignored".
        (Some(Command::Local), Some(_)) => Family::Skipped,
        _ => return Ok(Parsed::NeedMore(FIXED)),
    };
    let &[len_0, len_1] = input.get(14..FIXED).unwrap_or_default() else {
        return Ok(Parsed::NeedMore(FIXED));
    };
    let len = FIXED + usize::from(u16::from_be_bytes([len_0, len_1]));
    let fault = |what| Err(Malformed { at: 14, what });
    if len > CEILING {
        return fault(Fault::TooLong);
    }
    if len < FIXED + family.len() {
        return fault(Fault::TooShort);
    }
    let Some(block) = input.get(FIXED..len) else {
        return Ok(Parsed::NeedMore(len));
    };
    let addresses = match family {
        Family::Inet => inet(block),
        Family::Inet6 => inet6(block),
        Family::Skipped => {
            return Ok(Parsed::Value(Header {
                version: Version::V2,
                len,
                addresses: None,
            }));
        }
    };
    // The length was checked, so the addresses are there.
    let Ok((tlvs, addresses)) = addresses else {
        return fault(Fault::TooShort);
    };
    checksum::verify(input.get(..len).unwrap_or_default(), len - tlvs.len())?;
    Ok(Parsed::Value(Header {
        version: Version::V2,
        len,
        addresses: Some(addresses),
    }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Local,
    Proxy,
}

/// What stands in front of the TLVs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Inet,
    Inet6,
    /// Nothing that is of use for a TCP connection.
    Skipped,
}

impl Family {
    /// Octets of its addresses.
    fn len(self) -> usize {
        match self {
            Self::Inet => 12,
            Self::Inet6 => 36,
            Self::Skipped => 0,
        }
    }
}

fn command(octet: u8) -> Result<Command, Malformed> {
    let fault = |what| Err(Malformed { at: 12, what });
    match (octet >> 4, octet & 0x0F) {
        (VERSION, LOCAL) => Ok(Command::Local),
        (VERSION, PROXY) => Ok(Command::Proxy),
        (VERSION, _) => fault(Fault::UnknownCommand),
        _ => fault(Fault::UnknownVersion),
    }
}

fn family(octet: u8) -> Result<Family, Malformed> {
    let fault = |what| Err(Malformed { at: 13, what });
    match (octet >> 4, octet & 0x0F) {
        (0x4.., _) => fault(Fault::UnknownFamily),
        (_, 0x3..) => fault(Fault::UnknownTransport),
        (INET, STREAM) => Ok(Family::Inet),
        (INET6, STREAM) => Ok(Family::Inet6),
        _ => Ok(Family::Skipped),
    }
}

/// The addresses of TCP over IPv4.
fn inet(block: &[u8]) -> IResult<&[u8], Addresses> {
    let address = || be_u32.map(Ipv4Addr::from_bits);
    both(address(), address()).parse(block)
}

/// The addresses of TCP over IPv6.
fn inet6(block: &[u8]) -> IResult<&[u8], Addresses> {
    let address = || be_u128.map(Ipv6Addr::from_bits);
    both(address(), address()).parse(block)
}

/// Both addresses and then both ports.
fn both<'a, A>(
    source: impl Parser<&'a [u8], Output = A, Error = nom::error::Error<&'a [u8]>>,
    destination: impl Parser<&'a [u8], Output = A, Error = nom::error::Error<&'a [u8]>>,
) -> impl Parser<&'a [u8], Output = Addresses, Error = nom::error::Error<&'a [u8]>>
where
    (A, u16): Into<SocketAddr>,
{
    (source, destination, be_u16, be_u16).map(|(source, destination, from, to)| Addresses {
        source: (source, from).into(),
        destination: (destination, to).into(),
    })
}

/// How a binary header begins.
pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Octets in front of the addresses.
pub(super) const FIXED: usize = 16;

pub(super) const VERSION: u8 = 0x2;
const LOCAL: u8 = 0x0;
pub(super) const PROXY: u8 = 0x1;
pub(super) const INET: u8 = 0x1;
pub(super) const INET6: u8 = 0x2;
pub(super) const STREAM: u8 = 0x1;
