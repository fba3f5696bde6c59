//! Gates: a configuration and a conversation, cut in two ways.
//!
//! The first octets choose the terms and how the two sides greet each other, the rest what they say
//! after that. Knows what the laws of a gate promise; what is said in a protocol is left to the
//! files beside this one.

mod amqp091;
mod amqp10;
#[allow(
    dead_code,
    unused_imports,
    reason = "a test of a gate uses other parts of it"
)]
#[path = "../../../../proxy/gate/harness.rs"]
mod harness;
mod laws;
mod mqtt;
mod scene;
mod terms;

// What the harness is made of.
use sizegate::gate::{Ending, Gate, Meter, Side, Step};

use super::script::Script;
use laws::Dialect;

/// A client, a broker, and a gate for MQTT.
pub fn mqtt_gate(octets: &[u8]) {
    laws::hold(&mqtt::DIALECT, octets);
}

/// A client, a broker, and a gate for AMQP 1.0.
pub fn amqp10_gate(octets: &[u8]) {
    laws::hold(&amqp10::DIALECT, octets);
}

/// A client, a broker, and a gate for AMQP 0-9-1.
pub fn amqp091_gate(octets: &[u8]) {
    laws::hold(&amqp091::DIALECT, octets);
}

/// Both sides.
const SIDES: [Side; 2] = [Side::Client, Side::Broker];
