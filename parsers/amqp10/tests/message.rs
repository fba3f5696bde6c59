//! Where a message says it goes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::build::value;
use super::*;

fn to(payload: &[u8]) -> Parsed<Option<&str>> {
    message_to(payload, payload.len(), CEILING)
}

/// header, delivery-annotations, message-annotations.
const BEFORE: [&[u8]; 3] = [
    &[0x00, 0x53, 0x70, 0xC0, 2, 1, 0x41],
    &[0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x71, 0xC1, 1, 0],
    &[
        0x00, 0x53, 0x72, 0xD1, 0, 0, 0, 10, 0, 0, 0, 2, 0xA3, 2, b'x', b'-', 0x52, 1,
    ],
];
/// properties: message-id "i", user-id null, to "q/a", subject null.
const PROPERTIES: &[u8] = &[
    0x00, 0x53, 0x73, 0xC0, 11, 4, // properties
    0xA1, 1, b'i', // message-id
    0x40, // user-id
    0xA1, 3, b'q', b'/', b'a', // to
    0x40, // subject
];

#[test]
fn the_to_of_a_message_is_found_behind_the_sections_before_it() {
    for sections in 0..8_usize {
        let before: Vec<_> = (0..3).filter(|bit| sections >> bit & 1 == 1).collect();
        let before: Vec<_> = before.into_iter().map(|index| BEFORE[index]).collect();
        let payload = [&before.concat(), PROPERTIES, &[0x00, 0x53, 0x75, 0xA0, 0]].concat();
        assert_eq!(to(&payload), Parsed::Value(Some("q/a")));
        let end = before.concat().len() + PROPERTIES.len() - 1;
        for cut in 0..end {
            let answer = message_to(&payload[..cut], payload.len(), CEILING);
            assert!(
                matches!(answer, Parsed::NeedMore(more) if more > cut && more <= end),
                "{answer:?} at {cut} of {end}"
            );
        }
        for cut in end..payload.len() {
            let answer = message_to(&payload[..cut], payload.len(), CEILING);
            assert_eq!(answer, Parsed::Value(Some("q/a")));
        }
        // The ceiling counts to the end of the field.
        assert_eq!(
            message_to(&payload, payload.len(), end),
            Parsed::Value(Some("q/a"))
        );
        assert_eq!(
            message_to(&payload, payload.len(), end - 1),
            Parsed::Value(None)
        );
        let answer = message_to(&payload[..4], payload.len(), end - 1);
        assert!(!matches!(answer, Parsed::NeedMore(more) if more >= end));
    }
}

#[test]
fn a_message_without_a_to_has_none() {
    for payload in [
        &[][..],
        &[0x00, 0x53, 0x77, 0xA1, 1, b'x'],          // amqp-value
        &[0x00, 0x53, 0x75, 0xA0, 1, b'x'],          // data
        &[0x00, 0x53, 0x73, 0x45],                   // properties of nothing
        &[0x00, 0x53, 0x73, 0xC0, 3, 2, 0x40, 0x40], // up to user-id
        &[0x00, 0x53, 0x73, 0xC0, 4, 3, 0x40, 0x40, 0x40], // null
        &[0x00, 0x53, 0x73, 0xC0, 5, 3, 0x40, 0x40, 0x52, 1], // a number
        &[0x00, 0x53, 0x73, 0xC0, 6, 3, 0x40, 0x40, 0xA1, 9, b'x'], // beyond the list
        &[0x00, 0x53, 0x73, 0xC0, 9, 3, 0x40, 0x40, 0xA1, 4, b'x'], // beyond the payload
        &[0x00, 0x53, 0x73, 0xC1, 1, 0],             // a map
        &[0x00, 0xA3, 3, b'x', b':', b'y', 0x45],    // an unknown section
        &[0x00],
        &[0x20, 0x20, 0x20],
        b"{\"to\": \"json\"}",
    ] {
        assert_eq!(to(payload), Parsed::Value(None), "{payload:02X?}");
    }
    // What follows the properties is no part of them.
    let beyond = [
        &[0x00, 0x53, 0x73, 0xC0, 5, 3, 0x40, 0x40, 0xA1, 4],
        &b"x"[..],
        &[b'x'; 9],
    ];
    assert_eq!(to(&beyond.concat()), Parsed::Value(None));
    // Sections stand once: what repeats them is no message.
    let repeated = [BEFORE[0], BEFORE[0], BEFORE[0], BEFORE[0], PROPERTIES].concat();
    assert_eq!(to(&repeated), Parsed::Value(None));
}

proptest! {
    #[test]
    fn the_to_of_anything_does_not_depend_on_cuts(
        sections in vec(prop::sample::select(BEFORE.to_vec()), 0..4),
        fields in vec(value(), 0..5),
        garbage in vec(any::<u8>(), 0..20),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ceiling in prop_oneof![Just(CEILING), 0..80_usize],
    ) {
        let octets = fields.concat();
        let size = octets.len() as u32 + 4;
        let mut payload = [
            &sections.concat(),
            &[0x00, 0x53, 0x73, 0xD0][..],
            &size.to_be_bytes(),
            &(fields.len() as u32).to_be_bytes(),
            &octets,
            &garbage,
        ]
        .concat();
        if let Some((index, octet)) = damage {
            let at = index.index(payload.len());
            payload[at] = octet;
        }
        let whole = message_to(&payload, payload.len(), ceiling);
        prop_assert!(matches!(whole, Parsed::Value(_)));
        for cut in 0..payload.len() {
            match message_to(&payload[..cut], payload.len(), ceiling) {
                Parsed::NeedMore(more) => {
                    prop_assert!(more > cut && more <= ceiling.min(payload.len()));
                }
                answer => prop_assert_eq!(answer, whole),
            }
        }
    }

    #[test]
    fn garbage_is_no_message_and_never_a_panic(payload in vec(any::<u8>(), 0..80)) {
        prop_assert!(matches!(to(&payload), Parsed::Value(_)));
    }
}
