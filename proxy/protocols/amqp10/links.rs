//! Attach and detach: links come and go, and a client is told in advance what is too large.

use parsers::amqp10::{Attach, Performative, Role, encode};

use super::act::{Act, Halt};
use super::connection::Connection;
use super::delivery::Delivery;
use super::frames::unexpected;
use super::link::{LinkLimit, LinkState};
use super::refuse::Word;
use crate::gate::{Direction, Side};
use crate::policy::{ByteSize, Mode};
use crate::protocols::Advertise;

impl Connection {
    /// An attach (AMQP 1.0 §2.7.3).
    pub(super) fn attach(&mut self, from: Side, body: &Performative<'_>) -> Result<usize, Halt> {
        let attach = body.attach()?;
        let len = body.header.frame_len();
        let Some(at) = self.place(from, body.header.channel) else {
            return Ok(len);
        };
        let Some(session) = self.sessions.get_mut(at).and_then(Option::as_mut) else {
            return Ok(len);
        };
        if session.handles.of(from).contains_key(&attach.handle) {
            return Err(unexpected(&body.header));
        }
        let Some(link_at) = session.place_of(from, &attach) else {
            return Err(self.too_many("links"));
        };
        let Some(link) = session.at_mut(link_at) else {
            return Ok(len);
        };
        link.attach(from, &attach, self.limits.as_ref());
        if let LinkState::Detached(text) = link.state.clone() {
            // It was detached before this side answered its attach.
            let handle = attach.handle;
            self.say(from.other(), at, Word::Detach { handle, text });
            return Ok(len);
        }
        let limit = link.limit.clone();
        match self.advertised(from, &attach, &limit) {
            Some(size) => {
                let mut head = Vec::new();
                let value = encode::ulong(size);
                let changes = [(Attach::MAX_MESSAGE_SIZE, &*value)];
                let payload_len = body.payload_len();
                let patched = body.patch(body.header.channel, payload_len, &changes, &mut head);
                let fits = head.len() + payload_len <= self.frame_ceiling(from.other());
                match patched.filter(|()| fits) {
                    Some(()) => Err(Halt::Act(Act::Replace(
                        body.payload_at as u64,
                        head,
                        payload_len as u64,
                    ))),
                    None => Ok(len),
                }
            }
            None => Ok(len),
        }
    }

    /// The max-message-size that a client is to be told instead of the broker's, if another.
    fn advertised(&self, from: Side, attach: &Attach<'_>, limit: &LinkLimit) -> Option<u64> {
        let limits = self.limits.as_ref()?;
        let is_told = from == Side::Broker
            && attach.role == Role::Receiver
            && self.settings.advertise == Advertise::Largest
            && self.settings.policy.mode() == Mode::Enforce;
        let ByteSize(ours) = match limit {
            _ if !is_told => return None,
            LinkLimit::Exempt => return None,
            LinkLimit::One(limit) => limit.size,
            LinkLimit::ByMessage => limits.largest(Direction::ToBroker).size,
        };
        let theirs = attach.max_message_size.unwrap_or(0);
        (ours != 0 && (theirs == 0 || ours < theirs)).then_some(ours)
    }

    /// A detach (AMQP 1.0 §2.7.7).
    pub(super) fn detach(&mut self, from: Side, body: &Performative<'_>) -> Result<usize, Halt> {
        let detach = body.detach()?;
        let len = body.header.frame_len();
        let at = self.place(from, body.header.channel);
        let Some(session) = at.and_then(|at| self.session_mut(at)) else {
            return Ok(len);
        };
        let Some((link_at, link)) = session.link_mut(from, detach.handle) else {
            return Ok(len);
        };
        let is_ours = matches!(link.state, LinkState::Detached(_));
        link.is_closed |= is_ours || detach.closed;
        let sender = link.sender;
        let is_left = link.handles.of(from.other()).is_none();
        let current = link.current.take_if(|_| sender == from);
        let mut answer = None;
        let mut is_behind = false;
        if sender == from {
            if let Some(delivery) = current.filter(Delivery::is_held) {
                session.give_up(from, delivery.id, delivery.held_frames(), true);
            }
            if is_left {
                session.give_up_queue(from, |outgoing| outgoing.link == link_at);
            }
            is_behind = !is_ours && session.is_queued(from, link_at);
        } else {
            if session.is_queued(sender, link_at) {
                session.give_up_queue(sender, |outgoing| outgoing.link == link_at);
                session.leave(link_at);
            }
            answer = session.take_leaving(sender, link_at);
        }
        if is_behind {
            let mut frame = Vec::with_capacity(len);
            if body
                .patch(body.header.channel, 0, &[], &mut frame)
                .is_some()
            {
                let leaving = &mut session.ways.of_mut(from).leaving;
                leaving.push((link_at, Word::Frame(frame)));
            }
        }
        session.detach(from, detach.handle);
        if let Some(word) = answer {
            self.say(from, at.unwrap_or_default(), word);
        }
        if is_ours || is_behind {
            // The peer's answer to what sizegate said to it, of which the other side has been told; or
            // what is to be said once frames of the link have gone out.
            Err(Halt::Act(Act::Withhold(len as u64)))
        } else {
            Ok(len)
        }
    }
}
