//! What is fuzzed: for each parser and each gate a function of arbitrary octets.
//!
//! An entry panics if a law does not hold: that of its parser or gate never to panic, that cuts do
//! not matter, that allowed traffic is unchanged, that what is held has a ceiling. The fuzz targets
//! call them, and so does a test of the product, so that they keep compiling and a crash that was
//! found once is found again.

mod gate;
mod grammar;
mod script;

pub use gate::{amqp10_gate, amqp091_gate, mqtt_gate};
pub use grammar::{amqp10, amqp091, mqtt, proxy_protocol};

/// Every entry, by the name of its fuzz target.
pub const ENTRIES: [Entry; 7] = [
    ("mqtt", mqtt),
    ("amqp10", amqp10),
    ("amqp091", amqp091),
    ("proxy_protocol", proxy_protocol),
    ("mqtt_gate", mqtt_gate),
    ("amqp10_gate", amqp10_gate),
    ("amqp091_gate", amqp091_gate),
];

/// The name of a fuzz target, and what it does with octets.
pub type Entry = (&'static str, fn(&[u8]));
