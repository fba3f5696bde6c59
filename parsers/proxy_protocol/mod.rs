//! The PROXY protocol, versions 1 and 2: where a connection came from before a proxy took it.
//!
//! A header stands before the first octet of whatever a connection carries. It is read as a whole or
//! not at all, and written by [`encode()`]. Who may send one is for the listener to know: the
//! specification forbids to guess by the octets alone. Sections are those of the specification
//! "The PROXY protocol, Versions 1 & 2" of HAProxy.

mod checksum;
mod encode;
mod fault;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

use std::net::SocketAddr;

pub use encode::encode;
pub use fault::{Fault, Malformed};

use crate::Parsed;

/// A header of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which of the two forms it has.
    pub version: Version,
    /// Octets of the header; at most [`CEILING`].
    pub len: usize,
    /// Between which addresses the client's octets travel.
    ///
    /// `None` where the sender speaks for itself (LOCAL), does not know (UNKNOWN, UNSPEC), or names
    /// what is no TCP (a Unix socket, datagrams): the addresses of the connection itself then hold.
    pub addresses: Option<Addresses>,
}

/// A version of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A line of text (§2.1).
    V1,
    /// Octets (§2.2).
    V2,
}

/// The two ends of a connection as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Where the client is.
    pub source: SocketAddr,
    /// Where it meant to go.
    pub destination: SocketAddr,
}

/// Reads the header at the front of `input`, of whichever version.
///
/// [`Parsed::NeedMore`] is never more than the header has, so that who waits for so many octets
/// does not wait for one of those behind it.
pub fn header(input: &[u8]) -> Result<Parsed<Header>, Malformed> {
    match input.first() {
        None => Ok(Parsed::NeedMore(v1::SHORTEST.min(v2::FIXED))),
        Some(first) if v2::SIGNATURE.first() == Some(first) => v2::header(input),
        Some(_) => v1::header(input),
    }
}

/// Says whether the front of `input` announces a header, of whichever version, well formed or not.
pub fn announces(input: &[u8]) -> Parsed<bool> {
    for signature in [v1::SIGNATURE, v2::SIGNATURE] {
        if input.starts_with(signature) {
            return Parsed::Value(true);
        }
        if signature.starts_with(input) {
            return Parsed::NeedMore(signature.len());
        }
    }
    Parsed::Value(false)
}

/// Checks that as much of the signature as is there is right.
fn signed(input: &[u8], signature: &[u8]) -> Result<(), Malformed> {
    match input.iter().zip(signature).position(|(is, due)| is != due) {
        Some(at) => Err(Malformed {
            at,
            what: Fault::NoHeader,
        }),
        None => Ok(()),
    }
}

/// Octets of the longest header that is read.
///
/// The specification bounds a line to 107 octets and the binary form only by its length field,
/// 65,551 in all; it means a header to fit a segment of 536. What needs more is a client
/// certificate in its TLVs. nginx stops at 4,096 octets as well.
pub const CEILING: usize = 4_096;
