//! Where clients come in: listening sockets, the loop that accepts from them, and what is said before
//! a client's protocol begins.
//!
//! Knows addresses and sockets, and hands each client on. What the client speaks is for the relay.

mod guest;
mod looks;
mod proxy_header;
mod redirect;
#[cfg(test)]
mod tests;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use guest::{Door, Guest, Unwelcome, welcome};
pub use looks::looks_like;
pub use proxy_header::{Beginning, beginning};
pub use redirect::Redirect;

use crate::transport::descriptors::{Reserve, Use};
use crate::transport::{canonical, tune};

/// Whether other sockets of this program listen on the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// None does: an address that is taken is an error.
    Alone,
    /// One for each thread does, and the kernel deals connections out among them.
    EachThread,
}

/// Listens on an address; port 0 is any free one.
pub fn bind(address: SocketAddr, sharing: Sharing) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // A restart must not wait for the connections of the last run to be forgotten.
    socket.set_reuse_address(true)?;
    if sharing == Sharing::EachThread {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    tune(&socket)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Hands clients to `take` until `stop` is cancelled.
///
/// When the process has no descriptors left for clients, the kernel keeps them waiting; so does this.
pub async fn accept(
    listener: TcpListener,
    stop: CancellationToken,
    mut take: impl FnMut(TcpStream, SocketAddr),
) {
    let mut told: Option<Instant> = None;
    let mut tell = |error: io::Error| {
        if told.is_none_or(|at| at.elapsed() >= QUIET) {
            warn!(%error, "no client could be accepted");
            told = Some(Instant::now());
        }
    };
    let mut reserve = Reserve::read();
    let mut is_full = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = next(&listener, &mut reserve, is_full) => accepted,
        };
        match accepted {
            Ok((client, peer)) => {
                is_full = reserve.has(&client, Use::Client);
                if is_full {
                    tell(Errno::MFILE.into());
                }
                // One too many can be let in, but not one for each of a great many listeners.
                if !is_full || !reserve.has(&client, Use::Broker) {
                    take(client, canonical(peer));
                }
            }
            // The client gave up before it was its turn.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tell(error);
                sleep(BACK_OFF).await;
            }
        }
    }
}

/// Accepts the next client; if the last one had a descriptor that is kept from clients, not before
/// there is another one.
async fn next(
    listener: &TcpListener,
    reserve: &mut Reserve,
    is_full: bool,
) -> io::Result<(TcpStream, SocketAddr)> {
    while is_full && reserve.has_next(listener, Use::Client) {
        sleep(BACK_OFF).await;
    }
    listener.accept().await
}

/// Clients that may wait to be accepted; the kernel caps it at net.core.somaxconn.
const BACKLOG: i32 = 4096;
/// How long nothing is said of it again that clients could not be accepted.
const QUIET: Duration = Duration::from_secs(10);
/// How long to wait for descriptors to become free.
const BACK_OFF: Duration = Duration::from_millis(100);
