//! The way to the broker.
//!
//! Knows where the broker is, how long to wait for it, and what it is told before the client's
//! octets. The name is resolved at each connect, since a broker in a cluster moves.

mod own;
mod proxy_header;

mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parsers::proxy_protocol::Version;
use rustix::io::Errno;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::timeout;

pub use own::{Entry, OwnConnections};

use self::tls::secure;
use crate::config::{Destination, Upstream, UpstreamTls};
use crate::transport::descriptors::{Reserve, Use};
use crate::transport::{HandshakeError, Hop, Origin, Stream, canonical};

/// The way from a listener to its broker.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where it leads.
    pub destination: Destination,
    /// In which form the broker is told where the client is, if it is told.
    pub proxy_header: Option<Version>,
    /// How TLS with the broker begins; none is plain TCP.
    pub tls: Option<UpstreamTls>,
    /// Where connections to brokers are entered, so that one that comes back is known; needed by
    /// [`Destination::Original`] alone.
    pub own: Arc<OwnConnections>,
}

/// A connection to a broker.
#[derive(Debug)]
pub struct Connected {
    /// What is written here is the client's.
    pub stream: Stream,
    /// Keeps the connection among our own; to be dropped before the stream.
    pub entry: Option<Entry>,
}

/// Connects a client to its broker, within `limit` for all that it takes.
pub async fn connect(
    route: &Route,
    origin: Origin,
    limit: Duration,
) -> Result<Connected, ConnectError> {
    let connected = timeout(limit, reach(route, &origin)).await;
    connected.unwrap_or(Err(ConnectError::Timeout))
}

/// Does all that stands before the client's octets.
async fn reach(route: &Route, origin: &Origin) -> Result<Connected, ConnectError> {
    let (mut broker, host, entry) = match &route.destination {
        Destination::Upstream(upstream) => (attempt(upstream).await?, Some(&*upstream.host), None),
        Destination::Original => {
            let (broker, entry) = follow(origin.hop, &route.own).await?;
            (broker, None, Some(entry))
        }
    };
    if let Some(version) = route.proxy_header {
        proxy_header::write(&mut broker, version, origin)
            .await
            .map_err(ConnectError::Unreachable)?;
    }
    let stream = match &route.tls {
        Some(tls) => Stream::Tls(secure(tls, broker, host).await.map_err(ConnectError::Tls)?),
        None => Stream::Plain(broker),
    };
    Ok(Connected { stream, entry })
}

/// Connects to where a client meant to go, unless that client is sizegate itself.
///
/// A redirect that spares nobody leads our own connections back to us. The one that asks for the
/// broker here has sent octets, so whoever made it has entered it before.
async fn follow(hop: Hop, own: &Arc<OwnConnections>) -> Result<(TcpStream, Entry), ConnectError> {
    if own.contains(hop) {
        return Err(ConnectError::Loop);
    }
    let broker = open(hop.to).await.map_err(not_connected)?;
    let from = broker.local_addr().map_err(ConnectError::Unreachable)?;
    let entry = own.enter(Hop {
        from: canonical(from),
        to: hop.to,
    });
    Ok((broker, entry))
}

/// Tries the addresses of a broker in turn.
async fn attempt(upstream: &Upstream) -> Result<TcpStream, ConnectError> {
    let addresses = lookup_host((&*upstream.host, upstream.port))
        .await
        .map_err(ConnectError::Resolve)?;
    let mut last = None;
    for address in addresses {
        match open(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) => not_connected(error),
        None => ConnectError::Resolve(io::Error::from(io::ErrorKind::NotFound)),
    })
}

/// Connects to an address, if there is a descriptor for that.
async fn open(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    if Reserve::read().has(&socket, Use::Broker) {
        return Err(Errno::MFILE.into());
    }
    socket.connect(address).await
}

fn not_connected(error: io::Error) -> ConnectError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectError::Refused(error),
        _ => ConnectError::Unreachable(error),
    }
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
    /// The client is a connection of ours to the broker.
    #[error(
        "loop: a connection of sizegate to the broker was redirected back to sizegate; \
         except its user from the redirect"
    )]
    Loop,
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
            Self::Loop => "loop",
            Self::Tls(_) => "tls",
        }
    }
}
