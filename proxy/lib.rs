//! sizegate: a transparent TCP proxy that keeps oversized messages away from a broker.
//!
//! Octets are read and written in one room, the relay; everything that decides is a plain function
//! of octets, state and configuration. A client's octets come in at the top of this list and leave
//! at the bottom of the relay; each room says at its head what it knows and what it leaves to
//! others.

pub mod admin;
pub mod cli;
pub mod config;
pub mod gate;
pub mod lifecycle;
pub mod listen;
pub mod policy;
pub mod protocols;
pub mod relay;
pub mod run;
pub mod telemetry;
pub mod transport;
pub mod upstream;
