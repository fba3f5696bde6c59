//! Transfer: one frame of a delivery. The one performative that is read for each message.

use super::attach::ReceiverSettleMode;
use super::descriptor::Descriptor;
use super::fault::Malformed;
use super::fields::{Field, any, binary, boolean, choice, mandatory, optional, uint};
use super::frame_header::{FrameHeader, Handle};
use super::performative::Performative;

/// A transfer (AMQP 1.0 §2.7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer<'a> {
    /// The link, by the handle of the sender of this frame.
    pub handle: Handle,
    /// The delivery-id; on the first frame of a delivery, and maybe on those that follow.
    pub delivery_id: Option<u32>,
    /// The delivery-tag; on the first frame. At most 32 octets by §2.8.7, which is not checked.
    pub delivery_tag: Option<&'a [u8]>,
    /// The message-format; on the first frame.
    pub message_format: Option<u32>,
    /// Whether the delivery is settled: left out is false on the first frame, and no news later.
    pub settled: Option<bool>,
    /// Whether frames of the same delivery follow.
    pub more: bool,
    /// How the receiver is to settle this delivery, if not as the link says.
    pub rcv_settle_mode: Option<ReceiverSettleMode>,
    /// The sender's state of the delivery, encoded: [`super::delivery_state`] reads it.
    pub state: Option<&'a [u8]>,
    /// Whether the delivery goes on from before the link was resumed.
    pub resume: bool,
    /// Whether the delivery is broken off; the payload of this frame does not count then.
    pub aborted: bool,
    /// A hint that the peer need not hurry to answer.
    pub batchable: bool,
    /// The offset in the frame at which the payload begins.
    pub payload_at: usize,
}

/// The indices of the fields of a transfer that may be changed on the way.
impl Transfer<'_> {
    /// handle.
    pub const HANDLE: usize = 0;
    /// delivery-id.
    pub const DELIVERY_ID: usize = 1;
    /// delivery-tag.
    pub const DELIVERY_TAG: usize = 2;
    /// settled.
    pub const SETTLED: usize = 4;
    /// more.
    pub const MORE: usize = 5;
    /// state.
    pub const STATE: usize = 7;
}

impl<'a> Performative<'a> {
    /// Reads the fields of a transfer.
    pub fn transfer(&self) -> Result<Transfer<'a>, Malformed> {
        let payload_at = self.payload_at;
        self.read(Descriptor::Transfer, |fields| transfer(fields, payload_at))
    }
}

fn transfer(fields: &[u8], payload_at: usize) -> Field<'_, Transfer<'_>> {
    let (rest, handle) = mandatory(uint)(fields)?;
    let (rest, delivery_id) = optional(uint)(rest)?;
    let (rest, delivery_tag) = optional(binary)(rest)?;
    let (rest, message_format) = optional(uint)(rest)?;
    let (rest, settled) = optional(boolean)(rest)?;
    let (rest, more) = optional(boolean)(rest)?;
    let (rest, rcv_settle_mode) = optional(choice(ReceiverSettleMode::from_code))(rest)?;
    let (rest, state) = optional(any)(rest)?;
    let (rest, resume) = optional(boolean)(rest)?;
    let (rest, aborted) = optional(boolean)(rest)?;
    let (rest, batchable) = optional(boolean)(rest)?;
    let transfer = Transfer {
        handle: Handle(handle),
        delivery_id,
        delivery_tag,
        message_format,
        settled,
        more: more.unwrap_or(false),
        rcv_settle_mode,
        state,
        resume: resume.unwrap_or(false),
        aborted: aborted.unwrap_or(false),
        batchable: batchable.unwrap_or(false),
        payload_at,
    };
    Ok((rest, transfer))
}

/// Reads the transfer that starts `input`, if it has the form that nearly all have; `None` is for
/// [`super::performative`] to decide, be it an unusual transfer, another frame, malformed or cut.
///
/// ```text
/// +--------------+----------------+------+------+-------+--------+---------+
/// | frame header | 0x00 0x53 0x14 | 0xC0 | size | count | fields | payload |
/// |              |                | 0xD0 | 4    | 4     |        |         |
/// +--------------+----------------+------+------+-------+--------+---------+
/// handle, delivery-id, message-format    0x43, 0x52 _, 0x70 _ _ _ _
/// delivery-tag                           0xA0 length octets
/// settled, more, resume, aborted, batchable   0x41, 0x42
/// any but the handle                     0x40, or left out at the end
/// rcv-settle-mode, state                 only so
/// ```
#[inline]
pub fn common_transfer<'a>(header: &FrameHeader, input: &'a [u8]) -> Option<Transfer<'a>> {
    let body_at = header.body_at();
    let (fields_at, fields_len, count) = match *input.get(body_at..)? {
        [0x00, 0x53, 0x14, 0xC0, size, count, ..] => (
            body_at + 6,
            usize::from(size).checked_sub(1)?,
            u32::from(count),
        ),
        [0x00, 0x53, 0x14, 0xD0, a, b, c, d, e, f, g, h, ..] => {
            let size = u32::from_be_bytes([a, b, c, d]) as usize;
            let count = u32::from_be_bytes([e, f, g, h]);
            (body_at + 12, size.checked_sub(4)?, count)
        }
        _ => return None,
    };
    let payload_at = fields_at + fields_len;
    if payload_at > header.frame_len() {
        return None;
    }
    let mut fields = CommonFields {
        rest: input.get(fields_at..payload_at)?,
        count: 0,
    };
    let mut transfer = Transfer {
        handle: Handle(fields.uint()??),
        delivery_id: fields.uint()?,
        delivery_tag: fields.binary()?,
        message_format: fields.uint()?,
        settled: fields.boolean()?,
        more: fields.boolean()?.unwrap_or(false),
        rcv_settle_mode: None,
        state: None,
        resume: false,
        aborted: false,
        batchable: false,
        payload_at,
    };
    // Few transfers have more fields than these.
    if !fields.rest.is_empty() {
        fields.null()?; // rcv-settle-mode
        fields.null()?; // state
        transfer.resume = fields.boolean()?.unwrap_or(false);
        transfer.aborted = fields.boolean()?.unwrap_or(false);
        transfer.batchable = fields.boolean()?.unwrap_or(false);
    }
    (fields.rest.is_empty() && fields.count == count).then_some(transfer)
}

/// The fields of a list, read one after the other in their common forms only.
///
/// Each method takes one field: `None` is an unusual form, `Some(None)` null or left out.
struct CommonFields<'a> {
    rest: &'a [u8],
    /// Fields that were there so far. It has to be the list's count in the end.
    count: u32,
}

impl<'a> CommonFields<'a> {
    #[inline(always)]
    fn uint(&mut self) -> Option<Option<u32>> {
        let (value, rest) = match self.rest {
            [0x43, rest @ ..] => (Some(0), rest),
            &[0x52, value, ref rest @ ..] => (Some(u32::from(value)), rest),
            &[0x70, a, b, c, d, ref rest @ ..] => (Some(u32::from_be_bytes([a, b, c, d])), rest),
            [0x40, rest @ ..] => (None, rest),
            [] => return Some(None),
            _ => return None,
        };
        self.took(rest);
        Some(value)
    }

    #[inline(always)]
    fn boolean(&mut self) -> Option<Option<bool>> {
        let (value, rest) = match self.rest {
            [0x42, rest @ ..] => (Some(false), rest),
            [0x41, rest @ ..] => (Some(true), rest),
            [0x40, rest @ ..] => (None, rest),
            [] => return Some(None),
            _ => return None,
        };
        self.took(rest);
        Some(value)
    }

    #[inline(always)]
    fn binary(&mut self) -> Option<Option<&'a [u8]>> {
        let (value, rest) = match self.rest {
            [0xA0, len, rest @ ..] => {
                let (value, rest) = rest.split_at_checked(usize::from(*len))?;
                (Some(value), rest)
            }
            [0x40, rest @ ..] => (None, rest),
            [] => return Some(None),
            _ => return None,
        };
        self.took(rest);
        Some(value)
    }

    #[inline(always)]
    fn null(&mut self) -> Option<()> {
        match self.rest {
            [0x40, rest @ ..] => self.took(rest),
            [] => {}
            _ => return None,
        }
        Some(())
    }

    #[inline(always)]
    fn took(&mut self, rest: &'a [u8]) {
        self.rest = rest;
        self.count += 1;
    }
}
