//! Version 2.

use super::*;

/// A binary header with this command, family, and block.
fn octets(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let len = u16::try_from(block.len()).unwrap().to_be_bytes();
    [SIGNATURE, &[command, family], &len, block].concat()
}

/// 192.0.2.1:4711 to 198.51.100.2:1883.
const INET: &[u8] = &[
    192, 0, 2, 1, // source
    198, 51, 100, 2, // destination
    0x12, 0x67, // source port 4711
    0x07, 0x5B, // destination port 1883
];

/// [2001:db8::1]:4711 to [2001:db8::2]:1883.
const INET6: &[u8] = &[
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, // source
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, // destination
    0x12, 0x67, // source port 4711
    0x07, 0x5B, // destination port 1883
];

const SIGNATURE: &[u8] = &[
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
];

#[test]
fn a_header_of_tcp_is_read_with_its_addresses() {
    let v4 = addresses("192.0.2.1:4711", "198.51.100.2:1883");
    let v6 = addresses("[2001:db8::1]:4711", "[2001:db8::2]:1883");
    for (family, block, expected) in [(0x11, INET, v4), (0x21, INET6, v6)] {
        let header = read(&octets(0x21, family, block));
        assert_eq!(header.version, Version::V2);
        assert_eq!(header.addresses, Some(expected));
    }
}

#[test]
fn a_header_that_is_not_of_tcp_has_no_addresses() {
    let unix = [b'/'; 216];
    for (command, family, block) in [
        // LOCAL, with and without a block, of whatever family.
        (0x20, 0x00, &[][..]),
        (0x20, 0x11, INET),
        (0x20, 0x11, &[]),
        (0x20, 0xFF, &[1, 2, 3]),
        // UNSPEC by family, by transport, by both.
        (0x21, 0x00, &[]),
        (0x21, 0x00, &[1, 2, 3]),
        (0x21, 0x01, &[]),
        (0x21, 0x10, INET),
        // Datagrams.
        (0x21, 0x12, INET),
        (0x21, 0x22, INET6),
        // Unix sockets.
        (0x21, 0x31, &unix),
        (0x21, 0x32, &unix),
    ] {
        let header = read(&octets(command, family, block));
        assert_eq!(header.addresses, None, "{command:02X} {family:02X}");
    }
}

#[test]
fn tlvs_are_skipped() {
    let tlvs = [
        &[0x01, 0, 4, b'm', b'q', b't', b't'][..],         // ALPN
        &[0x02, 0, 6, b'b', b'r', b'o', b'k', b'e', b'r'], // authority
        &[0x04, 0, 0],                                     // no-op
        &[0xE0, 0, 1, 9],                                  // of an application's own
        &[0xFF, 0, 0],
    ]
    .concat();
    let header = read(&octets(0x21, 0x11, &[INET, &tlvs].concat()));
    assert_eq!(
        header.addresses,
        Some(addresses("192.0.2.1:4711", "198.51.100.2:1883"))
    );
}

#[test]
fn a_checksum_is_verified() {
    // Of the header below with four octets of 0 at its end; computed apart from the code under
    // test, by the table-driven method of RFC 3309.
    let checksum = table_driven(&octets(
        0x21,
        0x11,
        &[INET, &[3, 0, 4, 0, 0, 0, 0]].concat(),
    ));
    let right = [INET, &[3, 0, 4], &checksum.to_be_bytes()].concat();
    let header = read(&octets(0x21, 0x11, &right));
    assert!(header.addresses.is_some());
    for at in 0..right.len() {
        let mut wrong = right.clone();
        wrong[at] ^= 1;
        let answer = super::header(&octets(0x21, 0x11, &wrong));
        // The TLV itself is what two of the octets say, and is then none, or of another type.
        match at {
            12 => assert!(answer.is_ok(), "another type"),
            13 | 14 => assert!(answer.is_err()),
            _ => assert_eq!(
                answer,
                Err(Malformed {
                    at: 28,
                    what: Fault::WrongChecksum
                }),
                "octet {at}"
            ),
        }
    }
    // A checksum has four octets.
    let short = octets(0x21, 0x11, &[INET, &[3, 0, 3, 0, 0, 0]].concat());
    expect_fault(&short, short.len(), 28, Fault::WrongChecksum);
}

/// CRC32c by a table of the remainders of each octet.
fn table_driven(octets: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256_u32)
        .map(|octet| {
            (0..8).fold(octet, |crc, _| {
                if crc % 2 == 1 {
                    (crc / 2) ^ 0x82F6_3B78
                } else {
                    crc / 2
                }
            })
        })
        .collect();
    let remainder = octets.iter().fold(u32::MAX, |crc, &octet| {
        let index = (crc ^ u32::from(octet)) % 256;
        (crc / 256) ^ table[index as usize]
    });
    u32::MAX - remainder
}

#[test]
fn more_octets_are_asked_for_first_the_fixed_part_and_then_all() {
    let whole = octets(0x21, 0x21, INET6);
    for cut in 1..whole.len() {
        let need = if cut < 16 { 16 } else { 52 };
        assert_eq!(header(&whole[..cut]), Ok(Parsed::NeedMore(need)), "{cut}");
    }
}

#[test]
fn a_length_up_to_the_ceiling_is_waited_for_and_one_above_it_is_not() {
    for (family, command) in [(0x11, 0x21), (0x00, 0x20), (0x31, 0x21)] {
        let mut octets = octets(command, family, &[]);
        octets[14..].copy_from_slice(&4_080_u16.to_be_bytes());
        assert_eq!(header(&octets), Ok(Parsed::NeedMore(4_096)));
        for len in [4_081, u16::MAX] {
            octets[14..].copy_from_slice(&len.to_be_bytes());
            expect_fault(&octets, 16, 14, Fault::TooLong);
        }
    }
}

#[test]
fn a_malformed_header_is_told_as_soon_as_the_octet_at_fault_is_there() {
    for (command, family, block, told_with, at, what) in [
        (0x11, 0x11, INET, 13, 12, Fault::UnknownVersion),
        (0x31, 0x11, INET, 13, 12, Fault::UnknownVersion),
        (0x01, 0x11, INET, 13, 12, Fault::UnknownVersion),
        (0x22, 0x11, INET, 13, 12, Fault::UnknownCommand),
        (0x2F, 0x11, INET, 13, 12, Fault::UnknownCommand),
        (0x21, 0x41, INET, 14, 13, Fault::UnknownFamily),
        (0x21, 0xF1, INET, 14, 13, Fault::UnknownFamily),
        (0x21, 0x13, INET, 14, 13, Fault::UnknownTransport),
        (0x21, 0x0F, INET, 14, 13, Fault::UnknownTransport),
        (0x21, 0x11, &INET[..11], 16, 14, Fault::TooShort),
        (0x21, 0x11, &[], 16, 14, Fault::TooShort),
        (0x21, 0x21, &INET6[..35], 16, 14, Fault::TooShort),
        (0x21, 0x21, INET, 16, 14, Fault::TooShort),
    ] {
        expect_fault(&octets(command, family, block), told_with, at, what);
    }
    for (tlvs, at) in [
        (&[1][..], 28),
        (&[1, 0], 28),
        (&[1, 0, 1], 28),
        (&[1, 0xFF, 0xFF, 0], 28),
        (&[1, 0, 1, 9, 1, 0], 32),
        (&[4, 0, 0, 4, 0, 2, 9], 31),
    ] {
        let octets = octets(0x21, 0x11, &[INET, tlvs].concat());
        expect_fault(&octets, octets.len(), at, Fault::TlvBeyondHeader);
    }
}
