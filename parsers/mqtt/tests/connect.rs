//! CONNECT, whole and cut short.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use crate::Parsed;

/// A CONNECT of MQTT 5.0 with every field there is.
pub(super) const CONNECT_V5: &[u8] = &[
    0x10, 0x3D, // CONNECT; remaining length 61
    0x00, 0x04, b'M', b'Q', b'T', b'T', // protocol name
    0x05, // protocol version
    0xEE, // user name, password, Will Retain, Will QoS 1, Will, Clean Start
    0x00, 0x3C, // keep alive
    0x0E, // property length
    0x27, 0x00, 0x01, 0x00, 0x00, // Maximum Packet Size 65,536
    0x17, 0x00, // Request Problem Information 0
    0x26, 0x00, 0x01, b'k', 0x00, 0x01, b'v', // user property
    0x00, 0x02, b'i', b'd', // client identifier
    0x05, 0x02, 0x00, 0x00, 0x00, 0x09, // Will properties: message expiry interval 9
    0x00, 0x03, b'w', b'/', b't', // Will topic
    0x00, 0x04, 1, 2, 3, 4, // Will payload
    0x00, 0x05, b'a', b'l', b'i', b'c', b'e', // user name
    0x00, 0x03, b'p', b'w', b'd', // password
];

pub(super) fn read_connect(octets: &[u8]) -> Result<Connect<'_>, Malformed> {
    match connect_start(octets) {
        Parsed::Value(Some(start)) => connect(&start, octets),
        other => panic!("not the start of a CONNECT: {other:?}"),
    }
}

#[test]
fn a_connect_is_read_with_every_field_there_is() {
    let expected = Connect {
        version: Version::V5,
        client_id: "id",
        user_name: Some("alice"),
        will: Some(Will {
            topic: "w/t",
            properties_len: 5,
            payload_len: 4,
        }),
        maximum_packet_size: Some(65_536),
        request_problem_information: false,
        topic_alias_maximum: 0,
    };
    assert_eq!(read_connect(CONNECT_V5), Ok(expected));
}

#[test]
fn a_connect_cut_short_anywhere_is_malformed_and_never_a_panic() {
    for len in 11..CONNECT_V5.len() {
        let mut octets = CONNECT_V5[..len].to_vec();
        octets[1] = (len - 2) as u8;
        let fault = read_connect(&octets).unwrap_err();
        assert!(fault.at <= len, "{fault}");
    }
}

#[test]
fn the_start_of_a_connect_is_known_at_its_level() {
    for (octets, version) in [
        (&CONNECT_V5[..9], Some(Version::V5)),
        (b"\x10\x0C\0\x04MQTT\x04", Some(Version::V311)),
        (b"\x10\x0C\0\x04MQTT\x84", Some(Version::V311)),
        (b"\x10\x0E\0\x06MQIsdp\x03", Some(Version::V31)),
        (b"\x10\x0E\0\x06MQIsdp\x83", Some(Version::V31)),
        (b"\x10\x0C\0\x04MQTT\x06", None),
        (b"\x10\x0C\0\x04MQTT\x03", None),
    ] {
        let Parsed::Value(Some(start)) = connect_start(octets) else {
            panic!("{octets:02X?}");
        };
        assert_eq!(start.version, version);
        for cut in 0..octets.len() {
            let answer = connect_start(&octets[..cut]);
            assert!(
                matches!(answer, Parsed::NeedMore(more) if more > cut),
                "{cut}"
            );
        }
    }
}

#[test]
fn what_is_no_connect_is_told_at_the_first_octet_that_differs() {
    for octets in [
        &b"GET / HTTP"[..],
        b"AMQP\0\0\x09\x01",
        &[0x16, 0x03, 0x01],
        &[0x11],
        &[0x10, 0xFF, 0xFF, 0xFF, 0xFF],
        b"\x10\x0C\0\x04MQTX",
        b"\x10\x0C\0\x05",
        b"\x10\x0C\x01",
    ] {
        assert_eq!(connect_start(octets), Parsed::Value(None), "{octets:02X?}");
    }
}

proptest! {
    #[test]
    fn no_octets_make_the_reading_of_a_connect_panic(
        body in vec(any::<u8>(), 0..120),
        level in prop_oneof![Just(4_u8), Just(5)],
    ) {
        let mut octets = vec![0x10, (body.len() + 7) as u8];
        octets.extend_from_slice(b"\0\x04MQTT");
        octets.push(level);
        octets.extend(body);
        if let Err(fault) = read_connect(&octets) {
            prop_assert!(fault.at <= octets.len());
        }
    }
}
