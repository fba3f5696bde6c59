//! AMQP 0-9-1 as octets: encoders for what a test sends, a reader for what sizegate answers.
//!
//! Written from the specification and on purpose without the product's own parsers and encoders.

use super::{Conversation, Raw};

/// The protocol header of AMQP 0-9-1 (§4.2.2).
pub const HEADER: &[u8] = b"AMQP\x00\x00\x09\x01";

/// The largest frame that these peers agree upon.
pub const FRAME_MAX: u32 = 16 * 1024;

/// connection.start.
pub const START: (u16, u16) = (10, 10);
/// connection.tune.
pub const TUNE: (u16, u16) = (10, 30);
/// connection.close.
pub const CLOSE: (u16, u16) = (10, 50);
/// channel.close.
pub const CHANNEL_CLOSE: (u16, u16) = (20, 40);
/// basic.return.
pub const RETURN: (u16, u16) = (60, 50);
/// basic.reject.
pub const REJECT: (u16, u16) = (60, 90);
/// basic.nack.
pub const NACK: (u16, u16) = (60, 120);

/// A frame that was received.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its type: method, header, body or heartbeat.
    pub kind: u8,
    /// The channel.
    pub channel: u16,
    /// What stands between header and frame-end.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Class and method of a method frame.
    pub fn method(&self) -> (u16, u16) {
        assert_eq!(self.kind, 1, "{}", self.text());
        let short = |at: usize| u16::from_be_bytes([self.payload[at], self.payload[at + 1]]);
        (short(0), short(2))
    }

    /// Reply code and reply text of a close or a return.
    pub fn reason(&self) -> (u16, String) {
        let code = u16::from_be_bytes([self.payload[4], self.payload[5]]);
        let len = usize::from(self.payload[6]);
        let text = self.payload[7..7 + len].to_vec();
        (code, String::from_utf8(text).unwrap())
    }

    /// The delivery tag of a confirm or a reject, and the octet of bits behind it.
    pub fn tag(&self) -> (u64, u8) {
        let tag = self.payload[4..12].try_into().unwrap();
        (u64::from_be_bytes(tag), self.payload[12])
    }

    fn text(&self) -> String {
        self.payload.escape_ascii().to_string()
    }
}

/// Reads a frame.
pub fn read_frame(peer: &mut Raw) -> Frame {
    let head = peer.read(7);
    let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
    let payload = peer.read(size as usize);
    assert_eq!(peer.read(1), [0xCE], "the frame-end");
    Frame {
        kind: head[0],
        channel: u16::from_be_bytes([head[1], head[2]]),
        payload,
    }
}

/// Reads a frame that is this method on this channel.
pub fn expect_method(peer: &mut Raw, channel: u16, method: (u16, u16)) -> Frame {
    let frame = read_frame(peer);
    assert_eq!(
        (frame.channel, frame.method()),
        (channel, method),
        "{}",
        frame.text()
    );
    frame
}

/// A frame: type, channel, size, payload, frame-end (§4.2.3).
pub fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    frame.extend(channel.to_be_bytes());
    frame.extend((payload.len() as u32).to_be_bytes());
    frame.extend(payload);
    frame.push(0xCE);
    frame
}

/// A method frame (§4.2.4).
pub fn method(channel: u16, (class, method): (u16, u16), arguments: &[&[u8]]) -> Vec<u8> {
    let mut payload = class.to_be_bytes().to_vec();
    payload.extend(method.to_be_bytes());
    payload.extend(arguments.concat());
    frame(1, channel, &payload)
}

/// connection.start: version 0-9, a broker that has confirms, PLAIN, en_US.
pub fn start() -> Vec<u8> {
    let confirms = [&short(b"publisher_confirms")[..], b"t\x01"].concat();
    let properties = [&short(b"capabilities")[..], b"F", &long(&confirms)].concat();
    let arguments: [&[u8]; 4] = [
        &[0, 9],
        &long(&properties),
        &long(b"PLAIN"),
        &long(b"en_US"),
    ];
    method(0, START, &arguments)
}

/// connection.start-ok of a user whose connection has a name.
pub fn start_ok(user: &str, name: &str) -> Vec<u8> {
    let properties = [&short(b"connection_name")[..], b"S", &long(name.as_bytes())].concat();
    let response = [b"\0", user.as_bytes(), b"\0secret"].concat();
    let arguments: [&[u8]; 4] = [
        &long(&properties),
        &short(b"PLAIN"),
        &long(&response),
        &short(b"en_US"),
    ];
    method(0, (10, 11), &arguments)
}

/// connection.tune: 2047 channels, frames of [`FRAME_MAX`], and this heartbeat.
pub fn tune(heartbeat: u16) -> Vec<u8> {
    let arguments: [&[u8]; 3] = [
        &[0x07, 0xFF],
        &FRAME_MAX.to_be_bytes(),
        &heartbeat.to_be_bytes(),
    ];
    method(0, TUNE, &arguments)
}

/// connection.tune-ok that says the same.
pub fn tune_ok(heartbeat: u16) -> Vec<u8> {
    let mut frame = tune(heartbeat);
    frame[10] = 31;
    frame
}

/// connection.open of this virtual host.
pub fn open(vhost: &str) -> Vec<u8> {
    method(0, (10, 40), &[&short(vhost.as_bytes()), &[0, 0]])
}

/// connection.open-ok.
pub fn open_ok() -> Vec<u8> {
    method(0, (10, 41), &[&[0]])
}

/// connection.close-ok.
pub fn close_ok() -> Vec<u8> {
    method(0, (10, 51), &[])
}

/// channel.open.
pub fn channel_open(channel: u16) -> Vec<u8> {
    method(channel, (20, 10), &[&[0]])
}

/// channel.open-ok.
pub fn channel_open_ok(channel: u16) -> Vec<u8> {
    method(channel, (20, 11), &[&[0; 4]])
}

/// channel.close-ok.
pub fn channel_close_ok(channel: u16) -> Vec<u8> {
    method(channel, (20, 41), &[])
}

/// confirm.select that asks for an answer.
pub fn confirm_select(channel: u16) -> Vec<u8> {
    method(channel, (85, 10), &[&[0]])
}

/// confirm.select-ok.
pub fn confirm_select_ok(channel: u16) -> Vec<u8> {
    method(channel, (85, 11), &[])
}

/// basic.ack.
pub fn ack(channel: u16, tag: u64, multiple: bool) -> Vec<u8> {
    method(channel, (60, 80), &[&tag.to_be_bytes(), &[multiple.into()]])
}

/// basic.publish to exchange `events`, with this routing key and a body of so many octets.
pub fn publish(channel: u16, routing_key: &str, size: usize) -> Vec<u8> {
    [
        publish_head(channel, routing_key, size),
        body(channel, size),
    ]
    .concat()
}

/// The same up to its body.
pub fn publish_head(channel: u16, routing_key: &str, size: usize) -> Vec<u8> {
    let arguments: [&[u8]; 4] = [
        &[0, 0],
        &short(b"events"),
        &short(routing_key.as_bytes()),
        &[0],
    ];
    let method = method(channel, (60, 40), &arguments);
    [method, content_header(channel, size)].concat()
}

/// basic.deliver to consumer `c`, from exchange `events`, with a body of so many octets.
pub fn deliver(channel: u16, tag: u64, routing_key: &str, size: usize) -> Vec<u8> {
    let names = [short(b"events"), short(routing_key.as_bytes())].concat();
    let arguments: [&[u8]; 4] = [&short(b"c"), &tag.to_be_bytes(), &[0], &names];
    let method = method(channel, (60, 60), &arguments);
    [method, content_header(channel, size), body(channel, size)].concat()
}

/// A content header without properties (§4.2.6.1).
pub fn content_header(channel: u16, size: usize) -> Vec<u8> {
    let size = (size as u64).to_be_bytes();
    frame(2, channel, &[&[0, 60, 0, 0], &size[..], &[0, 0]].concat())
}

/// A body of so many octets, in frames that are as large as they may be.
pub fn body(channel: u16, size: usize) -> Vec<u8> {
    let octets = vec![b'b'; size];
    let pieces = octets.chunks(FRAME_MAX as usize - 8);
    pieces.flat_map(|piece| frame(3, channel, piece)).collect()
}

/// A short string (§4.2.5.3).
pub fn short(octets: &[u8]) -> Vec<u8> {
    [&[octets.len() as u8][..], octets].concat()
}

/// A long string (§4.2.5.3).
pub fn long(octets: &[u8]) -> Vec<u8> {
    [&(octets.len() as u32).to_be_bytes()[..], octets].concat()
}

/// A client, `alice` with the connection `billing` to the virtual host `prod`, that the broker has
/// accepted, and the broker's end of its connection; each channel of these is open.
pub fn opened(conversation: &Conversation, channels: &[u16], heartbeat: u16) -> (Raw, Raw) {
    let mut client = conversation.connect();
    client.send(HEADER);
    let mut broker = conversation.broker.accept();
    broker.expect(HEADER, "the protocol header");
    let begin = [
        start_ok("alice", "billing"),
        tune_ok(heartbeat),
        open("prod"),
    ];
    let steps = [
        (start(), begin[0].clone()),
        (tune(heartbeat), begin[1..].concat()),
    ];
    for (asked, answered) in steps {
        broker.send(&asked);
        client.expect(&asked, "what the broker asks");
        client.send(&answered);
        broker.expect(&answered, "what the client answers");
    }
    broker.send(open_ok());
    client.expect(open_ok(), "open-ok");
    for &channel in channels {
        client.send(channel_open(channel));
        broker.expect(channel_open(channel), "channel.open");
        broker.send(channel_open_ok(channel));
        client.expect(channel_open_ok(channel), "channel.open-ok");
    }
    (client, broker)
}
