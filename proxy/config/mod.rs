//! What the command line means.
//!
//! [`Config`] is typed and checked, and nothing below this room sees a flag: the rules that hold
//! between flags are here, and all that are broken are told at once. Whether a port is free or the
//! broker answers is found out by those who use them.

mod limits;
mod problem;
mod report;
mod rules;
mod setting;
mod tls;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use ipnet::IpNet;
use parsers::proxy_protocol::Version;

pub use problem::{Problem, Problems};
pub use setting::{Destination, Listener, OnUnknown, ProtocolChoice, Upstream};
pub use tls::{Tls, UpstreamTls, server_name};

use self::limits::Limits;
use crate::cli::{Admin, Args};
use crate::policy::{ByteSize, Policy};
use crate::protocols::Advertise;
use crate::protocols::amqp10::Presettled;
use crate::protocols::mqtt::{MessageSize, VhostSource};
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
    /// Who must say with a PROXY header whom it speaks for.
    pub proxy_protocol_from: Vec<IpNet>,
    /// In which form the broker is told where a client is, if it is told.
    pub send_proxy_protocol: Option<Version>,
    /// The limits, and what is done to a message over its limit.
    pub policy: Policy,
    /// The limits and groups as they were typed.
    limits: Limits,
    /// The largest packet that is not a message, in octets; at least 512.
    pub max_control_size: ByteSize,
    /// Octets of messages that may be held in all connections together.
    pub hold_memory: ByteSize,
    /// What is done with AMQP 1.0 messages that clients send settled.
    pub presettled: Presettled,
    /// Which octets of an MQTT PUBLISH are its size.
    pub mqtt_size: MessageSize,
    /// Where an MQTT client says which virtual host it wants.
    pub mqtt_vhost: VhostSource,
    /// Whether peers are told about limits in advance.
    pub advertise: Advertise,
    /// From accepting a client to its saying who it is; above 0.
    pub handshake_timeout: Duration,
    /// For reaching the broker; above 0.
    pub connect_timeout: Duration,
    /// How long a connection that sizegate ends may take to take note.
    pub linger: Duration,
    /// How long clients may stay after SIGTERM before they are told to go.
    pub drain_timeout: Duration,
    /// TLS with clients and with the broker.
    pub tls: Tls,
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
        let mut problems = rules::broken(args);
        let limits = Limits::from_args(args, &mut problems);
        let tls = Tls::from_args(args, &mut problems);
        let threads = match NonZeroUsize::new(args.threads) {
            Some(threads) if problems.is_empty() => threads,
            _ => return Err(Problems(problems)),
        };
        Ok(Self {
            listeners: listeners(args),
            protocol: args.protocol,
            on_unknown: args.on_unknown,
            max_connections: NonZeroUsize::new(args.max_connections),
            proxy_protocol_from: args.proxy_protocol_from.clone(),
            send_proxy_protocol: args.send_proxy_protocol,
            policy: Policy::compile(&limits.spec),
            limits,
            max_control_size: args.max_control_size,
            hold_memory: args.hold_memory,
            presettled: args.presettled,
            mqtt_size: args.mqtt_size,
            mqtt_vhost: args.mqtt_vhost,
            advertise: if args.no_advertise {
                Advertise::Nothing
            } else {
                Advertise::Largest
            },
            handshake_timeout: args.handshake_timeout,
            connect_timeout: args.connect_timeout,
            linger: args.linger,
            drain_timeout: args.drain_timeout,
            tls,
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

/// Leads each listener to its upstream, the only one or the one in its place, or to where its
/// clients meant to go.
fn listeners(args: &Args) -> Vec<Listener> {
    let upstreams = args.upstream.iter().cloned().map(Destination::Upstream);
    let original = args.original_destination.then_some(Destination::Original);
    args.listen
        .iter()
        .zip(upstreams.chain(original).cycle())
        .map(|(&listen, destination)| Listener {
            listen,
            destination,
        })
        .collect()
}

#[cfg(test)]
mod tests;
