//! MQTT: packets of a stream in one version.

use parsers::Parsed;
use parsers::mqtt::{
    FixedHeader, PacketType, Publish, Version, connect, connect_start, fixed_header, lower_connack,
    lower_connect, publish, publish_head,
};

use super::{Script, cuts_do_not_matter, stream};

/// A stream: the first octet chooses the version.
pub fn mqtt(octets: &[u8]) {
    let mut script = Script::new(octets);
    let version = script.one_of(&[Version::V5, Version::V311, Version::V31]);
    let ceiling = [20, 300, u32::MAX][octets.len() % 3];
    stream(script.octets(usize::MAX), |rest| {
        packet(version, ceiling, rest)
    });
}

/// The packet at the front, and the octets that it has.
fn packet(version: Version, ceiling: u32, input: &[u8]) -> Option<usize> {
    let header = cuts_do_not_matter(input, LONGEST_FIXED_HEADER, fixed_header)?;
    let len = header.packet_len();
    let is_shortest = header.check_shortest().is_ok();
    if header.check(version).is_err() {
        return Some(len);
    }
    match header.packet_type {
        PacketType::Connect => connection(&header, ceiling, input),
        PacketType::Connack if version == Version::V5 && is_shortest => {
            if let Some(packet) = input.get(..len)
                && let Ok(Some(lowered)) = lower_connack(&header, packet, ceiling)
            {
                let header = same_packet(&header, &lowered);
                assert_eq!(lower_connack(&header, &lowered, ceiling), Ok(None));
            }
        }
        PacketType::Publish => message(version, &header, input),
        _ => {}
    }
    Some(len)
}

fn connection(header: &FixedHeader, ceiling: u32, input: &[u8]) {
    let start = cuts_do_not_matter(input, LONGEST_START, |input| {
        Ok::<_, ()>(connect_start(input))
    });
    let (Some(Some(start)), Some(packet)) = (start, input.get(..header.packet_len())) else {
        return;
    };
    assert_eq!(start.header, *header);
    let Ok(read) = connect(&start, packet) else {
        return;
    };
    if let Some(lowered) = lower_connect(header, packet, ceiling)
        && read.version == Version::V5
    {
        let header = same_packet(header, &lowered);
        let Parsed::Value(Some(start)) = connect_start(&lowered) else {
            panic!("{} is no CONNECT", lowered.escape_ascii());
        };
        let again = connect(&start, &lowered).expect("what was read before");
        assert_eq!(again.maximum_packet_size, Some(ceiling));
        assert_eq!(again.topic_alias_maximum, 0);
        let lower = parsers::mqtt::Connect {
            maximum_packet_size: read.maximum_packet_size,
            topic_alias_maximum: read.topic_alias_maximum,
            ..again
        };
        assert_eq!(lower, read);
        assert_eq!(lower_connect(&header, &lowered, ceiling), None);
    }
}

/// The fixed header of a packet that stands for one of the same type.
fn same_packet(header: &FixedHeader, octets: &[u8]) -> FixedHeader {
    let Ok(Parsed::Value(again)) = fixed_header(octets) else {
        panic!("{} is no packet", octets.escape_ascii());
    };
    assert_eq!(again.packet_len(), octets.len());
    assert_eq!(again.packet_type, header.packet_type);
    again
}

fn message(version: Version, header: &FixedHeader, input: &[u8]) {
    let read = |input| publish(header, version, input);
    let Some(message) = cuts_do_not_matter(input, LONGEST_HEAD, read) else {
        return;
    };
    let head_len = message.head_len(header);
    assert_eq!(head_len + message.payload_len, header.packet_len());
    if version != Version::V5 {
        return;
    }
    let most = head_len.max(LONGEST_HEAD);
    cuts_do_not_matter(&input[..head_len.min(input.len())], most, |input| {
        message.topic_alias(header, input)
    });
    if let Some(properties) = message.properties(header, input) {
        let mut head = Vec::new();
        if publish_head(&mut head, header, &message, b"topic", properties).is_some() {
            assert_same_message(&message, properties, &head);
        }
    }
}

/// Checks that a head is that of the same message, with another topic.
fn assert_same_message(message: &Publish<'_>, properties: &[u8], head: &[u8]) {
    let Ok(Parsed::Value(header)) = fixed_header(head) else {
        panic!("{} is no packet", head.escape_ascii());
    };
    let again = publish(&header, Version::V5, head);
    let expected = Publish {
        topic: b"topic",
        ..*message
    };
    assert_eq!(again, Ok(Parsed::Value(expected)));
    assert_eq!(expected.head_len(&header), head.len());
    assert_eq!(expected.properties(&header, head), Some(properties));
}

/// What the parsers wait for at most.
const LONGEST_FIXED_HEADER: usize = 5;
const LONGEST_START: usize = 14;
const LONGEST_HEAD: usize = 65_548;
