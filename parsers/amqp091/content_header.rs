//! The header of a content: how large its body is.

use super::fault::{Fault, Malformed};
use super::frame_header::FrameHeader;
use crate::Parsed;

/// A content header (AMQP 0-9-1 §4.2.6.1), without its properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHeader {
    /// Octets of the body, in all body frames together.
    pub body_size: u64,
}

impl ContentHeader {
    /// The offset at which property flags and properties begin, from the first octet of the frame.
    pub const PROPERTIES_AT: usize = FrameHeader::LEN + 12;
    /// The class of all contents that are known here: basic.
    pub const CLASS: u16 = 60;
    /// The least payload: class, weight, body size and one set of property flags.
    const LEAST: usize = 14;
}

/// Reads the content header in the frame at the front of `input`, whose header has been read.
///
/// ```text
///  7          9        11          19               21
/// +----------+--------+-----------+----------------+---------------+
/// | class-id | weight | body size | property flags | property list |   AMQP 0-9-1 §4.2.6.1
/// | 2, 60    | 2, 0   | 8         | 2 or more      |               |
/// +----------+--------+-----------+----------------+---------------+
/// ```
///
/// Waits for the body size; the properties need not be there.
#[inline]
pub fn content_header(
    header: &FrameHeader,
    input: &[u8],
) -> Result<Parsed<ContentHeader>, Malformed> {
    let fault = |at, what| Err(Malformed { at, what });
    if header.payload_len() < ContentHeader::LEAST {
        return fault(3, Fault::ContentHeaderTooShort);
    }
    let payload = input.get(FrameHeader::LEN..).unwrap_or_default();
    let &[k0, k1, w0, w1, b0, b1, b2, b3, b4, b5, b6, b7, ..] = payload else {
        return Ok(Parsed::NeedMore(ContentHeader::PROPERTIES_AT));
    };
    if u16::from_be_bytes([k0, k1]) != ContentHeader::CLASS {
        return fault(FrameHeader::LEN, Fault::WrongClass);
    }
    if [w0, w1] != [0, 0] {
        return fault(FrameHeader::LEN + 2, Fault::NonzeroWeight);
    }
    Ok(Parsed::Value(ContentHeader {
        body_size: u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7]),
    }))
}
