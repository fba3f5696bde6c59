//! The list of protocols that sizegate speaks.
//!
//! Each has a folder here, which turns octets into messages, and one in the `parsers` crate, which
//! turns them into frames. The relay knows this list and nothing of what is behind it.

pub mod mqtt;

use std::net::IpAddr;
use std::sync::Arc;

use crate::gate::Gate;
use crate::policy::{ByteSize, Policy};

/// Every protocol, in the order in which they are asked whether they know a connection's first
/// octets. A new one is a line here.
pub static PROTOCOLS: &[Protocol] = &[Protocol {
    name: "mqtt",
    recognise: mqtt::recognise,
    open: mqtt::open,
}];

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
}

/// What all connections are held to, whatever they speak.
#[derive(Debug)]
pub struct Settings {
    /// The limits of messages.
    pub policy: Arc<Policy>,
    /// The largest packet or frame that is not a message, in octets, and the most that a client may
    /// pass to the broker before the broker accepted it.
    pub max_control_size: ByteSize,
    /// What is particular to MQTT.
    pub mqtt: mqtt::Settings,
}
