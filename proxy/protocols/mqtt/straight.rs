//! The straight path: small messages of QoS 0 in a row, which no limit of their direction forbids,
//! whatever their topics are.
//!
//! It counts what the path through [`super::publish`] would, and leaves all else to that.

use parsers::mqtt::{Version, common_publish};

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
        let direction = match from {
            Side::Client => Direction::ToBroker,
            Side::Broker => Direction::ToClient,
        };
        let counts = self.settings.mqtt.message_size;
        let mut run = 0;
        while let Some(packet) = input
            .get(run..)
            .and_then(|rest| common_publish(version, rest))
        {
            let len = packet.packet_len;
            let size = counts.of(len, len - packet.header_len, packet.payload_len);
            let fits = from == Side::Client || client.takes(len);
            if !fits || !client.limits.allow_anywhere(direction, size) {
                break;
            }
            meter.message(direction, VerdictKind::Allowed, size);
            run += len;
        }
        run
    }
}
