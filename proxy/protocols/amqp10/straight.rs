//! The straight path: small messages of a link in a row, each in one frame, within its limit, and with
//! nothing in its way.
//!
//! It writes down what the path through [`super::transfer`] would, and leaves all else to that.

use parsers::amqp10::whole_delivery;

use super::connection::{Connection, Layer};
use super::link::{LinkLimit, LinkState};
use crate::gate::{Meter, Side, VerdictKind};
use crate::policy::OnOversize;

impl Connection {
    /// The octets of the deliveries at the front of `input` that go on as they are. They have been
    /// counted; of what follows, nothing has been written down.
    pub(super) fn straight_run(&mut self, from: Side, input: &[u8], meter: &mut Meter) -> usize {
        let Some(first) = whole_delivery(input) else {
            return 0;
        };
        // Before the broker has accepted its client, all octets are counted.
        let is_open = [Side::Client, Side::Broker].map(|side| self.sides.of(side).layer);
        // What is unsettled anew, and all that comes before a close, has to be remembered.
        let is_remembered =
            self.unsettles || self.settings.policy.on_oversize() == OnOversize::Close;
        if is_open != [Layer::Opened; 2] || is_remembered || self.is_alone {
            return 0;
        }
        let ceiling = self.frame_ceiling(from.other());
        let Some(&at) = self.sides.of(from).channels.get(&first.channel) else {
            return 0;
        };
        let Some(session) = self.sessions.get_mut(at).and_then(Option::as_mut) else {
            return 0;
        };
        let way = session.ways.of_mut(from);
        // The sides count alike: nothing is held, and nothing was thrown away.
        if way.frames.behind() != 0 || way.is_paced || way.translator.is_some() {
            return 0;
        }
        let Some(&at) = session.handles.of(from).get(&first.handle) else {
            return 0;
        };
        let Some(link) = session.links.get_mut(at).and_then(Option::as_mut) else {
            return 0;
        };
        if link.sender != from || link.state != LinkState::Attached || link.current.is_some() {
            return 0;
        }
        let most = match &link.limit {
            LinkLimit::Exempt => u64::MAX,
            LinkLimit::One(limit) => limit.ceiling(),
            LinkLimit::ByMessage => return 0,
        };
        let direction = link.direction();
        let (mut run, mut frames) = (0, 0);
        let mut next = Some(first);
        while let Some(delivery) = next
            && (delivery.channel, delivery.handle) == (first.channel, first.handle)
            && delivery.frame_len <= ceiling
            && delivery.payload_len as u64 <= most
        {
            meter.message(direction, VerdictKind::Allowed, delivery.payload_len as u64);
            run += delivery.frame_len;
            frames += 1;
            next = input.get(run..).and_then(whole_delivery);
        }
        way.frames_went(frames);
        link.count = link.count.wrapping_add(frames);
        run
    }
}
