//! The straight path: small messages of QoS 0 in a row, which no limit of their direction forbids,
//! whatever their topics are.
//!
//! It counts what the path through [`super::publish`] would, and leaves all else to that.

use parsers::mqtt::{Version, common_publish};

use super::MessageSize;
use super::session::{Session, Stage};
use crate::gate::{Direction, Meter, Side, VerdictKind};

impl Session {
    /// The octets of the PUBLISHes at the front of `input` that may pass. They have been counted; of
    /// what follows, nothing has been written down.
    #[inline(never)]
    pub(super) fn straight_run(
        &self,
        from: Side,
        version: Version,
        input: &[u8],
        meter: &mut Meter,
    ) -> usize {
        let (Some(client), Stage::Connected { .. }) = (&self.client, self.stage) else {
            return 0;
        };
        let (direction, most) = match from {
            Side::Client => (Direction::ToBroker, usize::MAX),
            Side::Broker => (Direction::ToClient, client.most()),
        };
        let counts = self.settings.mqtt.message_size;
        let mut run = 0;
        while let Some(packet) = input
            .get(run..)
            .and_then(|rest| common_publish(version, rest))
        {
            let size = match counts {
                MessageSize::Packet => packet.packet_len,
                MessageSize::RemainingLength => packet.packet_len - packet.header_len,
                MessageSize::Payload => packet.payload_len,
            };
            let size = size as u64;
            if packet.packet_len > most || !client.limits.allow_anywhere(direction, size) {
                break;
            }
            meter.message(direction, VerdictKind::Allowed, size);
            run += packet.packet_len;
        }
        run
    }
}
