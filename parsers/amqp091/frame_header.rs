//! The frame header: what kind of frame this is, on which channel, and where it ends.

use std::fmt;

use super::fault::{Fault, Malformed};
use crate::Parsed;

/// A channel number; 0 is the connection itself (AMQP 0-9-1 §4.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u16);

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The type of a frame (AMQP 0-9-1 §4.2.3).
///
/// The text of the specification gives heartbeat the number 4 and its grammar 8; all the world
/// uses 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameType {
    /// A method.
    Method = 1,
    /// The header of a content.
    Header = 2,
    /// A part of the body of a content.
    Body = 3,
    /// A sign of life.
    Heartbeat = 8,
}

impl FrameType {
    #[inline]
    fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Method,
            2 => Self::Header,
            3 => Self::Body,
            8 => Self::Heartbeat,
            _ => return None,
        })
    }
}

/// A frame header (AMQP 0-9-1 §4.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What kind of frame this is.
    pub frame_type: FrameType,
    /// The channel.
    pub channel: Channel,
    /// Octets of the payload, which is what stands between this header and the frame-end.
    pub size: u32,
}

impl FrameHeader {
    /// Octets of a frame header.
    pub const LEN: usize = 7;
    /// Octets of a frame without a payload: its header and its frame-end.
    pub const EMPTY_FRAME_LEN: usize = Self::LEN + 1;

    /// Octets of the payload.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.size as usize
    }

    /// The octets of the whole frame, header and frame-end included.
    #[inline]
    pub fn frame_len(&self) -> usize {
        Self::EMPTY_FRAME_LEN + self.payload_len()
    }

    /// The offset of the frame-end.
    #[inline]
    pub fn end_at(&self) -> usize {
        Self::LEN + self.payload_len()
    }

    /// Checks the octet that stands where the frame-end has to.
    #[inline]
    pub fn check_end(&self, octet: u8) -> Result<(), Malformed> {
        if octet == FRAME_END {
            Ok(())
        } else {
            Err(Malformed {
                at: self.end_at(),
                what: Fault::BadFrameEnd,
            })
        }
    }

    /// The whole frame at the front of `input`, if it is there, with its frame-end checked.
    #[inline]
    pub fn whole<'a>(&self, input: &'a [u8]) -> Result<Parsed<&'a [u8]>, Malformed> {
        match input.get(..self.frame_len()) {
            Some(frame) => {
                self.check_end(frame.last().copied().unwrap_or_default())?;
                Ok(Parsed::Value(frame))
            }
            None => Ok(Parsed::NeedMore(self.frame_len())),
        }
    }

    /// The seven octets of the header.
    pub fn octets(&self) -> [u8; Self::LEN] {
        let [c0, c1] = self.channel.0.to_be_bytes();
        let [s0, s1, s2, s3] = self.size.to_be_bytes();
        [self.frame_type as u8, c0, c1, s0, s1, s2, s3]
    }
}

/// Reads the frame header at the front of `input`.
///
/// ```text
///  0      1         3         7           7 + size
/// +------+---------+---------+-----------+-----------+
/// | type | channel | size    | payload   | frame-end |   AMQP 0-9-1 §4.2.3
/// | 1    | 2       | 4       | size      | 0xCE      |
/// +------+---------+---------+-----------+-----------+
/// ```
///
/// Waits for seven octets. How large a size may be is the caller's to check, who knows what was agreed
/// upon.
#[inline]
pub fn frame_header(input: &[u8]) -> Result<Parsed<FrameHeader>, Malformed> {
    let Some(&code) = input.first() else {
        return Ok(Parsed::NeedMore(FrameHeader::LEN));
    };
    let Some(frame_type) = FrameType::from_code(code) else {
        return Err(Malformed {
            at: 0,
            what: Fault::UnknownFrameType,
        });
    };
    let &[_, c0, c1, s0, s1, s2, s3, ..] = input else {
        return Ok(Parsed::NeedMore(FrameHeader::LEN));
    };
    Ok(Parsed::Value(FrameHeader {
        frame_type,
        channel: Channel(u16::from_be_bytes([c0, c1])),
        size: u32::from_be_bytes([s0, s1, s2, s3]),
    }))
}

/// The octet that ends every frame.
pub const FRAME_END: u8 = 0xCE;
