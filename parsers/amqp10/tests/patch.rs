//! Changed fields change, and nothing else does.

use proptest::collection::vec;
use proptest::prelude::*;

use super::build::{ListForm, Parts, frame_of, value};
use super::*;

/// The patched head of the frame that `octets` are.
fn patched(octets: &[u8], channel: Channel, payload_len: usize, changes: &[Change<'_>]) -> Vec<u8> {
    let read = read(octets).unwrap();
    said(|out| read.patch(channel, payload_len, changes, out).unwrap())
}

/// A flow of a session, as a list8.
const FLOW: &[u8] = &[
    0, 0, 0, 22, 3, 0, 0, 1, // frame header, DOFF 3
    9, 9, 9, 9, // extended header
    0x00, 0x53, 0x13, 0xC0, 5, 4, // flow
    0x43, 0x43, 0x43,
    0x43, // next-incoming-id, incoming-window, next-outgoing-id, outgoing-window
];

#[test]
fn a_changed_field_changes_the_sizes_around_it() {
    let two = encode::uint(0x0100);
    assert_eq!(
        patched(FLOW, Channel(2), 0, &[(Flow::NEXT_OUTGOING_ID, &two)]),
        [
            0, 0, 0, 26, 3, 0, 0, 2, // SIZE grew by 4; channel 2
            9, 9, 9, 9, // extended header
            0x00, 0x53, 0x13, 0xC0, 9, 4, // the list's size grew by 4
            0x43, 0x43, 0x70, 0, 0, 1, 0, 0x43,
        ]
    );
}

#[test]
fn fields_that_were_left_out_become_null_up_to_the_changed_one() {
    assert_eq!(
        patched(
            FLOW,
            Channel(1),
            0,
            &[(Flow::LINK_CREDIT, &encode::uint(1))]
        ),
        [
            0, 0, 0, 26, 3, 0, 0, 1, // SIZE
            9, 9, 9, 9, // extended header
            0x00, 0x53, 0x13, 0xC0, 9, 7, // seven fields now
            0x43, 0x43, 0x43, 0x43, 0x40, 0x40, 0x52,
            1, // handle, delivery-count, link-credit
        ]
    );
}

#[test]
fn a_list_keeps_its_constructor_unless_the_fields_outgrow_it() {
    for (list, change, expected) in [
        (&[0x45][..], None, &[0x45][..]),
        (&[0xC0, 1, 0], None, &[0xC0, 1, 0]),
        (
            &[0xD0, 0, 0, 0, 4, 0, 0, 0, 0],
            None,
            &[0xD0, 0, 0, 0, 4, 0, 0, 0, 0],
        ),
        (&[0x45], Some(0), &[0xC0, 2, 1, 0x41]),
        (&[0xC0, 1, 0], Some(0), &[0xC0, 2, 1, 0x41]),
        (
            &[0xD0, 0, 0, 0, 4, 0, 0, 0, 0],
            Some(1),
            &[0xD0, 0, 0, 0, 6, 0, 0, 0, 2, 0x40, 0x41],
        ),
    ] {
        let size = 11 + list.len() as u8;
        let octets = [&[0, 0, 0, size, 2, 0, 0, 0, 0x00, 0x53, 0x18], list].concat();
        let value = encode::boolean(true);
        let changes: Vec<_> = change
            .map(|index| (index, value.as_ref()))
            .into_iter()
            .collect();
        let patched = patched(&octets, Channel(0), 0, &changes);
        assert_eq!(&patched[11..], expected, "{list:02X?}");
        assert_eq!(usize::from(patched[3]), patched.len());
    }
    // 254 octets of fields fill a list8.
    for (len, constructor) in [(252, 0xC0), (253, 0xD0)] {
        let value = said(|out| encode::binary(out, &vec![0; len]));
        let head = patched(
            &[0, 0, 0, 12, 2, 0, 0, 0, 0x00, 0x53, 0x18, 0x45],
            Channel(0),
            0,
            &[(0, &value)],
        );
        assert_eq!(head[11], constructor, "{len}");
        assert_eq!(read(&head).unwrap().field(0), Some(&value[..]));
    }
}

#[test]
fn an_unknown_frame_can_change_its_channel_and_nothing_else() {
    let octets = [0, 0, 0, 13, 2, 0, 0, 1, 0x00, 0x53, 0x99, 0x45, 7];
    let read = read(&octets).unwrap();
    let head = said(|out| read.patch(Channel(2), 5, &[], out).unwrap());
    assert_eq!(head, [0, 0, 0, 13, 2, 0, 0, 2]);
    let mut out = vec![1];
    let change = encode::null();
    assert_eq!(read.patch(Channel(2), 5, &[(0, &change)], &mut out), None);
    assert_eq!(out, [1]);
}

#[test]
fn a_frame_that_would_be_too_large_is_not_written() {
    let read = read(FLOW).unwrap();
    let mut out = vec![1];
    let largest = u32::MAX as usize;
    assert_eq!(read.patch(Channel(0), largest, &[], &mut out), None);
    assert_eq!(read.patch(Channel(0), usize::MAX, &[], &mut out), None);
    assert_eq!(out, [1]);
    assert_eq!(
        read.patch(Channel(0), largest - 22, &[], &mut out),
        Some(())
    );
    assert_eq!(out[1..5], [0xFF; 4]);
}

fn any_frame() -> impl Strategy<Value = Parts> {
    frame_of(0x14, "amqp:transfer:list", vec(value(), 0..16))
}

proptest! {
    #[test]
    fn a_patch_with_what_is_there_is_the_identity(
        parts in any_frame(),
        picked in vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let octets = parts.octets();
        let read = read(&octets).unwrap();
        let changes: Vec<_> = picked
            .iter()
            .filter(|_| !parts.fields.is_empty())
            .map(|index| index.index(parts.fields.len()))
            .map(|index| (index, &parts.fields[index][..]))
            .collect();
        let head = patched(&octets, read.header.channel, read.payload_len(), &changes);
        prop_assert_eq!(&head, &octets[..read.payload_at]);
    }

    #[test]
    fn a_patch_changes_what_it_says_and_keeps_the_rest(
        parts in any_frame(),
        changes in prop::collection::btree_map(0..18_usize, value(), 0..4),
        channel in any::<u16>(),
        payload_len in 0..100_000_usize,
    ) {
        let octets = parts.octets();
        let changes: Vec<_> = changes.iter().map(|(&index, value)| (index, &value[..])).collect();
        let mut head = patched(&octets, Channel(channel), payload_len, &changes);

        let mut expected = parts.clone();
        expected.channel = channel;
        expected.payload = vec![0; payload_len];
        for (index, value) in changes {
            while expected.fields.len() <= index {
                expected.fields.push(vec![0x40]);
            }
            expected.fields[index] = value.to_vec();
        }
        // What was put together with a short list that did not fit has a list32 already.
        if octets[parts_list_at(&parts)] == 0xD0 {
            expected.form = ListForm::List32;
        }
        head.resize(head.len() + payload_len, 0);
        prop_assert_eq!(head, expected.octets());
    }
}

/// Where the list of a frame begins.
fn parts_list_at(parts: &Parts) -> usize {
    8 + 4 * parts.extended_header.len() + 1 + parts.descriptor.len()
}
