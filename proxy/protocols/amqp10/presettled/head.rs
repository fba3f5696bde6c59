//! The head of a delivery, which tells what is changed about it: where it is spread over frames, it is
//! put together.

use parsers::Parsed;
use parsers::amqp10::{frame_header, performative};

use super::super::act::Halt;
use super::super::arrival::Arrival;
use super::super::connection::Connection;
use super::super::delivery::{Course, Held};
use super::super::link::Link;
use super::Change;
use super::change::{Head, candidate, decide};

/// Decides by the first frame of a delivery what is changed about it, if something may be. Nothing is
/// written down before all that is needed of it is there.
#[inline(never)]
pub(in super::super) fn first_look(
    arrival: &Arrival<'_>,
    link: &Link,
    second: bool,
    ceiling: usize,
) -> Result<Option<Change>, Halt> {
    let Some(how) = candidate(arrival.from, link, arrival.transfer) else {
        return Ok(None);
    };
    let head = Head {
        payload: arrival.payload(),
        payload_len: arrival.payload_len(),
        is_last: arrival.is_last(),
        ceiling,
    };
    let needs = |octets| Halt::NeedMore(arrival.transfer.payload_at + octets);
    decide(how, second, link, head).map(Some).map_err(needs)
}

impl Connection {
    /// Looks at one more frame of a delivery of which that is not known yet. Nothing is written down
    /// before all that is needed of it is there.
    pub(in super::super) fn look_further(&mut self, arrival: &Arrival<'_>) -> Result<(), Halt> {
        let ceiling = self.settings.max_control_size.0;
        let ceiling = usize::try_from(ceiling).unwrap_or(usize::MAX);
        let Some(link) = self.link_at(arrival.at) else {
            return Ok(());
        };
        let Some(delivery) = &link.current else {
            return Ok(());
        };
        let (&Change::Undecided(how, needs), Course::Held(held, _)) =
            (&delivery.change, &delivery.course)
        else {
            return Ok(());
        };
        if arrival.transfer.aborted {
            return Ok(());
        }
        let before = usize::try_from(delivery.octets).unwrap_or(usize::MAX);
        let (there, payload_len) = (arrival.payload(), arrival.payload_len());
        let wanted = needs.saturating_sub(before);
        if wanted > payload_len && !arrival.is_last() {
            return Ok(());
        }
        let needs = |octets: usize| Halt::NeedMore(arrival.transfer.payload_at + octets);
        if there.len() < wanted.min(payload_len) {
            return Err(needs(wanted.min(payload_len)));
        }
        let mut payload = held.payload();
        payload.extend_from_slice(there);
        let head = Head {
            payload: &payload,
            payload_len: before + payload_len,
            is_last: arrival.is_last(),
            ceiling,
        };
        let change = decide(how, delivery.second, link, head);
        let change = change.map_err(|octets| needs(octets.saturating_sub(before)))?;
        link.change(change);
        Ok(())
    }
}

impl Link {
    /// Notes what is changed about the present delivery.
    pub(in super::super) fn change(&mut self, change: Change) {
        let Some(delivery) = &mut self.current else {
            return;
        };
        match (delivery.change.unsettles(), change.unsettles()) {
            (false, true) => self.unsettled += 1,
            (true, false) => self.unsettled = self.unsettled.saturating_sub(1),
            _ => {}
        }
        delivery.set_change(change);
    }

    /// Notes that nothing is changed about the present delivery after all.
    pub(in super::super) fn stays_as_it_is(&mut self) {
        self.change(Change::Nothing);
    }
}

impl Held {
    /// The payload of all frames.
    fn payload(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        for frame in &self.frames {
            if let Ok(Parsed::Value(header)) = frame_header(frame)
                && let Ok(Parsed::Value(body)) = performative(&header, frame, frame.len())
            {
                payload.extend_from_slice(frame.get(body.payload_at..).unwrap_or_default());
            }
        }
        payload
    }
}
