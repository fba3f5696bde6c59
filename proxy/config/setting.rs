//! The values that settings have.

use std::fmt;
use std::net::SocketAddr;

/// Where clients connect, and where they are led.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The address that is listened on; port 0 is any free one.
    pub listen: SocketAddr,
    /// Where its clients are led.
    pub destination: Destination,
}

/// Where clients are led.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To this broker.
    Upstream(Upstream),
    /// To where each meant to go before it was redirected here.
    Original,
}

impl Destination {
    /// The broker, where there is one for all clients.
    pub fn upstream(&self) -> Option<&Upstream> {
        match self {
            Self::Upstream(upstream) => Some(upstream),
            Self::Original => None,
        }
    }
}

/// Where a broker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// A name or an address; an IPv6 address has no brackets here.
    pub host: String,
    /// The TCP port; not 0.
    pub port: u16,
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

/// What clients may speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Every protocol there is, told by the first octets.
    #[default]
    Auto,
    /// This one, by the name that metrics and logs have for it.
    Only(&'static str),
}

/// What is done with a client whose first octets belong to no protocol that is spoken here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnknown {
    /// It is closed.
    #[default]
    Close,
    /// It is forwarded, unseen.
    Forward,
}
