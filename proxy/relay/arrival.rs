//! The way of a client up to the first octet that is relayed: what it says before its protocol, and
//! which protocol that is.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::net::TcpStream;
use tokio::time::Instant;
use tracing::warn;

use super::Shared;
use super::detect::{Detection, detect};
use super::lane::Lane;
use super::pump::{Pump, Terms};
use super::tally::Tally;
use crate::config::{OnUnknown, ProtocolChoice};
use crate::gate::{Ending, Gate, Opaque, Reason, Side};
use crate::listen::{self, Unwelcome, looks_like};
use crate::protocols::Opening;
use crate::transport::{Duplex, Origin, Stream};

/// A client that has said what it speaks.
pub(super) struct Arrived {
    pub(super) pump: Box<Pump<Stream, Stream>>,
    /// In a box, since it is not needed for long.
    pub(super) origin: Box<Origin>,
}

/// Lets a client in and finds out what it speaks; `None` if it was turned away or left.
pub(super) async fn arrive(
    shared: Arc<Shared>,
    client: TcpStream,
    tally: Box<Tally>,
) -> Option<Arrived> {
    let handshake = Instant::now() + shared.handshake_timeout;
    let (guest, mut tally) = let_in(&shared, client, tally, handshake).await?;
    let origin = guest.origin;
    tally.comes_from(origin.peer);
    let opening = Opening {
        settings: &shared.settings,
        peer: origin.peer.ip(),
        server_name: guest.server_name.as_deref(),
        subject: guest.subject.as_deref(),
    };
    let pump = begin(&shared, guest.stream, tally, &opening, handshake).await?;
    let origin = Box::new(origin);
    Some(Arrived { pump, origin })
}

/// Takes what a client says before its protocol; `None` if it was turned away or left.
async fn let_in(
    shared: &Shared,
    client: TcpStream,
    tally: Box<Tally>,
    handshake: Instant,
) -> Option<(listen::Guest, Box<Tally>)> {
    let welcome = listen::welcome(&shared.door, client, tally.peer());
    match shared.in_time(handshake, welcome).await {
        Ok(Ok(guest)) => return Some((guest, tally)),
        Ok(Err(unwelcome)) => Box::pin(turn_away(shared, unwelcome, tally)).await,
        Err(ending) => tally.close(ending, None),
    }
    None
}

/// Logs and books that a client was not let in, and sees it off.
async fn turn_away(shared: &Shared, unwelcome: Unwelcome, tally: Box<Tally>) {
    let ending = match &unwelcome {
        Unwelcome::Left => Ending::by(Side::Client, Reason::Closed),
        Unwelcome::Reset(_) => Ending::by(Side::Client, Reason::Reset),
        Unwelcome::NoHeader | Unwelcome::UntrustedHeader | Unwelcome::MalformedHeader(_) => {
            Ending::by(Side::Client, Reason::ProxyProtocol)
        }
        Unwelcome::NotRedirected(_) | Unwelcome::MeantForUs(_) => {
            Ending::ours(Reason::NotRedirected)
        }
        Unwelcome::NoTls { .. } | Unwelcome::Tls { .. } | Unwelcome::Subject { .. } => {
            Ending::by(Side::Client, Reason::Tls)
        }
    };
    // Who only asks whether the port is open leaves at once, and often.
    if ending.reason != Reason::Closed {
        let (connection, peer) = (tally.connection(), tally.peer());
        let looks_like = unwelcome.looks_like();
        warn!(connection, %peer, looks_like, error = %unwelcome, "client not let in");
    }
    tally.close(ending, None);
    let deadline = Instant::now() + shared.linger;
    // It was told why it can't come in; whether it has heard makes no difference.
    let _ = shared.in_time(deadline, unwelcome.show_out()).await;
}

/// Finds out what a client speaks; `None` if that is nothing that is spoken here, or it left.
pub(super) async fn begin<C, B>(
    shared: &Shared,
    mut client: C,
    mut tally: Box<Tally>,
    opening: &Opening<'_>,
    handshake: Instant,
) -> Option<Box<Pump<C, B>>>
where
    C: Duplex,
    B: Duplex,
{
    let mut lane = Lane::new(Side::Client);
    let first_octets = greet(shared, &mut client, &mut lane, opening);
    let greeted = match shared.in_time(handshake, first_octets).await {
        Ok(greeted) => greeted,
        Err(ending) => Err(ending),
    };
    let (protocol, gate) = match greeted {
        Ok(greeted) => greeted,
        Err(ending) => {
            match ending.reason {
                Reason::UnknownProtocol => {
                    let (connection, peer) = (tally.connection(), tally.peer());
                    let looks_like = looks_like(lane.undecided());
                    warn!(connection, %peer, looks_like, "unknown protocol");
                }
                Reason::ProxyProtocol => {
                    let unwelcome = Unwelcome::UntrustedHeader;
                    Box::pin(turn_away(shared, unwelcome, tally)).await;
                    return None;
                }
                _ => {}
            }
            // TLS has a word for the end, and what can't be said at once is not worth a wait.
            poll_fn(|cx| Poll::Ready(Pin::new(&mut client).poll_shutdown(cx).is_ready())).await;
            tally.close(ending, None);
            return None;
        }
    };
    if let Some(protocol) = protocol {
        tally.speaks(protocol);
    }
    let terms = Terms {
        linger: shared.linger,
        handshake,
        lifecycle: Arc::clone(&shared.lifecycle),
    };
    // In a box, since a task has room for all that is moved within it twice.
    Some(Box::new(Pump::new(client, lane, gate, tally, terms)))
}

/// Reads until the first octets say what the client speaks, and makes the gate for it.
async fn greet<C: Duplex>(
    shared: &Shared,
    client: &mut C,
    lane: &mut Lane,
    opening: &Opening<'_>,
) -> Result<(Option<&'static str>, Box<dyn Gate>), Ending> {
    let only = match shared.protocol {
        ProtocolChoice::Auto => None,
        ProtocolChoice::Only(name) => Some(name),
    };
    loop {
        let read = poll_fn(|cx| {
            let read = lane.poll_fill(cx, client);
            // TLS may have an answer of its own to what it read; if it can't be said, reading tells.
            let _ = Pin::new(&mut *client).poll_flush(cx);
            read
        });
        match read.await {
            Ok(0) => return Err(Ending::by(Side::Client, Reason::Closed)),
            Ok(_) => {}
            Err(_) => return Err(Ending::by(Side::Client, Reason::Reset)),
        }
        match (detect(lane.undecided(), only), shared.on_unknown) {
            (Detection::Known(protocol), _) => {
                return Ok((Some(protocol.name), (protocol.open)(opening)));
            }
            (Detection::NeedMore, _) => {}
            (Detection::ProxyHeader, _) => {
                return Err(Ending::by(Side::Client, Reason::ProxyProtocol));
            }
            (Detection::Unknown, OnUnknown::Forward) => {
                return Ok((None, Box::new(Opaque::default())));
            }
            (Detection::Unknown, OnUnknown::Close) => {
                return Err(Ending::by(Side::Client, Reason::UnknownProtocol));
            }
        }
    }
}
