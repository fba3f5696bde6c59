//! Deliveries that were held: kept whole, let go at their receiver's pace, and both sides kept alive
//! meanwhile.

use std::collections::VecDeque;
use std::time::Duration;

use parsers::Parsed;
use parsers::amqp10::encode::{self, boolean, empty_frame, null, uint};
use parsers::amqp10::{Transfer, frame_header, performative};

use super::act::{HoldFrame, Then};
use super::connection::{Connection, Layer};
use super::delivery::{Course, Held};
use super::link::LinkState;
use super::session::Session;
use crate::gate::{Reservation, Side, Step};

/// A delivery or a part of one that was held, on its way out.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The place of its link.
    pub(super) link: usize,
    /// The sender's delivery-id.
    pub(super) id: u32,
    /// Whether the first frame of the delivery is in it and has not gone out.
    pub(super) has_first: bool,
    /// Whether no disposition is due when its last frame has gone out.
    is_done_with: bool,
    /// Its frames.
    pub(super) held: Held,
}

impl Connection {
    /// Adds a frame that has come as a whole to its delivery, and lets that go if it is time.
    pub(super) fn frame_is_held(&mut self, from: Side, frame: HoldFrame) {
        let HoldFrame {
            at, frame, then, ..
        } = frame;
        self.keeps = true;
        let hold = &self.settings.hold;
        let Some(session) = self.sessions.get_mut(at.0).and_then(Option::as_mut) else {
            return;
        };
        if let Then::Queue {
            id,
            is_first,
            is_done_with,
        } = then
        {
            let link = session.at_mut(at.1);
            if link.is_none_or(|link| link.state != LinkState::Attached) {
                // Its receiver left while the frame came in.
                session.give_up(from, id, 1, is_first);
                return;
            }
            let mut reservation = Reservation::new(hold);
            reservation.grow(frame.len() as u64);
            session.ways.of_mut(from).queue.push_back(Outgoing {
                link: at.1,
                id,
                has_first: is_first,
                is_done_with,
                held: Held {
                    frames: VecDeque::from([frame]),
                    reservation,
                },
            });
            self.sides.of_mut(from).may_release = true;
            return;
        }
        let link = session.at_mut(at.1);
        let Some(delivery) = link
            .and_then(|link| link.current.as_mut())
            .filter(|delivery| delivery.is_held())
        else {
            // Its receiver left while the frame came in.
            let frames = &mut session.ways.of_mut(from).frames;
            frames.swallowed = frames.swallowed.wrapping_add(1);
            return;
        };
        let Course::Held(held) = &mut delivery.course else {
            return;
        };
        held.frames.push_back(frame);
        if then == Then::HoldOn {
            return;
        }
        let (id, settled) = (delivery.id, delivery.settled);
        let course = std::mem::replace(&mut delivery.course, Course::Passing);
        let is_whole = then == Then::Release;
        if is_whole && let Some(link) = session.at_mut(at.1) {
            link.current = None;
        }
        if let Course::Held(held) = course {
            session.ways.of_mut(from).queue.push_back(Outgoing {
                link: at.1,
                id,
                has_first: true,
                is_done_with: is_whole && settled,
                held,
            });
            self.sides.of_mut(from).may_release = true;
        }
    }

    /// Lets held frames of a side go, as many as their receivers take now.
    ///
    /// What a receiver does not take yet waits, and nothing else does: the flow that it waits for may
    /// come only after something behind it has gone through.
    pub(super) fn release(&mut self, from: Side, inject: &mut Vec<u8>) -> Option<Step> {
        if !self.sides.of(from).may_release {
            return None;
        }
        let ceiling = self.frame_ceiling(from.other());
        for session in self.sessions.iter_mut().flatten() {
            while inject.len() < AT_ONCE
                && let Some(frame) = next_released(session, from, ceiling)
            {
                if inject.is_empty() {
                    *inject = frame;
                } else {
                    inject.extend_from_slice(&frame);
                }
            }
        }
        if inject.is_empty() {
            self.sides.of_mut(from).may_release = false;
            return None;
        }
        self.sides.of_mut(from.other()).is_fed = true;
        Some(Step::Inject)
    }

    /// How long until a side that gets no frames is to be sent one, or a close that waits is due.
    pub(super) fn next_tick(&mut self) -> Option<Duration> {
        if self.closing.is_some() {
            return Some(CLOSE_AFTER);
        }
        if !self.keeps {
            return None;
        }
        let starving = [Side::Client, Side::Broker].map(|side| self.starves(side).then_some(side));
        self.keeps = starving.iter().any(Option::is_some);
        let time_outs = starving.into_iter().flatten();
        time_outs
            .filter_map(|side| self.sides.of(side).idle_time_out)
            .min()
            // A side that was fed right behind a tick is fed again at the second one after it.
            .map(|time_out| time_out / 3)
    }

    /// The time of [`Connection::next_tick`] has passed.
    pub(super) fn take_tick(&mut self) {
        if self.closing.is_some() {
            self.close_now();
            return;
        }
        for side in [Side::Client, Side::Broker] {
            let starves = self.starves(side);
            let is_open = self.sides.of(side.other()).layer == Layer::Opened;
            let peer = self.sides.of_mut(side);
            if starves && is_open && !peer.is_fed && !peer.is_closed {
                empty_frame(&mut peer.words);
            }
            peer.is_fed = false;
        }
    }

    /// Whether a side may get no frames because those of the other are held or thrown away.
    fn starves(&self, side: Side) -> bool {
        let links = self
            .sessions
            .iter()
            .flatten()
            .flat_map(|session| &session.links);
        let mut deliveries = links
            .flatten()
            .filter(|link| link.sender != side)
            .filter_map(|link| link.current.as_ref());
        deliveries.any(|delivery| !matches!(delivery.course, Course::Passing))
    }
}

/// The next frame of a side's that its receiver takes now; it counts as forwarded.
///
/// No frame is longer than `ceiling`.
fn next_released(session: &mut Session, from: Side, ceiling: usize) -> Option<Vec<u8>> {
    if session.is_ended(from.other()) {
        session.ways.of_mut(from).queue.clear();
    }
    if session.room(from).is_some_and(|room| room <= 0) {
        return None;
    }
    let outgoing = session.ways.of_mut(from).queue.front_mut()?;
    let (id, link) = (outgoing.id, outgoing.link);
    let frame = outgoing.held.frames.pop_front()?;
    outgoing.held.reservation.shrink(frame.len() as u64);
    let (mut frame, rest) = numbered(session, from, (id, link), frame, ceiling);
    let way = session.ways.of_mut(from);
    if let Some(outgoing) = way.queue.front_mut()
        && let Some(rest) = rest
    {
        outgoing.held.frames.push_front(rest);
        // One more frame for the receiver than came from the sender, who may send all that it was told.
        way.is_paced = true;
        way.frames.swallowed = way.frames.swallowed.wrapping_sub(1);
    }
    if let Some(outgoing) = way.queue.front_mut() {
        outgoing.has_first = false;
        if !outgoing.held.frames.is_empty() {
            return Some(frame);
        }
    }
    let outgoing = way.queue.pop_front()?;
    if outgoing.is_done_with
        && let Some(translator) = &mut way.translator
    {
        translator.forget(id);
    }
    if !session.is_queued(from, outgoing.link)
        && let Some(word) = session.take_leaving(from, outgoing.link)
        && let Some(channel) = *session.channels.of(from)
    {
        word.write(channel, &mut frame);
    }
    Some(frame)
}

/// A held frame with the delivery-id that its receiver is to know it by, and what of it does not fit
/// into one frame then; the first counts as forwarded.
fn numbered(
    session: &mut Session,
    from: Side,
    (id, link): (u32, usize),
    frame: Vec<u8>,
    ceiling: usize,
) -> (Vec<u8>, Option<Vec<u8>>) {
    let oldest = session.oldest_held(from);
    let way = session.ways.of_mut(from);
    way.frames.forwarded = way.frames.forwarded.wrapping_add(1);
    if let Some(oldest) = oldest.filter(|&oldest| (id.wrapping_sub(oldest) as i32) > 0)
        && way.translator.is_none()
    {
        way.number_from(oldest).note(id);
    }
    let theirs = way
        .translator
        .as_mut()
        .and_then(|translator| translator.forward(id, link));
    match theirs.filter(|&theirs| theirs != id) {
        Some(theirs) => renumbered(&frame, theirs, ceiling).unwrap_or((frame, None)),
        None => (frame, None),
    }
}

/// A whole transfer frame with another delivery-id, if it bears one, in two if it has to be.
fn renumbered(frame: &[u8], id: u32, ceiling: usize) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let Ok(Parsed::Value(header)) = frame_header(frame) else {
        return None;
    };
    let Ok(Parsed::Value(body)) = performative(&header, frame, frame.len()) else {
        return None;
    };
    let transfer = body.transfer().ok()?;
    transfer.delivery_id?;
    let payload = frame.get(body.payload_at..)?;
    let id = uint(id);
    let with = |changes: &[_], payload: &[u8]| {
        let mut frame = Vec::with_capacity(frame.len() + 8);
        body.patch(header.channel, payload.len(), changes, &mut frame)?;
        frame.extend_from_slice(payload);
        Some(frame)
    };
    let whole = with(&[(Transfer::DELIVERY_ID, &*id)], payload)?;
    if whole.len() <= ceiling {
        return Some((whole, None));
    }
    if transfer.aborted {
        // Its payload is of no meaning (AMQP 1.0 §2.7.5).
        return Some((with(&[(Transfer::DELIVERY_ID, &*id)], &[])?, None));
    }
    if transfer.delivery_tag.is_none() {
        // The id may be left out of all frames but the first (AMQP 1.0 §2.7.5).
        return Some((with(&[(Transfer::DELIVERY_ID, &*null())], payload)?, None));
    }
    let changes = [
        (Transfer::DELIVERY_ID, &*id),
        (Transfer::MORE, &*boolean(true)),
    ];
    let room = ceiling.checked_sub(with(&changes, &[])?.len())?;
    let (first, second) = payload.split_at_checked(room)?;
    let mut rest = Vec::new();
    let continuation = Transfer {
        delivery_id: None,
        delivery_tag: None,
        message_format: None,
        settled: None,
        rcv_settle_mode: None,
        state: None,
        resume: false,
        ..transfer
    };
    encode::transfer(&mut rest, header.channel, &continuation, second);
    Some((with(&changes, first)?, Some(rest)))
}

/// Octets of held frames that go out together.
const AT_ONCE: usize = 64 * 1024;
/// How long a close waits for the end of the message that it is for, and for outcomes.
const CLOSE_AFTER: Duration = Duration::from_secs(1);
