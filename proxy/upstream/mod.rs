//! The way to the broker.
//!
//! Knows where the broker is and how long to wait for it. The name is resolved at each connect,
//! since a broker in a cluster moves.

mod tls;

use std::io;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use self::tls::secure;
use crate::config::{Destination, Upstream, UpstreamTls};
use crate::transport::{HandshakeError, Origin, Stream};

/// The way from a listener to its broker.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where it leads.
    pub destination: Destination,
    /// How TLS with the broker begins; none is plain TCP.
    pub tls: Option<UpstreamTls>,
}

/// Connects a client to its broker, within `limit` for all that it takes.
pub async fn connect(
    route: &Route,
    _origin: Origin,
    limit: Duration,
) -> Result<Stream, ConnectError> {
    let reached = timeout(limit, reach(route)).await;
    reached.unwrap_or(Err(ConnectError::Timeout))
}

/// Goes all of the way.
async fn reach(route: &Route) -> Result<Stream, ConnectError> {
    let (broker, host) = match &route.destination {
        Destination::Upstream(upstream) => (attempt(upstream).await?, Some(&*upstream.host)),
    };
    let Some(tls) = &route.tls else {
        return Ok(Stream::Plain(broker));
    };
    let secured = secure(tls, broker, host).await;
    secured.map(Stream::Tls).map_err(ConnectError::Tls)
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
