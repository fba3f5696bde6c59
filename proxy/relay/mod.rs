//! One client and its broker connection, from accept to close.
//!
//! The relay owns sockets, buffers, back-pressure, half close and the time that peers are given.
//! It asks a gate what to do with octets and knows no frame. The broker is connected to when the
//! gate lets the first octet through, so what is refused before never reaches it.

mod buffers;
mod detect;
mod lane;
mod pipes;
mod pump;
mod socket;
mod tally;

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use self::buffers::window;
use self::detect::{Detection, detect};
use self::lane::Lane;
use self::pump::{Event, Outcome, Pump, Terms};
use self::tally::Tally;
use crate::config::{OnUnknown, ProtocolChoice};
use crate::gate::{Ending, Gate, Opaque, Reason, Side};
use crate::lifecycle::Lifecycle;
use crate::listen::{self, Door, Unwelcome, looks_like};
use crate::protocols::{Opening, Settings};
use crate::telemetry::{Metrics, contain};
use crate::transport::{Duplex, Origin, Stream};
use crate::upstream::{self, ConnectError, Entry, Route};

/// What all connections share.
#[derive(Debug)]
pub struct Shared {
    /// What gates are made from.
    pub settings: Arc<Settings>,
    /// What is asked of clients before their protocol begins.
    pub door: Door,
    /// What may be spoken.
    pub protocol: ProtocolChoice,
    /// What is done with a client that speaks something else.
    pub on_unknown: OnUnknown,
    /// How many clients may be connected at a time.
    pub max_connections: Option<NonZeroUsize>,
    /// From accepting a client to its saying who it is.
    pub handshake_timeout: Duration,
    /// For reaching the broker.
    pub connect_timeout: Duration,
    /// How long peers have to leave after their connection was ended.
    pub linger: Duration,
    /// Where counts go.
    pub metrics: Arc<Metrics>,
    /// How far the end of the program has come.
    pub lifecycle: Arc<Lifecycle>,
    /// Clients that are connected, and all that ever were.
    pub census: Census,
}

impl Shared {
    /// Awaits what a client says before a relay begins, unless its time or the program's is up.
    async fn in_time<T>(
        &self,
        deadline: Instant,
        said: impl Future<Output = T>,
    ) -> Result<T, Ending> {
        tokio::select! {
            biased;
            said = timeout_at(deadline, said) => {
                said.map_err(|_| Ending::by(Side::Client, Reason::HandshakeTimeout))
            }
            () = self.lifecycle.goodbye.cancelled() => Err(Ending::ours(Reason::Drain)),
        }
    }
}

/// How many clients there are and were.
#[derive(Debug, Default)]
pub struct Census {
    present: AtomicUsize,
    accepted: AtomicUsize,
}

/// Serves one client to its end, in a task of its own on this thread, which a panic ends alone.
pub fn serve(shared: &Arc<Shared>, route: &Arc<Route>, client: TcpStream, peer: SocketAddr) {
    let connection = 1 + shared.census.accepted.fetch_add(1, Relaxed) as u64;
    let tally = Tally::new(&shared.metrics, connection, peer);
    let place = Place::take(shared);
    if place.is_over(shared.max_connections) {
        tally.close(Ending::ours(Reason::TooManyConnections), None);
        return;
    }
    if let Err(error) = socket::tune(&client) {
        // The client has left already; reading from it will tell.
        debug!(connection, %error, "socket options");
    }
    let (shared, route) = (Arc::clone(shared), Arc::clone(route));
    let lifecycle = Arc::clone(&shared.lifecycle);
    lifecycle.connections.spawn(async move {
        let _place = place;
        contain(pin!(admit(&shared, &route, client, tally))).await;
    });
}

/// Lets a client in, and relays for it once it has said all that stands before its protocol.
async fn admit(shared: &Shared, route: &Route, client: TcpStream, tally: Box<Tally>) {
    let handshake = Instant::now() + shared.handshake_timeout;
    // What is said here is said once: its state is not kept for as long as the client stays.
    let let_in = Box::pin(let_in(shared, client, tally, handshake));
    let Some((guest, mut tally)) = let_in.await else {
        return;
    };
    let origin = guest.origin;
    tally.comes_from(origin.peer);
    let to_client = window(socket::segment_len(&guest.stream));
    let dial = || dial(shared, route, origin, to_client);
    let opening = Opening {
        settings: &shared.settings,
        peer: origin.peer.ip(),
        server_name: guest.server_name.as_deref(),
        subject: guest.subject.as_deref(),
    };
    relay(shared, guest.stream, dial, tally, &opening, handshake).await;
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
        Ok(Err(unwelcome)) => turn_away(shared, unwelcome, tally).await,
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

/// A broker's connection, and how much to hold at once towards each side.
struct Dialled<B> {
    broker: B,
    /// Keeps the connection among our own.
    entry: Option<Entry>,
    to_broker: usize,
    to_client: usize,
}

/// Connects to the broker.
async fn dial(
    shared: &Shared,
    route: &Route,
    origin: Origin,
    to_client: usize,
) -> Result<Dialled<Stream>, ConnectError> {
    let connected = upstream::connect(route, origin, shared.connect_timeout).await?;
    let broker = connected.stream;
    if let Err(error) = socket::tune(broker.socket()) {
        debug!(%error, "socket options");
    }
    let to_broker = window(socket::segment_len(&broker));
    Ok(Dialled {
        broker,
        entry: connected.entry,
        to_broker,
        to_client,
    })
}

/// Relays between a client and the broker that `dial` leads to.
async fn relay<C, B, D>(
    shared: &Shared,
    client: C,
    dial: impl Fn() -> D,
    tally: Box<Tally>,
    opening: &Opening<'_>,
    handshake: Instant,
) where
    C: Duplex,
    B: Duplex,
    D: Future<Output = Result<Dialled<B>, ConnectError>>,
{
    let (connection, peer) = (tally.connection(), tally.peer());
    // It happens once, like what stands before it.
    let begin = Box::pin(begin(shared, client, tally, opening, handshake));
    if let Some(pump) = begin.await {
        carry(shared, pump, dial, connection, peer).await;
    }
}

/// Carries octets to the broker that `dial` leads to and back, until the connection is over.
async fn carry<C, B, D>(
    shared: &Shared,
    mut pump: Box<Pump<C, B>>,
    dial: impl Fn() -> D,
    connection: u64,
    peer: SocketAddr,
) where
    C: Duplex,
    B: Duplex,
    D: Future<Output = Result<Dialled<B>, ConnectError>>,
{
    // Behind the pump, so that it goes before the socket.
    let mut entry = None;
    let mut is_unreachable = false;
    let outcome = loop {
        let dialled = match pump.run().await {
            Event::Over(outcome) => break outcome,
            // It was looked for once for this client, who has been told.
            Event::NeedsBroker if is_unreachable => break Outcome::Cut,
            Event::NeedsBroker => {
                let before = Instant::now();
                let dialled = Box::pin(dial()).await;
                pump.has_waited(before.elapsed());
                dialled
            }
            Event::Spurned(fault) => Err(ConnectError::Tls(fault.into())),
        };
        shared.metrics.upstream_up(dialled.is_ok());
        is_unreachable = dialled.is_err();
        match dialled {
            Ok(mut dialled) => {
                entry = dialled.entry.take();
                pump.attach(dialled);
            }
            Err(error) => {
                shared.metrics.upstream_error(error.reason());
                warn!(connection, %peer, reason = error.reason(), %error, "no broker");
                pump.broker_is_unreachable();
            }
        }
    };
    drop(entry);
    pump.close(outcome);
}

/// Finds out what a client speaks; `None` if that is nothing that is spoken here, or it left.
async fn begin<C, B>(
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
                    turn_away(shared, Unwelcome::UntrustedHeader, tally).await;
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

/// A client's place among those that are connected; given back when it is dropped.
struct Place {
    shared: Arc<Shared>,
    /// Clients that were there when it came.
    before: usize,
}

impl Place {
    fn take(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            before: shared.census.present.fetch_add(1, Relaxed),
        }
    }

    fn is_over(&self, most: Option<NonZeroUsize>) -> bool {
        most.is_some_and(|most| self.before >= most.get())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.census.present.fetch_sub(1, Relaxed);
    }
}
