//! Every row of the grammar of both versions, and what is wrong with what breaks it.

mod laws;
mod v1;
mod v2;

use std::net::SocketAddr;

use super::*;

/// The addresses in these words.
fn addresses(source: &str, destination: &str) -> Addresses {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    Addresses {
        source: address(source),
        destination: address(destination),
    }
}

/// What reading these octets gives, when they are a whole header with something behind it.
fn read(octets: &[u8]) -> Header {
    let with_more = [octets, b"\x10\x0C\0\x04MQTT"].concat();
    match header(&with_more) {
        Ok(Parsed::Value(header)) => {
            assert_eq!(header.len, octets.len(), "{octets:02X?}");
            header
        }
        other => panic!("{other:?} for {octets:02X?}"),
    }
}

/// Checks that a fault is told with its place, and as early as can be: the octets before it and
/// nothing else are no header yet.
fn expect_fault(octets: &[u8], told_with: usize, at: usize, what: Fault) {
    let fault = Err(Malformed { at, what });
    assert_eq!(header(octets), fault, "{octets:02X?}");
    for cut in 0..told_with {
        let answer = header(&octets[..cut]);
        assert!(
            matches!(answer, Ok(Parsed::NeedMore(_))),
            "{answer:?} at {cut} of {octets:02X?}"
        );
    }
    for cut in told_with..octets.len() {
        assert_eq!(header(&octets[..cut]), fault, "at {cut} of {octets:02X?}");
    }
}

#[test]
fn what_announces_a_header_is_told_by_its_signature_alone() {
    for (octets, announced) in [
        (&b"PROXY "[..], Parsed::Value(true)),
        (b"PROXY nonsense", Parsed::Value(true)),
        (b"\r\n\r\n\0\r\nQUIT\n", Parsed::Value(true)),
        (b"\r\n\r\n\0\r\nQUIT\n\xFF", Parsed::Value(true)),
        (b"", Parsed::NeedMore(6)),
        (b"P", Parsed::NeedMore(6)),
        (b"PROXY", Parsed::NeedMore(6)),
        (b"\r", Parsed::NeedMore(12)),
        (b"\r\n\r\n\0\r\nQUIT", Parsed::NeedMore(12)),
        (b"PROXYING", Parsed::Value(false)),
        (b"POST / HTTP/1.1\r\n", Parsed::Value(false)),
        (b"proxy ", Parsed::Value(false)),
        (b"\r\n\r\nQUIT", Parsed::Value(false)),
        (b"\x10\x0C\0\x04MQTT", Parsed::Value(false)),
        (b"AMQP\0\x01\0\0", Parsed::Value(false)),
        (b"\x16\x03\x01", Parsed::Value(false)),
    ] {
        assert_eq!(announces(octets), announced, "{octets:02X?}");
    }
}

#[test]
fn what_is_no_header_is_told_at_its_first_wrong_octet() {
    for (octets, at) in [
        (&b"\x10\x0C\0\x04MQTT"[..], 0),
        (b"AMQP\0\x01\0\0", 0),
        (b"\x16\x03\x01\x02\0", 0),
        (b"GET / HTTP/1.1\r\n", 0),
        (b"PUT / HTTP/1.1\r\n", 1),
        (b"PROXYTCP4 1.2.3.4 1.2.3.4 1 1\r\n", 5),
        (b"proxy TCP4 1.2.3.4 1.2.3.4 1 1\r\n", 0),
        (b"\r\n\r\nQUIT", 4),
        (b"\r\n\r\n\0\r\nQUIT\r\x21\x11\0\x0C", 11),
    ] {
        expect_fault(octets, at + 1, at, Fault::NoHeader);
    }
}
