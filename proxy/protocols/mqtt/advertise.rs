//! What each side is told about limits before it meets them, in the words of MQTT 5.0.
//!
//! Maximum Packet Size holds for every packet, not for messages alone: whoever sets a limit that a
//! SUBSCRIBE or a SUBACK does not fit into has to know that those who heed it are bound by it.

use parsers::mqtt::{ConnectStart, lower_connect, packet_len};

use super::MessageSize;
use super::session::Session;
use crate::gate::Direction;
use crate::policy::Mode;
use crate::protocols::Advertise;

impl Session {
    /// The Maximum Packet Size to tell a sender of messages in this direction: what the largest
    /// limit that the client could meet allows. `None` where nothing can be told.
    pub(super) fn advertised(&self, direction: Direction) -> Option<u32> {
        let client = self.client.as_ref().filter(|client| client.is_v5())?;
        let mode = self.settings.policy.mode();
        if self.settings.advertise == Advertise::Nothing || mode == Mode::DryRun {
            return None;
        }
        let limit = client.limits.largest(direction).size.0;
        let limit = usize::try_from(limit).ok().filter(|&limit| limit > 0)?;
        let size = match self.settings.mqtt.message_size {
            MessageSize::Packet => limit,
            // A longer remaining length makes a longer packet, and a shorter one a shorter.
            MessageSize::RemainingLength if limit < LONGEST_PACKET => packet_len(limit),
            MessageSize::RemainingLength => limit,
            // How long the head before a payload will be is known to nobody.
            MessageSize::Payload => return None,
        };
        let size = u32::try_from(size).ok()?;
        (size < LONGEST_PACKET as u32).then_some(size)
    }

    /// The CONNECT for the broker, where it differs from the one received.
    ///
    /// A broker that leaves out a message for its size may use the topic alias that it would have
    /// set, so it may use none. The packet does not become longer than it may be.
    pub(super) fn connect_for_broker(
        &self,
        start: &ConnectStart,
        packet: &[u8],
    ) -> Option<Vec<u8>> {
        let ceiling = self.advertised(Direction::ToClient)?;
        let lowered = lower_connect(&start.header, packet, ceiling)?;
        let fits = lowered.len() as u64 <= self.settings.max_control_size.0;
        fits.then_some(lowered)
    }
}

/// No control packet is longer (MQTT 5.0 §1.5.5): whoever is told this is told nothing.
const LONGEST_PACKET: usize = 268_435_460;
