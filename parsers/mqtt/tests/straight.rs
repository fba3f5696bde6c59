//! The straight path of a PUBLISH, against the way that fits every packet.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const VERSIONS: [Version; 3] = [Version::V31, Version::V311, Version::V5];

/// What the way that fits every packet makes of it, if it is one for the straight path.
fn general(version: Version, octets: &[u8]) -> Option<CommonPublish> {
    let Ok(Parsed::Value(header)) = fixed_header(octets) else {
        return None;
    };
    let Ok(Parsed::Value(publish)) = publish(&header, version, octets) else {
        return None;
    };
    let is_it = header.packet_type == PacketType::Publish
        && header.check(version).is_ok()
        && header.check_shortest().is_ok()
        && publish.qos == QoS::AtMostOnce
        && publish.properties_len == 0;
    is_it.then(|| CommonPublish {
        packet_len: header.packet_len(),
        header_len: header.len,
        payload_len: publish.payload_len,
    })
}

#[test]
fn a_publish_of_qos_0_takes_the_straight_path() {
    let octets = [
        0x31, 0x08, // PUBLISH, retained; remaining length
        0x00, 0x01, b'a', // topic name
        b'h', b'e', b'l', b'l', b'o', // payload
    ];
    let read = CommonPublish {
        packet_len: 10,
        header_len: 2,
        payload_len: 5,
    };
    assert_eq!(common_publish(Version::V311, &octets), Some(read));
    // Its head is enough.
    assert_eq!(common_publish(Version::V311, &octets[..5]), Some(read));
    assert_eq!(common_publish(Version::V311, &octets[..4]), None);
    // There is no length of properties.
    assert_eq!(common_publish(Version::V5, &octets), None);
}

#[test]
fn other_packets_do_not_take_it() {
    for (first, what) in [
        (0x32, "QoS 1"),
        (0x34, "QoS 2"),
        (0x38, "DUP"),
        (0x40, "PUBACK"),
    ] {
        let octets = [first, 0x05, 0x00, 0x01, b'a', 0x00, 0x01];
        assert_eq!(common_publish(Version::V5, &octets), None, "{what}");
    }
    let padded = [0x30, 0x84, 0x00, 0x00, 0x01, b'a', 0x00];
    assert_eq!(common_publish(Version::V5, &padded), None);
}

proptest! {
    #[test]
    fn the_straight_path_agrees_with_the_other_one(
        first in prop_oneof![0x30..0x34_u8, any::<u8>()],
        topic_len in 0..6_u8,
        mut octets in vec(prop_oneof![Just(0), any::<u8>()], 4..300),
        version in 0..3_usize,
    ) {
        octets[0] = first;
        octets[2..4].copy_from_slice(&[0, topic_len]);
        for version in [VERSIONS[version], Version::V5] {
            for cut in 0..octets.len() {
                let part = &octets[..cut];
                prop_assert_eq!(common_publish(version, part), general(version, part));
            }
        }
    }
}
