//! The way to the broker.
//!
//! Knows where the broker is and how long to wait for it. The name is resolved at each connect,
//! since a broker in a cluster moves.

use std::io;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::config::{Destination, Upstream};
use crate::transport::{HandshakeError, Origin, Stream};

/// The way from a listener to its broker.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where it leads.
    pub destination: Destination,
}

/// Connects a client to its broker, within `limit` for all that it takes.
pub async fn connect(
    route: &Route,
    _origin: Origin,
    limit: Duration,
) -> Result<Stream, ConnectError> {
    let broker = match &route.destination {
        Destination::Upstream(upstream) => timeout(limit, attempt(upstream)),
    };
    let broker = broker.await.unwrap_or(Err(ConnectError::Timeout))?;
    Ok(Stream::Plain(broker))
}

/// Tries the addresses of a broker in turn.
async fn attempt(upstream: &Upstream) -> Result<TcpStream, ConnectError> {
    let addresses = lookup_host((&*upstream.host, upstream.port))
        .await
        .map_err(ConnectError::Resolve)?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            ConnectError::Refused(error)
        }
        Some(error) => ConnectError::Unreachable(error),
        None => ConnectError::Resolve(io::Error::from(io::ErrorKind::NotFound)),
    })
}

/// Why a broker could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its name has no address.
    #[error("the broker's name cannot be resolved")]
    Resolve(#[source] io::Error),
    /// Nobody listens there.
    #[error("the broker refuses connections")]
    Refused(#[source] io::Error),
    /// No way leads there.
    #[error("the broker cannot be reached")]
    Unreachable(#[source] io::Error),
    /// It did not answer within `--connect-timeout`.
    #[error("the broker does not answer")]
    Timeout,
    /// TLS with it did not come about, or it ended TLS before it said anything.
    #[error("TLS with the broker failed: {0}")]
    Tls(HandshakeError),
}

impl ConnectError {
    /// The word for `sizegate_upstream_connect_errors_total`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Resolve(_) => "resolve",
            Self::Refused(_) => "refused",
            Self::Unreachable(_) => "unreachable",
            Self::Timeout => "timeout",
            Self::Tls(_) => "tls",
        }
    }
}
