//! What both sockets of a connection are set to.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use crate::transport::Stream;

/// Sends small packets at once, and finds out when a peer has vanished.
pub(super) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(IDLE)
        .with_interval(INTERVAL)
        .with_retries(RETRIES);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Octets that a segment to this peer carries, if the kernel tells and they are ours to fill.
pub(super) fn segment_len(stream: &Stream) -> Option<usize> {
    match stream {
        Stream::Plain(socket) => {
            let len = SockRef::from(socket).tcp_mss().ok()?;
            usize::try_from(len).ok()
        }
        // TLS makes records of what it is given, and segments of those.
        Stream::Tls(_) => None,
    }
}

/// How long a connection is silent before its peer is asked for a sign of life.
const IDLE: Duration = Duration::from_secs(60);
/// How long to wait between two such questions.
const INTERVAL: Duration = Duration::from_secs(15);
/// How many go unanswered before the connection counts as broken.
const RETRIES: u32 = 4;
