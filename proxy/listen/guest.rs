//! What a client says before its protocol begins.
//!
//! Nothing is guessed and nothing of the protocol is taken away: a client comes out of here with
//! its address and, where it has shown one, a certificate, at the first octet of what it speaks.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use certs::Server;
use ipnet::IpNet;
use parsers::proxy_protocol::Malformed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::proxy_header;
use super::redirect::Redirect;
use super::tls::{Secured, secure};
use crate::transport::{HandshakeError, Hop, Origin, Stream, canonical};

/// What a listener asks of its clients before their protocol begins.
#[derive(Debug, Default)]
pub struct Door {
    /// Whoever connects from here must say with a PROXY header whom it speaks for.
    pub proxies: Vec<IpNet>,
    /// How the destination of redirected clients is found, where they are to be led on.
    pub redirect: Option<Redirect>,
    /// To speak TLS with this certificate.
    pub tls: Option<Arc<Server>>,
}

impl Door {
    /// Whether who connects from this address must send a PROXY header.
    fn asks_for_header(&self, peer: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(&peer))
    }
}

/// A client that has come in.
#[derive(Debug)]
pub struct Guest {
    /// What it says from here on is its protocol.
    pub stream: Stream,
    /// Where it is and meant to go.
    pub origin: Origin,
    /// The name that it calls this server by in TLS (RFC 6066 §3).
    pub server_name: Option<Box<str>>,
    /// The subject of its certificate as RFC 4514 writes it.
    pub subject: Option<Box<str>>,
}

/// Lets a client in that connected from `peer`, or says why not.
pub async fn welcome(
    door: &Door,
    mut client: TcpStream,
    peer: SocketAddr,
) -> Result<Guest, Unwelcome> {
    let origin = origin(door, &mut client, peer).await?;
    let secured = match &door.tls {
        Some(server) => secure(server, client).await?,
        None => Secured::plain(client),
    };
    Ok(Guest {
        stream: secured.stream,
        origin,
        server_name: secured.server_name,
        subject: secured.subject,
    })
}

/// Finds out between which addresses a client's octets travel.
///
/// A PROXY header says where the client is and what it was told to connect to, which is how a
/// broker shall see it. Where its octets are led is for its socket to say, also behind a proxy:
/// what the client of a load balancer connected to is the load balancer.
async fn origin(
    door: &Door,
    client: &mut TcpStream,
    peer: SocketAddr,
) -> Result<Origin, Unwelcome> {
    let destination = match &door.redirect {
        Some(redirect) => redirect.destination(client)?,
        None => canonical(client.local_addr()?),
    };
    let mut origin = Origin {
        peer,
        destination,
        hop: Hop {
            from: peer,
            to: destination,
        },
    };
    if door.asks_for_header(peer.ip())
        && let Some(addresses) = proxy_header::read(client).await?
    {
        origin.peer = canonical(addresses.source);
        origin.destination = canonical(addresses.destination);
    }
    Ok(origin)
}

/// Why a client was not let in.
#[derive(Debug, thiserror::Error)]
pub enum Unwelcome {
    /// It left.
    #[error("it left")]
    Left,
    /// Its connection broke.
    #[error("the connection broke")]
    Reset(#[from] io::Error),
    /// It is to send a PROXY header and sent something else.
    #[error("no PROXY header, which whoever connects from this address must send")]
    NoHeader,
    /// It sent a PROXY header and is not trusted with one.
    #[error("a PROXY header from an address that is not in --proxy-protocol-from")]
    UntrustedHeader,
    /// Its PROXY header is none.
    #[error("malformed PROXY header: {0}")]
    MalformedHeader(Malformed),
    /// Nothing says where it meant to go: no redirect is in effect.
    #[error("it was not redirected here: the kernel knows of no other destination ({0})")]
    NotRedirected(#[source] io::Error),
    /// It meant to go to sizegate itself, so that following it would never end.
    #[error("it was not redirected here: it meant to go to {0}, which is sizegate itself")]
    MeantForUs(SocketAddr),
    /// It speaks something else than TLS.
    #[error("the client does not begin with TLS")]
    NoTls {
        /// What it looks like instead.
        looks_like: &'static str,
        /// Its connection.
        client: TcpStream,
    },
    /// TLS with it did not come about.
    #[error("TLS failed: {error}")]
    Tls {
        /// Why.
        error: HandshakeError,
        /// Its connection.
        client: TcpStream,
    },
    /// Its certificate is in order and does not say whose it is.
    #[error("the subject of the client's certificate is not well-formed")]
    Subject {
        /// Its connection.
        client: TcpStream,
    },
}

impl Unwelcome {
    /// What the client's first octets look like, if that is why.
    pub fn looks_like(&self) -> Option<&'static str> {
        match self {
            Self::NoTls { looks_like, .. } => Some(looks_like),
            _ => None,
        }
    }

    /// Shows the client out, and comes back when it has left: a socket that is closed with octets
    /// unread answers with a reset, which can overtake the last words.
    pub async fn show_out(self) {
        let (Self::NoTls { client, .. } | Self::Tls { client, .. } | Self::Subject { client }) =
            self
        else {
            return;
        };
        // If it has gone already, there is nobody to be told.
        let _ = see_off(client).await;
    }
}

/// Shuts the sending side, and reads and throws away until the client has left.
async fn see_off(mut client: TcpStream) -> io::Result<()> {
    client.shutdown().await?;
    let mut room = [0; 1024];
    let mut left = MOST_DISCARDED;
    while left > 0 {
        match client.read(&mut room).await? {
            0 => break,
            read => left = left.saturating_sub(read),
        }
    }
    Ok(())
}

/// Octets of a client that was not let in that are read before it is left to itself.
const MOST_DISCARDED: usize = 256 * 1024;
