//! What the user typed.
//!
//! [`Args`] defines each flag once: its type, its default, and in its help line its topic, its
//! meaning and its default in words. Help, README and `--check` are held against that definition.
//! This room turns words into typed values and refuses what is none; whether the values make sense
//! together is for [`crate::config`] to say.
//!
//! A new flag is a field of [`Args`], a line in [`crate::config`] that gives it a meaning and one
//! in its report; the tests name whatever is forgotten.

mod argv;
mod flags;
mod limit_spec;
mod size;
mod stop;
mod values;

use std::ffi::OsString;
use std::iter;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use argh::{ArgsInfo, FromArgs};
use certs::MinVersion;
use ipnet::IpNet;
use parsers::proxy_protocol::Version;
use tokio_rustls::rustls::pki_types::ServerName;

pub use flags::{Flag, flags};
pub use limit_spec::{LimitSpecError, group_spec, limit_spec};
pub use size::SizeError;
pub use stop::{FAILED, Stop, Stream};
pub use values::{Admin, Choices};
pub(crate) use values::{
    LOG_FORMAT, LOG_LEVEL, MQTT_SIZE, MQTT_VHOST, ON_OVERSIZE, ON_UNKNOWN, PRESETTLED, PROTOCOL,
    SEND_PROXY_PROTOCOL, TLS_MIN_VERSION,
};

use crate::config::{OnUnknown, ProtocolChoice, Upstream};
use crate::policy::{ByteSize, OnOversize};
use crate::protocols::amqp10::Presettled;
use crate::protocols::mqtt::{MessageSize, VhostSource};
use crate::telemetry::Format;

/// A transparent proxy that keeps oversized messages away from a broker.
#[derive(Clone, Debug, PartialEq, Eq, FromArgs, ArgsInfo)]
#[argh(help_triggers("--help"))]
pub struct Args {
    /// connections: where clients connect; port 0 picks a free one. Repeatable, required
    #[argh(option, arg_name = "ADDR:PORT", from_str_fn(values::listen))]
    pub listen: Vec<SocketAddr>,

    /// connections: the broker: one for all listeners, or one for each in order. Repeatable; unless
    /// there is --original-destination, required
    #[argh(option, arg_name = "HOST:PORT", from_str_fn(values::upstream))]
    pub upstream: Vec<Upstream>,

    /// connections: instead of --upstream: lead each client to where it meant to go before the
    /// packet filter redirected it here
    #[argh(switch)]
    pub original_destination: bool,

    /// connections: what may be spoken; auto tells it by the first octets [default: auto]
    #[argh(
        option,
        arg_name = "auto|amqp10|amqp091|mqtt",
        default = "ProtocolChoice::Auto",
        from_str_fn(values::protocol)
    )]
    pub protocol: ProtocolChoice,

    /// connections: what is done with a client whose first octets belong to no protocol that is
    /// spoken here [default: close]
    #[argh(
        option,
        arg_name = "close|forward",
        default = "OnUnknown::Close",
        from_str_fn(values::on_unknown)
    )]
    pub on_unknown: OnUnknown,

    /// connections: how many clients may be connected at a time; those above it never reach the
    /// broker. 0 is any number [default: 0]
    #[argh(option, arg_name = "N", default = "0", from_str_fn(values::count))]
    pub max_connections: usize,

    /// connections: whoever connects from this network must say with a PROXY header, version 1 or 2,
    /// for whom, and nobody else may. Repeatable
    #[argh(option, arg_name = "CIDR", from_str_fn(values::network))]
    pub proxy_protocol_from: Vec<IpNet>,

    /// connections: the version of the PROXY header that tells the broker where a client is
    /// [default: none]
    #[argh(
        option,
        arg_name = "none|v1|v2",
        default = "None",
        from_str_fn(values::send_proxy_protocol)
    )]
    pub send_proxy_protocol: Option<Version>,

    /// limits: the largest message that a client may send, inclusive; 0 is no limit [default: 0]
    #[argh(
        option,
        arg_name = "SIZE",
        default = "MAX_MESSAGE_SIZE",
        from_str_fn(values::size)
    )]
    pub max_message_size: ByteSize,

    /// limits: the largest message that a client may be sent, inclusive; 0 is no limit [default: 0]
    #[argh(
        option,
        arg_name = "SIZE",
        default = "MAX_RECEIVE_SIZE",
        from_str_fn(values::size)
    )]
    pub max_receive_size: ByteSize,

    /// limits: a limit for the messages that some clients send, or that are sent somewhere:
    /// SELECTOR[,SELECTOR...]=SIZE. Repeatable
    #[argh(option, arg_name = "RULE")]
    pub limit: Vec<String>,

    /// limits: the same for the messages that clients are sent. Repeatable
    #[argh(option, arg_name = "RULE")]
    pub receive_limit: Vec<String>,

    /// limits: the users that the rules of a group are for: VHOST/NAME=USER[,USER...]. Repeatable
    #[argh(option, arg_name = "GROUP")]
    pub group: Vec<String>,

    /// limits: where an MQTT client says which vhost it wants: in the server name of TLS, before the
    /// colon of its user name, or nowhere [default: sni]
    #[argh(
        option,
        arg_name = "sni|username|none",
        default = "VhostSource::ServerName",
        from_str_fn(values::mqtt_vhost)
    )]
    pub mqtt_vhost: VhostSource,

    /// limits: the largest packet that is not a message (CONNECT, SUBSCRIBE and the like)
    /// [default: 128Ki]
    #[argh(
        option,
        arg_name = "SIZE",
        default = "MAX_CONTROL_SIZE",
        from_str_fn(values::size)
    )]
    pub max_control_size: ByteSize,

    /// limits: which octets of an MQTT PUBLISH are its size [default: packet]
    #[argh(
        option,
        arg_name = "packet|remaining-length|payload",
        default = "MessageSize::Packet",
        from_str_fn(values::mqtt_size)
    )]
    pub mqtt_size: MessageSize,

    /// refusals: what is done to a message over its limit: refuse it alone, end the smallest unit
    /// around it, or end the connection [default: reject]
    #[argh(
        option,
        arg_name = "reject|detach|close",
        default = "OnOversize::Reject",
        from_str_fn(values::on_oversize)
    )]
    pub on_oversize: OnOversize,

    /// refusals: octets of AMQP messages that may be held until their end is there, in all
    /// connections together; beyond it they are forwarded as they come [default: 64Mi]
    #[argh(
        option,
        arg_name = "SIZE",
        default = "HOLD_MEMORY",
        from_str_fn(values::size)
    )]
    pub hold_memory: ByteSize,

    /// refusals: what is done with AMQP 1.0 messages that clients send settled: forward them so, or
    /// unsettled, so that the broker's settlement paces them [default: forward]
    #[argh(
        option,
        arg_name = "forward|unsettled",
        default = "Presettled::Forward",
        from_str_fn(values::presettled)
    )]
    pub presettled: Presettled,

    /// refusals: forward everything; count and log what would have been refused
    #[argh(switch)]
    pub dry_run: bool,

    /// refusals: tell neither clients nor brokers about limits before they meet them
    #[argh(switch)]
    pub no_advertise: bool,

    /// timeouts: from accepting a client to its CONNECT, the wait for the broker not counted
    /// [default: 10s]
    #[argh(
        option,
        arg_name = "DURATION",
        default = "HANDSHAKE_TIMEOUT",
        from_str_fn(values::duration)
    )]
    pub handshake_timeout: Duration,

    /// timeouts: for reaching the broker [default: 5s]
    #[argh(
        option,
        arg_name = "DURATION",
        default = "CONNECT_TIMEOUT",
        from_str_fn(values::duration)
    )]
    pub connect_timeout: Duration,

    /// timeouts: how long a connection that sizegate ends may take to take note; 0s is not at all
    /// [default: 5s]
    #[argh(
        option,
        arg_name = "DURATION",
        default = "LINGER",
        from_str_fn(values::duration)
    )]
    pub linger: Duration,

    /// timeouts: how long clients may stay after SIGTERM before they are told to go; 0s is not at
    /// all [default: 25s]
    #[argh(
        option,
        arg_name = "DURATION",
        default = "DRAIN_TIMEOUT",
        from_str_fn(values::duration)
    )]
    pub drain_timeout: Duration,

    /// TLS: the certificate that clients are shown, and those of its issuers behind it (PEM); all
    /// listeners then speak TLS
    #[argh(option, arg_name = "FILE", from_str_fn(values::file))]
    pub tls_cert: Option<PathBuf>,

    /// TLS: the private key of --tls-cert (PEM)
    #[argh(option, arg_name = "FILE", from_str_fn(values::file))]
    pub tls_key: Option<PathBuf>,

    /// TLS: the CAs of clients (PEM); each client must then show a certificate of one of them
    #[argh(option, arg_name = "FILE", from_str_fn(values::file))]
    pub tls_client_ca: Option<PathBuf>,

    /// TLS: the oldest version that clients may speak [default: 1.2]
    #[argh(
        option,
        arg_name = "1.2|1.3",
        default = "MinVersion::Tls12",
        from_str_fn(values::tls_min_version)
    )]
    pub tls_min_version: MinVersion,

    /// TLS: how often all files of TLS are looked at, and read again if they have changed; 0s is at
    /// SIGHUP only [default: 1m]
    #[argh(
        option,
        arg_name = "DURATION",
        default = "TLS_RELOAD_INTERVAL",
        from_str_fn(values::duration)
    )]
    pub tls_reload_interval: Duration,

    /// TLS: speak TLS with the broker
    #[argh(switch)]
    pub upstream_tls: bool,

    /// TLS: the CAs of the broker (PEM); without it those that this system trusts
    #[argh(option, arg_name = "FILE", from_str_fn(values::file))]
    pub upstream_tls_ca: Option<PathBuf>,

    /// TLS: the name that the certificate of the broker must be for; without it the host of
    /// --upstream
    #[argh(option, arg_name = "NAME", from_str_fn(values::server_name))]
    pub upstream_tls_name: Option<ServerName<'static>>,

    /// TLS: the certificate that the broker is shown if it asks (PEM)
    #[argh(option, arg_name = "FILE", from_str_fn(values::file))]
    pub upstream_tls_cert: Option<PathBuf>,

    /// TLS: the private key of --upstream-tls-cert (PEM)
    #[argh(option, arg_name = "FILE", from_str_fn(values::file))]
    pub upstream_tls_key: Option<PathBuf>,

    /// operation: where /livez, /readyz and /metrics are served [default: 127.0.0.1:9090]
    #[argh(
        option,
        arg_name = "ADDR:PORT|off",
        default = "Admin::DEFAULT",
        from_str_fn(values::admin)
    )]
    pub admin: Admin,

    /// operation: what is logged on standard error [default: info]
    #[argh(
        option,
        arg_name = "error|warn|info|debug|trace",
        default = "tracing::Level::INFO",
        from_str_fn(values::log_level)
    )]
    pub log_level: tracing::Level,

    /// operation: lines for people or for machines [default: text]
    #[argh(
        option,
        arg_name = "text|json",
        default = "Format::Text",
        from_str_fn(values::log_format)
    )]
    pub log_format: Format,

    /// operation: how many threads carry traffic; a second one pays once the first is busy
    /// [default: 1]
    #[argh(option, arg_name = "N", default = "1", from_str_fn(values::count))]
    pub threads: usize,

    /// operation: print the configuration in effect, or every problem with it, and start nothing
    #[argh(switch)]
    pub check: bool,

    /// operation: print the version
    #[argh(switch)]
    pub version: bool,
}

/// Reads a command line as [`std::env::args_os`] gives it, the program's name first.
///
/// What was asked for and needs no start, help and version, is a [`Stop`] as well.
pub fn parse(argv: impl Iterator<Item = OsString>) -> Result<Args, Stop> {
    let typed = argv::split(argv.skip(1), &flags())?;
    if typed.iter().any(|typed| typed.flag == flags::HELP) {
        return Err(Stop::done(flags::help()));
    }
    let words: Vec<&str> = typed
        .iter()
        .flat_map(|typed| iter::once(typed.flag).chain(typed.value.as_deref()))
        .collect();
    let args =
        Args::from_args(&["sizegate"], &words).map_err(|exit| bad_value(&typed, &exit.output))?;
    if args.version {
        return Err(Stop::done(concat!("sizegate ", env!("CARGO_PKG_VERSION"))));
    }
    require(&args)?;
    Ok(args)
}

/// Says in one line what argh says of a value that is none.
fn bad_value(typed: &[argv::Typed], said: &str) -> Stop {
    let told = typed.iter().find_map(|argv::Typed { flag, value }| {
        let value = value.as_ref()?;
        let prefix = format!("Error parsing option '{flag}' with value '{value}': ");
        let expected = said.strip_prefix(&prefix)?;
        Some(format!("{flag} {value:?}: {}", expected.trim_end()))
    });
    Stop::usage(told.unwrap_or_else(|| said.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// Asks for the flags without which there is nothing to do.
fn require(args: &Args) -> Result<(), Stop> {
    let listen = "--listen is missing: expected where clients connect, such as \
                  --listen 127.0.0.1:1884";
    let upstream = "--upstream is missing: expected where the broker is, such as \
                    --upstream 127.0.0.1:1883, or --original-destination";
    let leads_nowhere = args.upstream.is_empty() && !args.original_destination;
    match (args.listen.is_empty(), leads_nowhere) {
        (false, false) => Ok(()),
        (true, false) => Err(Stop::usage(listen)),
        (false, true) => Err(Stop::usage(upstream)),
        (true, true) => Err(Stop::usage(format!("{listen}; {upstream}"))),
    }
}

const MAX_MESSAGE_SIZE: ByteSize = ByteSize(0);
const MAX_RECEIVE_SIZE: ByteSize = ByteSize(0);
const HOLD_MEMORY: ByteSize = ByteSize(64 << 20);
const MAX_CONTROL_SIZE: ByteSize = ByteSize(128 << 10);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const LINGER: Duration = Duration::from_secs(5);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(25);
const TLS_RELOAD_INTERVAL: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
