//! What the command line means.
//!
//! [`Config`] is typed and checked, and nothing below this room sees a flag: the rules that hold
//! between flags are here, and all that are broken are told at once. Whether a port is free or the
//! broker answers is found out by those who use them.

mod problem;
mod report;
mod rules;
mod setting;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

pub use problem::{Problem, Problems};
pub use setting::{Listener, OnUnknown, ProtocolChoice, Upstream};

use crate::cli::{Admin, Args};
use crate::policy::{ByteSize, Direction, Limit, Mode, Policy};
use crate::protocols::mqtt::MessageSize;
use crate::telemetry::Log;

/// Everything that a running sizegate is told.
#[derive(Debug)]
pub struct Config {
    /// Where clients connect, and where each of them is led. At least one.
    pub listeners: Vec<Listener>,
    /// What may be spoken.
    pub protocol: ProtocolChoice,
    /// What is done with a client whose first octets belong to no protocol that is spoken here.
    pub on_unknown: OnUnknown,
    /// How many clients may be connected at a time; none is any number.
    pub max_connections: Option<NonZeroUsize>,
    /// The limits, and what is done to a message over its limit.
    pub policy: Policy,
    /// The limits as they stand in the report.
    limits: [(Direction, Limit); 2],
    /// The largest packet that is not a message, in octets; at least 512.
    pub max_control_size: ByteSize,
    /// Which octets of an MQTT PUBLISH are its size.
    pub mqtt_size: MessageSize,
    /// From accepting a client to its saying who it is; above 0.
    pub handshake_timeout: Duration,
    /// For reaching the broker; above 0.
    pub connect_timeout: Duration,
    /// How long a connection that sizegate ends may take to take note.
    pub linger: Duration,
    /// How long clients may stay after SIGTERM before they are told to go.
    pub drain_timeout: Duration,
    /// Where the admin port is.
    pub admin: Option<SocketAddr>,
    /// What is logged, and how.
    pub log: Log,
    /// How many threads carry traffic.
    pub threads: NonZeroUsize,
}

impl Config {
    /// Gives what was typed its meaning, or says everything that is wrong with it.
    pub fn from_args(args: &Args) -> Result<Self, Problems> {
        let problems = rules::broken(args);
        let threads = match NonZeroUsize::new(args.threads) {
            Some(threads) if problems.is_empty() => threads,
            _ => return Err(Problems(problems)),
        };
        let send = Limit::new(args.max_message_size, "--max-message-size");
        let receive = Limit::new(ByteSize(0), "--max-receive-size");
        let mode = if args.dry_run {
            Mode::DryRun
        } else {
            Mode::Enforce
        };
        Ok(Self {
            listeners: listeners(args),
            protocol: args.protocol,
            on_unknown: args.on_unknown,
            max_connections: NonZeroUsize::new(args.max_connections),
            limits: [
                (Direction::ToBroker, send.clone()),
                (Direction::ToClient, receive.clone()),
            ],
            policy: Policy::new(send, receive, args.on_oversize, mode),
            max_control_size: args.max_control_size,
            mqtt_size: args.mqtt_size,
            handshake_timeout: args.handshake_timeout,
            connect_timeout: args.connect_timeout,
            linger: args.linger,
            drain_timeout: args.drain_timeout,
            admin: match args.admin {
                Admin::Off => None,
                Admin::At(address) => Some(address),
            },
            log: Log {
                level: args.log_level,
                format: args.log_format,
            },
            threads,
        })
    }
}

/// Leads each listener to its upstream: to the only one, or to the one in its place.
fn listeners(args: &Args) -> Vec<Listener> {
    args.listen
        .iter()
        .zip(args.upstream.iter().cycle())
        .map(|(&listen, upstream)| Listener {
            listen,
            upstream: upstream.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
