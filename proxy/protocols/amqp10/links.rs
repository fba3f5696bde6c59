//! Attach and detach: links come and go, and a client is told in advance what is too large.

use parsers::amqp10::{Attach, Performative, Role, SenderSettleMode, encode};

use super::act::{Act, Halt};
use super::connection::Connection;
use super::delivery::Delivery;
use super::frames::unexpected;
use super::link::{Link, LinkLimit, LinkState};
use super::presettled::{Leaving, Patience};
use super::refuse::Word;
use crate::gate::{Direction, Meter, Side};
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
        if from == Side::Client && session.is_leaving(from, &attach) {
            return Err(Halt::Wait);
        }
        let Some(link_at) = session.place_of(from, &attach) else {
            return Err(self.too_many("links"));
        };
        let Some(link) = session.at_mut(link_at) else {
            return Ok(len);
        };
        link.attach(from, &attach, self.limits.as_ref());
        let mode = shown_mode(from, &attach, link).filter(|_| self.unsettles);
        if let LinkState::Detached(text) = link.state.clone() {
            // It was detached before this side answered its attach.
            let handle = attach.handle;
            self.say(from.other(), at, Word::Detach { handle, text });
            return Ok(len);
        }
        let limit = link.limit.clone();
        let size = self.advertised(from, &attach, &limit).map(encode::ulong);
        let mode = mode.map(|mode| encode::ubyte(mode as u8));
        let changes = [
            (Attach::SND_SETTLE_MODE, mode.as_deref()),
            (Attach::MAX_MESSAGE_SIZE, size.as_deref()),
        ];
        let changes = changes.into_iter();
        let changes: Vec<_> = changes
            .filter_map(|(index, value)| Some((index, value?)))
            .collect();
        if changes.is_empty() {
            return Ok(len);
        }
        let mut head = Vec::new();
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
    pub(super) fn detach(
        &mut self,
        from: Side,
        body: &Performative<'_>,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
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
            is_behind = !is_ours && !is_left && !session.may_leave(from, link_at);
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
                session.ways.of_mut(from).leaving.push(Leaving {
                    link: link_at,
                    handle: detach.handle,
                    word: Word::Frame(frame),
                    patience: Patience::Fresh,
                });
                self.dues.is_waited_for |= self.unsettles && from == Side::Client;
            }
        }
        if let Some(session) = at.and_then(|at| self.session_mut(at)) {
            session.detach(from, detach.handle, meter);
        }
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

/// The snd-settle-mode that the other side is shown where another one is said, while pre-settled
/// deliveries go to the broker unsettled and are restored on their way to clients.
///
/// Modes that leave no choice would forbid what comes (AMQP 1.0 §2.8.2). A client that asks for
/// unsettled deliveries gets no others, and a broker that insists on settled ones too.
fn shown_mode(from: Side, attach: &Attach<'_>, link: &Link) -> Option<SenderSettleMode> {
    use SenderSettleMode::{Mixed, Settled, Unsettled};
    let client = link.snd_settle_mode.client;
    let shown = match (link.sender, from, attach.snd_settle_mode) {
        (Side::Client, Side::Client, Settled) => Some(Mixed),
        (Side::Client, Side::Broker, Mixed | Unsettled) if client == Some(Settled) => Some(Settled),
        (Side::Broker, Side::Broker, Unsettled) if client != Some(Unsettled) => Some(Mixed),
        _ => None,
    };
    shown.filter(|_| !matches!(link.limit, LinkLimit::Exempt))
}
