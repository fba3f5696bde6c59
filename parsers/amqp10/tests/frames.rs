//! Protocol headers, frame headers, and where a performative ends.

use super::build::descriptors;
use super::*;

#[test]
fn a_protocol_header_tells_its_protocol() {
    for (octets, protocol) in [
        (b"AMQP\x00\x01\x00\x00", Protocol::Amqp10),
        (b"AMQP\x02\x01\x00\x00", Protocol::Tls),
        (b"AMQP\x03\x01\x00\x00", Protocol::Sasl),
        (b"AMQP\x00\x00\x09\x01", Protocol::Amqp091),
        (b"AMQP\x01\x01\x00\x09", Protocol::Amqp091),
        (b"AMQP\x01\x01\x00\x08", Protocol::Amqp091),
        (b"AMQP\x01\x01\x08\x00", Protocol::Amqp091),
        (b"AMQP\x01\x01\x09\x01", Protocol::Amqp091),
        (b"AMQP\x01\x01\x00\x0A", Protocol::Other), // 0-10
        (b"AMQP\x00\x01\x00\x01", Protocol::Other),
        (b"AMQP\x01\x01\x00\x00", Protocol::Other),
        (b"AMQP\xFF\xFF\xFF\xFF", Protocol::Other),
    ] {
        let Parsed::Value(Some(header)) = protocol_header(octets) else {
            panic!("{octets:02X?}");
        };
        assert_eq!(header.protocol(), protocol, "{octets:02X?}");
        assert_eq!(&header.octets(), octets);
        for cut in 0..8 {
            assert_eq!(protocol_header(&octets[..cut]), Parsed::NeedMore(8));
        }
    }
    for (header, octets) in [
        (ProtocolHeader::AMQP, b"AMQP\x00\x01\x00\x00"),
        (ProtocolHeader::TLS, b"AMQP\x02\x01\x00\x00"),
        (ProtocolHeader::SASL, b"AMQP\x03\x01\x00\x00"),
    ] {
        assert_eq!(&header.octets(), octets);
    }
}

#[test]
fn what_is_not_amqp_is_told_at_the_first_octet_that_differs() {
    for octets in [
        &b"B"[..],
        b"Aa",
        b"AMq",
        b"AMQ\0",
        b"AMQX\0\x01\0\0",
        b"GET / HTTP/1.1",
    ] {
        assert_eq!(
            protocol_header(octets),
            Parsed::Value(None),
            "{octets:02X?}"
        );
    }
}

#[test]
fn a_frame_header_is_read() {
    let octets = [
        0x00, 0x00, 0x01, 0x00, // SIZE 256
        0x03, // DOFF 3: an extended header of 4 octets
        0x01, // TYPE SASL
        0x01, 0x02, // channel 258
    ];
    let header = FrameHeader {
        size: 256,
        doff: 3,
        frame_type: FrameType::Sasl,
        channel: Channel(258),
    };
    assert_eq!(frame_header(&octets), Ok(Parsed::Value(header)));
    assert_eq!(header.octets(), octets);
    assert_eq!((header.frame_len(), header.body_at()), (256, 12));
    assert!(!header.is_empty());
    for cut in 0..8 {
        assert_eq!(frame_header(&octets[..cut]), Ok(Parsed::NeedMore(8)));
    }
}

#[test]
fn a_frame_without_a_body_is_empty_however_long_its_header() {
    for (octets, empty) in [
        (&[0, 0, 0, 8, 2, 0, 0, 0], true),
        (&[0, 0, 0, 12, 3, 0, 0, 0], true),
        (&[0, 0, 0, 9, 2, 0, 0, 0], false),
    ] {
        let Ok(Parsed::Value(header)) = frame_header(octets) else {
            panic!("{octets:02X?}");
        };
        assert_eq!(header.is_empty(), empty);
    }
    assert_eq!(said(encode::empty_frame), [0, 0, 0, 8, 2, 0, 0, 0]);
}

#[test]
fn a_malformed_frame_header_is_told_by_the_octet_at_fault() {
    for (octets, at, what) in [
        ([0, 0, 0, 7, 2, 0, 0, 0], 0, Fault::FrameTooSmall),
        ([0, 0, 0, 0, 2, 0, 0, 0], 0, Fault::FrameTooSmall),
        ([0, 0, 0, 8, 1, 0, 0, 0], 4, Fault::BadDataOffset),
        ([0, 0, 0, 8, 0, 0, 0, 0], 4, Fault::BadDataOffset),
        ([0, 0, 0, 11, 3, 0, 0, 0], 4, Fault::BadDataOffset),
    ] {
        assert_eq!(frame_header(&octets), Err(Malformed { at, what }));
    }
}

/// A frame on channel 0 with this body.
fn frame(body: &[u8]) -> Vec<u8> {
    let size = (body.len() + 8) as u32;
    [&size.to_be_bytes()[..], &[2, 0, 0, 0], body].concat()
}

#[test]
fn each_performative_is_known_by_number_and_by_symbol() {
    for (code, symbol, descriptor) in [
        (0x10, "amqp:open:list", Descriptor::Open),
        (0x11, "amqp:begin:list", Descriptor::Begin),
        (0x12, "amqp:attach:list", Descriptor::Attach),
        (0x13, "amqp:flow:list", Descriptor::Flow),
        (0x14, "amqp:transfer:list", Descriptor::Transfer),
        (0x15, "amqp:disposition:list", Descriptor::Disposition),
        (0x16, "amqp:detach:list", Descriptor::Detach),
        (0x17, "amqp:end:list", Descriptor::End),
        (0x18, "amqp:close:list", Descriptor::Close),
        (
            0x40,
            "amqp:sasl-mechanisms:list",
            Descriptor::SaslMechanisms,
        ),
        (0x41, "amqp:sasl-init:list", Descriptor::SaslInit),
        (0x42, "amqp:sasl-challenge:list", Descriptor::SaslChallenge),
        (0x43, "amqp:sasl-response:list", Descriptor::SaslResponse),
        (0x44, "amqp:sasl-outcome:list", Descriptor::SaslOutcome),
    ] {
        for form in descriptors(code, symbol) {
            let octets = frame(&[&[0x00], &form[..], &[0xC0, 2, 1, 0x43, 0xEE]].concat());
            let read = read(&octets).unwrap();
            assert_eq!(read.descriptor, descriptor, "{symbol}");
            assert_eq!(read.payload_at, octets.len() - 1);
            assert_eq!(read.payload_len(), 1);
            assert_eq!(read.fields().collect::<Vec<_>>(), [&[0x43]]);
            assert_eq!((read.field(0), read.field(1)), (Some(&[0x43][..]), None));
        }
    }
}

#[test]
fn a_body_with_an_unknown_descriptor_is_opaque_and_not_awaited() {
    for body in [
        &[0x00, 0x53, 0x19][..],
        &[0x00, 0x53, 0x24, 0x45],
        &[0x00, 0x80, 0, 0, 0x46, 0x8C, 0, 0, 0, 4],
        &[0x00, 0xA3, 200, b'v'],
        &[0x00, 0xA3, 12, b'v'],
        &[
            0x00, 0xA3, 14, b'a', b'm', b'q', b'p', b':', b'o', b'p', b'e', b'n', b':', b'm', b'a',
            b'p', b'x',
        ],
        &[0x00, 0xB3, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0x00, 0x40],
        &[0x00, 0x00, 0x44, 0x44, 0x40],
    ] {
        let octets = frame(body);
        let read = read(&octets).unwrap();
        assert_eq!(read.descriptor, Descriptor::Unknown, "{body:02X?}");
        assert_eq!((read.payload_at, read.payload_len()), (8, body.len()));
        assert_eq!(read.field(0), None);
    }
}

#[test]
fn a_malformed_performative_is_told_by_the_octet_at_fault() {
    for (body, at, what) in [
        (&[0x53, 0x14, 0x45][..], 8, Fault::NotDescribed),
        (&[0x00], 8, Fault::ValueBeyondEnd),
        (&[0x00, 0x53], 8, Fault::ValueBeyondEnd),
        (&[0x00, 0xA3, 14, b'a'], 8, Fault::ValueBeyondEnd),
        (&[0x00, 0x53, 0x14], 11, Fault::ValueBeyondEnd),
        (&[0x00, 0x53, 0x14, 0x43], 11, Fault::NotAList),
        (&[0x00, 0x53, 0x14, 0xC1, 1, 0], 11, Fault::NotAList),
        (&[0x00, 0x53, 0x14, 0xC0], 11, Fault::ValueBeyondEnd),
        (&[0x00, 0x53, 0x14, 0xC0, 0, 0], 11, Fault::ListDisagrees),
        (
            &[0x00, 0x53, 0x14, 0xD0, 0, 0, 0, 3, 0, 0, 0, 0],
            11,
            Fault::ListDisagrees,
        ),
        // The size reaches beyond the frame.
        (
            &[0x00, 0x53, 0x14, 0xC0, 3, 1, 0x43],
            11,
            Fault::ValueBeyondEnd,
        ),
        (
            &[0x00, 0x53, 0x14, 0xD0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1],
            11,
            Fault::ValueBeyondEnd,
        ),
        // One field more than there are octets for, and one less.
        (
            &[0x00, 0x53, 0x14, 0xC0, 2, 2, 0x43],
            15,
            Fault::ListDisagrees,
        ),
        (
            &[0x00, 0x53, 0x14, 0xC0, 3, 1, 0x43, 0x43],
            15,
            Fault::ListDisagrees,
        ),
        // Four thousand million fields.
        (
            &[
                0x00, 0x53, 0x14, 0xD0, 0, 0, 0, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0x43,
            ],
            21,
            Fault::ListDisagrees,
        ),
        // A field that reaches out of its list, and one that is none.
        (
            &[0x00, 0x53, 0x14, 0xC0, 3, 1, 0x70, 0, 0, 0, 0],
            14,
            Fault::ListDisagrees,
        ),
        (
            &[0x00, 0x53, 0x14, 0xC0, 3, 2, 0x43, 0x20],
            15,
            Fault::UnknownConstructor,
        ),
    ] {
        assert_eq!(
            read(&frame(body)),
            Err(Malformed { at, what }),
            "{body:02X?}"
        );
    }
}

#[test]
fn a_performative_beyond_the_ceiling_is_refused_before_it_is_awaited() {
    let mut octets = frame(&[0x00, 0x53, 0x14, 0xD0, 0, 0, 0x10, 0, 0, 0, 0, 1]);
    octets[..4].copy_from_slice(&0x10_0000_u32.to_be_bytes());
    let Ok(Parsed::Value(header)) = frame_header(&octets) else {
        panic!("it is whole");
    };
    // The list begins at 11 and ends 5 octets and its size of 4,096 further.
    let end = 11 + 5 + 0x1000;
    assert_eq!(
        performative(&header, &octets, end),
        Ok(Parsed::NeedMore(end))
    );
    let refused = Malformed {
        at: 11,
        what: Fault::OverCeiling,
    };
    assert_eq!(performative(&header, &octets, end - 1), Err(refused));
}

#[test]
fn the_debug_form_holds_no_octets_of_the_fields() {
    let octets = said(|out| encode::sasl_init(out, "PLAIN", Some(b"\0alice\0hunter2"), None));
    let read = read(&octets).unwrap();
    let init = read.sasl_init().unwrap();
    for text in [format!("{read:?}"), format!("{init:?}")] {
        assert!(!text.contains("104, 117, 110, 116"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
