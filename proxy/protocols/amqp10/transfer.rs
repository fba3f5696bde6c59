//! A transfer: judged, then forwarded, held, or thrown away.
//!
//! All of this is one machine for both directions: `from` is the side that sends.

use parsers::Parsed;
use parsers::amqp10::{
    DeliveryState, FrameHeader, Performative, ReceiverSettleMode, Transfer, delivery_state,
    message_to,
};

use super::act::{Act, Halt, HoldFrame, Then};
use super::arrival::Arrival;
use super::connection::Connection;
use super::delivery::{Course, Delivery, Held, Until};
use super::frames::unexpected;
use super::link::{LinkLimit, LinkState};
use super::presettled::{How, first_look};
use super::refuse::note;
use super::rewrite::{Wanted, front};
use crate::gate::{Meter, Reservation, Side, VerdictKind};
use crate::policy::{Action, Mode, OnOversize};

impl Connection {
    /// Looks at a transfer of a side and answers with its octets if it goes on as it is.
    pub(super) fn transfer(
        &mut self,
        from: Side,
        header: &FrameHeader,
        transfer: &Transfer<'_>,
        body: Option<&Performative<'_>>,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let len = header.frame_len();
        let Some(at) = self.place(from, header.channel) else {
            return Ok(len);
        };
        let Some(session) = self.session_mut(at) else {
            return Ok(len);
        };
        let found = session.link_mut(from, transfer.handle);
        let Some((link_at, link)) = found.filter(|(_, link)| link.sender == from) else {
            // No link of ours; the receiver says so. It is one frame for both sides.
            session.ways.of_mut(from).frames_went(1);
            return Ok(len);
        };
        let mut arrival = Arrival {
            from,
            at: (at, link_at),
            header,
            transfer,
            body,
            input,
            queues: false,
        };
        if link.state != LinkState::Attached {
            return Err(self.swallow(&arrival));
        }
        let course = link.current.as_ref().map(|delivery| &delivery.course);
        let stays = matches!(course, Some(Course::Held(..) | Course::Swallowed));
        let is_first = course.is_none();
        let way = session.ways.of(from);
        let is_full = way.is_paced && session.room(from).is_some_and(|room| room <= 0);
        arrival.queues = !stays && (is_full || !way.queue.is_empty());
        // Without memory it waits for its receiver, and all behind it; but never on both sides, since
        // each would wait for the other's flow. The broker is the one that is trusted.
        if arrival.queues
            && from == Side::Client
            && !Reservation::new(&self.settings.hold).grow(len as u64)
        {
            return Err(Halt::Wait);
        }
        if is_first {
            self.first_frame(&arrival)?;
        } else if self.unsettles {
            self.look_further(&arrival)?;
        }
        let next = self.count(&arrival, meter);
        if self.unsettles && from == Side::Client {
            self.tell_credit((at, link_at));
        }
        let session = self.sessions.get(at).and_then(Option::as_ref);
        if session.is_some_and(|session| session.ways.of(from).frames.behind() != 0) {
            self.keep_window_open(from, at);
        }
        next
    }

    /// Opens a delivery with its first frame. Nothing is written down before all that is needed is
    /// there.
    fn first_frame(&mut self, arrival: &Arrival<'_>) -> Result<(), Halt> {
        let Arrival {
            from, at, transfer, ..
        } = *arrival;
        let Some(id) = transfer.delivery_id else {
            return Err(unexpected(arrival.header));
        };
        let policy = &self.settings.policy;
        let close = policy.on_oversize() == OnOversize::Close && policy.mode() == Mode::Enforce;
        let ceiling = usize::try_from(self.settings.max_control_size.0).unwrap_or(usize::MAX);
        let limits = self.limits.as_ref();
        let Some(session) = self.sessions.get_mut(at.0).and_then(Option::as_mut) else {
            return Err(Halt::Over);
        };
        let Some(link) = session.links.get_mut(at.1).and_then(Option::as_mut) else {
            return Err(Halt::Over);
        };
        let limit = match (&link.limit, limits) {
            (LinkLimit::Exempt, _) | (_, None) => None,
            (LinkLimit::One(limit), _) => Some(limit.clone()),
            (LinkLimit::ByMessage, Some(limits)) => {
                let payload = arrival.input.get(transfer.payload_at..).unwrap_or_default();
                let to = match message_to(payload, arrival.payload_len(), ceiling) {
                    Parsed::Value(to) => to.unwrap_or_default(),
                    Parsed::NeedMore(octets) => {
                        return Err(Halt::NeedMore(transfer.payload_at + octets));
                    }
                };
                if link.address.as_deref() != Some(to) {
                    link.address = Some(to.into());
                }
                Some(limits.limit(link.direction(), to.as_bytes()).clone())
            }
        };
        let limit = limit.filter(|limit| limit.size.0 != 0);
        let txn_id = match transfer.state.map(delivery_state) {
            Some(DeliveryState::Transactional { txn_id, .. }) => Some(txn_id),
            _ => None,
        };
        let second = transfer
            .rcv_settle_mode
            .map_or(link.second, |mode| mode == ReceiverSettleMode::Second);
        let mut change = None;
        if self.unsettles {
            let is_full = session.ways.of(from).owed.is_full();
            change =
                first_look(arrival, link, second, ceiling).map(|it| it.filter(|_| !is_full))?;
        }
        link.current = Some(Delivery::new(id, transfer, second, txn_id, limit));
        if let Some(change) = change {
            link.change(change);
        }
        link.count = link.count.wrapping_add(1);
        let way = session.ways.of_mut(from);
        if close {
            // Whether everything is settled is asked before the close.
            way.number_from(id);
        }
        if let Some(translator) = &mut way.translator {
            translator.note(id);
        }
        Ok(())
    }

    /// Counts a frame into its delivery, and decides what becomes of it.
    fn count(&mut self, arrival: &Arrival<'_>, meter: &mut Meter) -> Result<usize, Halt> {
        let Arrival {
            from, at, transfer, ..
        } = *arrival;
        let policy = &self.settings.policy;
        let (on_oversize, mode) = (policy.on_oversize(), policy.mode());
        let Some(session) = self.sessions.get_mut(at.0).and_then(Option::as_mut) else {
            return Err(Halt::Over);
        };
        session.ways.of_mut(from).frame_came();
        let Some(link) = session.at_mut(at.1) else {
            return Err(Halt::Over);
        };
        let (direction, address) = (link.direction(), link.address.clone());
        let Some(delivery) = &mut link.current else {
            return Err(Halt::Over);
        };
        delivery.count(transfer, arrival.payload_len());
        let (size, is_last) = (delivery.size(), arrival.is_last());
        let is_first = delivery.frames == 1;
        if transfer.aborted && delivery.is_held() {
            return Err(self.drop_held(arrival));
        }
        let exceeded = delivery.exceeded().cloned();
        match (&mut delivery.course, exceeded) {
            (Course::Swallowed, _) => Err(self.swallow_more(arrival)),
            (Course::Passing, Some(limit)) if mode == Mode::DryRun => {
                let action = would_be(on_oversize, delivery.settled);
                let kind = VerdictKind::WouldDeny;
                note(
                    meter,
                    direction,
                    kind,
                    address.as_deref(),
                    size,
                    &limit,
                    action,
                );
                // It is counted; the rest of it passes like anything else.
                delivery.limit = None;
                delivery.is_counted = true;
                self.forward(arrival, meter)
            }
            (course, Some(limit)) => {
                let streamed = matches!(course, Course::Passing) && !is_first;
                let action = match on_oversize {
                    OnOversize::Close => Action::Close,
                    OnOversize::Reject if !streamed => would_be(on_oversize, delivery.settled),
                    OnOversize::Detach | OnOversize::Reject => Action::Detach,
                };
                let kind = VerdictKind::Denied;
                note(
                    meter,
                    direction,
                    kind,
                    address.as_deref(),
                    size,
                    &limit,
                    action,
                );
                Err(match action {
                    Action::Reject | Action::Drop => self.reject(arrival, limit),
                    Action::Detach => self.refuse_link(arrival, &limit),
                    Action::Close => self.refuse_connection(arrival, limit),
                })
            }
            (Course::Held(..), None) => Err(self.hold(arrival, is_last, meter)),
            (Course::Passing, None) => {
                let is_judged = delivery.limit.is_some()
                    && on_oversize == OnOversize::Reject
                    && mode == Mode::Enforce;
                let is_spread = delivery.change.is_undecided();
                if is_first && !is_last && (is_judged || is_spread) {
                    let until = if is_judged { Until::End } else { Until::Head };
                    let held = Held {
                        frames: Default::default(),
                        reservation: Reservation::new(&self.settings.hold),
                    };
                    delivery.course = Course::Held(held, until);
                    return Err(self.hold(arrival, false, meter));
                }
                self.forward(arrival, meter)
            }
        }
    }

    /// Lets a frame go on, with the number that its receiver is to know it by.
    fn forward(&mut self, arrival: &Arrival<'_>, meter: &mut Meter) -> Result<usize, Halt> {
        let Arrival {
            from, at, transfer, ..
        } = *arrival;
        let len = arrival.len();
        let ceiling = self.frame_ceiling(from.other());
        let Some(session) = self.sessions.get_mut(at.0).and_then(Option::as_mut) else {
            return Err(Halt::Over);
        };
        let oldest = session.oldest_held(from);
        let Some(link) = session.at_mut(at.1) else {
            return Err(Halt::Over);
        };
        let direction = link.direction();
        let Some(delivery) = &mut link.current else {
            return Err(Halt::Over);
        };
        let (id, size, is_first) = (delivery.id, delivery.size(), delivery.frames == 1);
        let at_end = delivery.at_end(arrival.is_last(), transfer.aborted);
        let rewrite = delivery.change.for_frame();
        if arrival.is_last() {
            if !delivery.is_counted {
                meter.message(direction, VerdictKind::Allowed, size);
                let restores = delivery.change.restores() && !transfer.aborted;
                meter.restored += u64::from(restores);
            }
            link.current = None;
        }
        let queue = |rewrite| {
            Halt::Act(Act::Hold(HoldFrame {
                at,
                frame: Vec::new(),
                left: len,
                then: Then::Queue {
                    id,
                    is_first,
                    at_end,
                },
                rewrite,
            }))
        };
        if arrival.queues {
            return Err(queue(rewrite));
        }
        let Some(theirs) = session.number(from, oldest, (id, at.1), rewrite.is_some()) else {
            return Err(self.too_many("unsettled deliveries"));
        };
        let way = session.ways.of_mut(from);
        if way.translator.is_none() {
            way.frames.forwarded = way.frames.forwarded.wrapping_add(1);
            return Ok(len);
        }
        let wanted = Wanted {
            id: theirs,
            rewrite: rewrite.as_deref(),
            is_first,
            ceiling,
        };
        let Some(front) = front(arrival, wanted) else {
            // It has to be cut in two, for which it is needed as a whole.
            return Err(queue(rewrite));
        };
        way.frames.forwarded = way.frames.forwarded.wrapping_add(1);
        if let Some(rewrite) = rewrite.filter(|it| is_first && it.how == How::Unsettled) {
            way.owed.add(theirs, at.1, &rewrite);
        }
        self.dues.are_there |= session.note_end(from, (id, at.1), at_end);
        if front.octets.is_empty() {
            return Ok(len);
        }
        let (taken, rest) = (front.taken as u64, (len - front.taken) as u64);
        Err(Halt::Act(Act::Replace(taken, front.octets, rest)))
    }

    /// Holds a frame back, if there is memory for it; else what is held goes out.
    fn hold(&mut self, arrival: &Arrival<'_>, is_last: bool, meter: &mut Meter) -> Halt {
        let at = arrival.at;
        let len = arrival.len();
        let Some(link) = self
            .session_mut(at.0)
            .and_then(|session| session.at_mut(at.1))
        else {
            return Halt::Over;
        };
        let (direction, most) = (link.direction(), link.max_message_size);
        let Some(delivery) = &mut link.current else {
            return Halt::Over;
        };
        let size = delivery.size();
        let outgrows = is_last && delivery.change.outgrows(delivery.octets, most);
        let Course::Held(held, until) = &mut delivery.course else {
            return Halt::Over;
        };
        let has_room = held.reservation.grow(len as u64);
        let restores = delivery.change.restores();
        let is_known = *until == Until::Head && !delivery.change.is_undecided();
        let then = match (is_last, has_room && !is_known) {
            (true, _) => Then::Release,
            (false, true) => Then::HoldOn,
            (false, false) => Then::Stream,
        };
        if outgrows || then == Then::Stream && delivery.change.is_undecided() {
            link.stays_as_it_is();
        }
        if is_last {
            meter.message(direction, VerdictKind::Allowed, size);
            meter.restored += u64::from(restores);
        }
        Halt::Act(Act::Hold(HoldFrame {
            at,
            frame: Vec::new(),
            left: len,
            then,
            rewrite: None,
        }))
    }

    pub(super) fn link_at(&mut self, at: (usize, usize)) -> Option<&mut super::link::Link> {
        self.session_mut(at.0)?.at_mut(at.1)
    }
}

/// What a refusal of one delivery does, or would do.
fn would_be(on_oversize: OnOversize, settled: bool) -> Action {
    match on_oversize {
        OnOversize::Reject if settled => Action::Drop,
        OnOversize::Reject => Action::Reject,
        OnOversize::Detach => Action::Detach,
        OnOversize::Close => Action::Close,
    }
}
