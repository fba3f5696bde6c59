//! What the sockets of both sides are set to.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// Sends small packets at once, and finds out when a peer has vanished.
///
/// What a listening socket is set to, those that it accepts are set to as well.
pub fn tune<'a>(socket: impl Into<SockRef<'a>>) -> io::Result<()> {
    let socket = socket.into();
    socket.set_tcp_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(IDLE)
        .with_interval(INTERVAL)
        .with_retries(RETRIES);
    socket.set_tcp_keepalive(&keepalive)
}

/// Octets that a segment to the peer of a socket carries, if the kernel tells.
pub fn segment_len(socket: &TcpStream) -> Option<usize> {
    let len = SockRef::from(socket).tcp_mss().ok()?;
    usize::try_from(len).ok()
}

/// How long a connection is silent before its peer is asked for a sign of life.
const IDLE: Duration = Duration::from_secs(60);
/// How long to wait between two such questions.
const INTERVAL: Duration = Duration::from_secs(15);
/// How many go unanswered before the connection counts as broken.
const RETRIES: u32 = 4;
