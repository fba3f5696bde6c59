//! MQTT 3.1.1 and 5.0, as far as a load needs it.

use super::{Message, Protocol, Unit, batch::Template, number, unexpected};
use crate::Error;

/// Control packet types (MQTT 5.0 §2.1.2).
pub(super) const CONNECT: u32 = 1;
/// See [`CONNECT`].
pub(super) const CONNACK: u32 = 2;
/// See [`CONNECT`].
pub(super) const PUBLISH: u32 = 3;
/// See [`CONNECT`].
pub(super) const PUBACK: u32 = 4;

/// DISCONNECT; the reason code 0 may be left out (MQTT 5.0 §3.14.2.1).
pub(super) const DISCONNECT: &[u8] = &[0xe0, 0];

const TOPIC: &[u8] = b"bench/topic";

/// CONNECT with this protocol level, Clean Start and an empty client id.
pub(super) fn connect(level: u8) -> Vec<u8> {
    let mut rest = b"\x00\x04MQTT".to_vec();
    rest.extend([level, 0x02, 0, 0]);
    if level == 5 {
        rest.push(0);
    }
    rest.extend([0, 0]);
    packet(0x10, &rest)
}

/// CONNACK that accepts.
pub(super) fn connack(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Mqtt5 => &[0x20, 3, 0, 0, 0],
        _ => &[0x20, 2, 0, 0],
    }
}

/// PUBACK for this packet identifier.
pub(super) fn puback(id: u64) -> [u8; 4] {
    let [.., high, low] = id.to_be_bytes();
    [0x40, 2, high, low]
}

/// PUBLISH whose whole packet has the size of the message.
pub(super) fn publish(message: &Message) -> Template {
    let mut rest = counted(TOPIC);
    let qos = u8::from(message.is_acknowledged);
    let id_at = message.is_acknowledged.then_some(rest.len());
    if id_at.is_some() {
        rest.extend([0, 1]);
    }
    if message.protocol == Protocol::Mqtt5 {
        rest.push(0);
    }
    let least = rest.len();
    // The fixed header is one octet and a Remaining Length of one to four. No packet has 130
    // octets, nor any other size at which the header would have to grow by what it grew.
    let found = (2..=5).find_map(|header| {
        rest.resize(message.size.saturating_sub(header).max(least), b'm');
        let octets = packet(0x30 | qos << 1, &rest);
        let number_at = id_at.map(|at| (header + at, 2));
        (octets.len() == message.size).then_some(Template { octets, number_at })
    });
    found.unwrap_or_else(|| unreachable!("no PUBLISH has {} octets", message.size))
}

/// Reads a fixed header, and the packet identifier of a PUBLISH and a PUBACK.
pub(super) fn unit(octets: &[u8]) -> Result<Option<Unit>, Error> {
    let Some((&first, mut rest)) = octets.split_first() else {
        return Ok(None);
    };
    let mut remaining = 0;
    let mut header = 1;
    loop {
        let Some((&octet, tail)) = rest.split_first() else {
            return Ok(None);
        };
        if header > 4 {
            return Err(unexpected(Protocol::Mqtt, "a Remaining Length of 5 octets"));
        }
        remaining |= u64::from(octet & 0x7f) << (7 * (header - 1));
        rest = tail;
        header += 1;
        if octet & 0x80 == 0 {
            break;
        }
    }
    let kind = u32::from(first >> 4);
    let has_id = kind == PUBACK || (kind == PUBLISH && first & 0x06 != 0);
    let id = if has_id {
        let topic = match kind {
            PUBLISH => number(rest, 0, 2).map(|len| 2 + len as usize),
            _ => Some(0),
        };
        match topic.and_then(|at| number(rest, at, 2)) {
            Some(id) => id,
            None => return Ok(None),
        }
    } else {
        0
    };
    Ok(Some(Unit {
        kind,
        len: header + remaining,
        ends_message: kind == PUBLISH,
        number: id,
    }))
}

/// A control packet: first octet, Remaining Length, the rest.
fn packet(first: u8, rest: &[u8]) -> Vec<u8> {
    let mut octets = vec![first];
    let mut left = rest.len();
    loop {
        let low = (left & 0x7f) as u8;
        left >>= 7;
        octets.push(if left > 0 { low | 0x80 } else { low });
        if left == 0 {
            break;
        }
    }
    octets.extend_from_slice(rest);
    octets
}

/// A string with its length before it (MQTT 5.0 §1.5.4).
fn counted(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes(), text].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publish_is_as_long_as_its_message_says() {
        for protocol in [Protocol::Mqtt, Protocol::Mqtt5] {
            for size in [64, 128, 129, 131, 1 << 10, 16_385, 16_388, 1 << 20] {
                let message = Message {
                    protocol,
                    size,
                    is_acknowledged: true,
                };
                let publish = publish(&message).octets;
                assert_eq!(publish.len(), size);
                let unit = unit(&publish).unwrap().unwrap();
                assert_eq!((unit.len, unit.number), (size as u64, 1), "{size}");
                assert!(unit.ends_message);
            }
        }
    }

    #[test]
    fn a_head_that_is_cut_is_not_read() {
        let message = Message {
            protocol: Protocol::Mqtt,
            size: 1 << 10,
            is_acknowledged: true,
        };
        let publish = publish(&message).octets;
        let head = 3 + 2 + TOPIC.len() + 2;
        for len in 0..head {
            assert_eq!(unit(&publish[..len]).unwrap(), None, "{len}");
        }
        assert!(unit(&publish[..head]).unwrap().is_some());
        assert_eq!(unit(&puback(0x1234)).unwrap().unwrap().number, 0x1234);
        assert!(unit(&[0x30, 0xff, 0xff, 0xff, 0xff, 1]).is_err());
    }
}
