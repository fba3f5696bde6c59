//! Where a redirected client meant to go.
//!
//! A REDIRECT rule of the kernel's packet filter changes the destination of a connection and
//! remembers the one it had. Who connects to a listener directly has no other destination than
//! that listener, and to lead it there would be to accept it again and again.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use socket2::SockRef;
use tokio::net::TcpStream;

use super::Unwelcome;
use crate::transport::canonical;

/// How the destinations of redirected clients are found.
#[derive(Debug)]
pub struct Redirect {
    /// Where sizegate itself listens for clients, on any thread.
    pub listeners: Vec<SocketAddr>,
}

impl Redirect {
    /// Where a client meant to go before it was redirected here.
    pub(super) fn destination(&self, client: &TcpStream) -> Result<SocketAddr, Unwelcome> {
        let here = canonical(client.local_addr()?);
        let destination = original(client, here).map_err(Unwelcome::NotRedirected)?;
        // The first is how it is without a redirect, and needs no further look.
        if destination == here || self.is_ours(destination) {
            return Err(Unwelcome::MeantForUs(destination));
        }
        Ok(destination)
    }

    /// Whether connecting to an address leads to one of our listeners.
    fn is_ours(&self, address: SocketAddr) -> bool {
        self.listeners.iter().any(|&listener| {
            let takes_all = listener.ip().is_unspecified()
                && (listener.is_ipv6() || address.is_ipv4())
                && is_local(address);
            listener.port() == address.port() && (takes_all || canonical(listener) == address)
        })
    }
}

/// The destination that the kernel remembers (SO_ORIGINAL_DST).
///
/// There is none where no rule of the packet filter has ever looked at connections, and it is
/// `here` where none has changed this one.
fn original(client: &TcpStream, here: SocketAddr) -> io::Result<SocketAddr> {
    let socket = SockRef::from(client);
    let original = match here {
        // Also for a client that a socket of both families took over IPv4.
        SocketAddr::V4(_) => socket.original_dst_v4(),
        SocketAddr::V6(_) => socket.original_dst_v6(),
    };
    let original = original?.as_socket();
    original
        .map(canonical)
        .ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
}

/// Whether an address is one of this machine's: no other can be bound to.
fn is_local(address: SocketAddr) -> bool {
    let mut any_port = address;
    any_port.set_port(0);
    UdpSocket::bind(any_port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_ours_on_each_address_that_it_listens_on() {
        let cases = [
            ("127.0.0.1:1884", "127.0.0.1:1884", true),
            ("127.0.0.1:1884", "127.0.0.1:1883", false),
            ("127.0.0.1:1884", "127.0.0.2:1884", false),
            ("0.0.0.0:1884", "127.0.0.1:1884", true),
            ("0.0.0.0:1884", "127.0.0.2:1884", true),
            ("0.0.0.0:1884", "127.0.0.2:1883", false),
            // An address for documentation is nobody's (RFC 5737).
            ("0.0.0.0:1884", "192.0.2.1:1884", false),
            ("0.0.0.0:1884", "[::1]:1884", false),
            ("[::1]:1884", "[::1]:1884", true),
            ("[::]:1884", "[::1]:1884", true),
            ("[::]:1884", "[::1]:1883", false),
            ("[::]:1884", "[2001:db8::1]:1884", false),
            // It takes IPv4 too.
            ("[::]:1884", "127.0.0.1:1884", true),
            ("[::]:1884", "192.0.2.1:1884", false),
            ("[::ffff:127.0.0.1]:1884", "127.0.0.1:1884", true),
        ];
        for (listener, address, is_ours) in cases {
            let redirect = Redirect {
                listeners: vec!["127.0.0.1:1".parse().unwrap(), listener.parse().unwrap()],
            };
            let answer = redirect.is_ours(address.parse().unwrap());
            assert_eq!(answer, is_ours, "{listener} and {address}");
        }
    }
}
