//! A content that comes: its method, and the content header that is behind it.

use parsers::Parsed;
use parsers::amqp091::{
    Channel, Deliver, FrameHeader, FrameType, GetOk, Publish, content_header, frame_header,
};

use crate::gate::Side;

/// A method that carries a content.
#[derive(Clone, Copy, Debug)]
pub(super) enum ContentMethod<'a> {
    /// basic.publish.
    Publish(Publish<'a>),
    /// basic.deliver.
    Deliver(Deliver<'a>),
    /// basic.get-ok.
    GetOk(GetOk<'a>),
    /// basic.return: the client's own message, which is not judged again.
    Return,
}

/// A content whose header has come.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) from: Side,
    pub(super) channel: Channel,
    pub(super) method: ContentMethod<'a>,
    /// Octets of the body.
    pub(super) body_size: u64,
    /// The frame of the content header, and what of it has come.
    pub(super) header: FrameHeader,
    pub(super) octets: &'a [u8],
    /// Octets of the input in front of it.
    pub(super) before: usize,
}

impl<'a> ContentMethod<'a> {
    /// Exchange and routing key.
    fn names(&self) -> (&'a [u8], &'a [u8]) {
        match *self {
            Self::Publish(publish) => (publish.exchange, publish.routing_key),
            Self::Deliver(deliver) => (deliver.exchange, deliver.routing_key),
            Self::GetOk(get_ok) => (get_ok.exchange, get_ok.routing_key),
            Self::Return => (b"", b""),
        }
    }

    /// Writes the address: `exchange/routing-key`, which for the default exchange is `/queue`.
    #[inline]
    pub(super) fn address(&self, address: &mut Vec<u8>) {
        let (exchange, routing_key) = self.names();
        address.clear();
        address.extend_from_slice(exchange);
        address.push(b'/');
        address.extend_from_slice(routing_key);
    }
}

/// What stands behind a method that carries a content.
pub(super) enum Ahead {
    /// The frame of its content header, and the size of its body.
    ContentHeader(FrameHeader, u64),
    /// This many octets are needed to say.
    NeedMore(usize),
    /// Something else. If it is not allowed there, that is said when it is its turn.
    Other,
}

/// Looks at what stands behind a method; a frame that is longer than `most` is not judged there.
pub(super) fn look_ahead(channel: Channel, input: &[u8], most: u64) -> Ahead {
    let header = match frame_header(input) {
        Ok(Parsed::Value(header)) => header,
        Ok(Parsed::NeedMore(octets)) => return Ahead::NeedMore(octets),
        Err(_) => return Ahead::Other,
    };
    let is_other = header.channel != channel || header.frame_type != FrameType::Header;
    if is_other || header.frame_len() as u64 > most {
        return Ahead::Other;
    }
    match content_header(&header, input) {
        Ok(Parsed::Value(content)) => Ahead::ContentHeader(header, content.body_size),
        Ok(Parsed::NeedMore(octets)) => Ahead::NeedMore(octets),
        Err(_) => Ahead::Other,
    }
}
