//! The windows of a session: how many transfer frames a receiver takes, and how many its sender is
//! told that it may send, where the two differ because frames are held, swallowed or cut in two.

use parsers::amqp10::Flow;

use super::session::Session;
use crate::gate::Side;

impl Session {
    /// Frames that the receiver of `from`'s deliveries takes now; none if it has not begun.
    pub(super) fn room(&self, from: Side) -> Option<i64> {
        let receiver = (*self.windows.of(from.other()))?;
        Some(i64::from(receiver.incoming_window) - self.under_way(from)?)
    }

    /// Frames that were forwarded and that their receiver did not know of when it spoke last.
    fn under_way(&self, from: Side) -> Option<i64> {
        let sender = (*self.windows.of(from))?;
        let receiver = (*self.windows.of(from.other()))?;
        let first = sender.first_outgoing_id;
        let next = first.wrapping_add(self.ways.of(from).frames.forwarded);
        let expected = receiver.next_incoming_id.unwrap_or(first);
        Some(i64::from(next.wrapping_sub(expected) as i32))
    }

    /// Notes that the sender of `from`'s deliveries is told what its receiver takes now.
    pub(super) fn tell(&mut self, from: Side) {
        if let (Some(left), Some(room)) = (self.may_send(from), self.room(from)) {
            let way = self.ways.of_mut(from);
            way.left = left;
            way.is_paced = left > room - i64::from(way.frames.held());
        }
    }

    /// Frames that the sender of `from`'s deliveries may be told that it may send.
    ///
    /// While frames are held it may send some more than its receiver takes, since it could not end
    /// the deliveries that they are of; a receiver that has been sent all that it takes will say
    /// itself when it takes more. What a sender was told is not taken back.
    pub(super) fn may_send(&self, from: Side) -> Option<i64> {
        let room = self.room(from)?;
        let way = self.ways.of(from);
        let held = i64::from(way.frames.held());
        let before = if way.is_paced { way.left } else { i64::MIN };
        let ahead = if held > 0 && room > 0 {
            self.enough(from)
        } else {
            i64::MIN
        };
        Some((room - held).max(before).max(ahead))
    }

    /// Frames that a sender needs to be let send to go on.
    pub(super) fn enough(&self, from: Side) -> i64 {
        let window = self.windows.of(from.other()).as_ref();
        window.map_or(1, |window| {
            i64::from(window.incoming_window.clamp(1, AHEAD))
        })
    }

    /// The next-incoming-id and the incoming-window that say to the sender of `from`'s deliveries
    /// what it has been told.
    pub(super) fn window_to(&self, from: Side) -> Option<(u32, u32)> {
        let sender = (*self.windows.of(from))?;
        let receiver = (*self.windows.of(from.other()))?;
        let way = self.ways.of(from);
        let first = sender.first_outgoing_id;
        let mut expected = receiver
            .next_incoming_id
            .unwrap_or(first)
            .wrapping_add(way.frames.swallowed);
        let differs = way.frames.swallowed != 0;
        let is_before = (expected.wrapping_sub(first) as i32) < 0;
        if differs && is_before && way.frames.received < i32::MAX as u32 {
            // Half of a frame that was cut in two does not count before the beginning.
            expected = first;
        }
        let sent = first.wrapping_add(way.frames.received);
        let window = way.left + i64::from(sent.wrapping_sub(expected) as i32);
        let window = window.clamp(0, i64::from(u32::MAX));
        Some((expected, u32::try_from(window).unwrap_or(u32::MAX)))
    }

    /// The session part of a flow to the sender of `from`'s deliveries, in its receiver's name. It
    /// counts as said.
    pub(super) fn flow_to(&mut self, from: Side) -> Option<Flow> {
        self.tell(from);
        let (next_incoming_id, incoming_window) = self.window_to(from)?;
        let receiver = (*self.windows.of(from.other()))?;
        let back = self.ways.of(from.other()).frames.forwarded;
        Some(Flow {
            next_incoming_id: Some(next_incoming_id),
            incoming_window,
            next_outgoing_id: receiver.first_outgoing_id.wrapping_add(back),
            outgoing_window: receiver.outgoing_window,
            ..Flow::default()
        })
    }
}

/// Transfer frames that a sender is let send beyond what its receiver takes, at most.
const AHEAD: u32 = 16;
