//! Protocol headers, frame headers and frame-ends.

use super::*;

#[test]
fn a_protocol_header_names_its_version() {
    for (octets, version) in [
        (b"AMQP\x00\x00\x09\x01", Some(Version::V091)),
        (b"AMQP\x01\x01\x00\x09", Some(Version::V091)),
        (b"AMQP\x01\x01\x08\x00", Some(Version::V08)),
        (b"AMQP\x01\x01\x09\x01", Some(Version::V08)),
        (b"AMQP\x01\x01\x00\x08", Some(Version::V08)),
        (b"AMQP\x00\x01\x00\x00", None),
        (b"AMQP\x03\x01\x00\x00", None),
        (b"AMQP\x02\x01\x00\x00", None),
        (b"AMQP\x00\x00\x09\x02", None),
        (b"AMQP\x01\x01\x00\x0A", None),
    ] {
        let Parsed::Value(Some(header)) = protocol_header(octets) else {
            panic!("{octets:02X?} is a protocol header");
        };
        assert_eq!(header.version(), version, "{octets:02X?}");
        assert_eq!(&header.octets(), octets);
    }
    assert_eq!(ProtocolHeader::AMQP.octets(), *b"AMQP\0\0\x09\x01");
}

#[test]
fn a_protocol_header_is_told_by_its_first_octets() {
    for len in 0..8 {
        let part = &b"AMQP\0\0\x09\x01"[..len];
        assert_eq!(protocol_header(part), Parsed::NeedMore(8), "{len}");
    }
    for foreign in [&b"B"[..], b"AMQ\0", b"amqp\0\0\x09\x01", b"\x01\0\0"] {
        assert_eq!(protocol_header(foreign), Parsed::Value(None));
    }
}

#[test]
fn a_frame_header_tells_type_channel_and_size() {
    for (octets, frame_type, channel, size) in [
        (b"\x01\x00\x00\x00\x00\x00\x04", FrameType::Method, 0, 4),
        (b"\x02\x00\x01\x00\x00\x00\x0E", FrameType::Header, 1, 14),
        (
            b"\x03\xFF\xFF\xFF\xFF\xFF\xFF",
            FrameType::Body,
            65_535,
            u32::MAX,
        ),
        (b"\x08\x00\x00\x00\x00\x00\x00", FrameType::Heartbeat, 0, 0),
    ] {
        let header = header_of(octets);
        let expected = FrameHeader {
            frame_type,
            channel: Channel(channel),
            size,
        };
        assert_eq!(header, expected);
        assert_eq!(&header.octets(), octets);
        assert_eq!(header.frame_len(), size as usize + 8);
        assert_eq!(header.end_at(), size as usize + 7);
    }
}

#[test]
fn a_frame_type_that_does_not_exist_is_known_by_its_octet() {
    for code in (0..=u8::MAX).filter(|code| ![1, 2, 3, 8].contains(code)) {
        let expected = Err(fault(0, Fault::UnknownFrameType));
        assert_eq!(frame_header(&[code]), expected, "{code}");
    }
}

#[test]
fn a_frame_header_takes_seven_octets() {
    for len in 0..7 {
        let part = &b"\x01\0\0\0\0\0\x04"[..len];
        assert_eq!(frame_header(part), Ok(Parsed::NeedMore(7)), "{len}");
    }
}

#[test]
fn a_frame_ends_with_its_frame_end() {
    let whole = frame(3, 1, b"abc");
    let header = header_of(&whole);
    let behind = [&whole[..], b"\x01"].concat();
    assert_eq!(header.whole(&behind), Ok(Parsed::Value(&whole[..])));
    assert_eq!(header.whole(&whole[..10]), Ok(Parsed::NeedMore(11)));
    for octet in (0..=u8::MAX).filter(|&octet| octet != 0xCE) {
        let mut broken = whole.clone();
        broken[10] = octet;
        let expected = Err(fault(10, Fault::BadFrameEnd));
        assert_eq!(header.whole(&broken), expected, "{octet:02X}");
    }
}

#[test]
fn every_fault_has_a_reply_code_and_words() {
    use Fault as F;
    for (what, code) in [
        (F::UnknownFrameType, 501),
        (F::FrameTooLarge, 501),
        (F::BadFrameEnd, 501),
        (F::BadHeartbeat, 501),
        (F::ContentHeaderTooShort, 501),
        (F::WrongClass, 501),
        (F::NonzeroWeight, 501),
        (F::BodyTooLong, 501),
        (F::MethodTooShort, 502),
        (F::ArgumentBeyondEnd, 502),
        (F::TrailingOctets, 502),
        (F::ConnectionMethodOnChannel, 503),
        (F::ChannelZero, 504),
        (F::ChannelNotOpen, 504),
        (F::UnexpectedFrame, 505),
    ] {
        assert_eq!(what.reply_code(), code, "{what:?}");
        let text = fault(7, what).to_string();
        assert!(text.ends_with(" at octet 7 of the frame"), "{text}");
    }
}
