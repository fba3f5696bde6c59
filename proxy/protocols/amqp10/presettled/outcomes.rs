//! What the broker says of pre-settled deliveries, what it is told of those that were restored, and
//! what the client gets of both: credit.
//!
//! What has come together is said when all that is there of the broker's has been looked at, so that
//! many settlements make one flow, and many restored deliveries one disposition.

use parsers::amqp10::{DeliveryState, Disposition, delivery_state};

use super::super::connection::Connection;
use super::super::link::LinkState;
use super::super::refuse::Word;
use super::super::session::Session;
use super::owed::Settled;
use crate::gate::{Meter, NotAccepted, Outcome, Report, Side};

/// What a connection has to say of pre-settled deliveries.
#[derive(Debug, Default)]
pub(in super::super) struct Dues {
    /// Whether some session may have deliveries to accept, or credit to tell of.
    pub(in super::super) are_there: bool,
    /// Whether the end of something waits for outcomes.
    pub(in super::super) is_waited_for: bool,
}

/// What is due once the last frame of a delivery has gone out, or one that is not the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum AtEnd {
    /// A disposition, or more frames.
    Wait,
    /// Nothing: it is settled.
    Forget,
    /// Nothing: its sender has broken it off.
    Abort,
    /// That its sender is told that it was accepted; by a disposition that settles it, or one that
    /// leaves that to the sender (AMQP 1.0 §2.8.3).
    Accept {
        /// Whether it is left to the sender.
        second: bool,
    },
}

impl Connection {
    /// Takes a disposition of the broker for the pre-settled deliveries among those that it names.
    pub(in super::super) fn take_outcomes(
        &mut self,
        at: usize,
        disposition: &Disposition<'_>,
        meter: &mut Meter,
    ) {
        let Some(session) = self.session_mut(at) else {
            return;
        };
        let run = (
            disposition.first,
            disposition.last.unwrap_or(disposition.first),
        );
        let outcome = disposition.state.and_then(outcome);
        let owed = &mut session.ways.client.owed;
        let answer = owed.disposition(run, disposition.settled, outcome);
        for settled in &answer.settled {
            let mut address = None;
            if let Some(link) = session.at_mut(settled.link) {
                let deliveries = u32::try_from(settled.deliveries).unwrap_or(u32::MAX);
                link.unsettled = link.unsettled.saturating_sub(deliveries);
                address = link.address.as_deref();
            }
            note(meter, settled, address);
        }
        let links = answer.settled.iter().map(|settled| settled.link);
        session.credit_dues.extend(links);
        self.dues.are_there |= !answer.settled.is_empty();
        for (first, last) in answer.to_settle {
            self.say(Side::Broker, at, Word::Settled { first, last });
        }
        self.let_leave(at);
    }

    /// Whether there is something to say of pre-settled deliveries when all that has come from a side
    /// has been looked at.
    pub(in super::super) fn has_dues(&self, from: Side) -> bool {
        from == Side::Broker
            && self.dues.are_there
            && self.sides.broker.words.len() <= Self::MOST_WORDS
    }

    /// Says what has come together.
    pub(in super::super) fn say_dues(&mut self) {
        self.dues.are_there = false;
        self.say_accepts();
        for at in 0..self.sessions.len() {
            let Some(session) = self.session_mut(at) else {
                continue;
            };
            for link in std::mem::take(&mut session.credit_dues) {
                self.tell_credit((at, link));
            }
        }
    }

    /// Tells the broker of deliveries that were restored.
    pub(in super::super) fn say_accepts(&mut self) {
        for at in 0..self.sessions.len() {
            let Some(session) = self.session_mut(at) else {
                continue;
            };
            for (first, last, second) in std::mem::take(&mut session.ways.broker.accepts) {
                let word = Word::Accepted {
                    first,
                    last,
                    settled: !second,
                };
                self.say(Side::Broker, at, word);
            }
        }
    }

    /// Tells a client of credit that it has now, if that is due.
    pub(in super::super) fn tell_credit(&mut self, place: (usize, usize)) {
        let is_due = self.link_at(place).is_some_and(|link| {
            link.state == LinkState::Attached
                && link.handles.client.is_some()
                && link.credit_is_due()
        });
        if is_due {
            self.restore_credit(Side::Client, place);
        }
    }

    /// Pre-settled deliveries whose outcome is due.
    pub(in super::super) fn owed(&self) -> u64 {
        let sessions = self.sessions.iter().flatten();
        sessions.map(|session| session.ways.client.owed.len()).sum()
    }
}

impl Session {
    /// Notes that the last frame of a delivery has gone out, or one that is not the last; says
    /// whether its sender is to be told something.
    pub(in super::super) fn note_end(
        &mut self,
        from: Side,
        (id, link): (u32, usize),
        at_end: AtEnd,
    ) -> bool {
        if at_end == AtEnd::Wait {
            return false;
        }
        // What a receiver is sent that has left, it does not take: the sender may give it to another.
        let link = self.links.get(link).and_then(Option::as_ref);
        let is_there = link.is_some_and(|link| link.handles.of(from.other()).is_some());
        let way = self.ways.of_mut(from);
        if let (AtEnd::Accept { second }, true) = (at_end, is_there) {
            match way.accepts.last_mut() {
                Some((_, last, same)) if *same == second && last.wrapping_add(1) == id => {
                    *last = id;
                }
                _ => way.accepts.push((id, id, second)),
            }
        }
        if at_end == AtEnd::Abort {
            self.disown(from, id);
        }
        if let Some(translator) = &mut self.ways.of_mut(from).translator {
            translator.forget(id);
        }
        matches!(at_end, AtEnd::Abort | AtEnd::Accept { .. })
    }

    /// Takes a delivery that has begun to go out from among those that are to be settled, because the
    /// rest of it never will.
    pub(in super::super) fn disown(&mut self, from: Side, id: u32) {
        let way = self.ways.of_mut(from);
        let translator = way.translator.as_ref();
        let received = translator.and_then(|translator| translator.received(id));
        let Some(at) = received.and_then(|received| way.owed.remove(received)) else {
            return;
        };
        if let Some(link) = self.at_mut(at) {
            link.unsettled = link.unsettled.saturating_sub(1);
            self.credit_dues.push(at);
        }
    }

    /// Writes down that the broker will not say any more what became of the pre-settled deliveries
    /// of a link.
    pub(in super::super) fn lose_link(
        &mut self,
        at: usize,
        address: Option<&str>,
        meter: &mut Meter,
    ) {
        for lost in self.ways.client.owed.remove_link(at) {
            note(meter, &lost, address);
        }
    }

    /// The same for all links of a session that is over.
    pub(in super::super) fn lose_all(&mut self, meter: &mut Meter) {
        for at in 0..self.links.len() {
            if self.ways.client.owed.len() == 0 {
                return;
            }
            let address = self.at_mut(at).and_then(|link| link.address.clone());
            self.lose_link(at, address.as_deref(), meter);
        }
    }
}

/// Writes down what became of pre-settled deliveries; `address` is that of their link.
fn note(meter: &mut Meter, settled: &Settled, address: Option<&str>) {
    let (outcome, messages) = (settled.outcome, settled.deliveries);
    meter.outcome(outcome, messages);
    if outcome != Outcome::Accepted {
        let address = settled.address.as_deref().or(address);
        meter.reports.push(Report::NotAccepted(NotAccepted {
            outcome,
            messages,
            address: address.map(Into::into),
        }));
    }
}

/// The outcome that a state is; none of those that tell how far a delivery has come.
///
/// What the broker calls by another name, it did not say in words that are known here.
fn outcome(state: &[u8]) -> Option<Outcome> {
    match delivery_state(state) {
        DeliveryState::Accepted => Some(Outcome::Accepted),
        DeliveryState::Rejected => Some(Outcome::Rejected),
        DeliveryState::Released => Some(Outcome::Released),
        DeliveryState::Modified => Some(Outcome::Modified),
        DeliveryState::Received
        | DeliveryState::Declared
        | DeliveryState::Transactional { .. }
        | DeliveryState::Other => None,
    }
}
