//! Whose message it is: which way it goes, who the client is, and how addresses are to be read.
//!
//! A protocol fills these in; nothing here knows where in its frames they stood.

use std::net::IpAddr;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Client to broker: the send direction.
    ToBroker,
    /// Broker to client: the receive direction.
    ToClient,
}

impl Direction {
    /// Both directions, for the metrics to start at zero.
    pub const ALL: [Self; 2] = [Self::ToBroker, Self::ToClient];

    /// The word for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToBroker => "send",
            Self::ToClient => "receive",
        }
    }
}

/// How the addresses of a connection are to be read.
///
/// One and the same rule serves both: `address:sensors/#` names one address where addresses are
/// names, and everything under `sensors` where they are topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSyntax {
    /// A name without structure; in a pattern `*` is any run of characters, and nothing else is
    /// special.
    Name,
    /// Levels between slashes; a pattern is a topic filter (MQTT 5.0 §4.7), and `*` is not special.
    Topic,
}

/// Who a client is: as its network address shows, and as it claims itself.
///
/// What a client did not say matches no pattern, not even `*`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// The client's network address.
    pub peer: Option<IpAddr>,
    /// The virtual host that it asked for.
    pub vhost: Option<&'a str>,
    /// The user that it authenticates as.
    pub user: Option<&'a str>,
    /// Its MQTT client id, AMQP container-id or connection name.
    pub client: Option<&'a str>,
}

/// One value for each direction.
#[derive(Clone, Debug)]
pub(crate) struct Both<T> {
    /// The one of the send direction.
    pub(crate) to_broker: T,
    /// The one of the receive direction.
    pub(crate) to_client: T,
}

impl<T> Both<T> {
    /// The value of one direction.
    #[inline]
    pub(crate) fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::ToBroker => &self.to_broker,
            Direction::ToClient => &self.to_client,
        }
    }
}
