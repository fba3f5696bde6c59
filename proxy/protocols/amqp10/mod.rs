//! AMQP 1.0.
//!
//! A delivery is judged at its first frame if it has one, and held while it has more, so that one over
//! its limit reaches nobody and everything else goes on. Knows connections, sessions, links and
//! deliveries; both directions are one machine (`way`). Messages themselves, what a settlement means
//! and transactions are left to the peers, and limits to the policy.

mod act;
mod arrival;
mod claim;
mod connection;
mod delivery;
mod flow;
mod frames;
mod handshake;
mod link;
mod links;
mod oversize;
mod presettled;
mod refuse;
mod release;
mod rewrite;
mod session;
mod straight;
#[cfg(test)]
mod tests;
mod transfer;
mod translate;
mod windows;

use parsers::Parsed;
use parsers::amqp10::{Protocol, protocol_header};

pub use self::presettled::Presettled;
use super::{Opening, Recognition};
use crate::gate::{Gate, Side};

/// What is particular to AMQP 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What is done with a client whose security layer would hide everything.
    pub on_opaque: OnOpaque,
    /// What is done with deliveries that clients send settled; nothing in a dry run.
    pub presettled: Presettled,
}

/// What is done with a client that chose a SASL mechanism with a security layer (AMQP 1.0 §5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOpaque {
    /// Its connection is ended.
    #[default]
    Close,
    /// What follows is forwarded unseen.
    Forward,
}

/// Says whether a client's first octets are a protocol header of AMQP 1.0.
pub(super) fn recognise(octets: &[u8]) -> Recognition {
    match protocol_header(octets) {
        Parsed::Value(Some(header)) => match header.protocol() {
            Protocol::Amqp10 | Protocol::Sasl => Recognition::Ours,
            Protocol::Tls | Protocol::Amqp091 | Protocol::Other => Recognition::Foreign,
        },
        Parsed::Value(None) => Recognition::Foreign,
        Parsed::NeedMore(_) => Recognition::Perhaps,
    }
}

/// Makes the gate of a connection.
pub(super) fn open(opening: &Opening<'_>) -> Box<dyn Gate> {
    Box::new(connection::Connection::new(opening))
}

/// One value for each side.
#[derive(Clone, Debug, Default)]
struct PerSide<T> {
    client: T,
    broker: T,
}

impl<T> PerSide<T> {
    fn of(&self, side: Side) -> &T {
        match side {
            Side::Client => &self.client,
            Side::Broker => &self.broker,
        }
    }

    fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Client => &mut self.client,
            Side::Broker => &mut self.broker,
        }
    }
}
