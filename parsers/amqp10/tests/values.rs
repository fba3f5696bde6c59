//! How long a value is, and scalars in their shortest form.

use proptest::prelude::*;

use super::super::fault::Fault;
use super::super::value::value_len;
use super::build::value;
use super::*;

#[test]
fn each_category_of_constructor_has_its_width() {
    for (octets, what) in [
        (&[0x40][..], "null"),
        (&[0x45], "list0"),
        (&[0x50, 1], "ubyte"),
        (&[0x60, 0, 1], "ushort"),
        (&[0x70, 0, 0, 0, 1], "uint"),
        (&[0x80, 0, 0, 0, 0, 0, 0, 0, 1], "ulong"),
        (
            &[0x98, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            "uuid",
        ),
        (&[0xA0, 2, 1, 2], "vbin8"),
        (&[0xB1, 0, 0, 0, 1, b'x'], "str32"),
        (&[0xC0, 3, 2, 0x41, 0x42], "list8"),
        (&[0xC0, 1, 0], "list8 of nothing"),
        (&[0xD1, 0, 0, 0, 4, 0, 0, 0, 0], "map32 of nothing"),
        (&[0xE0, 4, 1, 0xA3, 1, b'x'], "array8"),
        (&[0xF0, 0, 0, 0, 7, 0, 0, 0, 1, 0xA3, 1, b'x'], "array32"),
        (&[0x00, 0x53, 0x24, 0x45], "described"),
        (&[0x00, 0xA3, 1, b'x', 0x00, 0x44, 0x40], "described twice"),
        (&[0x00, 0x00, 0x44, 0x44, 0x40], "described descriptor"),
    ] {
        let followed = [octets, &[0xFF; 20]].concat();
        assert_eq!(
            value_len(&followed),
            Ok(Parsed::Value(octets.len())),
            "{what}"
        );
        for cut in 0..octets.len() {
            let answer = value_len(&octets[..cut]);
            let due = cut + 1..=octets.len();
            assert!(
                matches!(answer, Ok(Parsed::NeedMore(more)) if due.contains(&more)),
                "{what} cut at {cut}: {answer:?}"
            );
        }
    }
}

#[test]
fn what_is_no_value_is_told() {
    for (octets, what) in [
        (&[0x01][..], Fault::UnknownConstructor),
        (&[0x10], Fault::UnknownConstructor),
        (&[0x3F], Fault::UnknownConstructor),
        (&[0x00, 0x53, 0x24, 0x20], Fault::UnknownConstructor),
        (&[0xC0, 0], Fault::ListDisagrees),
        (&[0xD0, 0, 0, 0, 3], Fault::ListDisagrees),
        (&[0xE0, 0], Fault::ListDisagrees),
        (&[0xF0, 0, 0, 0, 0], Fault::ListDisagrees),
        (&[0x00; 40], Fault::NestedTooDeep),
    ] {
        assert_eq!(value_len(octets), Err(what), "{octets:02X?}");
    }
}

#[test]
fn a_length_of_four_gigabytes_is_asked_for_and_not_believed() {
    for constructor in [0xB0, 0xD0, 0xF0] {
        let octets = [constructor, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(value_len(&octets), Ok(Parsed::NeedMore(0x1_0000_0004)));
    }
}

#[test]
fn scalars_take_their_shortest_form() {
    for (scalar, octets) in [
        (encode::null(), &[0x40][..]),
        (encode::boolean(true), &[0x41]),
        (encode::boolean(false), &[0x42]),
        (encode::ubyte(7), &[0x50, 7]),
        (encode::ushort(0x0102), &[0x60, 1, 2]),
        (encode::uint(0), &[0x43]),
        (encode::uint(255), &[0x52, 0xFF]),
        (encode::uint(256), &[0x70, 0, 0, 1, 0]),
        (encode::ulong(0), &[0x44]),
        (encode::ulong(255), &[0x53, 0xFF]),
        (encode::ulong(256), &[0x80, 0, 0, 0, 0, 0, 0, 1, 0]),
    ] {
        assert_eq!(scalar.as_ref(), octets);
    }
    assert_eq!(said(|out| encode::binary(out, &[1, 2])), [0xA0, 2, 1, 2]);
    assert_eq!(said(|out| encode::string(out, "x")), [0xA1, 1, b'x']);
    assert_eq!(said(|out| encode::symbol(out, "x")), [0xA3, 1, b'x']);
    let long = said(|out| encode::binary(out, &[9; 256]));
    assert_eq!(long[..6], [0xB0, 0, 0, 1, 0, 9]);
    assert_eq!(long.len(), 5 + 256);
}

proptest! {
    #[test]
    fn a_value_is_as_long_as_it_was_written(
        octets in value(),
        tail in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let followed = [&octets[..], &tail].concat();
        prop_assert_eq!(value_len(&followed), Ok(Parsed::Value(octets.len())));
        for cut in 0..octets.len() {
            let answer = value_len(&octets[..cut]);
            prop_assert!(
                matches!(answer, Ok(Parsed::NeedMore(more)) if more > cut && more <= octets.len())
            );
        }
    }

    #[test]
    fn the_length_of_any_octets_is_bounded_or_awaited(
        octets in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        match value_len(&octets) {
            Ok(Parsed::Value(len)) => prop_assert!(len <= octets.len()),
            Ok(Parsed::NeedMore(more)) => prop_assert!(more > octets.len()),
            Err(_) => {}
        }
    }
}
