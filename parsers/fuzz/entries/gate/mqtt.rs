//! Conversations of MQTT.

use std::collections::BTreeSet;

use parsers::Parsed;
use parsers::mqtt::{FixedHeader, PacketType, QoS, Version, fixed_header};

use super::laws::Dialect;
use super::scene::Scene;
use super::{Script, Side};

/// MQTT 3.1, 3.1.1 and 5.0.
pub(super) const DIALECT: Dialect = Dialect {
    name: "mqtt",
    greet,
    word,
    leaves,
    frame_len: |_, octets| match fixed_header(octets) {
        Ok(Parsed::Value(header)) => Some(header.packet_len()),
        _ => None,
    },
    hurries,
    steady: <[u8]>::to_vec,
    passes_in_part: false,
    // The head of a PUBLISH.
    most_awaited: 65_548,
};

/// A CONNECT and its CONNACK, unless nothing is said before the conversation.
fn greet(scene: &mut Scene, script: &mut Script<'_>) {
    let how = script.octet();
    let level = [0, 3, 4, 5][usize::from(how & 3)];
    if level == 0 {
        return;
    }
    scene.says(Side::Client, |out| connect(level, how, script, out));
    if how & 0x20 == 0 {
        scene.send(Side::Client, usize::MAX);
        scene.says(Side::Broker, |out| connack(level, how >> 6, 0, out));
        scene.send(Side::Broker, usize::MAX);
    }
}

fn connect(level: u8, how: u8, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    string(&mut body, if level == 3 { b"MQIsdp" } else { b"MQTT" });
    let (has_will, has_user) = (how & 4 != 0, how & 8 != 0);
    let flags = 2 | if has_will { 0x2C } else { 0 } | if has_user { 0x80 } else { 0 };
    body.extend([level, flags, 0, 60]);
    if level == 5 {
        let properties = match how & 0x10 {
            0 => vec![],
            // Maximum Packet Size and Topic Alias Maximum.
            _ => vec![0x27, 0, 0, script.octet() & 1, 90, 0x22, 0, 4],
        };
        body.push(properties.len() as u8);
        body.extend(properties);
    }
    string(&mut body, b"client");
    if has_will {
        if level == 5 {
            body.push(0);
        }
        string(&mut body, b"a/will");
        string(&mut body, &vec![b'w'; usize::from(script.octet())]);
    }
    if has_user {
        string(&mut body, b"prod:alice");
    }
    packet(0x10, &body, out);
}

fn connack(level: u8, flags: u8, code: u8, out: &mut Vec<u8>) {
    let body = [flags & 1, code, 0];
    packet(0x20, &body[..if level == 5 { 3 } else { 2 }], out);
}

fn word(side: Side, what: u8, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let id = |script: &mut Script<'_>| (script.number() as u16).to_be_bytes();
    match what {
        0..0x18 => publish(what, script, out),
        // PUBACK, PUBREC, PUBREL and PUBCOMP, alone, with a reason code, or with a reason string.
        0x18..0x24 => {
            let first = [0x40, 0x50, 0x62, 0x70][usize::from(what & 3)];
            let mut body = id(script).to_vec();
            match what >> 2 {
                6 => {}
                7 => body.push(script.one_of(&[0, 0x10, 0x80, 0x92, 0x97])),
                _ => body.extend([0x87, 5, 0x1F, 0, 2, b'n', b'o']),
            }
            packet(first, &body, out);
        }
        0x24 => packet(0xC0, &[], out),
        0x25 => packet(0xD0, &[], out),
        0x26 => packet(0xE0, &[], out),
        0x27 => packet(0xE0, &[script.octet(), 0], out),
        0x28 => packet(0x82, &[&id(script)[..], b"\0\0\x03a/+\x01"].concat(), out),
        0x29 => packet(0x82, &[&id(script)[..], b"\0\x03a/+\x01"].concat(), out),
        0x2A => packet(0x90, &[&id(script)[..], &[0, 1]].concat(), out),
        0x2B => packet(0xF0, &[0x18, 0], out),
        0x2C => connack(script.octet(), script.octet(), 0, out),
        0x2D => packet(0x20, &[0, script.octet(), 0], out),
        0x2E if side == Side::Client => connect(5, script.octet(), script, out),
        _ => packet(script.octet(), script.octets(usize::from(what)), out),
    }
}

/// A PUBLISH: the number is its QoS, whether it has properties, and how long its payload is.
fn publish(what: u8, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let choice = script.octet();
    let qos = what % 3;
    let dup = if qos > 0 { choice & 0x80 } else { 0 };
    let mut body = Vec::new();
    string(&mut body, TOPICS[usize::from(choice & 3)]);
    if qos > 0 {
        let id = script.number().max(1) as u16;
        body.extend(id.to_be_bytes());
    }
    if what >= 6 {
        match choice & 4 {
            0 => body.push(0),
            // Topic Alias.
            _ => body.extend([3, 0x23, 0, choice >> 3 & 7]),
        }
    }
    let payload_len = script.octet();
    body.resize(body.len() + usize::from(payload_len), b'p');
    packet(0x30 | dup >> 4 | qos << 1 | choice >> 6 & 1, &body, out);
}

fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

/// A fixed header, and what follows it.
fn packet(first: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(first);
    let mut left = body.len();
    while left > 0x7F {
        out.push(left as u8 & 0x7F | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
    out.extend_from_slice(body);
}

/// After a DISCONNECT nothing may be said, nor after the broker has refused the client.
fn leaves(side: Side, said: &[u8]) -> bool {
    let mut rest = said;
    while let Ok(Parsed::Value(header)) = fixed_header(rest) {
        let refuses = side == Side::Broker
            && header.packet_type == PacketType::Connack
            && rest.get(header.len + 1).is_some_and(|&code| code != 0);
        if refuses || header.packet_type == PacketType::Disconnect {
            return true;
        }
        rest = rest.get(header.packet_len()..).unwrap_or_default();
    }
    false
}

/// Whether a side uses a packet identifier again: the answer may not have come yet, and it may not
/// be free (MQTT 5.0 §2.2.1).
fn hurries(said: &[Vec<u8>; 2]) -> bool {
    said.iter().any(|said| {
        let mut used = BTreeSet::new();
        let mut rest = &said[..];
        while let Ok(Parsed::Value(header)) = fixed_header(rest) {
            let id = match header.packet_type {
                PacketType::Publish => match publish_of(&header, rest) {
                    Some(QoS::AtLeastOnce(id) | QoS::ExactlyOnce(id)) => Some(id.get()),
                    _ => None,
                },
                PacketType::Pubrel => match rest.get(header.len..header.len + 2) {
                    Some(&[high, low]) => Some(u16::from_be_bytes([high, low])),
                    _ => None,
                },
                _ => None,
            };
            if id.is_some_and(|id| !used.insert(id)) {
                return true;
            }
            rest = rest.get(header.packet_len()..).unwrap_or_default();
        }
        false
    })
}

/// How a PUBLISH is acknowledged; in that all versions are alike.
fn publish_of(header: &FixedHeader, packet: &[u8]) -> Option<QoS> {
    match parsers::mqtt::publish(header, Version::V311, packet) {
        Ok(Parsed::Value(publish)) => Some(publish.qos),
        _ => None,
    }
}

const TOPICS: [&[u8]; 4] = [b"a/b", b"a/c", b"", b"t"];
