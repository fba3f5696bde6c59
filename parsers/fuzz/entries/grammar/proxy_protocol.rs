//! The PROXY protocol.

use std::net::SocketAddr;

use parsers::Parsed;
use parsers::proxy_protocol::{CEILING, Fault, Malformed, announces, encode, header};

use super::cuts_do_not_matter;

/// A header at the front of octets.
pub fn proxy_protocol(octets: &[u8]) {
    let announced = announces(octets);
    match header(octets) {
        Ok(Parsed::Value(_)) => assert_eq!(announced, Parsed::Value(true)),
        Ok(Parsed::NeedMore(_)) => assert_ne!(announced, Parsed::Value(false)),
        Err(Malformed {
            what: Fault::NoHeader,
            ..
        }) => assert_eq!(announced, Parsed::Value(false)),
        Err(_) => assert_eq!(announced, Parsed::Value(true)),
    }
    let Some(read) = cuts_do_not_matter(octets, CEILING, header) else {
        return;
    };
    assert!(read.len <= octets.len() && read.len <= CEILING);
    let Some(addresses) = read.addresses else {
        return;
    };
    let mut out = Vec::new();
    encode(&mut out, read.version, &addresses);
    let Ok(Parsed::Value(again)) = header(&out) else {
        panic!("{} is no header", out.escape_ascii());
    };
    assert_eq!(again.len, out.len());
    let canonical = |it: SocketAddr| SocketAddr::new(it.ip().to_canonical(), it.port());
    let again = again.addresses.expect("addresses were written");
    assert_eq!(canonical(again.source), canonical(addresses.source));
    assert_eq!(
        canonical(again.destination),
        canonical(addresses.destination)
    );
}
