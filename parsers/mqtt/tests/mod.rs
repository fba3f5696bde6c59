//! Every row of the grammar, and the laws: cuts do not matter, decoding undoes encoding.

mod connect;
mod rewrite;
mod straight;

use std::num::NonZeroU16;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::Parsed;

/// A fixed header of this type with flags 0.
fn header(packet_type: PacketType, len: usize, remaining_length: usize) -> FixedHeader {
    FixedHeader {
        packet_type,
        flags: 0,
        len,
        remaining_length,
    }
}

#[test]
fn a_fixed_header_is_read_at_each_boundary_of_its_length() {
    // MQTT 5.0 §1.5.5, table 1-1.
    for (octets, len, remaining_length) in [
        (&[0xC0, 0x00][..], 2, 0),
        (&[0xC0, 0x7F], 2, 127),
        (&[0xC0, 0x80, 0x01], 3, 128),
        (&[0xC0, 0xFF, 0x7F], 3, 16_383),
        (&[0xC0, 0x80, 0x80, 0x01], 4, 16_384),
        (&[0xC0, 0xFF, 0xFF, 0x7F], 4, 2_097_151),
        (&[0xC0, 0x80, 0x80, 0x80, 0x01], 5, 2_097_152),
        (&[0xC0, 0xFF, 0xFF, 0xFF, 0x7F], 5, 268_435_455),
    ] {
        let expected = header(PacketType::Pingreq, len, remaining_length);
        assert_eq!(fixed_header(octets), Ok(Parsed::Value(expected)));
        assert_eq!(expected.check_shortest(), Ok(()));
        for cut in 0..octets.len() {
            let answer = fixed_header(&octets[..cut]);
            assert_eq!(
                answer,
                Ok(Parsed::NeedMore((cut + 1).max(2))),
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn a_remaining_length_of_five_octets_is_malformed_at_its_fourth() {
    let expected = Err(Malformed {
        at: 1,
        what: Fault::OverlongInteger,
    });
    assert_eq!(fixed_header(&[0x30, 0xFF, 0xFF, 0xFF, 0xFF]), expected);
    assert_eq!(
        fixed_header(&[0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
        expected
    );
}

#[test]
fn a_padded_remaining_length_is_read_and_told() {
    let Ok(Parsed::Value(padded)) = fixed_header(&[0x30, 0x84, 0x00]) else {
        panic!("MQTT 3.1.1 allows it");
    };
    assert_eq!((padded.remaining_length, padded.len), (4, 3));
    assert_eq!(padded.packet_len(), 7);
    let fault = padded.check_shortest().unwrap_err();
    assert_eq!((fault.at, fault.what), (1, Fault::PaddedInteger));
}

#[test]
fn each_type_has_its_flags_and_lengths() {
    use PacketType as P;
    use Version::{V5, V31, V311};
    for (packet_type, flags, remaining_length, allowed) in [
        (P::Connect, 0, 12, &[V31, V311, V5][..]),
        (P::Connect, 1, 12, &[V31]),
        (P::Connack, 0, 2, &[V31, V311]),
        (P::Connack, 0, 3, &[V5]),
        (P::Publish, 0b1101, 2, &[V31, V311, V5]),
        (P::Publish, 0, 1, &[]),
        (P::Puback, 0, 2, &[V31, V311, V5]),
        (P::Puback, 0, 3, &[V5]),
        (P::Puback, 0, 1, &[]),
        (P::Pubrel, 0b0010, 2, &[V31, V311, V5]),
        (P::Pubrel, 0, 2, &[V31]),
        (P::Subscribe, 0b0010, 6, &[V31, V311, V5]),
        (P::Subscribe, 0b1010, 6, &[V31]),
        (P::Unsubscribe, 0b0010, 5, &[V31, V311, V5]),
        (P::Unsuback, 0, 2, &[V31, V311]),
        (P::Unsuback, 0, 4, &[V5]),
        (P::Pingreq, 0, 0, &[V31, V311, V5]),
        (P::Pingresp, 0, 1, &[]),
        (P::Disconnect, 0, 0, &[V31, V311, V5]),
        (P::Disconnect, 0, 1, &[V5]),
        (P::Auth, 0, 0, &[V5]),
    ] {
        let header = FixedHeader {
            packet_type,
            flags,
            len: 2,
            remaining_length,
        };
        for version in [V31, V311, V5] {
            let is_allowed = allowed.contains(&version);
            assert_eq!(
                header.check(version).is_ok(),
                is_allowed,
                "{header:?} {version:?}"
            );
        }
    }
}

/// A PUBLISH with QoS 2, topic "a/b", id 258, content type "x" and payload "pay".
const PUBLISH_V5: &[u8] = &[
    0x34, 0x0F, // PUBLISH, QoS 2; remaining length 15
    0x00, 0x03, b'a', b'/', b'b', // topic name
    0x01, 0x02, // packet identifier
    0x04, 0x03, 0x00, 0x01, b'x', // property length, content type
    b'p', b'a', b'y', // payload
];

fn read_publish(version: Version, octets: &[u8]) -> Result<Parsed<Publish<'_>>, Malformed> {
    match fixed_header(octets)? {
        Parsed::Value(header) => publish(&header, version, octets),
        Parsed::NeedMore(octets) => Ok(Parsed::NeedMore(octets)),
    }
}

#[test]
fn the_head_of_a_publish_is_read_as_soon_as_it_is_there() {
    let expected = Publish {
        qos: QoS::ExactlyOnce(258.try_into().unwrap()),
        dup: false,
        topic: b"a/b",
        properties_len: 4,
        payload_len: 3,
    };
    for cut in 0..=PUBLISH_V5.len() {
        match read_publish(Version::V5, &PUBLISH_V5[..cut]) {
            Ok(Parsed::Value(publish)) => {
                assert!(cut >= 10, "the property length is at octet 9");
                assert_eq!(publish, expected);
            }
            Ok(Parsed::NeedMore(octets)) => {
                assert!(cut < 10, "{cut} octets are enough");
                assert!((cut + 1..=10).contains(&octets), "{octets} at {cut}");
            }
            Err(fault) => panic!("{fault} at {cut}"),
        }
    }
}

#[test]
fn before_mqtt_5_what_follows_the_identifier_is_payload() {
    let Ok(Parsed::Value(publish)) = read_publish(Version::V311, PUBLISH_V5) else {
        panic!("it is whole");
    };
    assert_eq!((publish.properties_len, publish.payload_len), (0, 8));
}

#[test]
fn a_publish_may_be_empty_and_its_topic_an_alias() {
    let Ok(Parsed::Value(publish)) = read_publish(Version::V5, &[0x30, 0x03, 0, 0, 0]) else {
        panic!("it is whole");
    };
    assert_eq!((publish.qos, publish.payload_len), (QoS::AtMostOnce, 0));
    assert!(publish.topic.is_empty());
}

#[test]
fn a_topic_alias_is_found_among_all_properties_of_a_publish() {
    let properties = [
        &[0x01, 1][..],                  // Payload Format Indicator
        &[0x02, 0, 0, 0, 9],             // Message Expiry Interval
        &[0x03, 0, 1, b'c'],             // Content Type
        &[0x08, 0, 1, b'r'],             // Response Topic
        &[0x09, 0, 2, 0xFF, 0],          // Correlation Data
        &[0x0B, 0x80, 0x01],             // Subscription Identifier
        &[0x0B, 0x05],                   // Subscription Identifier, again
        &[0x26, 0, 1, b'k', 0, 1, b'v'], // User Property
        &[0x26, 0, 1, b'k', 0, 1, b'v'], // User Property, again
        &[0x23, 0x01, 0x02],             // Topic Alias 258
    ];
    for (properties, alias) in [
        (properties.concat(), NonZeroU16::new(258)),
        (properties[..9].concat(), None),
        (vec![], None),
    ] {
        let body = [&[0, 0, properties.len() as u8][..], &properties, b"pay"].concat();
        let packet = [&[0x30, body.len() as u8][..], &body].concat();
        let Ok(Parsed::Value(header)) = fixed_header(&packet) else {
            panic!("it is whole");
        };
        let Ok(Parsed::Value(publish)) = publish(&header, Version::V5, &packet) else {
            panic!("it is whole");
        };
        let head_len = packet.len() - 3;
        for cut in 5..packet.len() {
            let expected = if cut < head_len {
                Parsed::NeedMore(head_len)
            } else {
                Parsed::Value(alias)
            };
            assert_eq!(
                publish.topic_alias(&header, &packet[..cut]),
                Ok(expected),
                "{cut}"
            );
        }
    }
}

#[test]
fn malformed_properties_of_a_publish_are_told_by_the_octet_at_fault() {
    for (properties, at, what) in [
        (&[0x23, 0, 0][..], 5, Fault::BadPropertyValue),
        (
            &[0x01, 0, 0x23, 0, 1, 0x23, 0, 1],
            10,
            Fault::RepeatedProperty,
        ),
        (&[0x01, 0, 0x11, 0, 0, 0, 0], 7, Fault::UnknownProperty),
        (&[0x26, 0, 1, b'k', 0, 9], 11, Fault::FieldBeyondPacket),
    ] {
        let body = [&[0, 0, properties.len() as u8][..], properties].concat();
        let packet = [&[0x30, body.len() as u8][..], &body].concat();
        let Ok(Parsed::Value(header)) = fixed_header(&packet) else {
            panic!("it is whole");
        };
        let Ok(Parsed::Value(publish)) = publish(&header, Version::V5, &packet) else {
            panic!("it is whole");
        };
        let fault = publish.topic_alias(&header, &packet).unwrap_err();
        assert_eq!((fault.at, fault.what), (at, what), "{properties:02X?}");
    }
}

#[test]
fn a_publish_may_be_given_another_topic() {
    let Ok(Parsed::Value(header)) = fixed_header(PUBLISH_V5) else {
        panic!("it is whole");
    };
    let Ok(Parsed::Value(publish)) = publish(&header, Version::V5, PUBLISH_V5) else {
        panic!("it is whole");
    };
    let properties = publish.properties(&header, PUBLISH_V5).unwrap();
    let mut out = Vec::new();
    publish_head(&mut out, &header, &publish, publish.topic, properties).unwrap();
    assert_eq!(out, PUBLISH_V5[..14]);
    out.clear();
    let topic = [b't'; 200];
    publish_head(&mut out, &header, &publish, &topic, properties).unwrap();
    // 197 octets of topic more: a remaining length of 212 takes two octets.
    assert_eq!(out[..5], [0x34, 0xD4, 0x01, 0x00, 0xC8]);
    assert_eq!(out[205..], PUBLISH_V5[7..14]);
}

#[test]
fn a_malformed_publish_is_told_by_the_octet_at_fault() {
    for (octets, at, what) in [
        (
            &[0x36, 7, 0, 1, b't', 0, 1, 0, 0][..],
            0,
            Fault::ReservedQoS,
        ),
        (&[0x38, 4, 0, 1, b't', 0], 0, Fault::DuplicateWithoutQoS),
        (&[0x32, 6, 0, 1, b't', 0, 0, 0], 5, Fault::ZeroPacketId),
        (&[0x30, 1, 0], 2, Fault::FieldBeyondPacket),
        (&[0x30, 5, 0, 9], 2, Fault::FieldBeyondPacket),
        (&[0x32, 4, 0, 1, b't', 0], 2, Fault::FieldBeyondPacket),
        (&[0x30, 5, 0, 1, b't', 2, 0], 5, Fault::FieldBeyondPacket),
        (&[0x30, 4, 0, 1, b't', 0x80], 5, Fault::FieldBeyondPacket),
        (&[0x30, 6, 0, 1, b't', 0x80, 0, 0], 5, Fault::PaddedInteger),
    ] {
        let expected = Err(Malformed { at, what });
        assert_eq!(read_publish(Version::V5, octets), expected, "{octets:02X?}");
    }
}

#[test]
fn what_sizegate_says_has_the_octets_of_the_specification() {
    let mut out = Vec::new();
    let mut say = |write: &dyn Fn(&mut Vec<u8>)| {
        out.clear();
        write(&mut out);
        out.clone()
    };
    let ack = |packet_type, reason_code, reason_string| Acknowledgement {
        packet_type,
        packet_id: 0x0102,
        reason_code,
        reason_string,
    };
    use PacketType::{Puback, Pubcomp, Pubrec};
    for (packet, octets) in [
        (ack(Puback, 0, None), &[0x40, 2, 1, 2][..]),
        (ack(Pubrec, 0, None), &[0x50, 2, 1, 2]),
        (ack(Pubcomp, 0x92, None), &[0x70, 3, 1, 2, 0x92]),
        (
            ack(Puback, 0x97, Some("no")),
            &[0x40, 9, 1, 2, 0x97, 5, 0x1F, 0, 2, b'n', b'o'],
        ),
    ] {
        assert_eq!(say(&|out| acknowledgement(out, &packet)), octets);
    }
    assert_eq!(say(&|out| connack(out, 0x88, None)), [0x20, 3, 0, 0x88, 0]);
    let octets = [0x20, 7, 0, 0x95, 4, 0x1F, 0, 1, b'x'];
    assert_eq!(say(&|out| connack(out, 0x95, Some("x"))), octets);
    assert_eq!(say(&|out| disconnect(out, 0x95, None)), [0xE0, 1, 0x95]);
    let octets = [0xE0, 6, 0x95, 4, 0x1F, 0, 1, b'x'];
    assert_eq!(say(&|out| disconnect(out, 0x95, Some("x"))), octets);
}

proptest! {
    #[test]
    fn what_sizegate_says_has_the_length_that_its_header_tells(
        reason_code in any::<u8>(),
        text in proptest::option::of("[ -~]{0,300}"),
    ) {
        let text = text.as_deref();
        let mut out = Vec::new();
        disconnect(&mut out, reason_code, text);
        let Ok(Parsed::Value(header)) = fixed_header(&out) else {
            panic!("a header is there");
        };
        prop_assert_eq!(header.packet_type, PacketType::Disconnect);
        prop_assert_eq!(header.packet_len(), out.len());
        prop_assert_eq!(header.check(Version::V5), Ok(()));
        prop_assert_eq!(header.check_shortest(), Ok(()));
        let tail = text.unwrap_or_default().as_bytes();
        prop_assert!(out.ends_with(tail));
    }

    #[test]
    fn the_head_of_a_publish_does_not_depend_on_what_follows(
        octets in vec(any::<u8>(), 0..300),
        flags in 0..16_u8,
        version in prop_oneof![Just(Version::V31), Just(Version::V311), Just(Version::V5)],
    ) {
        let mut octets = octets;
        octets.insert(0, 0x30 | flags);
        let whole = read_publish(version, &octets);
        for cut in 0..octets.len() {
            match read_publish(version, &octets[..cut]) {
                Ok(Parsed::NeedMore(more)) => prop_assert!(more > cut),
                answer => prop_assert_eq!(answer, whole),
            }
        }
    }
}
