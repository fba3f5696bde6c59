//! AMQP 0-9-1: a stream with or without a protocol header.

use parsers::Parsed;
use parsers::amqp091::{
    Common, CommonMethod, FrameHeader, FrameType, Mechanism, Method, Table, Version,
    common_content, content_header, frame_header, identity, method, protocol_header,
};

use super::{Script, cuts_do_not_matter, stream};

/// A stream: the first octet chooses the version.
pub fn amqp091(octets: &[u8]) {
    let mut script = Script::new(octets);
    let version = script.one_of(&[Version::V091, Version::V08]);
    let octets = script.octets(usize::MAX);
    for name in [&b"PLAIN"[..], b"AMQPLAIN", b"EXTERNAL"] {
        let _ = identity(Mechanism::named(name), octets);
    }
    let header = cuts_do_not_matter(octets, 8, |input| Ok::<_, ()>(protocol_header(input)));
    if let Some(Some(header)) = header {
        assert!(octets.starts_with(&header.octets()));
        stream(&octets[8..], |rest| frame(version, rest));
    } else {
        stream(octets, |rest| frame(version, rest));
    }
}

/// The frame at the front, and the octets that it has.
fn frame(version: Version, input: &[u8]) -> Option<usize> {
    let header = cuts_do_not_matter(input, FrameHeader::LEN, frame_header)?;
    assert!(input.starts_with(&header.octets()));
    assert_eq!(header.end_at() + 1, header.frame_len());
    let whole = cuts_do_not_matter(input, header.frame_len(), |input| header.whole(input));
    let expected = general(version, input);
    let common = common_content(input);
    if version == Version::V091 {
        assert_eq!(common, expected, "the short way and the general one");
    }
    if let Some(common) = common {
        assert!(common.total_len() <= input.len());
    }
    match header.frame_type {
        FrameType::Method => arguments(version, &header, whole?),
        FrameType::Header => {
            cuts_do_not_matter(input, FrameHeader::LEN + 12, |input| {
                content_header(&header, input)
            });
        }
        FrameType::Body | FrameType::Heartbeat => {}
    }
    Some(header.frame_len())
}

fn arguments(version: Version, header: &FrameHeader, frame: &[u8]) {
    match method(version, header, frame) {
        Ok(Method::ConnectionStartOk(start_ok)) => {
            let table = start_ok.client_properties;
            for name in [&b"connection_name"[..], b"LOGIN", b""] {
                if let Some(text) = table.longstr(name) {
                    assert!(text.len() < table.0.len());
                }
            }
            let _ = identity(Mechanism::named(start_ok.mechanism), start_ok.response);
        }
        Ok(_) => {}
        Err(fault) => assert!(fault.at <= frame.len(), "{fault}"),
    }
    let _ = Table(frame).longstr(b"LOGIN");
}

/// A message of three frames by the general parsers.
fn general(version: Version, input: &[u8]) -> Option<Common<'_>> {
    let next = |input| {
        let Ok(Parsed::Value(header)) = frame_header(input) else {
            return None;
        };
        match header.whole(input) {
            Ok(Parsed::Value(frame)) => Some((header, frame, &input[frame.len()..])),
            _ => None,
        }
    };
    let (first, frame, rest) = next(input)?;
    if first.frame_type != FrameType::Method {
        return None;
    }
    let method = match method(version, &first, frame) {
        Ok(Method::BasicPublish(publish)) => CommonMethod::Publish(publish),
        Ok(Method::BasicDeliver(deliver)) => CommonMethod::Deliver(deliver),
        _ => return None,
    };
    let (second, frame, rest) = next(rest)?;
    if second.frame_type != FrameType::Header || second.channel != first.channel {
        return None;
    }
    let Ok(Parsed::Value(content)) = content_header(&second, frame) else {
        return None;
    };
    let body_size = usize::try_from(content.body_size).ok()?;
    if body_size > 0 {
        let (third, _, _) = next(rest)?;
        let is_body = third.frame_type == FrameType::Body && third.channel == first.channel;
        if !is_body || third.payload_len() != body_size {
            return None;
        }
    }
    Some(Common {
        channel: first.channel,
        method,
        method_len: first.frame_len(),
        header_len: second.frame_len(),
        body_size,
    })
}
