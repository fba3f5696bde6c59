//! AMQP 0-9-1, RabbitMQ's protocol.
//!
//! A content says how large its body is before an octet of it comes, so only the method frame in front
//! of the content header waits for a verdict. Knows connections, channels, contents, confirms and
//! consumers; exchanges, queues, bindings and properties are left to the broker, and limits to the
//! policy.

mod arrival;
mod channel;
mod claim;
mod closing;
mod confirms;
mod connection;
mod consumers;
mod content;
mod frames;
mod handshake;
mod keepalive;
mod methods;
mod oversize;
mod refuse;
#[cfg(test)]
mod tests;
mod walk;

use parsers::Parsed;
use parsers::amqp091::protocol_header;

use super::{Opening, Recognition};
use crate::gate::{Direction, Gate, Side};

/// Says whether a client's first octets are a protocol header of AMQP 0-9-1, 0-9 or 0-8.
pub(super) fn recognise(octets: &[u8]) -> Recognition {
    match protocol_header(octets) {
        Parsed::Value(Some(header)) if header.version().is_some() => Recognition::Ours,
        Parsed::Value(_) => Recognition::Foreign,
        Parsed::NeedMore(_) => Recognition::Perhaps,
    }
}

/// Makes the gate of a connection.
pub(super) fn open(opening: &Opening<'_>) -> Box<dyn Gate> {
    Box::new(connection::Connection::new(opening))
}

/// One value for each side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PerSide<T> {
    client: T,
    broker: T,
}

impl<T> PerSide<T> {
    #[inline]
    fn of(&self, side: Side) -> &T {
        match side {
            Side::Client => &self.client,
            Side::Broker => &self.broker,
        }
    }

    #[inline]
    fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Client => &mut self.client,
            Side::Broker => &mut self.broker,
        }
    }
}

/// The direction of what comes from a side.
#[inline]
fn direction(from: Side) -> Direction {
    match from {
        Side::Client => Direction::ToBroker,
        Side::Broker => Direction::ToClient,
    }
}
