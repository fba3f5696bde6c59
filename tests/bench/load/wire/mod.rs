//! What the two ends of a load say, and how what they hear is walked.
//!
//! Written from the specifications and without the product's own parsers, so that a fault of theirs
//! is not counted as right. Payloads are skipped, never looked at: an end must cost less than what
//! is measured.

mod amqp091;
mod amqp10;
mod batch;
mod broker;
mod mqtt;
mod walker;

pub(crate) use batch::Batch;
pub(crate) use broker::Broker;
pub(crate) use walker::Walker;

use crate::Error;

/// A protocol of brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// MQTT 3.1.1.
    Mqtt,
    /// MQTT 5.0.
    Mqtt5,
    /// AMQP 1.0.
    Amqp10,
    /// AMQP 0-9-1.
    Amqp091,
}

/// What kind of message a load is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// What it is spoken in.
    pub(crate) protocol: Protocol,
    /// Its size as sizegate counts: an MQTT control packet, the payload of an AMQP 1.0 delivery,
    /// the body of an AMQP 0-9-1 content.
    pub(crate) size: usize,
    /// Whether the broker acknowledges it: QoS 1, publisher confirms. AMQP 1.0 is pre-settled.
    pub(crate) is_acknowledged: bool,
}

/// A control packet or a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// What it is, in numbers of its protocol.
    pub(crate) kind: u32,
    /// Its length in octets, its header included.
    pub(crate) len: u64,
    /// Whether a message ends with it.
    pub(crate) ends_message: bool,
    /// The number that an acknowledgement names: packet identifier, delivery tag.
    pub(crate) number: u64,
}

/// The largest part of a unit that has to be there before it can be read.
pub(crate) const HEAD: usize = 64;

impl Protocol {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mqtt => "MQTT 3.1.1",
            Self::Mqtt5 => "MQTT 5.0",
            Self::Amqp10 => "AMQP 1.0",
            Self::Amqp091 => "AMQP 0-9-1",
        }
    }

    /// The unit that these octets begin with; none if they are too few to say.
    fn unit(self, octets: &[u8]) -> Result<Option<Unit>, Error> {
        match self {
            Self::Mqtt | Self::Mqtt5 => mqtt::unit(octets),
            Self::Amqp10 => amqp10::unit(octets),
            Self::Amqp091 => amqp091::unit(octets),
        }
    }

    /// What a client says before its first message, and the kind of the unit that it awaits after
    /// each part of it.
    pub(crate) fn greeting(self) -> Vec<(Vec<u8>, u32)> {
        match self {
            Self::Mqtt => vec![(mqtt::connect(4), mqtt::CONNACK)],
            Self::Mqtt5 => vec![(mqtt::connect(5), mqtt::CONNACK)],
            Self::Amqp10 => vec![(amqp10::beginning(), amqp10::FLOW)],
            Self::Amqp091 => amqp091::beginning(),
        }
    }

    /// What a client says before it closes its connection.
    pub(crate) fn farewell(self) -> &'static [u8] {
        match self {
            Self::Mqtt | Self::Mqtt5 => mqtt::DISCONNECT,
            Self::Amqp10 | Self::Amqp091 => &[],
        }
    }
}

/// The error of octets that a protocol does not have at their place.
fn unexpected(protocol: Protocol, what: &'static str) -> Error {
    Error::Unexpected {
        protocol: protocol.name(),
        what,
    }
}

/// The octets from `at` on as a number, the first octet highest; none if they are not all there.
fn number(octets: &[u8], at: usize, width: usize) -> Option<u64> {
    let octets = octets.get(at..at + width)?;
    Some(
        octets
            .iter()
            .fold(0, |sum, &octet| sum << 8 | u64::from(octet)),
    )
}
