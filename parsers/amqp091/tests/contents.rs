//! Content headers, and the short way through a whole message.

use super::*;

/// class 60, weight 0, a body of 5 octets, no properties.
const HEADER: &[u8] = b"\x00\x3C\x00\x00\0\0\0\0\0\0\0\x05\x00\x00";
/// basic.publish to exchange "e" with routing key "rk", mandatory.
const PUBLISH: &[u8] = b"\x00\x3C\x00\x28\0\0\x01e\x02rk\x01";
/// basic.deliver to consumer "c", delivery 7, redelivered, exchange "e", routing key "rk".
const DELIVER: &[u8] = b"\x00\x3C\x00\x3C\x01c\0\0\0\0\0\0\0\x07\x01\x01e\x02rk";

fn size_of(payload: &[u8]) -> Result<Parsed<ContentHeader>, Malformed> {
    let frame = frame(2, 1, payload);
    content_header(&header_of(&frame), &frame)
}

#[test]
fn a_content_header_tells_the_size_of_the_body() {
    for body_size in [0, 5, 1 << 32, u64::MAX] {
        let mut payload = HEADER.to_vec();
        payload[4..12].copy_from_slice(&body_size.to_be_bytes());
        let expected = Parsed::Value(ContentHeader { body_size });
        assert_eq!(size_of(&payload), Ok(expected));
    }
}

#[test]
fn a_content_header_is_read_before_its_properties_are_there() {
    let frame = frame(2, 1, &[HEADER, &[0; 1_000]].concat());
    let header = header_of(&frame);
    for len in 7..19 {
        let part = content_header(&header, &frame[..len]);
        assert_eq!(part, Ok(Parsed::NeedMore(19)), "{len}");
    }
    let expected = Parsed::Value(ContentHeader { body_size: 5 });
    assert_eq!(content_header(&header, &frame[..19]), Ok(expected));
}

#[test]
fn a_content_header_has_a_class_no_weight_and_property_flags() {
    for len in 0..14 {
        let expected = Err(fault(3, Fault::ContentHeaderTooShort));
        assert_eq!(size_of(&HEADER[..len]), expected, "{len}");
    }
    for (at, octet, what) in [
        (0, 1, fault(7, Fault::WrongClass)),
        (1, 85, fault(7, Fault::WrongClass)),
        (2, 1, fault(9, Fault::NonzeroWeight)),
        (3, 1, fault(9, Fault::NonzeroWeight)),
    ] {
        let mut payload = HEADER.to_vec();
        payload[at] = octet;
        assert_eq!(size_of(&payload), Err(what));
    }
}

#[test]
fn a_whole_message_is_read_in_one_look() {
    let publish = CommonMethod::Publish(Publish {
        exchange: b"e",
        routing_key: b"rk",
        mandatory: true,
        immediate: false,
    });
    let deliver = CommonMethod::Deliver(Deliver {
        consumer_tag: b"c",
        delivery_tag: 7,
        redelivered: true,
        exchange: b"e",
        routing_key: b"rk",
    });
    for (method, expected) in [(PUBLISH, publish), (DELIVER, deliver)] {
        let [method, header] = [frame(1, 9, method), frame(2, 9, HEADER)];
        let message = [&method[..], &header, &frame(3, 9, b"hello")].concat();
        let common = Common {
            channel: Channel(9),
            method: expected,
            method_len: method.len(),
            header_len: header.len(),
            body_size: 5,
        };
        assert_eq!(common_content(&message), Some(common));
        assert_eq!(common.total_len(), message.len());
        let behind = [&message[..], &message].concat();
        assert_eq!(common_content(&behind), Some(common));
        for len in 0..message.len() {
            assert_eq!(common_content(&message[..len]), None, "{len}");
        }
    }
}

#[test]
fn a_message_without_a_body_ends_with_its_header() {
    let mut empty = HEADER.to_vec();
    empty[11] = 0;
    let message = [frame(1, 9, PUBLISH), frame(2, 9, &empty)].concat();
    let common = common_content(&message).expect("a message");
    assert_eq!((common.body_size, common.body_len()), (0, 0));
    assert_eq!(common.total_len(), message.len());
}

#[test]
fn what_is_unusual_is_left_to_the_general_parsers() {
    let get_ok = b"\x00\x3C\x00\x47\0\0\0\0\0\0\0\x01\0\x01e\x02rk\0\0\0\0";
    let long = frame(1, 9, &[PUBLISH, b"\0"].concat());
    let (publish, get_ok) = (&frame(1, 9, PUBLISH)[..], &frame(1, 9, get_ok)[..]);
    let (header, elsewhere) = (&frame(2, 9, HEADER)[..], &frame(2, 8, HEADER)[..]);
    let hello = &frame(3, 9, b"hello")[..];
    let bodies = [(8, &b"hello"[..]), (9, b"hel"), (9, b"hello!")];
    let [astray, part, more] = bodies.map(|(channel, octets)| frame(3, channel, octets));
    for (what, frames) in [
        ("another method", [get_ok, header, hello]),
        ("another channel of the header", [publish, elsewhere, hello]),
        ("another channel of the body", [publish, header, &astray]),
        ("a body in pieces", [publish, header, &part]),
        ("a body that is too long", [publish, header, &more]),
        ("no header", [publish, hello, hello]),
        ("no method", [header, header, hello]),
        ("a method with more octets", [&long, header, hello]),
    ] {
        assert_eq!(common_content(&frames.concat()), None, "{what}");
    }
}
