//! The list of protocols that sizegate speaks.
//!
//! Each has a folder here, which turns octets into messages, and one in the `parsers` crate, which
//! turns them into frames. The relay knows this list and nothing of what is behind it.

pub mod amqp091;
pub mod amqp10;
pub mod mqtt;

use std::net::IpAddr;
use std::sync::Arc;

use crate::gate::{Gate, HoldBudget};
use crate::policy::{ByteSize, Policy};

/// Every protocol, in the order in which they are asked whether they know a connection's first
/// octets. A new one is a line here.
pub static PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "amqp10",
        recognise: amqp10::recognise,
        open: amqp10::open,
    },
    Protocol {
        name: "amqp091",
        recognise: amqp091::recognise,
        open: amqp091::open,
    },
    Protocol {
        name: "mqtt",
        recognise: mqtt::recognise,
        open: mqtt::open,
    },
];

/// One protocol.
#[derive(Debug)]
pub struct Protocol {
    /// Its name on the command line, in metrics and in logs.
    pub name: &'static str,
    /// Says whether a client's first octets are this protocol.
    pub recognise: fn(&[u8]) -> Recognition,
    /// Makes the gate of a connection.
    pub open: fn(&Opening<'_>) -> Box<dyn Gate>,
}

/// What a client's first octets are to a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognition {
    /// They are its own.
    Ours,
    /// They may become its own: too few to say.
    Perhaps,
    /// They are something else.
    Foreign,
}

/// What a gate is made from.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// What all connections are held to.
    pub settings: &'a Arc<Settings>,
    /// The client's network address.
    pub peer: IpAddr,
    /// The name that the client calls this server by in TLS.
    pub server_name: Option<&'a str>,
    /// The subject of the client's certificate as RFC 4514 writes it, where it was asked for one.
    pub subject: Option<&'a str>,
}

/// What all connections are held to, whatever they speak.
#[derive(Debug)]
pub struct Settings {
    /// The limits of messages.
    pub policy: Arc<Policy>,
    /// The largest packet or frame that is not a message, in octets, and the most that a client may
    /// pass to the broker before the broker accepted it.
    pub max_control_size: ByteSize,
    /// Whether peers are told about limits in advance.
    pub advertise: Advertise,
    /// What messages may be held in.
    pub hold: Arc<HoldBudget>,
    /// What is particular to AMQP 1.0.
    pub amqp10: amqp10::Settings,
    /// What is particular to MQTT.
    pub mqtt: mqtt::Settings,
}

impl Settings {
    /// The least: nothing is told in advance, nothing is held, and all else is as by default.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy: Arc::new(policy),
            max_control_size: ByteSize(128 << 10),
            advertise: Advertise::Nothing,
            hold: Arc::new(HoldBudget::new(0)),
            amqp10: amqp10::Settings::default(),
            mqtt: mqtt::Settings::default(),
        }
    }
}

/// Whether peers are told about limits in advance: by Maximum Packet Size in MQTT 5.0, and by
/// max-message-size in AMQP 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advertise {
    /// They are not: CONNECT, CONNACK and attach pass as they were received (`--no-advertise`).
    #[default]
    Nothing,
    /// They are told the largest limit that the client could meet.
    Largest,
}
