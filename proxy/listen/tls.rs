//! TLS with clients: their first octets, the handshake, and what it says about them.
//!
//! A client begins with a ClientHello, or with AMQP's own word for it: the protocol header of TLS in
//! plain, which is echoed (AMQP 1.0 §5.2.1). Whoever begins with something else is told, as far as
//! its protocol has a word for it, and shown out.

use certs::{Server, SubjectError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Unwelcome, looks_like};
use crate::transport::{Stream, Tls};

/// A client whose handshake is over.
#[derive(Debug)]
pub(super) struct Secured {
    /// What it says from here on is its protocol.
    pub(super) stream: Stream,
    /// The name that it calls this server by (RFC 6066 §3), in lower case.
    pub(super) server_name: Option<Box<str>>,
    /// The subject of its certificate; none if it was not asked for one, or is named elsewhere.
    pub(super) subject: Option<Box<str>>,
}

impl Secured {
    /// A client that is not asked for TLS.
    pub(super) fn plain(client: TcpStream) -> Self {
        Self {
            stream: Stream::Plain(client),
            server_name: None,
            subject: None,
        }
    }
}

/// Begins TLS with a client.
pub(super) async fn secure(server: &Server, client: TcpStream) -> Result<Secured, Unwelcome> {
    let client = begin(client).await?;
    let acceptor = TlsAcceptor::from(server.current());
    match acceptor.accept(client).into_fallible().await {
        Ok(stream) => secured(stream),
        Err((error, client)) => Err(Unwelcome::Tls {
            error: error.into(),
            client,
        }),
    }
}

/// Takes away what may stand before a ClientHello. Not an octet beyond it is read.
async fn begin(client: TcpStream) -> Result<TcpStream, Unwelcome> {
    let mut first = [0; FIRST_LEN];
    let len = client.peek(&mut first).await?;
    let first = first.get(..len).unwrap_or_default();
    match first {
        [] => Err(Unwelcome::Left),
        [HANDSHAKE_RECORD, ..] => Ok(client),
        [b'A', ..] => begin_amqp(client).await,
        _ => Err(Unwelcome::NoTls {
            looks_like: looks_like(first),
            client,
        }),
    }
}

/// Takes AMQP's header of TLS and echoes it; what begins like it can't be TLS itself, so that it may
/// be read as it comes.
async fn begin_amqp(mut client: TcpStream) -> Result<TcpStream, Unwelcome> {
    let mut header = [0; AMQP_TLS.len()];
    let mut len = 0;
    while len < header.len() {
        let room = header.get_mut(len..).unwrap_or_default();
        match client.read(room).await? {
            0 => return Err(Unwelcome::Left),
            more => len += more,
        }
        let read = header.get(..len).unwrap_or_default();
        if !AMQP_TLS.starts_with(read) {
            let looks_like = looks_like(read);
            if read.starts_with(b"AMQP") {
                // The header that would have done is the answer (AMQP 1.0 §2.2). That it can't be
                // said any more is found out by whoever shows the client out.
                let _ = client.write_all(AMQP_TLS).await;
            }
            return Err(Unwelcome::NoTls { looks_like, client });
        }
    }
    client.write_all(AMQP_TLS).await?;
    Ok(client)
}

/// Reads off a handshake who the client is.
fn secured(stream: TlsStream<TcpStream>) -> Result<Secured, Unwelcome> {
    let (_, connection) = stream.get_ref();
    let server_name = connection.server_name().map(Into::into);
    let certificate = connection.peer_certificates().and_then(<[_]>::first);
    let subject = match certificate.map(certs::subject) {
        None => None,
        Some(Ok(subject)) if subject.is_empty() => None,
        Some(Ok(subject)) => Some(subject.into()),
        Some(Err(SubjectError)) => {
            let (client, _) = stream.into_inner();
            return Err(Unwelcome::Subject { client });
        }
    };
    Ok(Secured {
        stream: Stream::Tls(Tls::server(stream)),
        server_name,
        subject,
    })
}

/// AMQP's protocol header of TLS: protocol id 2, version 1.0.0 (AMQP 1.0 §5.2).
const AMQP_TLS: &[u8; 8] = b"AMQP\x02\x01\x00\x00";
/// The content type of a handshake record, with which a ClientHello begins (RFC 8446 §5.1).
const HANDSHAKE_RECORD: u8 = 0x16;
/// Octets enough to say what something looks like.
const FIRST_LEN: usize = 16;
