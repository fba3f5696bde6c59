//! A delivery in one frame, as nearly all senders write it: the straight path for small messages.

use super::frame_header::{Channel, Handle};

/// A transfer that is a delivery by itself: no frame of it follows, and it is not aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeDelivery {
    /// The session, by the channel of the sender of this frame.
    pub channel: Channel,
    /// The link, by the handle of the sender of this frame.
    pub handle: Handle,
    /// The octets of the frame.
    pub frame_len: usize,
    /// The octets of them that are the message.
    pub payload_len: usize,
}

/// Reads the frame that starts `input`, if it is a delivery by itself and has the form that nearly
/// all have; `None` is for [`super::performative`] to decide.
///
/// ```text
/// +------+------+------+---------+----------------+------+------+-------+--------+---------+
/// | size | 0x02 | 0x00 | channel | 0x00 0x53 0x14 | 0xC0 | size | count | fields | payload |
/// | 4    |      |      | 2       |                | 0xD0 | 4    | 4     |        |         |
/// +------+------+------+---------+----------------+------+------+-------+--------+---------+
/// handle, delivery-id    0x43, 0x52 _, 0x70 _ _ _ _
/// delivery-tag           0x40, 0xA0 length octets
/// message-format         0x40, 0x43, 0x52 _, 0x70 _ _ _ _
/// settled                0x40, 0x41, 0x42, or left out with all that follows
/// more                   0x40, 0x42, or left out with all that follows
/// no other field                                      AMQP 1.0 §2.3.1, §2.7.5
/// ```
#[inline]
pub fn whole_delivery(input: &[u8]) -> Option<WholeDelivery> {
    let head = input.first_chunk::<FIELDS_AT_LEAST>()?;
    let &[s0, s1, s2, s3, doff, kind, c0, c1, d0, d1, d2, list, e, f] = head;
    if [doff, kind, d0, d1, d2] != [2, 0, 0x00, 0x53, 0x14] {
        return None;
    }
    // The size counts the count, of 1 or 4 octets.
    let (fields_at, fields_len, count) = match (list, input) {
        (0xC0, _) => (14, usize::from(e).checked_sub(1)?, u32::from(f)),
        (
            0xD0,
            &[
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                g,
                h,
                i,
                j,
                k,
                l,
                ..,
            ],
        ) => {
            let size = u32::from_be_bytes([e, f, g, h]) as usize;
            (20, size.checked_sub(4)?, u32::from_be_bytes([i, j, k, l]))
        }
        _ => return None,
    };
    let end = fields_at + fields_len;
    let fields = input.get(fields_at..end)?;
    let (handle, rest) = uint(fields)?;
    let (_delivery_id, rest) = uint(rest)?;
    let rest = match rest {
        [0xA0, len, rest @ ..] => rest.get(usize::from(*len)..)?,
        [0x40, rest @ ..] => rest,
        _ => return None,
    };
    let flags = match rest {
        [0x40 | 0x43, rest @ ..] | [0x52, _, rest @ ..] | [0x70, _, _, _, _, rest @ ..] => rest,
        _ => return None,
    };
    if !matches!(flags, [] | [0x40..=0x42] | [0x40..=0x42, 0x40 | 0x42]) {
        return None;
    }
    let frame_len = u32::from_be_bytes([s0, s1, s2, s3]) as usize;
    let is_it = count as usize == 4 + flags.len() && end <= frame_len;
    is_it.then(|| WholeDelivery {
        channel: Channel(u16::from_be_bytes([c0, c1])),
        handle: Handle(handle),
        frame_len,
        payload_len: frame_len - end,
    })
}

/// A uint, and what follows it.
#[inline(always)]
fn uint(fields: &[u8]) -> Option<(u32, &[u8])> {
    match *fields {
        [0x52, value, ref rest @ ..] => Some((u32::from(value), rest)),
        [0x70, a, b, c, d, ref rest @ ..] => Some((u32::from_be_bytes([a, b, c, d]), rest)),
        [0x43, ref rest @ ..] => Some((0, rest)),
        _ => None,
    }
}

/// Where the fields begin at least.
const FIELDS_AT_LEAST: usize = 14;
