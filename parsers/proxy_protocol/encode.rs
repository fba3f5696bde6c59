//! The headers that sizegate writes.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::v1::{self, CRLF};
use super::v2::{self, INET, INET6, PROXY, STREAM, VERSION};
use super::{Addresses, Version};

/// Appends the header that tells of `addresses`.
///
/// A header has one address family. Where the two differ, both become IPv6, the IPv4 one mapped
/// (RFC 4291 §2.5.5.2), as HAProxy writes version 2: nobody is left without the client's address,
/// as UNKNOWN would leave them.
pub fn encode(out: &mut Vec<u8>, version: Version, addresses: &Addresses) {
    let Addresses {
        source,
        destination,
    } = addresses;
    let pair = match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Pair::V4(source, destination),
        (source, destination) => Pair::V6(mapped(source), mapped(destination)),
    };
    match version {
        Version::V1 => line(out, &pair, source.port(), destination.port()),
        Version::V2 => octets(out, &pair, source, destination),
    }
}

/// Two addresses of one family.
enum Pair {
    V4(std::net::Ipv4Addr, std::net::Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

/// Appends a line (§2.1).
fn line(out: &mut Vec<u8>, pair: &Pair, source_port: u16, destination_port: u16) {
    let words = match pair {
        Pair::V4(source, destination) => format!("TCP4 {source} {destination}"),
        Pair::V6(source, destination) => {
            format!(
                "TCP6 {} {}",
                hexadecimal(*source),
                hexadecimal(*destination)
            )
        }
    };
    out.extend_from_slice(v1::SIGNATURE);
    out.extend_from_slice(words.as_bytes());
    out.extend_from_slice(format!(" {source_port} {destination_port}").as_bytes());
    out.extend_from_slice(CRLF);
}

/// Appends a binary header without TLVs (§2.2).
fn octets(out: &mut Vec<u8>, pair: &Pair, source: &SocketAddr, destination: &SocketAddr) {
    let (family, addresses) = match pair {
        Pair::V4(source, destination) => (INET, [source.octets(), destination.octets()].concat()),
        Pair::V6(source, destination) => (INET6, [source.octets(), destination.octets()].concat()),
    };
    let ports = [
        source.port().to_be_bytes(),
        destination.port().to_be_bytes(),
    ]
    .concat();
    // 12 or 36.
    let len = (addresses.len() + ports.len()) as u16;
    out.extend_from_slice(v2::SIGNATURE);
    out.extend_from_slice(&[VERSION << 4 | PROXY, family << 4 | STREAM]);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&addresses);
    out.extend_from_slice(&ports);
}

fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// An IPv6 address in hexadecimal groups alone, the only form that the specification has.
fn hexadecimal(ip: Ipv6Addr) -> String {
    let [.., high, low] = ip.segments();
    match ip.to_ipv4_mapped() {
        Some(_) => format!("::ffff:{high:x}:{low:x}"),
        None => ip.to_string(),
    }
}
