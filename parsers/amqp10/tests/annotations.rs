//! Annotations come and go, and the rest of the message stays as it is.

use proptest::collection::vec;
use proptest::prelude::*;

use super::build::{descriptors, value};
use super::*;

const KEY: &str = "x-opt-k";
/// The key as a symbol, and true.
const PAIR: &[u8] = b"\xA3\x07x-opt-k\x41";

fn found(message: &[u8]) -> Annotations<'_> {
    match annotations(message) {
        Ok(Parsed::Value(found)) => found,
        other => panic!("{other:?} for {message:02X?}"),
    }
}

fn applied(message: &[u8], edit: &Edit) -> Vec<u8> {
    let (before, after) = (&message[..edit.at.start], &message[edit.at.end..]);
    let changed = [before, &edit.octets, after].concat();
    assert_eq!(
        changed.len() as isize,
        message.len() as isize + edit.growth()
    );
    changed
}

fn with_true(message: &[u8]) -> Vec<u8> {
    applied(message, &found(message).with_true(KEY).unwrap())
}

fn without(message: &[u8]) -> Vec<u8> {
    applied(message, &found(message).without(KEY).unwrap())
}

const TRUE: &[u8] = &[0x41];
const HEADER: &[u8] = &[0x00, 0x53, 0x70, 0xC0, 2, 1, 0x41];
const DELIVERY_ANNOTATIONS: &[u8] = &[0x00, 0x53, 0x71, 0xC1, 1, 0];
const BODY: &[u8] = &[0x00, 0x53, 0x75, 0xA0, 1, b'x'];

#[test]
fn the_section_is_made_where_there_is_none() {
    let section = [&[0x00, 0x53, 0x72, 0xC1, 11, 2], PAIR].concat();
    for before in [
        &[][..],
        HEADER,
        DELIVERY_ANNOTATIONS,
        &[HEADER, DELIVERY_ANNOTATIONS].concat(),
    ] {
        let message = [before, BODY].concat();
        assert_eq!(found(&message).value(KEY), None);
        assert_eq!(found(&message).without(KEY), None);
        let with = [before, &section, BODY].concat();
        assert_eq!(with_true(&message), with);
        assert_eq!(found(&with).value(KEY), Some(TRUE));
        assert_eq!(without(&with), message);
    }
}

#[test]
fn the_section_is_extended_where_there_is_one() {
    let entry = b"\xA3\x01a\x52\x09";
    for (map, extended) in [
        // map8 and map32, of one annotation and of none
        (&[0xC1, 6, 2][..], &[0xC1, 16, 4][..]),
        (
            &[0xD1, 0, 0, 0, 9, 0, 0, 0, 2],
            &[0xD1, 0, 0, 0, 19, 0, 0, 0, 4],
        ),
    ] {
        let message = [&[0x00, 0x53, 0x72], map, entry, BODY].concat();
        let with = [&[0x00, 0x53, 0x72], extended, PAIR, entry, BODY].concat();
        assert_eq!(found(&message).value("a"), Some(&[0x52, 9][..]));
        assert_eq!(with_true(&message), with);
        assert_eq!(without(&with), message);
        // Behind another one it is found, too.
        let behind = [&[0x00, 0x53, 0x72], extended, entry, PAIR, BODY].concat();
        assert_eq!(without(&behind), message);
    }
    let empty = [&[0x00, 0x53, 0x72, 0xC1, 1, 0], BODY].concat();
    let with = [&[0x00, 0x53, 0x72, 0xC1, 11, 2], PAIR, BODY].concat();
    assert_eq!(with_true(&empty), with);
    assert_eq!(without(&with), BODY);
}

#[test]
fn a_map_that_outgrows_its_form_takes_the_longer_one() {
    // Five octets less are as many as a map8 takes with the new pair.
    let value = |len: u8| [&[0xA0, len][..], &vec![7; usize::from(len)]].concat();
    for (len, head) in [
        (239, &[0xC1, 255, 4][..]),
        (240, &[0xD1, 0, 0, 1, 3, 0, 0, 0, 4]),
    ] {
        let entry = [b"\xA3\x01a", &value(len)[..]].concat();
        let size = entry.len() as u8 + 1;
        let message = [&[0x00, 0x53, 0x72, 0xC1, size, 2], &entry[..], BODY].concat();
        let with = [&[0x00, 0x53, 0x72], head, PAIR, &entry, BODY].concat();
        assert_eq!(with_true(&message), with);
        assert_eq!(found(&without(&with)).value("a"), Some(&value(len)[..]));
    }
}

#[test]
fn a_key_is_found_in_every_form_and_a_value_is_told_as_it_is() {
    for key in [
        &b"\xA3\x07x-opt-k"[..],
        b"\xB3\0\0\0\x07x-opt-k",
        b"\xA1\x07x-opt-k",
    ] {
        for value in [&[0x41][..], &[0x56, 1], &[0x42], &[0xA1, 1, b'y']] {
            let size = (key.len() + value.len() + 1) as u8;
            let message = [&[0x00, 0x53, 0x72, 0xC1, size, 2], key, value, BODY].concat();
            assert_eq!(found(&message).value(KEY), Some(value));
            assert_eq!(without(&message), BODY);
        }
    }
}

#[test]
fn the_section_is_known_by_number_and_by_symbol() {
    for descriptor in descriptors(0x72, "amqp:message-annotations:map") {
        let head = [&[0x00], &descriptor[..]].concat();
        let message = [&head[..], &[0xC1, 11, 2], PAIR, BODY].concat();
        assert_eq!(without(&message), BODY);
    }
    for (code, symbol) in [
        (0x73, "amqp:properties:list"),
        (0x74, "amqp:application-properties:map"),
        (0x75, "amqp:data:binary"),
        (0x76, "amqp:amqp-sequence:list"),
        (0x77, "amqp:amqp-value:*"),
        (0x78, "amqp:footer:map"),
    ] {
        for descriptor in descriptors(code, symbol) {
            let message = [&[0x00], &descriptor[..]].concat();
            assert_eq!(found(&message).value(KEY), None, "{symbol}");
        }
    }
}

#[test]
fn what_is_no_message_is_an_error() {
    for payload in [
        &b"{}"[..],
        &[0x00, 0x53, 0x6F, 0x45],
        &[0x00, 0x53, 0x79, 0x45],
        &[0x00, 0xA3, 3, b'x', b':', b'y', 0x45],
        // Sections stand once, and in order.
        &[HEADER, HEADER].concat(),
        &[DELIVERY_ANNOTATIONS, HEADER].concat(),
        // Annotations that are null, a list, an odd number, or more or less than they say.
        &[0x00, 0x53, 0x72, 0x40],
        &[0x00, 0x53, 0x72, 0xC0, 1, 0],
        &[0x00, 0x53, 0x72, 0xC1, 2, 1, 0x41],
        &[0x00, 0x53, 0x72, 0xC1, 2, 0, 0x41],
        &[0x00, 0x53, 0x72, 0xC1, 1, 2],
        &[0x00, 0x53, 0x72, 0xC1, 3, 2, 0xA3, 9],
        &[0x00, 0x53, 0x72, 0xD1, 0, 0, 0, 2, 0, 0],
        &[0x00, 0x53, 0x72, 0xD1, 0, 0, 0, 4, 255, 255, 255, 255],
    ] {
        assert!(annotations(payload).is_err(), "{payload:02X?}");
    }
}

#[test]
fn no_more_is_awaited_than_the_head_of_the_message() {
    let section = [&[0x00, 0x53, 0x72, 0xC1, 11, 2], PAIR].concat();
    for head in [
        &[HEADER, DELIVERY_ANNOTATIONS, &section].concat()[..],
        &[HEADER, &[0x00, 0x53, 0x75]].concat(),
    ] {
        for cut in 0..head.len() {
            let answer = annotations(&head[..cut]);
            assert!(
                matches!(answer, Ok(Parsed::NeedMore(more)) if more > cut && more <= head.len()),
                "{answer:?} at {cut} of {}",
                head.len()
            );
        }
        assert!(matches!(annotations(head), Ok(Parsed::Value(_))));
    }
    // The length of a section is told, and not awaited by those who know better.
    let huge = [0x00, 0x53, 0x72, 0xD1, 255, 255, 255, 255, 0];
    assert_eq!(
        annotations(&huge),
        Ok(Parsed::NeedMore(8 + u32::MAX as usize))
    );
}

/// Message-annotations, none of which is the one that is looked for, and whether there are any.
fn section() -> impl Strategy<Value = (Vec<u8>, bool)> {
    let key = prop_oneof![
        "[a-w]{0,9}".prop_map(|name| said(|out| encode::symbol(out, &name))),
        any::<u64>().prop_map(|number| encode::ulong(number).to_vec()),
    ];
    (vec((key, value()), 0..6), any::<bool>()).prop_map(|(entries, is_short)| {
        let count = entries.len() as u32 * 2;
        let octets: Vec<u8> = entries
            .into_iter()
            .flat_map(|(key, value)| [key, value])
            .flatten()
            .collect();
        let mut section = vec![0x00, 0x53, 0x72];
        if is_short && octets.len() < 200 {
            section.extend([0xC1, octets.len() as u8 + 1, count as u8]);
        } else {
            section.push(0xD1);
            section.extend((octets.len() as u32 + 4).to_be_bytes());
            section.extend(count.to_be_bytes());
        }
        ([section, octets].concat(), count > 0)
    })
}

proptest! {
    #[test]
    fn taking_away_undoes_adding_and_the_rest_stays(
        head in prop::sample::select(vec![&[][..], HEADER, DELIVERY_ANNOTATIONS]),
        section in prop::option::of(section()),
        rest in vec(any::<u8>(), 0..30),
    ) {
        let bare = [&[0x00, 0x53, 0x75], &rest[..]].concat();
        let (section, is_kept) = section.unwrap_or((Vec::new(), true));
        let message = [head, &section, &bare].concat();
        prop_assert_eq!(found(&message).value(KEY), None);
        let with = with_true(&message);
        prop_assert_eq!(found(&with).value(KEY), Some(TRUE));
        prop_assert!(with.starts_with(head) && with.ends_with(&bare));
        // A section of nothing is not kept, since nobody could tell.
        let due = if is_kept { message } else { [head, &bare].concat() };
        prop_assert_eq!(without(&with), due);
    }

    #[test]
    fn the_annotations_of_anything_do_not_depend_on_cuts(
        (section, _) in section(),
        garbage in vec(any::<u8>(), 0..20),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut message = [HEADER, &section, &garbage].concat();
        if let Some((index, octet)) = damage {
            let at = index.index(message.len());
            message[at] = octet;
        }
        let whole = annotations(&message);
        for cut in 0..message.len() {
            match (annotations(&message[..cut]), &whole) {
                (Ok(Parsed::NeedMore(more)), Ok(Parsed::Value(_))) => {
                    prop_assert!(more > cut && more <= message.len());
                }
                (Ok(Parsed::NeedMore(more)), _) => prop_assert!(more > cut),
                (Ok(Parsed::Value(part)), Ok(Parsed::Value(whole))) => {
                    prop_assert_eq!(part.without("a"), whole.without("a"));
                    prop_assert_eq!(part.with_true(KEY), whole.with_true(KEY));
                }
                (part, whole) => prop_assert_eq!(&part, whole),
            }
        }
    }

    #[test]
    fn garbage_has_no_annotations_and_never_a_panic(message in vec(any::<u8>(), 0..80)) {
        if let Ok(Parsed::Value(found)) = annotations(&message) {
            let _ = (found.with_true(KEY), found.without(KEY), found.value(KEY));
        }
    }
}
