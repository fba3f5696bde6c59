//! AMQP 1.0 as octets: encoders for what a test sends, a reader for what sizegate answers.
//!
//! Written from the specification and on purpose without the product's own parsers and encoders.

use super::Raw;

/// The protocol header of AMQP 1.0 (§2.2).
pub const HEADER: &[u8] = b"AMQP\x00\x01\x00\x00";

/// The protocol header of the SASL layer (§5.3.1).
pub const SASL_HEADER: &[u8] = b"AMQP\x03\x01\x00\x00";

/// A link that these peers attach: its handle is the same on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The handle.
    pub handle: u32,
    /// The address of its target.
    pub address: &'static str,
}

/// A frame that was received.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The channel.
    pub channel: u16,
    /// The descriptor of the performative; `None` in an empty frame.
    pub code: Option<u8>,
    /// All of its octets.
    pub octets: Vec<u8>,
}

impl Frame {
    /// Whether this text stands in it.
    pub fn says(&self, text: &str) -> bool {
        let mut windows = self.octets.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    }

    /// Fails unless it is this performative and all of these texts stand in it.
    pub fn expect(&self, code: u8, texts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.text());
        for text in texts {
            assert!(self.says(text), "no {text:?} in {}", self.text());
        }
    }

    fn text(&self) -> String {
        self.octets.escape_ascii().to_string()
    }
}

/// Reads a frame.
pub fn read_frame(peer: &mut Raw) -> Frame {
    let mut octets = peer.read(8);
    let len = u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]);
    octets.extend(peer.read(len as usize - 8));
    let at = usize::from(octets[4]) * 4;
    Frame {
        channel: u16::from_be_bytes([octets[6], octets[7]]),
        // 0x00 0x53 and the descriptor.
        code: octets.get(at + 2).copied(),
        octets,
    }
}

/// Reads frames up to the next one with this performative, and returns that.
pub fn read_until(peer: &mut Raw, code: u8) -> Frame {
    loop {
        let frame = read_frame(peer);
        if frame.code == Some(code) {
            return frame;
        }
    }
}

/// open: container-id, no hostname, max-frame-size.
pub fn open(container: &str, max_frame_size: u32) -> Vec<u8> {
    performative(
        0,
        OPEN,
        &[text(container), NULL.to_vec(), uint(max_frame_size)],
    )
}

/// sasl-init with the mechanism ANONYMOUS.
pub fn sasl_init() -> Vec<u8> {
    let mechanism = [&[0xa3, 9][..], b"ANONYMOUS"].concat();
    let mut frame = performative(0, SASL_INIT, &[mechanism]);
    frame[5] = 1;
    frame
}

/// begin: remote-channel, next-outgoing-id 0, and windows that never close.
pub fn begin(remote_channel: Option<u16>) -> Vec<u8> {
    let remote = remote_channel.map_or(NULL.to_vec(), |channel| {
        [&[0x60][..], &channel.to_be_bytes()].concat()
    });
    performative(0, BEGIN, &[remote, uint(0), uint(WINDOW), uint(WINDOW)])
}

/// attach of the sender.
pub fn attach_sender(link: Link) -> Vec<u8> {
    attach(link, false, &uint(0))
}

/// attach of the receiver.
pub fn attach_receiver(link: Link) -> Vec<u8> {
    attach(link, true, NULL)
}

/// flow of the receiver: this credit from the first delivery on.
pub fn flow(link: Link, credit: u32) -> Vec<u8> {
    let session = [uint(0), uint(WINDOW), uint(0), uint(WINDOW)];
    let link = [uint(link.handle), uint(0), uint(credit)];
    performative(0, FLOW, &[&session[..], &link].concat())
}

/// transfer of an unsettled delivery, or of a part of one.
pub fn transfer(link: Link, id: u32, more: bool, payload: &[u8]) -> Vec<u8> {
    let tag = [&[0xa0, 4][..], &id.to_be_bytes()].concat();
    let fields = [
        uint(link.handle),
        uint(id),
        tag,
        uint(0),
        boolean(false),
        boolean(more),
    ];
    let mut frame = performative(0, TRANSFER, &fields);
    frame.extend_from_slice(payload);
    let len = frame.len() as u32;
    frame[..4].copy_from_slice(&len.to_be_bytes());
    frame
}

/// transfer of a delivery that is settled already.
pub fn settled_transfer(link: Link, id: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = transfer(link, id, false, payload);
    // The first of two booleans that stand at the end of the performative.
    let at = frame.len() - payload.len() - 2;
    frame[at..=at].copy_from_slice(&boolean(true));
    frame
}

/// disposition of the receiver: this delivery is accepted and settled.
pub fn accepted(id: u32) -> Vec<u8> {
    disposed(id, 0x24)
}

/// disposition of the receiver: this delivery is settled in the state of this descriptor, without
/// fields.
pub fn disposed(id: u32, state: u8) -> Vec<u8> {
    let state = vec![0x00, 0x53, state, 0x45];
    performative(
        0,
        DISPOSITION,
        &[boolean(true), uint(id), uint(id), boolean(true), state],
    )
}

/// detach that closes the link.
pub fn detach(link: Link) -> Vec<u8> {
    performative(0, DETACH, &[uint(link.handle), boolean(true)])
}

/// close without an error.
pub fn close() -> Vec<u8> {
    performative(0, CLOSE, &[])
}

/// A message of so many octets: one data section (§3.2.6).
pub fn message(size: usize) -> Vec<u8> {
    let mut octets = vec![0x00, 0x53, 0x75, 0xb0];
    octets.extend((size as u32 - 8).to_be_bytes());
    octets.resize(size, b'm');
    octets
}

fn attach(link: Link, is_receiver: bool, initial_delivery_count: &[u8]) -> Vec<u8> {
    let terminus = |code| {
        let address = list(&[text(link.address)]);
        [&[0x00, 0x53, code][..], &address].concat()
    };
    let fields = [
        text(link.address),
        uint(link.handle),
        boolean(is_receiver),
        vec![0x50, 2],
        vec![0x50, 0],
        terminus(0x28),
        terminus(0x29),
        NULL.to_vec(),
        NULL.to_vec(),
        initial_delivery_count.to_vec(),
    ];
    performative(0, ATTACH, &fields)
}

/// A frame with a performative: size, doff, type, channel, descriptor, list.
fn performative(channel: u16, code: u8, fields: &[Vec<u8>]) -> Vec<u8> {
    let fields = list(fields);
    let mut frame = (11 + fields.len() as u32).to_be_bytes().to_vec();
    frame.extend([2, 0]);
    frame.extend(channel.to_be_bytes());
    frame.extend([0x00, 0x53, code]);
    frame.extend(fields);
    frame
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

/// More frames than any test sends.
const WINDOW: u32 = 1 << 24;

/// Descriptors of the performatives (§2.7).
pub const OPEN: u8 = 0x10;
/// See [`OPEN`].
pub const BEGIN: u8 = 0x11;
/// See [`OPEN`].
pub const ATTACH: u8 = 0x12;
/// See [`OPEN`].
pub const FLOW: u8 = 0x13;
/// See [`OPEN`].
pub const TRANSFER: u8 = 0x14;
/// See [`OPEN`].
pub const DISPOSITION: u8 = 0x15;
/// See [`OPEN`].
pub const DETACH: u8 = 0x16;
/// See [`OPEN`].
pub const CLOSE: u8 = 0x18;
/// Descriptors of the SASL frames (§5.3.3).
pub const SASL_MECHANISMS: u8 = 0x40;
/// See [`SASL_MECHANISMS`].
pub const SASL_INIT: u8 = 0x41;
/// See [`SASL_MECHANISMS`].
pub const SASL_OUTCOME: u8 = 0x44;
