//! What becomes of a delivery over its limit: it is refused alone, with its link, or with its
//! connection.
//!
//! Its frames are thrown away as they come. What its sender is told, and when, is decided here; the
//! words themselves are in `refuse`.

use super::act::{Act, Answer, Halt};
use super::arrival::Arrival;
use super::connection::Connection;
use super::delivery::{Course, Delivery};
use super::link::LinkState;
use super::presettled::{Leaving, Patience};
use super::refuse::{Size, Why, Word, text};
use crate::gate::{Ending, Reason, Side};
use crate::policy::Limit;

/// A refusal that closes the connection, as soon as its sender has been told.
#[derive(Debug)]
pub(super) struct Closing {
    /// The side that sends the message.
    pub(super) from: Side,
    /// Its session, link and delivery-id.
    pub(super) at: (usize, usize, u32),
    /// Why.
    pub(super) why: Why,
    /// Whether its sender has been told.
    pub(super) is_answered: bool,
}

impl Connection {
    /// Throws away a frame of a link that sizegate has detached.
    pub(super) fn swallow(&mut self, arrival: &Arrival<'_>) -> Halt {
        let Arrival {
            from, at, transfer, ..
        } = *arrival;
        if let Some(session) = self.session_mut(at.0) {
            session.ways.of_mut(from).frame_came();
            let Some(link) = session.at_mut(at.1) else {
                return Halt::Over;
            };
            // One that was sent before the sender knew has taken an id all the same.
            let is_of = |id| {
                link.current
                    .as_ref()
                    .is_some_and(|current| current.id == id)
            };
            let id = transfer.delivery_id.filter(|&id| !is_of(id));
            if let Some(id) = id {
                let mut delivery = Delivery::new(id, transfer, false, None, None);
                delivery.course = Course::Swallowed;
                link.current = Some(delivery);
            }
            if arrival.is_last() {
                link.current = None;
            }
            match id {
                Some(id) => session.give_up(from, id, 1, true),
                None => {
                    let frames = &mut session.ways.of_mut(from).frames;
                    frames.swallowed = frames.swallowed.wrapping_add(1);
                }
            }
        }
        self.keep_window_open(from, at.0);
        Halt::Act(Act::Withhold(arrival.len() as u64))
    }

    /// Forgets a delivery that its sender aborted while it was held: it never reached anybody.
    pub(super) fn drop_held(&mut self, arrival: &Arrival<'_>) -> Halt {
        self.forget_held(arrival);
        if let Some(link) = self.link_at(arrival.at) {
            link.current = None;
        }
        self.restore_credit(arrival.from, arrival.at);
        Halt::Act(Act::Withhold(arrival.len() as u64))
    }

    /// Counts this frame and those that are held of its delivery as swallowed, and the delivery too.
    fn forget_held(&mut self, arrival: &Arrival<'_>) {
        let Arrival { from, at, .. } = *arrival;
        let Some(session) = self.session_mut(at.0) else {
            return;
        };
        let has_begun = session.has_begun(from, at.1);
        let Some(link) = session.at_mut(at.1) else {
            return;
        };
        let Some(delivery) = &mut link.current else {
            return;
        };
        let (id, held) = (delivery.id, delivery.held_frames());
        delivery.is_unseen = delivery.frames == 1 || held > 0 || !has_begun;
        delivery.course = Course::Swallowed;
        let is_unseen = delivery.is_unseen;
        link.swallowed = link.swallowed.wrapping_add(u32::from(is_unseen));
        link.pace.untold += i64::from(is_unseen);
        if is_unseen && (delivery.change.unsettles() || delivery.change.is_undecided()) {
            link.stays_as_it_is();
        }
        if !is_unseen {
            session.disown(from, id);
        }
        session.give_up(from, id, held + 1, is_unseen);
        // Frames of it that were let go may wait for their receiver.
        session.give_up_queue(from, |outgoing| outgoing.link == at.1 && outgoing.id == id);
    }

    /// Refuses one delivery; the rest of it is thrown away as it comes.
    pub(super) fn reject(&mut self, arrival: &Arrival<'_>, limit: Limit) -> Halt {
        self.forget_held(arrival);
        if let Some(delivery) = self
            .link_at(arrival.at)
            .and_then(|link| link.current.as_mut())
        {
            delivery.limit = Some(limit);
        }
        throw_away(arrival)
    }

    /// Throws away one more frame of a delivery that was refused.
    pub(super) fn swallow_more(&mut self, arrival: &Arrival<'_>) -> Halt {
        if let Some(session) = self.session_mut(arrival.at.0) {
            let frames = &mut session.ways.of_mut(arrival.from).frames;
            frames.swallowed = frames.swallowed.wrapping_add(1);
        }
        throw_away(arrival)
    }

    /// Tells the sender of a refused delivery, after its last frame; before it, some libraries wait
    /// for ever.
    pub(super) fn answer(&mut self, from: Side, answer: Answer) {
        let Answer { at, is_aborted } = answer;
        let Some(link) = self.link_at(at) else {
            return;
        };
        let Some(delivery) = link.current.take() else {
            return;
        };
        if !delivery.is_unseen {
            link.state = LinkState::Left;
        }
        if let (Some(limit), false) = (&delivery.limit, delivery.settled || is_aborted) {
            let word = Word::Rejected {
                id: delivery.id,
                settled: !delivery.second,
                txn_id: delivery.txn_id.clone(),
                text: text(Size::Whole(delivery.size()), limit),
            };
            self.say(from, at.0, word);
        }
        self.restore_credit(from, at);
        let awaited = Some((from, (at.0, at.1, delivery.id)));
        if self
            .closing
            .as_ref()
            .map(|closing| (closing.from, closing.at))
            == awaited
        {
            self.has_answered();
        }
    }

    /// Ends the link of a delivery that is over its limit, on both sides.
    pub(super) fn refuse_link(&mut self, arrival: &Arrival<'_>, limit: &Limit) -> Halt {
        let Arrival { from, at, .. } = *arrival;
        let Some(link) = self.link_at(at) else {
            return Halt::Over;
        };
        let Some(delivery) = &mut link.current else {
            return Halt::Over;
        };
        let (id, held) = (delivery.id, delivery.held_frames());
        let is_unseen = delivery.frames == 1 || held > 0;
        let size = if arrival.is_last() {
            Size::Whole(delivery.size())
        } else {
            Size::AtLeast(delivery.size())
        };
        delivery.course = Course::Swallowed;
        if arrival.is_last() {
            link.current = None;
        }
        let text = text(size, limit);
        link.state = LinkState::Detached(text.clone());
        let handles = link.handles.clone();
        let mut is_behind = false;
        if let Some(session) = self.session_mut(at.0) {
            if !is_unseen {
                session.disown(from, id);
            }
            session.give_up(from, id, held + 1, is_unseen);
            session.give_up_queue(from, |outgoing| outgoing.link == at.1 && outgoing.id == id);
            is_behind = session.is_queued(from, at.1);
        }
        for side in [Side::Client, Side::Broker] {
            let text = text.clone();
            match *handles.of(side) {
                Some(handle) if is_behind && side == from => {
                    let leaving = Leaving {
                        link: at.1,
                        handle,
                        word: Word::Detach { handle, text },
                        patience: Patience::Over,
                    };
                    if let Some(session) = self.session_mut(at.0) {
                        session.ways.of_mut(from).leaving.push(leaving);
                    }
                }
                Some(handle) => self.say(side.other(), at.0, Word::Detach { handle, text }),
                None => {}
            }
        }
        Halt::Act(Act::Withhold(arrival.len() as u64))
    }

    /// Ends the connection of a delivery that is over its limit, once its sender has been told and
    /// what was sent before it has its outcome, or a second has passed.
    pub(super) fn refuse_connection(&mut self, arrival: &Arrival<'_>, limit: Limit) -> Halt {
        let Arrival { from, at, .. } = *arrival;
        let Some(delivery) = self.link_at(at).and_then(|link| link.current.as_mut()) else {
            return Halt::Over;
        };
        let why = Why::Oversize {
            size: delivery.size(),
            limit: limit.clone(),
        };
        let id = delivery.id;
        self.closing.get_or_insert(Closing {
            from,
            at: (at.0, at.1, id),
            why,
            is_answered: false,
        });
        // The part of it that its receiver has seen goes with the connection.
        self.reject(arrival, limit)
    }

    /// Notes that the sender of the message that closes the connection has been told.
    fn has_answered(&mut self) {
        if let Some(closing) = &mut self.closing {
            closing.is_answered = true;
        }
        self.close_if_settled();
    }

    /// Closes a connection that is to be closed, if nothing is left to wait for.
    pub(super) fn close_if_settled(&mut self) {
        let Some(closing) = &self.closing else {
            return;
        };
        let from = closing.from;
        let unsettled = self.sessions.iter().flatten().any(|session| {
            let translator = &session.ways.of(from).translator;
            translator.as_ref().is_some_and(|it| it.unsettled() > 0)
        });
        if closing.is_answered && !unsettled && self.owed() == 0 {
            self.close_now();
        }
    }

    /// Closes a connection that is to be closed.
    pub(super) fn close_now(&mut self) {
        if let Some(closing) = self.closing.take() {
            self.end(Ending::by(closing.from, Reason::Oversize), &closing.why);
        }
    }
}

/// Throws away a frame of a delivery that was refused, and answers if it is the last.
fn throw_away(arrival: &Arrival<'_>) -> Halt {
    let len = arrival.len() as u64;
    Halt::Act(if arrival.is_last() {
        let answer = Answer {
            at: arrival.at,
            is_aborted: arrival.transfer.aborted,
        };
        Act::WithholdLast(len, answer)
    } else {
        Act::Withhold(len)
    })
}
