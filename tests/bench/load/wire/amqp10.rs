//! AMQP 1.0, as far as a load needs it: one session, one link, pre-settled transfers.

use super::{HEAD, Protocol, Unit, batch::Template, number, unexpected};
use crate::Error;

/// Descriptors of the performatives (AMQP 1.0 §2.7); 0 is an empty frame.
const OPEN: u32 = 0x10;
const BEGIN: u32 = 0x11;
const ATTACH: u32 = 0x12;
/// See [`OPEN`].
pub(super) const FLOW: u32 = 0x13;
const TRANSFER: u32 = 0x14;

/// What stands for the protocol header where a performative is expected.
const HEADER: u32 = 0x100;

/// The largest frame that either end takes.
const MAX_FRAME_SIZE: u32 = 64 << 10;

/// Transfers that a session and a link have room for: more than any load sends.
const WINDOW: u32 = (1 << 31) - 1;

/// All that a client says before its first transfer, at once (§2.4.2).
pub(super) fn beginning() -> Vec<u8> {
    [header(), open(), begin(None), attach(Role::Sender)].concat()
}

/// What a broker answers to this unit, if anything.
pub(super) fn answer(unit: &Unit) -> Vec<u8> {
    match unit.kind {
        HEADER => [header(), open()].concat(),
        BEGIN => begin(Some(0)),
        ATTACH => [attach(Role::Receiver), flow()].concat(),
        _ => Vec::new(),
    }
}

/// A pre-settled delivery of so many octets, in as few frames as hold it.
pub(super) fn delivery(size: usize) -> Template {
    let mut message = vec![0x00, 0x53, 0x75, 0xb0];
    message.extend((size as u32 - 8).to_be_bytes());
    message.resize(size, b'm');
    let first_head = transfer(Some(0), true).len();
    let room = MAX_FRAME_SIZE as usize - first_head;
    let count = message.chunks(room).count();
    let mut octets = Vec::new();
    for (at, payload) in message.chunks(room).enumerate() {
        let id = (at == 0).then_some(0);
        let mut frame = transfer(id, at + 1 < count);
        frame.extend_from_slice(payload);
        set_size(&mut frame);
        octets.extend(frame);
    }
    Template {
        octets,
        // After frame header, descriptor, list header, handle and the constructor.
        number_at: Some((8 + 3 + 9 + 1 + 1, 4)),
    }
}

/// Reads a frame header and its performative, and of a transfer its delivery-id and `more`.
pub(super) fn unit(octets: &[u8]) -> Result<Option<Unit>, Error> {
    let Some(size) = number(octets, 0, 4) else {
        return Ok(None);
    };
    let mut unit = Unit {
        kind: HEADER,
        len: 8,
        ends_message: false,
        number: 0,
    };
    if octets.starts_with(b"AMQP") {
        return Ok(Some(unit));
    }
    if size < 8 {
        return Err(unexpected(
            Protocol::Amqp10,
            "a frame of less than 8 octets",
        ));
    }
    unit.len = size;
    unit.kind = 0;
    if size > 8 {
        let head = octets.len().min(HEAD) as u64;
        if head < size.min(HEAD as u64) {
            return Ok(None);
        }
        let doff = number(octets, 4, 1).unwrap_or(2) as usize * 4;
        let Some(code) = number(octets, doff + 2, 1) else {
            return Err(unexpected(Protocol::Amqp10, "a frame without performative"));
        };
        unit.kind = code as u32;
        if unit.kind == TRANSFER {
            let fields = octets.get(doff + 3..).unwrap_or_default();
            let Some((id, more)) = transfer_fields(fields) else {
                return Err(unexpected(Protocol::Amqp10, "a transfer that is not read"));
            };
            unit.number = id;
            unit.ends_message = !more;
        }
    }
    Ok(Some(unit))
}

/// The delivery-id and `more` of the list of a transfer (§2.7.5).
fn transfer_fields(list: &[u8]) -> Option<(u64, bool)> {
    let (header, count) = match list.first()? {
        0x45 => (1, 0),
        0xc0 => (3, number(list, 2, 1)?),
        0xd0 => (9, number(list, 5, 4)?),
        _ => return None,
    };
    let mut rest = list.get(header..)?;
    let (mut id, mut more) = (0, false);
    for field in 0..count.min(6) {
        let code = *rest.first()?;
        // The width of a value is in the high half of its constructor (§1.6).
        let width = match code >> 4 {
            4 => 0,
            5 => 1,
            6 => 2,
            7 => 4,
            8 => 8,
            0xa => 1 + number(rest, 1, 1)? as usize,
            _ => return None,
        };
        match field {
            1 => id = number(rest, 1, width)?,
            5 => more = code == 0x41 || (code == 0x56 && number(rest, 1, 1)? == 1),
            _ => {}
        }
        rest = rest.get(1 + width..)?;
    }
    Some((id, more))
}

/// Which end of a link speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Sender,
    Receiver,
}

fn header() -> Vec<u8> {
    b"AMQP\x00\x01\x00\x00".to_vec()
}

fn open() -> Vec<u8> {
    frame(OPEN, &[text("bench"), NULL.to_vec(), uint(MAX_FRAME_SIZE)])
}

fn begin(remote_channel: Option<u16>) -> Vec<u8> {
    let remote = remote_channel.map_or(NULL.to_vec(), |channel| {
        [&[0x60][..], &channel.to_be_bytes()].concat()
    });
    frame(BEGIN, &[remote, uint(0), uint(WINDOW), uint(WINDOW)])
}

/// attach with snd-settle-mode settled and rcv-settle-mode first.
fn attach(role: Role) -> Vec<u8> {
    let terminus = |code| [vec![0x00, 0x53, code], list(&[text("bench")])].concat();
    let mut fields = vec![
        text("bench"),
        uint(0),
        boolean(role == Role::Receiver),
        vec![0x50, 1],
        vec![0x50, 0],
        terminus(0x28),
        terminus(0x29),
    ];
    if role == Role::Sender {
        fields.extend([NULL.to_vec(), NULL.to_vec(), uint(0)]);
    }
    frame(ATTACH, &fields)
}

/// flow that gives the sender credit for all of its deliveries.
fn flow() -> Vec<u8> {
    let session = [uint(0), uint(WINDOW), uint(0), uint(WINDOW)];
    let link = [uint(0), uint(0), uint(WINDOW)];
    frame(FLOW, &[&session[..], &link].concat())
}

/// The head of a transfer: with the delivery-id, or of a further frame of the same delivery.
fn transfer(id: Option<u32>, more: bool) -> Vec<u8> {
    let (id, tag, format) = match id {
        Some(id) => (uint(id), vec![0xa0, 1, b't'], vec![0x43]),
        None => (NULL.to_vec(), NULL.to_vec(), NULL.to_vec()),
    };
    let fields = [vec![0x43], id, tag, format, boolean(true), boolean(more)];
    frame(TRANSFER, &fields)
}

/// A frame on channel 0: size, doff, type, channel, descriptor, list (§2.3.1).
fn frame(code: u32, fields: &[Vec<u8>]) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 0, 2, 0, 0, 0, 0x00, 0x53, code as u8];
    frame.extend(list(fields));
    set_size(&mut frame);
    frame
}

fn set_size(frame: &mut [u8]) {
    let size = (frame.len() as u32).to_be_bytes();
    for (place, octet) in frame.iter_mut().zip(size) {
        *place = octet;
    }
}

fn list(fields: &[Vec<u8>]) -> Vec<u8> {
    let count = fields.len() as u32;
    let fields = fields.concat();
    let mut list = vec![0xd0];
    list.extend((4 + fields.len() as u32).to_be_bytes());
    list.extend(count.to_be_bytes());
    list.extend(fields);
    list
}

fn text(text: &str) -> Vec<u8> {
    [&[0xa1, text.len() as u8][..], text.as_bytes()].concat()
}

fn uint(number: u32) -> Vec<u8> {
    [&[0x70][..], &number.to_be_bytes()].concat()
}

fn boolean(yes: bool) -> Vec<u8> {
    vec![if yes { 0x41 } else { 0x42 }]
}

const NULL: &[u8] = &[0x40];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_delivery_is_in_frames_of_64_kib_and_ends_with_the_last() {
        let delivery = delivery(1 << 20).octets;
        let mut rest = &delivery[..];
        let mut sizes = Vec::new();
        let mut ends = Vec::new();
        while !rest.is_empty() {
            let unit = unit(rest).unwrap().unwrap();
            assert_eq!(unit.kind, TRANSFER);
            sizes.push(unit.len);
            ends.push(unit.ends_message);
            rest = &rest[unit.len as usize..];
        }
        assert_eq!(sizes[0], 64 << 10);
        assert!(sizes.iter().all(|&size| size <= 64 << 10));
        let (last, others) = ends.split_last().unwrap();
        assert!(*last && others.len() == 16 && !others.contains(&true));
    }

    #[test]
    fn the_delivery_id_stands_where_the_template_says() {
        let mut template = delivery(100);
        let (at, width) = template.number_at.unwrap();
        template.octets[at..at + width].copy_from_slice(&[1, 2, 3, 4]);
        let unit = unit(&template.octets).unwrap().unwrap();
        assert_eq!(unit.number, 0x0102_0304);
        assert!(unit.ends_message);
    }

    #[test]
    fn transfers_of_others_are_read_too() {
        // uint0, ulong-like widths, list8, `more` as boolean with an octet, left out fields.
        let list = [0xc0, 9, 6, 0x43, 0x52, 7, 0x40, 0x43, 0x41, 0x56, 1];
        assert_eq!(transfer_fields(&list), Some((7, true)));
        assert_eq!(transfer_fields(&[0xc0, 2, 1, 0x43]), Some((0, false)));
        assert_eq!(transfer_fields(&[0x45]), Some((0, false)));
        assert_eq!(transfer_fields(&[0x71]), None);
    }

    #[test]
    fn an_empty_frame_and_the_protocol_header_are_units() {
        let empty = unit(&[0, 0, 0, 8, 2, 0, 0, 0]).unwrap().unwrap();
        assert_eq!((empty.kind, empty.len), (0, 8));
        assert_eq!(unit(&header()).unwrap().unwrap().kind, HEADER);
        assert_eq!(unit(&header()[..3]).unwrap(), None);
        assert!(unit(&[0, 0, 0, 7]).is_err());
    }
}
