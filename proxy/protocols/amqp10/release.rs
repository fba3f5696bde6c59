//! Deliveries that were held: kept whole, let go at their receiver's pace, and both sides kept alive
//! meanwhile.

use std::collections::VecDeque;
use std::time::Duration;

use parsers::amqp10::encode::empty_frame;

use super::act::{HoldFrame, Then};
use super::connection::{Connection, Layer};
use super::delivery::{Course, Held};
use super::link::LinkState;
use super::presettled::{AtEnd, How, Rewrite};
use super::rewrite::{Wanted, take_first};
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
    /// What is due when its last frame has gone out.
    at_end: AtEnd,
    /// What is changed about it.
    rewrite: Option<Box<Rewrite>>,
    /// Its frames.
    pub(super) held: Held,
}

impl Connection {
    /// Adds a frame that has come as a whole to its delivery, and lets that go if it is time.
    pub(super) fn frame_is_held(&mut self, from: Side, frame: HoldFrame) {
        let HoldFrame {
            at,
            frame,
            then,
            rewrite,
            ..
        } = frame;
        self.keeps = true;
        let hold = &self.settings.hold;
        let Some(session) = self.sessions.get_mut(at.0).and_then(Option::as_mut) else {
            return;
        };
        if let Then::Queue {
            id,
            is_first,
            at_end,
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
                at_end,
                rewrite,
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
        let Course::Held(held, _) = &mut delivery.course else {
            return;
        };
        held.frames.push_back(frame);
        if then == Then::HoldOn {
            return;
        }
        let is_whole = then == Then::Release;
        let (id, at_end) = (delivery.id, delivery.at_end(is_whole, false));
        let rewrite = delivery.change.for_frame();
        let course = std::mem::replace(&mut delivery.course, Course::Passing);
        if is_whole && let Some(link) = session.at_mut(at.1) {
            link.current = None;
        }
        if let Course::Held(held, _) = course {
            session.ways.of_mut(from).queue.push_back(Outgoing {
                link: at.1,
                id,
                has_first: true,
                at_end,
                rewrite,
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
        // What was restored is accepted when it has gone out.
        self.dues.are_there |= self.unsettles;
        Some(Step::Inject)
    }

    /// How long until a side that gets no frames is to be sent one, or a close that waits is due.
    pub(super) fn next_tick(&mut self) -> Option<Duration> {
        if self.closing.is_some() {
            return Some(CLOSE_AFTER);
        }
        let wanes = self.wanes_after();
        if !self.keeps {
            return wanes;
        }
        let starving = [Side::Client, Side::Broker].map(|side| self.starves(side).then_some(side));
        self.keeps = starving.iter().any(Option::is_some);
        let time_outs = starving.into_iter().flatten();
        time_outs
            .filter_map(|side| self.sides.of(side).idle_time_out)
            // A side that was fed right behind a tick is fed again at the second one after it.
            .map(|time_out| time_out / 3)
            .chain(wanes)
            .min()
    }

    /// The time of [`Connection::next_tick`] has passed.
    pub(super) fn take_tick(&mut self) {
        if self.closing.is_some() {
            self.close_now();
            return;
        }
        if self.dues.is_waited_for {
            self.wane();
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
    let outgoing = session.ways.of(from).queue.front()?;
    let (id, link, is_first) = (outgoing.id, outgoing.link, outgoing.has_first);
    let is_changed = outgoing.rewrite.is_some();
    let oldest = session.oldest_held(from);
    let oldest = oldest.filter(|&oldest| (id.wrapping_sub(oldest) as i32) > 0);
    let theirs = session.number(from, oldest, (id, link), is_changed);
    let way = session.ways.of_mut(from);
    let outgoing = way.queue.front_mut()?;
    let wanted = Wanted {
        id: theirs.unwrap_or(id),
        rewrite: outgoing.rewrite.as_deref(),
        is_first,
        ceiling,
    };
    let (mut frame, added) = take_first(&mut outgoing.held.frames, wanted)?;
    way.frames.forwarded = way.frames.forwarded.wrapping_add(1);
    outgoing.held.reservation.shrink(frame.len() as u64);
    // More frames for the receiver than came from the sender, who may send all that it was told.
    way.is_paced |= added > 0;
    way.frames.swallowed = way.frames.swallowed.wrapping_sub(added as u32);
    outgoing.has_first = false;
    if let Some(rewrite) = &mut outgoing.rewrite {
        rewrite.edit = None;
        if is_first && rewrite.how == How::Unsettled {
            way.owed.add(theirs.unwrap_or(id), link, rewrite);
        }
    }
    if !outgoing.held.frames.is_empty() {
        return Some(frame);
    }
    let outgoing = way.queue.pop_front()?;
    session.note_end(from, (id, link), outgoing.at_end);
    if session.may_leave(from, link)
        && let Some(word) = session.take_leaving(from, link)
        && let Some(channel) = *session.channels.of(from)
    {
        word.write(channel, &mut frame);
    }
    Some(frame)
}

/// Octets of held frames that go out together.
const AT_ONCE: usize = 256 * 1024;
/// How long a close waits for the end of the message that it is for, and for outcomes.
const CLOSE_AFTER: Duration = Duration::from_secs(1);
