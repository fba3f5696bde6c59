//! The walk over the frames of a side: what goes on in one piece, and what stops it.

use parsers::amqp091::Malformed;

use super::connection::Connection;
use super::direction;
use crate::gate::{Meter, Side, Step};

/// What has been decided on the octets of a side that come next, in this order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// So many are thrown away.
    withhold: usize,
    /// These take their place.
    inject: Vec<u8>,
    /// So many octets of `inject` are the side's own.
    released: usize,
    /// So many go on.
    forward: usize,
}

impl Pending {
    pub(super) fn is_some(&self) -> bool {
        self.withhold > 0 || !self.inject.is_empty() || self.forward > 0
    }
}

/// Why a run of frames ends before the next one.
#[derive(Debug)]
pub(super) enum Halt {
    /// This many octets of it are needed.
    NeedMore(usize),
    /// It has to wait for the other side.
    Wait,
    /// So many octets of it, which are there, are thrown away; that is decided.
    Withhold(usize),
    /// What is to be said before it has to be said first. It is met again then.
    Words,
    /// It is not allowed. It is met again if there is something before it.
    Malformed(Malformed),
    /// The connection has been ended over it, or will be.
    Over,
}

impl From<Malformed> for Halt {
    fn from(fault: Malformed) -> Self {
        Self::Malformed(fault)
    }
}

impl Connection {
    /// What happens next in the stream of a side.
    pub(super) fn next_step(
        &mut self,
        from: Side,
        input: &[u8],
        meter: &mut Meter,
        inject: &mut Vec<u8>,
    ) -> Step {
        let step = self
            .carry_on(from, inject, meter)
            .or_else(|| self.own_words(from.other(), inject, meter))
            .unwrap_or_else(|| self.walk(from, input, meter, inject));
        if matches!(step, Step::Forward(_) | Step::Inject) {
            self.sides.of_mut(from.other()).is_fed = true;
        }
        step
    }

    /// Whether the other side has been sent a frame of this one that is not whole yet.
    pub(super) fn is_within_frame(&self, from: Side) -> bool {
        let partial = &self.sides.of(from).partial;
        partial.is_some_and(|partial| partial.passes) && !self.sides.of(from.other()).is_cut
    }

    /// Carries out what has been decided.
    fn carry_on(&mut self, from: Side, inject: &mut Vec<u8>, meter: &mut Meter) -> Option<Step> {
        let pending = &mut self.sides.of_mut(from).pending;
        if pending.withhold > 0 {
            return Some(Step::Withhold(std::mem::take(&mut pending.withhold) as u64));
        }
        if !pending.inject.is_empty() {
            std::mem::swap(inject, &mut pending.inject);
            let released = std::mem::take(&mut pending.released);
            meter.released(direction(from), released as u64);
            return Some(Step::Inject);
        }
        let forward = std::mem::take(&mut pending.forward);
        (forward > 0).then_some(Step::Forward(forward as u64))
    }

    /// What goes to `to` on sizegate's own account at this boundary between frames.
    fn own_words(&mut self, to: Side, inject: &mut Vec<u8>, meter: &mut Meter) -> Option<Step> {
        if self.is_within_frame(to.other()) {
            return None;
        }
        let peer = self.sides.of_mut(to);
        if !peer.words.is_empty() && !peer.is_cut {
            std::mem::swap(inject, &mut peer.words);
            let released = std::mem::take(&mut peer.released);
            meter.released(direction(to.other()), released as u64);
            return Some(Step::Inject);
        }
        let waits = self.sides.of(to.other()).owes_close_ok;
        self.farewell.filter(|_| !waits).map(Step::End)
    }

    /// Takes note of octets that were thrown away while a close-ok is awaited: a client's is not for
    /// ever, whatever it sends.
    fn discard_more(&mut self, from: Side, len: usize) {
        if self.farewell.is_some() && from == Side::Client {
            self.discarded += len as u64;
            self.sides.client.owes_close_ok &= self.discarded <= Self::MOST_DISCARDED;
        }
    }

    /// Walks over the frames of a side, as far as they go on as they are or are thrown away.
    fn walk(&mut self, from: Side, input: &[u8], meter: &mut Meter, inject: &mut Vec<u8>) -> Step {
        let is_stopped = from == Side::Client && self.deferred.is_some();
        if is_stopped || self.sides.of(from).words.len() > Self::MOST_WORDS {
            return Step::Wait;
        }
        // What is decided here is a run of frames that pass, or of frames that are thrown away with
        // perhaps one behind it that passes.
        let mut pending = Pending::default();
        let halt = loop {
            let at = pending.withhold + pending.forward;
            // Within a frame the end has to wait, as words have; there is one behind it.
            let may_end = self.farewell.is_some() && !self.is_within_frame(from);
            if may_end && !self.sides.of(from).owes_close_ok {
                break Halt::Over;
            }
            let rest = input.get(at..).unwrap_or_default();
            if rest.is_empty() && at > 0 {
                break Halt::NeedMore(1);
            }
            match self.next_frame(from, rest, meter) {
                Ok(len) if self.is_alone => pending.withhold += len.min(rest.len()),
                Ok(len) => {
                    pending.forward += len;
                    // What was decided over this frame is said right behind it.
                    let speaks = !self.sides.of(from.other()).words.is_empty();
                    if speaks || pending.withhold > 0 {
                        break Halt::NeedMore(1);
                    }
                }
                Err(Halt::Withhold(len)) if pending.forward == 0 => {
                    pending.withhold += len;
                    self.discard_more(from, len);
                    let to = self.sides.of_mut(from.other());
                    pending.inject.append(&mut to.words);
                    pending.released += std::mem::take(&mut to.released);
                }
                Err(halt) => break halt,
            }
        };
        if pending.withhold == 0 && pending.forward > 0 {
            let run = std::mem::take(&mut pending.forward);
            if let Halt::Withhold(len) = halt {
                pending.withhold = len;
            }
            self.sides.of_mut(from).pending = pending;
            return Step::Forward(run as u64);
        }
        let is_decided = pending.is_some();
        self.sides.of_mut(from).pending = pending;
        match halt {
            _ if is_decided => {}
            Halt::NeedMore(octets) => return Step::More(octets),
            Halt::Wait => return Step::Wait,
            Halt::Malformed(fault) => self.malformed(from, &fault, meter),
            Halt::Over if self.farewell.is_none() => return Step::Wait,
            Halt::Withhold(_) | Halt::Words | Halt::Over => {}
        }
        self.next_step(from, input, meter, inject)
    }
}
