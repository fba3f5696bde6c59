//! The frame header: how long a frame is, what kind it is of, and where its body begins.

use std::fmt;

use super::fault::{Fault, Malformed};
use crate::Parsed;

/// A channel number, with which a side tells its sessions apart (AMQP 1.0 §2.5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u16);

/// A handle, with which a side tells the links of a session apart (AMQP 1.0 §2.6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u32);

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The type of a frame (AMQP 1.0 §2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameType {
    /// Type 0: an AMQP frame.
    Amqp,
    /// Type 1: a SASL frame (AMQP 1.0 §5.3.1).
    Sasl,
    /// A type that the specification does not have.
    Other(u8),
}

impl FrameType {
    /// The octet that stands for it.
    pub fn code(self) -> u8 {
        match self {
            Self::Amqp => 0x00,
            Self::Sasl => 0x01,
            Self::Other(code) => code,
        }
    }

    #[inline]
    fn from_code(code: u8) -> Self {
        match code {
            0x00 => Self::Amqp,
            0x01 => Self::Sasl,
            other => Self::Other(other),
        }
    }
}

/// A frame header (AMQP 1.0 §2.3.1). `8 <= 4 * doff <= size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// SIZE: octets of the whole frame, this header included.
    pub size: u32,
    /// DOFF: where the body begins, in words of four octets.
    pub doff: u8,
    /// TYPE: what kind of frame this is.
    pub frame_type: FrameType,
    /// The channel; of no meaning in a SASL frame.
    pub channel: Channel,
}

impl FrameHeader {
    /// Octets of a frame header without an extended header.
    pub const LEN: usize = 8;

    /// The octets of the whole frame.
    #[inline]
    pub fn frame_len(&self) -> usize {
        self.size as usize
    }

    /// The offset at which the body begins; what stands between 8 and there is the extended header.
    #[inline]
    pub fn body_at(&self) -> usize {
        usize::from(self.doff) * 4
    }

    /// Whether the frame has no body: a heartbeat (AMQP 1.0 §2.4.5).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.frame_len() == self.body_at()
    }

    /// The eight octets of the header.
    pub fn octets(&self) -> [u8; Self::LEN] {
        let [s0, s1, s2, s3] = self.size.to_be_bytes();
        let [c0, c1] = self.channel.0.to_be_bytes();
        [s0, s1, s2, s3, self.doff, self.frame_type.code(), c0, c1]
    }
}

/// Reads the frame header at the front of `input`.
///
/// ```text
/// +------+------+------+---------+-----------------+------------+
/// | SIZE | DOFF | TYPE | channel | extended header | frame body |   AMQP 1.0 §2.3.1
/// | 4    | 1    | 1    | 2       | 4 * DOFF - 8    | the rest   |
/// +------+------+------+---------+-----------------+------------+
/// ```
///
/// Waits for eight octets. How large a SIZE may be is the caller's to check, who knows the
/// max-frame-size of the direction.
#[inline]
pub fn frame_header(input: &[u8]) -> Result<Parsed<FrameHeader>, Malformed> {
    let &[s0, s1, s2, s3, doff, frame_type, c0, c1, ..] = input else {
        return Ok(Parsed::NeedMore(FrameHeader::LEN));
    };
    let header = FrameHeader {
        size: u32::from_be_bytes([s0, s1, s2, s3]),
        doff,
        frame_type: FrameType::from_code(frame_type),
        channel: Channel(u16::from_be_bytes([c0, c1])),
    };
    if header.frame_len() < FrameHeader::LEN {
        return Err(Malformed {
            at: 0,
            what: Fault::FrameTooSmall,
        });
    }
    if doff < 2 || header.body_at() > header.frame_len() {
        return Err(Malformed {
            at: 4,
            what: Fault::BadDataOffset,
        });
    }
    Ok(Parsed::Value(header))
}
