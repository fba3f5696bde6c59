//! What holds for all frames: cuts, garbage, and the short way through a transfer.

use proptest::collection::vec;
use proptest::prelude::*;

use super::build::{Parts, descriptors, frame_of, transfer_fields, value};
use super::*;

/// The performatives and SASL frames, with numbers and symbols.
const ALL: [(u8, &str); 14] = [
    (0x10, "amqp:open:list"),
    (0x11, "amqp:begin:list"),
    (0x12, "amqp:attach:list"),
    (0x13, "amqp:flow:list"),
    (0x14, "amqp:transfer:list"),
    (0x15, "amqp:disposition:list"),
    (0x16, "amqp:detach:list"),
    (0x17, "amqp:end:list"),
    (0x18, "amqp:close:list"),
    (0x40, "amqp:sasl-mechanisms:list"),
    (0x41, "amqp:sasl-init:list"),
    (0x42, "amqp:sasl-challenge:list"),
    (0x43, "amqp:sasl-response:list"),
    (0x44, "amqp:sasl-outcome:list"),
];

fn any_frame() -> impl Strategy<Value = Parts> {
    prop::sample::select(&ALL[..])
        .prop_flat_map(|(code, symbol)| frame_of(code, symbol, vec(value(), 0..16)))
}

fn transfer_frame() -> impl Strategy<Value = Parts> {
    frame_of(0x14, "amqp:transfer:list", transfer_fields())
}

/// Everything that is read of a frame, by the way that fits every frame.
fn read_all<'a>(
    header: &FrameHeader,
    octets: &'a [u8],
    ceiling: usize,
) -> Result<Parsed<Performative<'a>>, Malformed> {
    let answer = performative(header, octets, ceiling)?;
    if let Parsed::Value(read) = &answer {
        // None of these may panic, whatever the fields are.
        let faults = [
            read.open().err(),
            read.begin().err(),
            read.attach().err(),
            read.flow().err(),
            read.transfer().err(),
            read.disposition().err(),
            read.detach().err(),
            read.end().err(),
            read.close().err(),
            read.sasl_init().err(),
            read.sasl_challenge().err(),
            read.sasl_response().err(),
            read.sasl_outcome().err(),
            read.sasl_mechanisms().map(Iterator::count).err(),
        ];
        for fault in faults.into_iter().flatten() {
            assert!(fault.at <= read.payload_at, "{fault}");
        }
    }
    Ok(answer)
}

/// Checks that each prefix of `octets` is answered with `NeedMore` or as the whole is.
fn cuts_do_not_matter(octets: &[u8], ceiling: usize) -> Result<(), TestCaseError> {
    let Ok(Parsed::Value(header)) = frame_header(octets) else {
        return Ok(());
    };
    let whole = read_all(&header, octets, ceiling);
    for cut in 8..octets.len() {
        let part = &octets[..cut];
        match read_all(&header, part, ceiling) {
            Ok(Parsed::NeedMore(more)) => {
                prop_assert!(more > cut);
                prop_assert!(more <= header.frame_len());
                prop_assert!(more <= ceiling.max(1_100));
            }
            answer => prop_assert_eq!(answer, whole),
        }
        if let Some(transfer) = common_transfer(&header, part) {
            prop_assert_eq!(common_transfer(&header, octets), Some(transfer));
        }
        if let Some(delivery) = whole_delivery(part) {
            prop_assert_eq!(whole_delivery(octets), Some(delivery));
        }
    }
    Ok(())
}

/// Checks that the short way agrees with the general one where it answers.
fn ways_agree(octets: &[u8]) -> Result<Option<Transfer<'_>>, TestCaseError> {
    let Ok(Parsed::Value(header)) = frame_header(octets) else {
        return Ok(None);
    };
    let short = common_transfer(&header, octets);
    if let Some(transfer) = short {
        let Ok(Parsed::Value(general)) = performative(&header, octets, CEILING) else {
            return Err(TestCaseError::fail("only the short way takes it"));
        };
        prop_assert_eq!(general.transfer(), Ok(transfer));
    }
    if let Some(delivery) = whole_delivery(octets) {
        let Some(transfer) = short else {
            return Err(TestCaseError::fail("only the straight way takes it"));
        };
        prop_assert!(!transfer.more && !transfer.aborted && transfer.delivery_id.is_some());
        let read = WholeDelivery {
            channel: header.channel,
            handle: transfer.handle,
            frame_len: header.frame_len(),
            payload_len: header.frame_len() - transfer.payload_at,
        };
        prop_assert_eq!(delivery, read);
    }
    Ok(short)
}

/// A transfer in the form that nearly all have, with null where it may stand.
fn common() -> impl Strategy<Value = (Vec<u8>, Transfer<'static>)> {
    (
        any::<(u32, Option<u32>, Option<u32>)>(),
        prop::sample::select(vec![None, Some(&b""[..]), Some(b"t"), Some(&[7; 32])]),
        any::<(Option<bool>, bool, bool, bool, bool)>(),
        vec(any::<u8>(), 0..20),
    )
        .prop_map(|((handle, id, format), delivery_tag, flags, payload)| {
            let (settled, more, resume, aborted, batchable) = flags;
            let mut transfer = Transfer {
                handle: Handle(handle),
                delivery_id: id,
                delivery_tag,
                message_format: format,
                settled,
                more,
                rcv_settle_mode: None,
                state: None,
                resume,
                aborted,
                batchable,
                payload_at: 0,
            };
            let octets = said(|out| encode::transfer(out, Channel(1), &transfer, &payload));
            transfer.payload_at = octets.len() - payload.len();
            (octets, transfer)
        })
}

#[test]
fn the_short_way_leaves_what_is_unusual_to_the_general_one() {
    let common = [
        0, 0, 0, 22, 2, 0, 0, 0, // frame header
        0x00, 0x53, 0x14, 0xC0, 5, 4, // transfer
        0x43, 0x43, 0x40, 0x43, // handle, delivery-id, delivery-tag, message-format
        1, 2, 3, 4, // payload
    ];
    assert!(ways_agree(&common).unwrap().is_some());
    assert!(whole_delivery(&common).is_some());
    for (at, octet, what) in [
        (3, 17, "a list beyond the frame"),
        (10, 0x13, "a flow"),
        (11, 0xC1, "a map"),
        (12, 0, "no room for the count"),
        (12, 6, "a field more than counted"),
        (13, 5, "a field less than counted"),
        (14, 0x40, "no handle"),
        (15, 0x53, "a ulong for a delivery-id"),
    ] {
        let mut octets = common;
        octets[at] = octet;
        assert_eq!(ways_agree(&octets).unwrap(), None, "{what}");
        assert_eq!(whole_delivery(&octets), None, "{what}");
    }
}

#[test]
fn what_is_wrong_with_a_frame_that_is_too_short_does_not_depend_on_cuts() {
    for body in [
        &[0x0A, 0x2C][..],
        &[0x00, 0x53],
        &[0x00],
        &[0x00, 0xA3, 0x0E],
    ] {
        let size = 8 + body.len() as u8;
        let octets = [&[0, 0, 0, size, 2, 0, 0, 0], body].concat();
        cuts_do_not_matter(&octets, CEILING).unwrap();
    }
}

proptest! {
    #[test]
    fn a_damaged_transfer_is_not_taken_for_a_common_one(
        (octets, _) in common(),
        at in 0..24_usize,
        octet in any::<u8>(),
    ) {
        let mut octets = octets;
        if let Some(damaged) = octets.get_mut(at) {
            *damaged = octet;
        }
        ways_agree(&octets)?;
        cuts_do_not_matter(&octets, CEILING)?;
    }

    #[test]
    fn a_frame_is_read_as_it_was_put_together(parts in any_frame()) {
        let octets = parts.octets();
        let read = read(&octets).unwrap();
        prop_assert_eq!(read.header.channel, Channel(parts.channel));
        prop_assert_eq!(read.payload_len(), parts.payload.len());
        let fields: Vec<_> = read.fields().map(<[u8]>::to_vec).collect();
        prop_assert_eq!(fields, parts.fields);
    }

    #[test]
    fn a_performative_does_not_depend_on_cuts(parts in any_frame(), ceiling in 0..400_usize) {
        cuts_do_not_matter(&parts.octets(), CEILING)?;
        cuts_do_not_matter(&parts.octets(), ceiling)?;
    }

    #[test]
    fn a_transfer_does_not_depend_on_cuts(parts in transfer_frame()) {
        cuts_do_not_matter(&parts.octets(), CEILING)?;
    }

    #[test]
    fn a_damaged_frame_does_not_depend_on_cuts_and_never_panics(
        parts in any_frame(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut octets = parts.octets();
        for (index, octet) in damage {
            let at = index.index(octets.len());
            octets[at] = octet;
        }
        cuts_do_not_matter(&octets, CEILING)?;
        ways_agree(&octets)?;
    }

    #[test]
    fn any_octets_behind_a_descriptor_never_panic(
        (code, symbol) in prop::sample::select(&ALL[..]),
        form in 0..4_usize,
        size in 8..80_u8,
        body in vec(any::<u8>(), 0..60),
    ) {
        let descriptor = &descriptors(code, symbol)[form];
        let octets = [&[0, 0, 0, size, 2, 0, 0, 0, 0x00], &descriptor[..], &body].concat();
        cuts_do_not_matter(&octets, CEILING)?;
        ways_agree(&octets)?;
    }

    #[test]
    fn any_octets_never_panic(octets in vec(any::<u8>(), 0..60)) {
        cuts_do_not_matter(&octets, CEILING)?;
        ways_agree(&octets)?;
        protocol_header(&octets);
        delivery_state(&octets);
    }

    #[test]
    fn the_short_way_agrees_with_the_general_one(parts in transfer_frame()) {
        ways_agree(&parts.octets())?;
    }

    #[test]
    fn the_short_way_takes_a_common_transfer(
        (octets, transfer) in common(),
        tail in vec(any::<u8>(), 0..9),
    ) {
        let octets = [octets, tail].concat();
        prop_assert_eq!(ways_agree(&octets)?, Some(transfer));
        let is_short = !(transfer.resume || transfer.aborted || transfer.batchable)
            && (transfer.message_format.is_some() || transfer.settled.is_some());
        let is_whole = is_short && !transfer.more && transfer.delivery_id.is_some();
        prop_assert_eq!(whole_delivery(&octets).is_some(), is_whole);
    }
}
