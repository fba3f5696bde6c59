//! Version 1.

use super::*;

#[test]
fn a_line_is_read_with_its_addresses() {
    for (line, source, destination) in [
        // §2.1 has this one.
        (
            "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
            "192.168.0.1:56324",
            "192.168.0.11:443",
        ),
        // The shortest and the longest of IPv4.
        (
            "PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n",
            "0.0.0.0:0",
            "0.0.0.0:0",
        ),
        (
            "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
            "255.255.255.255:65535",
            "255.255.255.255:65535",
        ),
        // The shortest and the longest of IPv6.
        ("PROXY TCP6 :: :: 0 0\r\n", "[::]:0", "[::]:0"),
        (
            "PROXY TCP6 2001:0db8:ffff:ffff:ffff:ffff:ffff:ffff \
             2001:0DB8:FFFF:FFFF:FFFF:FFFF:FFFF:FFFE 65535 65535\r\n",
            "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
            "[2001:db8:ffff:ffff:ffff:ffff:ffff:fffe]:65535",
        ),
        // Upper case, an IPv4-mapped address in both of its forms.
        (
            "PROXY TCP6 ::FFFF:C000:0201 ::ffff:192.0.2.9 4711 1883\r\n",
            "[::ffff:192.0.2.1]:4711",
            "[::ffff:192.0.2.9]:1883",
        ),
    ] {
        let header = read(line.as_bytes());
        assert_eq!(header.version, Version::V1);
        assert_eq!(header.addresses, Some(addresses(source, destination)));
    }
}

#[test]
fn an_unknown_line_has_no_addresses_whatever_stands_in_it() {
    let longest = "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
                   ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    assert_eq!(longest.len(), 107, "§2.1: the worst case");
    for line in [
        "PROXY UNKNOWN\r\n",
        "PROXY UNKNOWN \r\n",
        "PROXY UNKNOWN 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY UNKNOWN what\never\rthis is\r\n",
        "PROXY UNKNOWN \r\r\n",
        longest,
    ] {
        assert_eq!(read(line.as_bytes()).addresses, None, "{line:?}");
    }
}

#[test]
fn more_octets_are_asked_for_as_long_as_a_line_can_still_become_one() {
    for (octets, need) in [
        // UNKNOWN has the shortest line, then TCP6 with two octets an address, then TCP4.
        ("", 15),
        ("P", 15),
        ("PROXY ", 15),
        ("PROXY U", 15),
        ("PROXY UNKNOWN", 15),
        ("PROXY UNKNOWN\r", 15),
        ("PROXY UNKNOWN 1", 17),
        ("PROXY T", 22),
        ("PROXY TCP6", 22),
        ("PROXY TCP6 :: :: 0 0", 22),
        ("PROXY TCP6 :: :: 0 00", 23),
        ("PROXY TCP4", 32),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1 2", 36),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r", 36),
    ] {
        let answer = header(octets.as_bytes());
        assert_eq!(answer, Ok(Parsed::NeedMore(need)), "{octets:?}");
    }
}

#[test]
fn a_line_is_refused_once_its_end_cannot_come_in_time() {
    let long = format!("PROXY UNKNOWN {}", "x".repeat(200));
    // A carriage return and a line feed no longer fit behind 106 octets.
    expect_fault(long.as_bytes(), 106, 107, Fault::LineTooLong);
    let mut just = format!("PROXY UNKNOWN {}\r\n", "x".repeat(91)).into_bytes();
    assert_eq!(just.len(), 107);
    assert!(matches!(header(&just), Ok(Parsed::Value(_))));
    just.insert(20, b'x');
    expect_fault(&just, 106, 107, Fault::LineTooLong);
    // At 106 octets a carriage return leaves room for its line feed, and nothing else does.
    let open = format!("PROXY UNKNOWN {}\r", "x".repeat(91));
    assert_eq!(header(open.as_bytes()), Ok(Parsed::NeedMore(107)));
}

#[test]
fn a_protocol_that_is_none_is_told_before_the_line_is_whole() {
    for (line, told_with) in [
        ("PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n", 10),
        ("PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n", 8),
        ("PROXY tcp4 192.0.2.1 192.0.2.2 1 2\r\n", 7),
        ("PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n", 7),
        ("PROXY TCP4\r\n", 11),
        ("PROXY \r\n", 7),
    ] {
        expect_fault(line.as_bytes(), told_with, 6, Fault::UnknownProtocol);
    }
    for line in [
        "PROXY UNKNOWNS\r\n",
        "PROXY UNKNOWN\n",
        "PROXY UNKNOWN\t\r\n",
    ] {
        expect_fault(line.as_bytes(), 14, 13, Fault::TrailingOctets);
    }
    expect_fault(b"PROXY UNKNOWN\rx\r\n", 15, 13, Fault::TrailingOctets);
}

#[test]
fn a_malformed_line_is_told_by_the_octet_at_fault() {
    for (line, at, what) in [
        ("TCP4 \r\n", 11, Fault::FieldMissing),
        ("TCP4 192.0.2.1\r\n", 20, Fault::FieldMissing),
        ("TCP4 192.0.2.1 \r\n", 21, Fault::FieldMissing),
        ("TCP4 192.0.2.1 192.0.2.2 1\r\n", 32, Fault::FieldMissing),
        ("TCP4 192.0.2.1 192.0.2.2 1 \r\n", 33, Fault::FieldMissing),
        (
            "TCP4 192.0.2.1 192.0.2.2 1 2 \r\n",
            34,
            Fault::TrailingOctets,
        ),
        (
            "TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
            34,
            Fault::TrailingOctets,
        ),
        ("TCP4  192.0.2.1 192.0.2.2 1 2\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.1  192.0.2.2 1 2\r\n", 21, Fault::BadAddress),
        ("TCP4 192.0.2 192.0.2.2 1 2\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.1.1 192.0.2.2 1 2\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.256 192.0.2.2 1 2\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.01 192.0.2.2 1 2\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.+1 192.0.2.2 1 2\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.1 broker 1 2\r\n", 21, Fault::BadAddress),
        ("TCP4 ::1 ::1 1 2\r\n", 11, Fault::BadAddress),
        (
            "TCP4 192.0.2.\u{661} 192.0.2.2 1 2\r\n",
            11,
            Fault::BadAddress,
        ),
        ("TCP6 192.0.2.1 192.0.2.2 1 2\r\n", 11, Fault::BadAddress),
        ("TCP6 ::1 ::1::1 1 2\r\n", 15, Fault::BadAddress),
        ("TCP6 1:2:3:4:5:6:7 ::1 1 2\r\n", 11, Fault::BadAddress),
        ("TCP6 ::12345 ::1 1 2\r\n", 11, Fault::BadAddress),
        ("TCP6 ::g ::1 1 2\r\n", 11, Fault::BadAddress),
        ("TCP6 fe80::1%eth0 ::1 1 2\r\n", 11, Fault::BadAddress),
        ("TCP6 [::1] ::1 1 2\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.1 192.0.2.2 65536 2\r\n", 31, Fault::BadPort),
        ("TCP4 192.0.2.1 192.0.2.2 01 2\r\n", 31, Fault::BadPort),
        ("TCP4 192.0.2.1 192.0.2.2 +1 2\r\n", 31, Fault::BadPort),
        ("TCP4 192.0.2.1 192.0.2.2 -1 2\r\n", 31, Fault::BadPort),
        ("TCP4 192.0.2.1 192.0.2.2 0x1 2\r\n", 31, Fault::BadPort),
        ("TCP4 192.0.2.1 192.0.2.2 1  2\r\n", 33, Fault::BadPort),
        ("TCP4 192.0.2.1 192.0.2.2 1 00\r\n", 33, Fault::BadPort),
        // A line feed or a carriage return alone does not end a line.
        ("TCP4 192.0.2.1 192.0.2.2 1 2\n\r\n", 33, Fault::BadPort),
        ("TCP4 192.0.2.1 192.0.2.2 1 2\r\r\n", 33, Fault::BadPort),
        ("TCP4 192.0.2.1\n192.0.2.2 1 2 3\r\n", 11, Fault::BadAddress),
        ("TCP4 192.0.2.1\t192.0.2.2 1 2 3\r\n", 11, Fault::BadAddress),
    ] {
        let line = format!("PROXY {line}");
        expect_fault(line.as_bytes(), line.len(), at, what);
    }
}
