//! Words to values: one function for each kind of value, each with an example of a good one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use certs::MinVersion;
use ipnet::IpNet;
use parsers::proxy_protocol::Version;
use tokio_rustls::rustls::pki_types::ServerName;

use super::limit_spec;
use crate::config::{OnUnknown, ProtocolChoice, Upstream};
use crate::policy::{ByteSize, OnOversize};
use crate::protocols::amqp10::Presettled;
use crate::protocols::mqtt::{MessageSize, VhostSource};
use crate::telemetry::Format;

/// Where the admin port is, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin {
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

impl Admin {
    /// Where it is unless told otherwise: out of reach of other machines.
    pub(super) const DEFAULT: Self =
        Self::At(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9090));
}

/// The words that a flag takes, and what each means.
#[derive(Debug)]
pub struct Choices<T: 'static>(&'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Choices<T> {
    /// The word for a value; every value has one.
    pub fn word(&self, value: T) -> &'static str {
        let found = self.0.iter().find(|(_, other)| *other == value);
        found.map_or("", |(word, _)| word)
    }

    fn parse(&self, value: &str) -> Result<T, String> {
        let found = self.0.iter().find(|(word, _)| *word == value);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<&str> = self.0.iter().map(|(word, _)| *word).collect();
            let (last, rest) = words.split_last().unwrap_or((&"", &[]));
            format!("expected {} or {last}", rest.join(", "))
        })
    }
}

/// `--protocol`.
pub(crate) const PROTOCOL: Choices<ProtocolChoice> = Choices(&[
    ("auto", ProtocolChoice::Auto),
    ("amqp10", ProtocolChoice::Only("amqp10")),
    ("amqp091", ProtocolChoice::Only("amqp091")),
    ("mqtt", ProtocolChoice::Only("mqtt")),
]);

/// `--on-unknown`.
pub(crate) const ON_UNKNOWN: Choices<OnUnknown> =
    Choices(&[("close", OnUnknown::Close), ("forward", OnUnknown::Forward)]);

/// `--on-oversize`.
pub(crate) const ON_OVERSIZE: Choices<OnOversize> = Choices(&[
    ("reject", OnOversize::Reject),
    ("detach", OnOversize::Detach),
    ("close", OnOversize::Close),
]);

/// `--presettled`.
pub(crate) const PRESETTLED: Choices<Presettled> = Choices(&[
    ("forward", Presettled::Forward),
    ("unsettled", Presettled::Unsettled),
]);

/// `--mqtt-size`.
pub(crate) const MQTT_SIZE: Choices<MessageSize> = Choices(&[
    ("packet", MessageSize::Packet),
    ("remaining-length", MessageSize::RemainingLength),
    ("payload", MessageSize::Payload),
]);

/// `--mqtt-vhost`.
pub(crate) const MQTT_VHOST: Choices<VhostSource> = Choices(&[
    ("sni", VhostSource::ServerName),
    ("username", VhostSource::UserName),
    ("none", VhostSource::Nowhere),
]);

/// `--send-proxy-protocol`.
pub(crate) const SEND_PROXY_PROTOCOL: Choices<Option<Version>> = Choices(&[
    ("none", None),
    ("v1", Some(Version::V1)),
    ("v2", Some(Version::V2)),
]);

/// `--log-level`.
pub(crate) const LOG_LEVEL: Choices<tracing::Level> = Choices(&[
    ("error", tracing::Level::ERROR),
    ("warn", tracing::Level::WARN),
    ("info", tracing::Level::INFO),
    ("debug", tracing::Level::DEBUG),
    ("trace", tracing::Level::TRACE),
]);

/// `--log-format`.
pub(crate) const LOG_FORMAT: Choices<Format> =
    Choices(&[("text", Format::Text), ("json", Format::Json)]);

pub(super) fn protocol(value: &str) -> Result<ProtocolChoice, String> {
    PROTOCOL.parse(value)
}

pub(super) fn on_unknown(value: &str) -> Result<OnUnknown, String> {
    ON_UNKNOWN.parse(value)
}

pub(super) fn on_oversize(value: &str) -> Result<OnOversize, String> {
    ON_OVERSIZE.parse(value)
}

pub(super) fn presettled(value: &str) -> Result<Presettled, String> {
    PRESETTLED.parse(value)
}

pub(super) fn mqtt_size(value: &str) -> Result<MessageSize, String> {
    MQTT_SIZE.parse(value)
}

pub(super) fn mqtt_vhost(value: &str) -> Result<VhostSource, String> {
    MQTT_VHOST.parse(value)
}

pub(super) fn send_proxy_protocol(value: &str) -> Result<Option<Version>, String> {
    SEND_PROXY_PROTOCOL.parse(value)
}

/// A network of peers, whose addresses are IPv4 where they can be.
pub(super) fn network(value: &str) -> Result<IpNet, String> {
    let network = limit_spec::network(value)
        .map_err(|fault| format!("expected a network, such as 10.8.0.0/16; {fault}"))?;
    match network.addr() {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
            Err("expected IPv4 networks as such, such as 10.8.0.0/16".to_owned())
        }
        _ => Ok(network),
    }
}

/// A number of octets, as a Kubernetes quantity.
pub(super) fn size(value: &str) -> Result<ByteSize, String> {
    value
        .parse()
        .map_err(|error: super::SizeError| format!("expected a size in octets; {error}"))
}

pub(super) fn log_level(value: &str) -> Result<tracing::Level, String> {
    LOG_LEVEL.parse(value)
}

pub(super) fn log_format(value: &str) -> Result<Format, String> {
    LOG_FORMAT.parse(value)
}

/// `--tls-min-version`.
pub(crate) const TLS_MIN_VERSION: Choices<MinVersion> =
    Choices(&[("1.2", MinVersion::Tls12), ("1.3", MinVersion::Tls13)]);

pub(super) fn tls_min_version(value: &str) -> Result<MinVersion, String> {
    TLS_MIN_VERSION.parse(value)
}

/// A file; whether it is there is found out by those who read it.
pub(super) fn file(value: &str) -> Result<PathBuf, String> {
    if value.is_empty() {
        return Err("expected a file, such as /etc/sizegate/tls.crt".to_owned());
    }
    Ok(value.into())
}

/// A name or an address that a certificate can be for.
pub(super) fn server_name(value: &str) -> Result<ServerName<'static>, String> {
    crate::config::server_name(value)
        .ok_or_else(|| "expected a name or an address, such as broker.example".to_owned())
}

pub(super) fn listen(value: &str) -> Result<SocketAddr, String> {
    value.parse().map_err(|_| {
        "expected an IP address and a port, such as 127.0.0.1:1884, 0.0.0.0:1884 or [::]:1884"
            .to_owned()
    })
}

pub(super) fn admin(value: &str) -> Result<Admin, String> {
    match value {
        "off" => Ok(Admin::Off),
        _ => value.parse().map(Admin::At).map_err(|_| {
            "expected off, or an IP address and a port, such as 127.0.0.1:9090".to_owned()
        }),
    }
}

pub(super) fn upstream(value: &str) -> Result<Upstream, String> {
    value
        .rsplit_once(':')
        .and_then(|(host, port)| {
            Some(Upstream {
                host: self::host(host)?,
                port: port.parse().ok().filter(|_| !port.starts_with('+'))?,
            })
        })
        .ok_or_else(|| {
            "expected a host and a port, such as 127.0.0.1:1883, broker.example:1883 or \
             [::1]:1883"
                .to_owned()
        })
}

/// A host: a name, an IPv4 address, or an IPv6 address in brackets, which are taken off.
fn host(host: &str) -> Option<String> {
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        let address: Ipv6Addr = address.parse().ok()?;
        return Some(address.to_string());
    }
    // RFC 1123 §2.1, with the underscore that Docker Compose and others put into names; a name
    // whose last label is a number would be taken for an address by some and for a name by others.
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_'))
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|octet| octet.is_ascii_digit());
    let good = if numeric {
        host.parse::<Ipv4Addr>().is_ok()
    } else {
        name.len() <= 253 && name.split('.').all(label)
    };
    good.then(|| host.to_owned())
}

pub(super) fn duration(value: &str) -> Result<Duration, String> {
    match humantime::parse_duration(value) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        Ok(_) => Err("expected 365days at most, such as 10s".to_owned()),
        Err(_) => Err("expected a duration with a unit, such as 500ms, 10s or 2m".to_owned()),
    }
}

pub(super) fn count(value: &str) -> Result<usize, String> {
    value
        .parse()
        .ok()
        .filter(|_| !value.starts_with('+'))
        .ok_or_else(|| "expected a whole number, such as 4 or 1000".to_owned())
}

/// Long enough for never, and short enough to be added to any clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
