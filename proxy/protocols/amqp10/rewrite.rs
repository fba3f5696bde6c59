//! Transfer frames that go on other than they came: with another delivery-id, or settled in another
//! way and with a head of the message that was changed; cut in two where one frame is not enough.

use std::collections::VecDeque;

use parsers::Parsed;
use parsers::amqp10::encode::{self, boolean, null, uint};
use parsers::amqp10::{Change, Edit, Performative, Scalar, Transfer, frame_header, performative};

use super::arrival::Arrival;
use super::presettled::{How, Rewrite, tag};

/// What is to be other about a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// The delivery-id that the receiver knows the delivery by.
    pub(super) id: u32,
    /// How it is settled, and what of its payload.
    pub(super) rewrite: Option<&'a Rewrite>,
    /// Whether it is the first frame of the delivery.
    pub(super) is_first: bool,
    /// The largest frame that the receiver takes.
    pub(super) ceiling: usize,
}

/// The front of a frame, and the octets of what came that it stands for.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) octets: Vec<u8>,
    pub(super) taken: usize,
}

/// The fields of a transfer that change, encoded.
#[derive(Debug, Default)]
struct Fields {
    id: Option<Scalar>,
    tag: Option<Vec<u8>>,
    settled: Option<Scalar>,
    more: Option<Scalar>,
}

impl Wanted<'_> {
    /// The fields that this transfer has and should not, or the other way round.
    fn fields(&self, transfer: &Transfer<'_>) -> Fields {
        let id = transfer.delivery_id.filter(|&id| id != self.id);
        let mut fields = Fields {
            id: id.map(|_| uint(self.id)),
            ..Fields::default()
        };
        match self.rewrite.map(|rewrite| rewrite.how) {
            None => {}
            Some(How::Unsettled) => {
                let has_tag = self.is_first || transfer.delivery_tag.is_some();
                fields.tag = has_tag.then(|| tag(self.id));
                let is_settled = transfer.settled == Some(true);
                fields.settled = is_settled.then(|| boolean(false));
            }
            Some(How::Restored) => {
                // What has once been settled is never unsettled, say some receivers, though later
                // frames need not repeat it (AMQP 1.0 §2.7.5).
                let is_unsettled = match transfer.settled {
                    Some(settled) => !settled,
                    None => self.is_first,
                };
                fields.settled = is_unsettled.then(|| boolean(true));
            }
        }
        fields
    }

    fn edit(&self) -> Option<&Edit> {
        self.rewrite?.edit.as_ref()
    }
}

impl Fields {
    fn are_none(&self) -> bool {
        self.id.is_none() && self.tag.is_none() && self.settled.is_none() && self.more.is_none()
    }

    /// The head of a frame with these fields, and so much payload.
    fn head(&self, body: &Performative<'_>, payload_len: usize) -> Option<Vec<u8>> {
        let changes = [
            (Transfer::DELIVERY_ID, self.id.as_deref()),
            (Transfer::DELIVERY_TAG, self.tag.as_deref()),
            (Transfer::SETTLED, self.settled.as_deref()),
            (Transfer::MORE, self.more.as_deref()),
        ];
        let changes = changes.into_iter();
        let changes: Vec<Change<'_>> = changes
            .filter_map(|(index, value)| Some((index, value?)))
            .collect();
        let mut head = Vec::new();
        body.patch(body.header.channel, payload_len, &changes, &mut head)?;
        Some(head)
    }

    fn frame(&self, body: &Performative<'_>, payload: &[u8]) -> Option<Vec<u8>> {
        let mut frame = self.head(body, payload.len())?;
        frame.extend_from_slice(payload);
        Some(frame)
    }
}

/// The front of a frame that has come in part, as it is wanted. Its octets are none if it can stay
/// as it is; `None` if it does not fit into one frame then.
pub(super) fn front(arrival: &Arrival<'_>, wanted: Wanted<'_>) -> Option<Front> {
    let fields = wanted.fields(arrival.transfer);
    if fields.are_none() && wanted.edit().is_none() {
        let octets = Vec::new();
        return Some(Front { octets, taken: 0 });
    }
    let read;
    let body = match arrival.body {
        Some(body) => body,
        None => match performative(arrival.header, arrival.input, arrival.len()) {
            Ok(Parsed::Value(body)) => {
                read = body;
                &read
            }
            _ => return None,
        },
    };
    let growth = wanted.edit().map_or(0, Edit::growth);
    let payload_len = arrival.payload_len().checked_add_signed(growth)?;
    let mut octets = fields.head(body, payload_len)?;
    if octets.len() + payload_len > wanted.ceiling {
        return None;
    }
    let mut taken = arrival.transfer.payload_at;
    if let Some(edit) = wanted.edit() {
        let payload = arrival.input.get(taken..)?;
        octets.extend_from_slice(payload.get(..edit.at.start)?);
        octets.extend_from_slice(&edit.octets);
        taken += edit.at.end;
    }
    Some(Front { octets, taken })
}

/// Takes the first of the whole frames of a delivery off them, as it is wanted. What does not fit
/// into it is put back as frames of its own; it also tells how many more frames there are than came.
///
/// A frame that cannot be read, which was not let in, would go on as it is.
pub(super) fn take_first(
    frames: &mut VecDeque<Vec<u8>>,
    wanted: Wanted<'_>,
) -> Option<(Vec<u8>, i32)> {
    let first = frames.pop_front()?;
    match cut(&first, frames, wanted) {
        Some(cut) => {
            let mut pieces = cut.pieces.into_iter();
            let frame = pieces.next()?;
            let added = pieces.len() as i32 - cut.joined as i32;
            frames.drain(..cut.joined);
            pieces.rev().for_each(|piece| frames.push_front(piece));
            Some((frame, added))
        }
        None => Some((first, 0)),
    }
}

/// Frames that were made of others.
struct Cut {
    pieces: Vec<Vec<u8>>,
    /// How many frames besides the first one they were made of.
    joined: usize,
}

/// Makes the first frame anew, together with those behind it into which a change of the payload
/// reaches. `None` if it stays as it is.
fn cut(first: &[u8], frames: &VecDeque<Vec<u8>>, wanted: Wanted<'_>) -> Option<Cut> {
    let body = read(first)?;
    let transfer = body.transfer().ok()?;
    let mut fields = wanted.fields(&transfer);
    let mut payload = first.get(body.payload_at..)?.to_vec();
    let (mut more, mut joined) = (transfer.more, 0);
    if let Some(edit) = wanted.edit() {
        let is_short = |payload: &[u8], more| {
            payload.len() < edit.at.end
                || more && payload.len().checked_add_signed(edit.growth()) == Some(0)
        };
        while is_short(&payload, more)
            && let Some(next) = frames.get(joined)
        {
            let body = read(next)?;
            more = body.transfer().ok()?.more;
            payload.extend_from_slice(next.get(body.payload_at..)?);
            joined += 1;
        }
        payload.splice(edit.at.clone(), edit.octets.iter().copied());
    } else if fields.are_none() {
        return None;
    }
    if more != transfer.more {
        fields.more = Some(boolean(more));
    }
    let whole = fields.head(&body, payload.len())?;
    if whole.len() + payload.len() <= wanted.ceiling {
        let pieces = vec![[whole, payload].concat()];
        return Some(Cut { pieces, joined });
    }
    if transfer.aborted {
        // Its payload is of no meaning (AMQP 1.0 §2.7.5).
        let pieces = vec![fields.frame(&body, &[])?];
        return Some(Cut { pieces, joined });
    }
    if !wanted.is_first && transfer.delivery_tag.is_none() {
        // The id may be left out of all frames but the first (AMQP 1.0 §2.7.5).
        fields.id = Some(null());
        let pieces = vec![fields.frame(&body, &payload)?];
        return Some(Cut { pieces, joined });
    }
    fields.more = Some(boolean(true));
    let head = fields.head(&body, 0)?;
    let (part, mut rest) = payload.split_at_checked(wanted.ceiling.checked_sub(head.len())?)?;
    let mut pieces = vec![fields.frame(&body, part)?];
    while !rest.is_empty() {
        let next = |more, part: &[u8]| {
            let continuation = Transfer {
                delivery_id: None,
                delivery_tag: None,
                message_format: None,
                settled: None,
                more,
                rcv_settle_mode: None,
                state: None,
                resume: false,
                ..transfer
            };
            let mut frame = Vec::new();
            encode::transfer(&mut frame, body.header.channel, &continuation, part);
            frame
        };
        let room = wanted.ceiling.checked_sub(next(true, &[]).len());
        let room = room.filter(|&room| room > 0)?;
        let (part, behind) = rest.split_at(room.min(rest.len()));
        pieces.push(next(more || !behind.is_empty(), part));
        rest = behind;
    }
    Some(Cut { pieces, joined })
}

fn read(frame: &[u8]) -> Option<Performative<'_>> {
    let Ok(Parsed::Value(header)) = frame_header(frame) else {
        return None;
    };
    match performative(&header, frame, frame.len()) {
        Ok(Parsed::Value(body)) => Some(body),
        _ => None,
    }
}
