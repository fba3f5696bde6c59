//! What a client says before its protocol begins.
//!
//! Nothing is guessed and nothing of the protocol is taken away: a client comes out of here with
//! its address and, where it has shown one, a certificate, at the first octet of what it speaks.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use certs::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::tls::{Secured, secure};
use crate::transport::{HandshakeError, Origin, Stream};

/// What a listener asks of its clients before their protocol begins.
#[derive(Debug, Default)]
pub struct Door {
    /// To speak TLS with this certificate.
    pub tls: Option<Arc<Server>>,
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

/// Lets a client in, or says why not.
pub async fn welcome(door: &Door, client: TcpStream, peer: SocketAddr) -> Result<Guest, Unwelcome> {
    let destination = client.local_addr().map_err(|_| Unwelcome::Reset)?;
    let secured = match &door.tls {
        Some(server) => secure(server, client).await?,
        None => Secured::plain(client),
    };
    Ok(Guest {
        stream: secured.stream,
        origin: Origin { peer, destination },
        server_name: secured.server_name,
        subject: secured.subject,
    })
}

/// Why a client was not let in.
#[derive(Debug, thiserror::Error)]
pub enum Unwelcome {
    /// Its connection broke.
    #[error("the connection broke")]
    Reset,
    /// It left before it had said anything, as one does that only looks whether the port is open.
    #[error("the client left")]
    Left,
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
