//! The performative at the front of a frame's body, and its fields as octets.

use std::fmt;

use super::descriptor::{Described, Descriptor, descriptor};
use super::fault::{Fault, Malformed};
use super::fields::{Field, finish};
use super::frame_header::FrameHeader;
use super::list::{check_fields, list};
use super::value::value_len;
use crate::Parsed;

/// A performative (AMQP 1.0 §2.7) or the body of a SASL frame (§5.3.3), with the frame it is in.
///
/// Its list was walked: it holds as many values as it says and nothing else. What the values are is
/// read by the method that bears the performative's name: [`Performative::attach`] and so on. The
/// debug form leaves out the octets, which may be credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Performative<'a> {
    /// The header of the frame.
    pub header: FrameHeader,
    /// Which performative this is.
    pub descriptor: Descriptor,
    /// The offset in the frame at which the performative ends and the payload begins.
    ///
    /// For an unknown descriptor it is where the body begins: all of the body is opaque then.
    pub payload_at: usize,
    /// The frame from its first octet to `payload_at`.
    pub(super) head: &'a [u8],
    /// Where the list begins. `header.body_at() <= list_at <= fields_at <= payload_at`.
    pub(super) list_at: usize,
    /// Where the fields of the list begin.
    pub(super) fields_at: usize,
    /// The number of fields.
    pub(super) count: u32,
}

impl<'a> Performative<'a> {
    /// The octets of the frame that follow the performative.
    pub fn payload_len(&self) -> usize {
        self.header.frame_len() - self.payload_at
    }

    /// The fields, as octets with their constructors; a null is the octet 0x40.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            rest: self.field_octets(),
        }
    }

    /// The field at this index of the list, as octets; `None` where the list is shorter.
    pub fn field(&self, index: usize) -> Option<&'a [u8]> {
        self.fields().nth(index)
    }

    /// All fields as one run of octets.
    pub(super) fn field_octets(&self) -> &'a [u8] {
        self.head.get(self.fields_at..).unwrap_or_default()
    }

    /// Reads the fields by `grammar`, if this is the performative that they belong to.
    pub(super) fn read<T>(
        &self,
        descriptor: Descriptor,
        grammar: impl FnOnce(&'a [u8]) -> Field<'a, T>,
    ) -> Result<T, Malformed> {
        if self.descriptor != descriptor {
            return Err(Malformed {
                at: self.header.body_at(),
                what: Fault::UnexpectedPerformative,
            });
        }
        finish(self.payload_at, grammar(self.field_octets()))
    }
}

impl fmt::Debug for Performative<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Performative")
            .field("header", &self.header)
            .field("descriptor", &self.descriptor)
            .field("count", &self.count)
            .field("payload_at", &self.payload_at)
            .finish_non_exhaustive()
    }
}

/// The fields of a performative, one after the other.
#[derive(Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields that were not handed out yet, as one run of octets.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let Ok(Parsed::Value(len)) = value_len(self.rest) else {
            return None;
        };
        let (field, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(field)
    }
}

/// Reads the performative of the frame that starts `input` and whose header is `header`.
///
/// ```text
/// +--------------+-----------------+------+------------+---------------------+---------+
/// | frame header | extended header | 0x00 | descriptor | list                | payload |
/// | 8            | 4 * DOFF - 8    | 1    | 2 and more | 1, or 3, 9 and more |         |
/// +--------------+-----------------+------+------------+---------------------+---------+
///                                   AMQP 1.0 §2.3.2, §1.4
/// ```
///
/// A performative that ends beyond `ceiling`, counted from the frame's first octet, is malformed;
/// so what is waited for is `ceiling` octets at most, or 1,100 if that is more. `input` may be
/// longer than the frame. An empty frame has no performative: see [`FrameHeader::is_empty`]. Nothing is
/// awaited or checked behind a descriptor that is not known.
pub fn performative<'a>(
    header: &FrameHeader,
    input: &'a [u8],
    ceiling: usize,
) -> Result<Parsed<Performative<'a>>, Malformed> {
    let frame_len = header.frame_len();
    let body_at = header.body_at();
    let frame = input.get(..frame_len).unwrap_or(input);
    let malformed = |at, what| Err(Malformed { at, what });
    let wait = |at, until| {
        // What is wrong with a frame that has no room for it shows when all of it is there.
        let until = if frame.len() < frame_len {
            frame_len.min(until)
        } else {
            until
        };
        if until > frame_len {
            malformed(at, Fault::ValueBeyondEnd)
        } else {
            Ok(Parsed::NeedMore(until))
        }
    };

    let body = frame.get(body_at..).unwrap_or_default();
    let (code, value_at) = match descriptor(body) {
        Ok(Parsed::Value(Described::Known { code, value_at })) => (code, value_at),
        Ok(Parsed::Value(Described::Unknown)) => return Ok(unknown(header, frame)),
        Ok(Parsed::NeedMore(more)) => return wait(body_at, body_at + more),
        Err(what) => return malformed(body_at, what),
    };
    let descriptor = Descriptor::from_code(code);
    if descriptor == Descriptor::Unknown {
        return Ok(unknown(header, frame));
    }

    let list_at = body_at + value_at;
    let list = match list(frame.get(list_at..).unwrap_or_default()) {
        Ok(Parsed::Value(list)) => list,
        Ok(Parsed::NeedMore(more)) => return wait(list_at, list_at + more),
        Err(what) => return malformed(list_at, what),
    };
    let fields_at = list_at + list.fields_at;
    let end = list_at + list.end;
    if end > frame_len {
        return malformed(list_at, Fault::ValueBeyondEnd);
    }
    if end > ceiling {
        return malformed(list_at, Fault::OverCeiling);
    }
    let (Some(head), Some(fields)) = (frame.get(..end), frame.get(fields_at..end)) else {
        return Ok(Parsed::NeedMore(end));
    };
    if let Err((at, what)) = check_fields(fields, list.count) {
        return malformed(fields_at + at, what);
    }
    Ok(Parsed::Value(Performative {
        header: *header,
        descriptor,
        payload_at: end,
        head,
        list_at,
        fields_at,
        count: list.count,
    }))
}

/// What is said of a frame whose body is not known.
fn unknown<'a>(header: &FrameHeader, frame: &'a [u8]) -> Parsed<Performative<'a>> {
    let end = header.body_at();
    Parsed::Value(Performative {
        header: *header,
        descriptor: Descriptor::Unknown,
        payload_at: end,
        head: frame.get(..end).unwrap_or(frame),
        list_at: end,
        fields_at: end,
        count: 0,
    })
}
