//! Flows and dispositions: numbers that the two sides count differently are put right.

use parsers::amqp10::encode::{null, uint};
use parsers::amqp10::{Disposition, Flow, Performative, Role, Scalar};

use super::act::{Act, Halt, Then};
use super::connection::Connection;
use super::link::{Credit, LinkState};
use super::refuse::Word;
use super::translate::Origin;
use crate::gate::{Meter, Side};

impl Connection {
    /// A flow (AMQP 1.0 §2.5.6, §2.6.7).
    pub(super) fn flow(&mut self, from: Side, body: &Performative<'_>) -> Result<usize, Halt> {
        let flow = body.flow()?;
        let len = body.header.frame_len();
        let at = self.place(from, body.header.channel);
        let coming_in = self.coming_in(from.other());
        let Some(session) = at.and_then(|at| self.session_mut(at)) else {
            return Ok(len);
        };
        session.note_flow(from, &flow);
        session.tell(from.other());
        let mut changes: Vec<(usize, Scalar)> = Vec::new();
        let (mut given_back, mut counted) = (None, None);
        // Of the deliveries that this side receives, and of those that it sends.
        if let Some((expected, window)) = session.window_to(from.other()) {
            if flow.next_incoming_id.is_some_and(|id| id != expected) {
                changes.push((Flow::NEXT_INCOMING_ID, uint(expected)));
            }
            if window != flow.incoming_window {
                changes.push((Flow::INCOMING_WINDOW, uint(window)));
            }
        }
        let behind = session.ways.of(from).frames.behind();
        if behind != 0 {
            let next = uint(flow.next_outgoing_id.wrapping_sub(behind));
            changes.push((Flow::NEXT_OUTGOING_ID, next));
        }
        if let Some(handle) = flow.handle
            && let Some((link_at, link)) = session.link_mut(from, handle)
        {
            if link.state != LinkState::Attached {
                // What it says of the session holds; of the link the other side knows nothing more.
                changes.extend((Flow::HANDLE..=Flow::DRAIN).map(|field| (field, null())));
            } else if link.sender == from {
                counted = Some(link_at).filter(|_| link.pace.withheld > 0);
                if let Some(count) = flow.delivery_count {
                    let is_paced = link.pace.withheld > 0;
                    let seen = session.seen(from, link_at, count);
                    if seen != count {
                        changes.push((Flow::DELIVERY_COUNT, uint(seen)));
                    }
                    let link = session.at_mut(link_at).filter(|_| is_paced);
                    if let Some(credit) = link.and_then(|link| link.stated_credit(seen)) {
                        changes.push((Flow::LINK_CREDIT, uint(credit)));
                    }
                }
            } else {
                let credit = flow.link_credit.map(|link_credit| Credit {
                    delivery_count: flow.delivery_count,
                    link_credit,
                    drain: flow.drain,
                });
                link.note_credit(credit);
                let is_coming_in = at.map(|at| (at, link_at)) == coming_in;
                let (told, back) = session.pace(from.other(), link_at, &flow, is_coming_in);
                changes.extend(told);
                given_back = back;
            }
        }
        let is_freed = !session.ways.of(from.other()).queue.is_empty();
        self.sides.of_mut(from.other()).may_release |= is_freed;
        if let (Some(flow), Some(at)) = (given_back, at) {
            self.say(from, at, Word::Flow(flow));
        }
        if let (Some(link), Some(at)) = (counted, at) {
            self.tell_credit((at, link));
        }
        changed(body, &changes)
    }

    /// The link of a side's delivery whose first frame is coming in, to wait for its receiver.
    fn coming_in(&self, from: Side) -> Option<(usize, usize)> {
        match &self.sides.of(from).act {
            Some(Act::Hold(hold)) => {
                let is_first = matches!(hold.then, Then::Queue { is_first: true, .. });
                is_first.then_some(hold.at)
            }
            _ => None,
        }
    }

    /// Gives a sender back the credit that a delivery took which its receiver never sees, and the
    /// window that its frames took.
    pub(super) fn restore_credit(&mut self, from: Side, (at, link_at): (usize, usize)) {
        let Some(session) = self.session_mut(at) else {
            return;
        };
        let Some(link) = session.at_mut(link_at) else {
            return;
        };
        link.note_told();
        let (credit, told) = (link.credit, link.told());
        let handle = *link.handles.of(from.other());
        let (Some(credit), Some(told), Some(handle)) = (credit, told, handle) else {
            self.keep_window_open(from, at);
            return;
        };
        let known = told.delivery_count.or(link.initial_delivery_count);
        if let Some(flow) = session.flow_to(from) {
            let flow = Flow {
                handle: Some(handle),
                delivery_count: known,
                link_credit: Some(told.link_credit),
                drain: credit.drain,
                ..flow
            };
            self.say(from, at, Word::Flow(flow));
        }
    }

    /// Lets a sender go on whose frames are held or thrown away, when its window is half used up:
    /// its receiver, who sees nothing of them, would not.
    pub(super) fn keep_window_open(&mut self, from: Side, at: usize) {
        let Some(session) = self.session_mut(at) else {
            return;
        };
        let Some(may_send) = session.may_send(from) else {
            return;
        };
        let (left, half) = (session.ways.of(from).left, session.enough(from) / 2);
        let is_worth_it = left <= 0 || may_send - left >= half;
        if left <= half
            && may_send > left
            && is_worth_it
            && let Some(flow) = session.flow_to(from)
        {
            self.say(from, at, Word::Flow(flow));
        }
    }

    /// A disposition (AMQP 1.0 §2.7.6).
    pub(super) fn disposition(
        &mut self,
        from: Side,
        body: &Performative<'_>,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let disposition = body.disposition()?;
        let len = body.header.frame_len();
        let (sender, origin) = match disposition.role {
            Role::Sender => (from, Origin::Sender),
            Role::Receiver => (from.other(), Origin::Receiver),
        };
        let at = self.place(from, body.header.channel);
        if let (true, Side::Client, Some(at)) = (self.unsettles, sender, at)
            && origin == Origin::Receiver
        {
            self.take_outcomes(at, &disposition, meter);
        }
        let session = at.and_then(|at| self.session_mut(at));
        let Some(translator) =
            session.and_then(|session| session.ways.of_mut(sender).translator.as_mut())
        else {
            return Ok(len);
        };
        let (first, last) = (
            disposition.first,
            disposition.last.unwrap_or(disposition.first),
        );
        let runs = translator.disposition(origin, (first, last), disposition.settled);
        let differs = translator.differs();
        self.close_if_settled();
        if !differs {
            return Ok(len);
        }
        match *runs {
            [] => Err(Halt::Act(Act::Withhold(len as u64))),
            [run] if run == (first, last) => Ok(len),
            _ => {
                let mut frames = Vec::new();
                for (first, last) in runs {
                    let (first, last) = (uint(first), uint(last));
                    let changes = [(Disposition::FIRST, &*first), (Disposition::LAST, &*last)];
                    if body
                        .patch(body.header.channel, 0, &changes, &mut frames)
                        .is_none()
                    {
                        return Ok(len);
                    }
                }
                Err(Halt::Act(Act::Replace(len as u64, frames, 0)))
            }
        }
    }
}

/// The frame with these changes, or as it is where there are none.
fn changed(body: &Performative<'_>, changes: &[(usize, Scalar)]) -> Result<usize, Halt> {
    let len = body.header.frame_len();
    if changes.is_empty() {
        return Ok(len);
    }
    let changes: Vec<_> = changes
        .iter()
        .map(|(field, value)| (*field, &**value))
        .collect();
    let mut head = Vec::new();
    match body.patch(body.header.channel, 0, &changes, &mut head) {
        Some(()) => Err(Halt::Act(Act::Replace(len as u64, head, 0))),
        None => Ok(len),
    }
}
