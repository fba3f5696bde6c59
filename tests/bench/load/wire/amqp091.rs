//! AMQP 0-9-1, as far as a load needs it: one channel in confirm mode.

use super::{Protocol, Unit, batch::Template, number, unexpected};
use crate::Error;

/// Methods by class and method number (AMQP 0-9-1 §1.3 and RabbitMQ's confirm class).
const START: u32 = method_id(10, 10);
const START_OK: u32 = method_id(10, 11);
const TUNE: u32 = method_id(10, 30);
const TUNE_OK: u32 = method_id(10, 31);
const OPEN: u32 = method_id(10, 40);
const OPEN_OK: u32 = method_id(10, 41);
const CHANNEL_OPEN: u32 = method_id(20, 10);
const CHANNEL_OPEN_OK: u32 = method_id(20, 11);
const PUBLISH: u32 = method_id(60, 40);
const ACK: u32 = method_id(60, 80);
const CONFIRM_SELECT: u32 = method_id(85, 10);
const CONFIRM_SELECT_OK: u32 = method_id(85, 11);

/// What stands for the protocol header and for frames that are no methods.
const HEADER: u32 = 1;
const CONTENT_HEADER: u32 = 2;
const CONTENT_BODY: u32 = 3;
const HEARTBEAT: u32 = 8;

/// The largest frame that either end takes.
const FRAME_MAX: u32 = 128 << 10;

/// What a client says up to confirm mode, and what it awaits after each part.
pub(super) fn beginning() -> Vec<(Vec<u8>, u32)> {
    let start_ok = [
        table(),
        short("PLAIN"),
        long(b"\0guest\0guest"),
        short("en_US"),
    ];
    let open = [method(0, TUNE_OK, &tuning()), method(0, OPEN, &opening())];
    vec![
        (b"AMQP\x00\x00\x09\x01".to_vec(), START),
        (method(0, START_OK, &start_ok.concat()), TUNE),
        (open.concat(), OPEN_OK),
        (method(1, CHANNEL_OPEN, &short("")), CHANNEL_OPEN_OK),
        (method(1, CONFIRM_SELECT, &[0]), CONFIRM_SELECT_OK),
    ]
}

/// What a broker answers to this unit, if anything.
pub(super) fn answer(unit: &Unit) -> Vec<u8> {
    match unit.kind {
        HEADER => {
            let start = [vec![0, 9], table(), long(b"PLAIN"), long(b"en_US")];
            method(0, START, &start.concat())
        }
        START_OK => method(0, TUNE, &tuning()),
        OPEN => method(0, OPEN_OK, &short("")),
        CHANNEL_OPEN => method(1, CHANNEL_OPEN_OK, &long(b"")),
        CONFIRM_SELECT => method(1, CONFIRM_SELECT_OK, &[]),
        _ => Vec::new(),
    }
}

/// basic.ack for all messages up to this one.
pub(super) fn ack(delivery_tag: u64) -> Vec<u8> {
    let arguments = [&delivery_tag.to_be_bytes()[..], &[1]].concat();
    method(1, ACK, &arguments)
}

/// Whether a unit is an acknowledgement.
pub(super) fn is_ack(unit: &Unit) -> bool {
    unit.kind == ACK
}

/// basic.publish, content header and one body of so many octets.
pub(super) fn content(size: usize) -> Template {
    // Reserved, the default exchange, the routing key, no bits.
    let publish = [vec![0, 0], short(""), short("bench"), vec![0]].concat();
    let mut header = vec![0, 60, 0, 0];
    header.extend((size as u64).to_be_bytes());
    // The property delivery-mode, persistent (§4.2.6.1).
    header.extend([0x10, 0, 2]);
    let octets = [
        method(1, PUBLISH, &publish),
        frame(2, 1, &header),
        frame(3, 1, &vec![b'm'; size]),
    ];
    Template {
        octets: octets.concat(),
        number_at: None,
    }
}

/// Reads a frame header (§4.2.3), and of a basic.ack its delivery tag.
pub(super) fn unit(octets: &[u8]) -> Result<Option<Unit>, Error> {
    let mut unit = Unit {
        kind: HEADER,
        len: 8,
        ends_message: false,
        number: 0,
    };
    if octets.starts_with(b"A") {
        return Ok(Some(unit));
    }
    let (Some(kind), Some(size)) = (number(octets, 0, 1), number(octets, 3, 4)) else {
        return Ok(None);
    };
    unit.len = 7 + size + 1;
    match kind as u32 {
        1 => {
            let Some(id) = number(octets, 7, 4) else {
                return Ok(None);
            };
            unit.kind = id as u32;
            if unit.kind == ACK {
                let Some(tag) = number(octets, 11, 8) else {
                    return Ok(None);
                };
                unit.number = tag;
            }
        }
        // Each message of a load has one body.
        CONTENT_BODY => {
            unit.kind = CONTENT_BODY;
            unit.ends_message = true;
        }
        kind @ (CONTENT_HEADER | HEARTBEAT) => unit.kind = kind,
        _ => return Err(unexpected(Protocol::Amqp091, "a frame of unknown type")),
    }
    Ok(Some(unit))
}

const fn method_id(class: u32, method: u32) -> u32 {
    class << 16 | method
}

/// No limit of channels, the largest frame, no heartbeats.
fn tuning() -> Vec<u8> {
    let [a, b, c, d] = FRAME_MAX.to_be_bytes();
    vec![0, 0, a, b, c, d, 0, 0]
}

fn opening() -> Vec<u8> {
    [short("/"), short(""), vec![0]].concat()
}

fn method(channel: u16, id: u32, arguments: &[u8]) -> Vec<u8> {
    frame(1, channel, &[&id.to_be_bytes()[..], arguments].concat())
}

fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    frame.extend(channel.to_be_bytes());
    frame.extend((payload.len() as u32).to_be_bytes());
    frame.extend_from_slice(payload);
    frame.push(0xce);
    frame
}

/// An empty table.
fn table() -> Vec<u8> {
    vec![0; 4]
}

fn short(text: &str) -> Vec<u8> {
    [&[text.len() as u8][..], text.as_bytes()].concat()
}

fn long(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_three_frames_and_ends_with_its_body() {
        let content = content(100).octets;
        let mut rest = &content[..];
        let mut kinds = Vec::new();
        while !rest.is_empty() {
            let unit = unit(rest).unwrap().unwrap();
            kinds.push((unit.kind, unit.ends_message));
            assert_eq!(rest[unit.len as usize - 1], 0xce);
            rest = &rest[unit.len as usize..];
        }
        let expected = [
            (PUBLISH, false),
            (CONTENT_HEADER, false),
            (CONTENT_BODY, true),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn an_ack_names_its_delivery_tag() {
        let ack = ack(0x0102_0304_0506);
        let unit = unit(&ack).unwrap().unwrap();
        assert!(is_ack(&unit));
        assert_eq!((unit.number, unit.len), (0x0102_0304_0506, 21));
        for len in 0..19 {
            assert_eq!(super::unit(&ack[..len]).unwrap(), None, "{len}");
        }
        assert!(super::unit(&[5, 0, 0, 0, 0, 0, 0]).is_err());
    }
}
