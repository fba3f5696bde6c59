//! MQTT 3.1, 3.1.1 and 5.0.
//!
//! The verdict on a PUBLISH falls at its head; one over its limit is thrown away as it comes and
//! answered after its last octet. Knows control packets, packet identifiers and who may send what;
//! leaves topics, properties and sessions to the broker, and limits to the policy.

mod advertise;
mod aliases;
mod client;
mod ends;
mod from_broker;
mod from_client;
mod outstanding;
mod packet_ids;
mod packets;
mod publish;
mod receipts;
mod refuse;
mod session;
mod straight;
mod stream;
#[cfg(test)]
mod tests;
mod verdict;

use parsers::Parsed;
use parsers::mqtt::connect_start;

use super::{Opening, Recognition};
use crate::gate::Gate;

/// What is particular to MQTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which octets of a PUBLISH are its size.
    pub message_size: MessageSize,
    /// Where a client says which virtual host it wants.
    pub vhost: VhostSource,
}

/// Where an MQTT client says which virtual host it wants (`--mqtt-vhost`); MQTT itself has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VhostSource {
    /// In the server name that it asks TLS for.
    #[default]
    ServerName,
    /// In its user name, before the last colon, as RabbitMQ has it; the user is what follows.
    UserName,
    /// Nowhere.
    Nowhere,
}

/// Which octets of a PUBLISH are its size (`--mqtt-size`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageSize {
    /// The whole control packet, as Maximum Packet Size counts (MQTT 5.0 §3.1.2.11.4).
    #[default]
    Packet,
    /// The Remaining Length: all but the fixed header (MQTT 5.0 §2.1.4).
    RemainingLength,
    /// The application message alone.
    Payload,
}

/// Says whether a client's first octets are a CONNECT.
pub(super) fn recognise(octets: &[u8]) -> Recognition {
    match connect_start(octets) {
        Parsed::Value(Some(_)) => Recognition::Ours,
        Parsed::Value(None) => Recognition::Foreign,
        Parsed::NeedMore(_) => Recognition::Perhaps,
    }
}

/// Makes the gate of a connection.
pub(super) fn open(opening: &Opening<'_>) -> Box<dyn Gate> {
    Box::new(session::Session::new(opening))
}
