//! The laws: cuts do not matter, decoding undoes encoding, and nothing more is asked for than is due.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[test]
fn what_is_written_has_the_octets_of_the_specification() {
    let written = |version, source: &str, destination: &str| {
        let mut out = b"before".to_vec();
        encode(&mut out, version, &addresses(source, destination));
        out.split_off(6)
    };
    assert_eq!(
        written(Version::V1, "192.0.2.1:4711", "198.51.100.2:1883"),
        b"PROXY TCP4 192.0.2.1 198.51.100.2 4711 1883\r\n"
    );
    assert_eq!(
        written(Version::V1, "[2001:db8::1]:65535", "[::1]:0"),
        b"PROXY TCP6 2001:db8::1 ::1 65535 0\r\n"
    );
    // Of two families: both are IPv6, and IPv6 is written in hexadecimal groups.
    assert_eq!(
        written(Version::V1, "[2001:db8::1]:1", "192.0.2.1:2"),
        b"PROXY TCP6 2001:db8::1 ::ffff:c000:201 1 2\r\n"
    );
    let v2 = |family: u8, block: &[u8]| {
        let len = [0, block.len() as u8];
        [&b"\r\n\r\n\0\r\nQUIT\n\x21"[..], &[family], &len, block].concat()
    };
    assert_eq!(
        written(Version::V2, "192.0.2.1:4711", "198.51.100.2:1883"),
        v2(
            0x11,
            &[192, 0, 2, 1, 198, 51, 100, 2, 0x12, 0x67, 0x07, 0x5B]
        )
    );
    assert_eq!(
        written(Version::V2, "192.0.2.1:258", "[2001:db8::2]:772"),
        v2(
            0x21,
            &[
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2, 1, // ::ffff:192.0.2.1
                0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, // 2001:db8::2
                1, 2, 3, 4,
            ]
        )
    );
}

fn any_ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits).into()),
        // Runs of zeros, which text leaves out.
        any::<u16>().prop_map(|bits| Ipv6Addr::from_bits(u128::from(bits)).into()),
        any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).to_ipv6_mapped().into()),
    ]
}

fn any_addresses() -> impl Strategy<Value = Addresses> {
    let any_address = || (any_ip(), any::<u16>()).prop_map(SocketAddr::from);
    (any_address(), any_address()).prop_map(|(source, destination)| Addresses {
        source,
        destination,
    })
}

fn any_version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V1), Just(Version::V2)]
}

/// A header of either version, or something like one.
fn nearly_a_header() -> impl Strategy<Value = Vec<u8>> {
    let written = (any_version(), any_addresses()).prop_map(|(version, addresses)| {
        let mut out = Vec::new();
        encode(&mut out, version, &addresses);
        out
    });
    let binary = (
        any::<u8>(),
        any::<u8>(),
        0..300_u16,
        vec(any::<u8>(), 0..300),
    );
    let binary = binary.prop_map(|(command, family, len, block)| {
        let head = [0x20 | (command % 3), family & 0x73];
        [
            b"\r\n\r\n\0\r\nQUIT\n",
            &head[..],
            &len.to_be_bytes(),
            &block,
        ]
        .concat()
    });
    let line =
        "PROXY (TCP4|TCP6|UNKNOWN)?[ 0-9a-f.:\r\n]{0,110}(\r\n)?".prop_map(String::into_bytes);
    let any_of_them = prop_oneof![written, binary, line, vec(any::<u8>(), 0..40)];
    let change = proptest::option::of((any::<prop::sample::Index>(), any::<u8>()));
    (any_of_them, change).prop_map(|(mut octets, change)| {
        if let Some((at, octet)) = change
            && !octets.is_empty()
        {
            let at = at.index(octets.len());
            octets[at] = octet;
        }
        octets
    })
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(version in any_version(), written in any_addresses()) {
        let mut octets = Vec::new();
        encode(&mut octets, version, &written);
        let header = read(&octets);
        let canonical = |it: SocketAddr| SocketAddr::new(it.ip().to_canonical(), it.port());
        let read = header.addresses.expect("it has some");
        prop_assert_eq!(header.version, version);
        prop_assert_eq!(canonical(read.source), canonical(written.source));
        prop_assert_eq!(canonical(read.destination), canonical(written.destination));
        prop_assert!(octets.len() <= 107);
    }

    #[test]
    fn a_header_does_not_depend_on_what_follows_nor_on_how_it_was_cut(
        octets in nearly_a_header(),
        behind in vec(any::<u8>(), 0..40),
    ) {
        let octets = [octets, behind].concat();
        let whole = header(&octets);
        // Also what comes octet by octet has been every beginning of itself.
        for cut in 0..octets.len() {
            match header(&octets[..cut]) {
                Ok(Parsed::NeedMore(more)) => {
                    prop_assert!(cut < more && more <= CEILING, "{} at {}", more, cut);
                    // What is asked for is never more than there is of a header.
                    if let Ok(Parsed::Value(header)) = whole {
                        prop_assert!(more <= header.len, "{} of {}", more, header.len);
                    }
                }
                answer => prop_assert_eq!(answer, whole, "at {}", cut),
            }
        }
    }

    #[test]
    fn what_is_read_as_a_header_announces_one(octets in nearly_a_header()) {
        match header(&octets) {
            Ok(Parsed::Value(_)) => prop_assert_eq!(announces(&octets), Parsed::Value(true)),
            Ok(Parsed::NeedMore(_)) => prop_assert_ne!(announces(&octets), Parsed::Value(false)),
            Err(Malformed { what: Fault::NoHeader, .. }) => {
                prop_assert_eq!(announces(&octets), Parsed::Value(false));
            }
            Err(_) => prop_assert_eq!(announces(&octets), Parsed::Value(true)),
        }
    }
}
