//! The short way through a message as libraries write it: method, content header and one body frame.
//!
//! It gives what the general parsers give, in one look at octets that are all there, and leaves
//! everything that is unusual to them.

use super::basic::{Deliver, Publish};
use super::content_header::ContentHeader;
use super::frame_header::{Channel, FRAME_END, FrameHeader, FrameType};
use super::method::MethodId;

/// A whole message: a method that carries a content, the content header, and the body in one frame,
/// or in none where it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common<'a> {
    /// The channel of all its frames.
    pub channel: Channel,
    /// The method.
    pub method: CommonMethod<'a>,
    /// Octets of the method frame.
    pub method_len: usize,
    /// Octets of the frame of the content header.
    pub header_len: usize,
    /// Octets of the body.
    pub body_size: usize,
}

/// The methods that the short way is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommonMethod<'a> {
    /// basic.publish.
    Publish(Publish<'a>),
    /// basic.deliver.
    Deliver(Deliver<'a>),
}

impl Common<'_> {
    /// Octets of the body frame; none for an empty body.
    #[inline]
    pub fn body_len(&self) -> usize {
        match self.body_size {
            0 => 0,
            size => FrameHeader::EMPTY_FRAME_LEN + size,
        }
    }

    /// Octets of all frames together.
    #[inline]
    pub fn total_len(&self) -> usize {
        self.method_len + self.header_len + self.body_len()
    }
}

/// Reads a message that is at the front of `input` as a whole, if it has the common form.
///
/// ```text
/// +---------------+-----------------+---------------+
/// | method frame  | content header  | body frame    |   AMQP 0-9-1 §4.2.6
/// | publish or    | basic, weight 0 | all of the    |
/// | deliver       |                 | body size     |
/// +---------------+-----------------+---------------+
/// ```
#[inline]
pub fn common_content(input: &[u8]) -> Option<Common<'_>> {
    let (channel, payload, rest) = frame(FrameType::Method, input)?;
    let method = method(payload)?;
    let method_len = FrameHeader::EMPTY_FRAME_LEN + payload.len();
    let (its, header, rest) = frame(FrameType::Header, rest)?;
    let &[0, CLASS, 0, 0, b0, b1, b2, b3, b4, b5, b6, b7, _, _, ..] = header else {
        return None;
    };
    let body_size = u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
    let body_size = usize::try_from(body_size).ok()?;
    if its != channel {
        return None;
    }
    if body_size > 0 {
        let (its, body, _) = frame(FrameType::Body, rest)?;
        if its != channel || body.len() != body_size {
            return None;
        }
    }
    Some(Common {
        channel,
        method,
        method_len,
        header_len: FrameHeader::EMPTY_FRAME_LEN + header.len(),
        body_size,
    })
}

/// The channel and the payload of a frame of this type, and what follows the frame.
#[inline(always)]
fn frame(frame_type: FrameType, input: &[u8]) -> Option<(Channel, &[u8], &[u8])> {
    let &[code, c0, c1, s0, s1, s2, s3, ref rest @ ..] = input else {
        return None;
    };
    let size = u32::from_be_bytes([s0, s1, s2, s3]) as usize;
    let (payload, rest) = rest.split_at_checked(size)?;
    let (&FRAME_END, rest) = rest.split_first()? else {
        return None;
    };
    let channel = Channel(u16::from_be_bytes([c0, c1]));
    (code == frame_type as u8).then_some((channel, payload, rest))
}

#[inline(always)]
fn method(payload: &[u8]) -> Option<CommonMethod<'_>> {
    let &[0, CLASS, 0, number, ref arguments @ ..] = payload else {
        return None;
    };
    if u16::from(number) == MethodId::BASIC_PUBLISH.method {
        let (_, rest) = arguments.split_at_checked(2)?;
        let (exchange, rest) = shortstr(rest)?;
        let (routing_key, rest) = shortstr(rest)?;
        let &[bits] = rest else {
            return None;
        };
        return Some(CommonMethod::Publish(Publish {
            exchange,
            routing_key,
            mandatory: bits & 0b01 != 0,
            immediate: bits & 0b10 != 0,
        }));
    }
    if u16::from(number) == MethodId::BASIC_DELIVER.method {
        let (consumer_tag, rest) = shortstr(arguments)?;
        let (tag, rest) = rest.split_first_chunk()?;
        let (bits, rest) = rest.split_first()?;
        let (exchange, rest) = shortstr(rest)?;
        let (routing_key, rest) = shortstr(rest)?;
        return rest.is_empty().then_some(CommonMethod::Deliver(Deliver {
            consumer_tag,
            delivery_tag: u64::from_be_bytes(*tag),
            redelivered: bits & 1 != 0,
            exchange,
            routing_key,
        }));
    }
    None
}

#[inline(always)]
fn shortstr(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = input.split_first()?;
    rest.split_at_checked(usize::from(len))
}

/// The class of both methods and of their contents, which fits an octet.
const CLASS: u8 = ContentHeader::CLASS as u8;
