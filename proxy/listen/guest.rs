//! What a client says before its protocol begins.
//!
//! Nothing is guessed and nothing of the protocol is taken away: a client comes out of here with
//! its address and, where it has shown one, a certificate, at the first octet of what it speaks.

use std::net::SocketAddr;

use tokio::net::TcpStream;

use crate::transport::{Origin, Stream};

/// What a listener asks of its clients before their protocol begins.
#[derive(Debug, Default)]
pub struct Door {}

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
pub async fn welcome(
    _door: &Door,
    client: TcpStream,
    peer: SocketAddr,
) -> Result<Guest, Unwelcome> {
    let destination = client.local_addr().map_err(|_| Unwelcome::Reset)?;
    Ok(Guest {
        stream: Stream::Plain(client),
        origin: Origin { peer, destination },
        server_name: None,
        subject: None,
    })
}

/// Why a client was not let in.
#[derive(Debug, thiserror::Error)]
pub enum Unwelcome {
    /// Its connection broke.
    #[error("the connection broke")]
    Reset,
}
