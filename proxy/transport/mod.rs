//! A connection's octets, whatever carries them.
//!
//! [`Stream`] is what the relay reads and writes on both sides; [`Origin`] says between which
//! addresses a client's octets travel. How a stream came about is for [`crate::listen`] and
//! [`crate::upstream`]. Addresses are [`canonical`] wherever they are kept. [`descriptors`] says how
//! many sockets there may be.

pub mod descriptors;
mod socket;
mod tls;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

pub use socket::{segment_len, tune};
pub use tls::{HandshakeError, Tls, fault};

/// Octets in both directions.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin {
    /// The socket below, where its octets are those of the stream: they may then be looked at and
    /// moved there.
    fn plain(&self) -> Option<&TcpStream> {
        None
    }

    /// Pending if a read would be, as far as that can be told at less than its cost; the task is
    /// woken as by a read.
    fn poll_readable(&self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// One side of a connection.
#[derive(Debug)]
pub enum Stream {
    /// The octets are the peer's own.
    Plain(TcpStream),
    /// The octets travel in TLS.
    Tls(Tls<TcpStream>),
}

impl Stream {
    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.below(),
        }
    }
}

impl Duplex for Stream {
    #[inline]
    fn plain(&self) -> Option<&TcpStream> {
        match self {
            Self::Plain(socket) => Some(socket),
            Self::Tls(_) => None,
        }
    }

    #[inline]
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            // What went wrong, the read tells.
            Self::Plain(socket) => socket.poll_read_ready(cx).map(|_| ()),
            Self::Tls(_) => Poll::Ready(()),
        }
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, octets),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, octets),
        }
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// Between which addresses a client's octets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Where the client is.
    pub peer: SocketAddr,
    /// Where it meant to go.
    pub destination: SocketAddr,
    /// The last hop on its way here: the whole way, unless a proxy stands before this one.
    pub hop: Hop,
}

/// A TCP connection by its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The end that connected.
    pub from: SocketAddr,
    /// What it connected to, whoever it was redirected to.
    pub to: SocketAddr,
}

/// The one form of an address: IPv4 where a socket of both families has it as IPv4-mapped IPv6
/// (RFC 4291 §2.5.5.2).
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::from((ip, address.port())),
        // An address of one link is nothing without its scope.
        IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        for (address, expected) in [
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::ffff:10.8.0.1]:1883", "10.8.0.1:1883"),
            ("[::1]:1883", "[::1]:1883"),
            ("[fe80::1%3]:1883", "[fe80::1%3]:1883"),
            ("[::10.8.0.1]:1883", "[::10.8.0.1]:1883"),
        ] {
            let parsed = |text: &str| text.parse::<SocketAddr>().unwrap();
            assert_eq!(canonical(parsed(address)), parsed(expected));
        }
    }
}
