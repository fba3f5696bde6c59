//! TLS over some stream of octets, in the words of a plain one.
//!
//! What differs from a plain stream is made good here: a peer that leaves without close_notify has
//! ended its stream, as a plain one would have, and what waits to be encrypted or sent is bounded.
//! What is written may stay behind until [`AsyncWrite::poll_flush`] says that it has gone out.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::{self, InvalidMessage};
use tokio_rustls::{TlsStream, client, server};

/// One side of a TLS connection whose handshake is over.
///
/// It is in a box because it is some times as large as a socket, and most connections have none.
#[derive(Debug)]
pub struct Tls<S>(Box<TlsStream<S>>);

impl<S> Tls<S> {
    /// The side of the server.
    pub fn server(mut stream: server::TlsStream<S>) -> Self {
        stream.get_mut().1.set_buffer_limit(Some(UNSENT));
        Self(Box::new(stream.into()))
    }

    /// The side of the client.
    pub fn client(mut stream: client::TlsStream<S>) -> Self {
        stream.get_mut().1.set_buffer_limit(Some(UNSENT));
        Self(Box::new(stream.into()))
    }

    /// The stream below.
    pub fn below(&self) -> &S {
        self.0.get_ref().0
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Tls<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut *self.0).poll_read(cx, buffer);
        read.map(|read| match read {
            // Truncation is for those to find out who know where a message ends (RFC 8446 §6.1):
            // each protocol that is spoken here says how long its messages are.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            read => read,
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Tls<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}

/// Why TLS did not come about.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The peer ended the connection, as one may that has met something it does not understand.
    #[error("the peer left during the handshake")]
    Left,
    /// What the peer sent is no TLS.
    #[error("the peer does not speak TLS")]
    NotTls,
    /// One of the two does not take what the other one has to offer.
    #[error("{0}")]
    Fault(rustls::Error),
    /// The connection broke.
    #[error("{0}")]
    Broke(io::Error),
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        match fault(&error) {
            Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => Self::NotTls,
            Some(fault) => Self::Fault(fault.clone()),
            None if error.kind() == io::ErrorKind::UnexpectedEof => Self::Left,
            None => Self::Broke(error),
        }
    }
}

/// What TLS found wrong, if an error is one of TLS and not of the stream below.
pub fn fault(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Octets that may be encrypted and not yet sent, four full records; a stream with so many takes no
/// more.
const UNSENT: usize = 64 * 1024;
