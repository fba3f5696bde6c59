//! Maximum Packet Size in CONNECT and CONNACK: put in or lowered, and nothing else touched.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::encode::integer;
use super::super::*;
use super::connect::{CONNECT_V5, read_connect};
use crate::Parsed;

fn read_header(octets: &[u8]) -> FixedHeader {
    match fixed_header(octets) {
        Ok(Parsed::Value(header)) => header,
        other => panic!("no fixed header: {other:?}"),
    }
}

/// A packet of this type with these octets before its properties, and these behind.
fn packet(first: u8, before: &[u8], properties: &[u8], behind: &[u8]) -> Vec<u8> {
    let rest = [before, &integer(properties.len()), properties, behind].concat();
    [&[first][..], &integer(rest.len()), &rest].concat()
}

#[test]
fn a_connect_is_lowered_in_its_place() {
    let mut expected = CONNECT_V5.to_vec();
    // Maximum Packet Size 65,536 stands behind its identifier at octet 13.
    expected[14..18].copy_from_slice(&[0, 0, 0x10, 0]);
    let header = read_header(CONNECT_V5);
    assert_eq!(lower_connect(&header, CONNECT_V5, 4_096), Some(expected));
    for ceiling in [65_536, 65_537, u32::MAX] {
        assert_eq!(lower_connect(&header, CONNECT_V5, ceiling), None);
    }
}

#[test]
fn malformed_properties_of_a_connack_are_told() {
    for (properties, what) in [
        (&[0x27, 0, 0, 0, 0][..], Fault::BadPropertyValue),
        (
            &[0x27, 0, 0, 0, 1, 0x27, 0, 0, 0, 1],
            Fault::RepeatedProperty,
        ),
        (&[0x23, 0, 1], Fault::UnknownProperty),
        (&[0x27, 0, 0], Fault::FieldBeyondPacket),
        (&[0x1F, 0, 9, b'x'], Fault::FieldBeyondPacket),
    ] {
        let octets = packet(0x20, &[0, 0], properties, &[]);
        let fault = lower_connack(&read_header(&octets), &octets, 100).unwrap_err();
        assert_eq!(fault.what, what, "{properties:02X?}");
    }
    // A property length beyond the packet.
    let octets = [0x20, 3, 0, 0, 9];
    let fault = lower_connack(&read_header(&octets), &octets, 100).unwrap_err();
    assert_eq!(fault.what, Fault::FieldBeyondPacket);
}

/// Every other property of a CONNACK, so long that both lengths grow somewhere.
fn others() -> impl Strategy<Value = Vec<u8>> {
    let string = vec(any::<u8>(), 0..90)
        .prop_map(|text| [&(text.len() as u16).to_be_bytes()[..], &text].concat());
    let property = prop_oneof![
        Just(vec![0x11, 0, 0, 0, 9]),
        Just(vec![0x13, 0, 9]),
        Just(vec![0x21, 0, 9]),
        Just(vec![0x22, 0, 9]),
        Just(vec![0x24, 1]),
        Just(vec![0x2A, 1]),
        string
            .clone()
            .prop_map(|text| [&[0x12][..], &text].concat()),
        (string.clone(), string).prop_map(|(name, value)| [&[0x26][..], &name, &value].concat()),
    ];
    vec(property, 0..6).prop_map(|properties| properties.concat())
}

proptest! {
    #[test]
    fn a_connack_has_the_smaller_size_and_all_else_as_it_was(
        before in others(),
        own in proptest::option::of(1..=u32::MAX),
        after in others(),
        ceiling in 1..=u32::MAX,
    ) {
        let most = |size: u32| [&[0x27][..], &size.to_be_bytes()].concat();
        let properties = |own: Option<u32>| match own {
            Some(own) => [&before[..], &most(own), &after].concat(),
            None => [&before[..], &after].concat(),
        };
        let received = packet(0x20, &[1, 0], &properties(own), &[]);
        let expected = match own {
            Some(own) if own <= ceiling => None,
            Some(_) => Some(packet(0x20, &[1, 0], &properties(Some(ceiling)), &[])),
            None => {
                let properties = [properties(None), most(ceiling)].concat();
                Some(packet(0x20, &[1, 0], &properties, &[]))
            }
        };
        let lowered = lower_connack(&read_header(&received), &received, ceiling);
        prop_assert_eq!(lowered, Ok(expected));
    }

    #[test]
    fn a_lowered_connect_says_what_it_said_but_for_two_properties(
        user in vec(any::<char>(), 0..60),
        own in proptest::option::of(1..=u32::MAX),
        aliases in proptest::option::of(any::<u16>()),
        ceiling in 1..=u32::MAX,
    ) {
        let user: String = user.into_iter().filter(|&c| c != '\0').collect();
        let string = |text: &str| [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat();
        let mut properties = [&[0x26][..], &string("k"), &string(&user)].concat();
        properties.extend(aliases.into_iter().flat_map(|n| [&[0x22][..], &n.to_be_bytes()].concat()));
        properties.extend(own.into_iter().flat_map(|n| [&[0x27][..], &n.to_be_bytes()].concat()));
        let before = [&string("MQTT")[..], &[5, 0x82, 0, 9]].concat();
        let behind = [string("id"), string("alice")].concat();
        let received = packet(0x10, &before, &properties, &behind);
        let said = read_connect(&received).unwrap();
        match lower_connect(&read_header(&received), &received, ceiling) {
            None => prop_assert!(own.is_some_and(|own| own <= ceiling)),
            Some(lowered) => {
                let expected = Connect {
                    maximum_packet_size: Some(ceiling),
                    topic_alias_maximum: 0,
                    ..said
                };
                prop_assert_eq!(read_connect(&lowered), Ok(expected));
                let grown = if own.is_some() { 0 } else { 5 };
                prop_assert!((grown..=grown + 2).contains(&(lowered.len() - received.len())));
            }
        }
    }

    #[test]
    fn no_octets_make_the_rewriting_panic(octets in vec(any::<u8>(), 0..80), ceiling: u32) {
        if let Ok(Parsed::Value(header)) = fixed_header(&octets) {
            let _ = lower_connect(&header, &octets, ceiling);
            let _ = lower_connack(&header, &octets, ceiling);
        }
    }
}
