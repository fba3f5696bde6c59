//! Measures what sizegate costs, beside other relays and in instructions.
//!
//! A measurement is one scenario through one peer: a load of messages runs through a proxy, or
//! straight, into a sink that counts them, and `/proc` tells what the proxy spent on it. Peers take
//! turns, so that what disturbs one disturbs all. The instructions are those of the gates alone,
//! which no other program on the machine can change.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "figures and how far they are is what this program prints"
)]

mod error;
pub mod instructions;
mod load;
mod options;
mod peers;
pub mod relays;
mod report;
pub mod runner;
mod scenario;
mod stats;

pub use error::Error;
pub use options::Options;
