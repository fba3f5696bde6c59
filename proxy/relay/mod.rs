//! One client and its broker connection, from accept to close.
//!
//! The relay owns sockets, buffers, back-pressure, half close and the time that peers are given.
//! It asks a gate what to do with octets and knows no frame. The broker is connected to when the
//! gate lets the first octet through, so what is refused before never reaches it.

mod arrival;
mod buffers;
mod detect;
mod handshake;
mod lane;
mod pipes;
mod pump;
mod tally;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use self::arrival::{Arrived, arrive};
use self::pump::{Event, Outcome, Pump};
use self::tally::Tally;
use crate::config::{OnUnknown, ProtocolChoice};
use crate::gate::{Ending, Reason, Side};
use crate::lifecycle::Lifecycle;
use crate::listen::Door;
use crate::protocols::Settings;
use crate::telemetry::{Metrics, contain};
use crate::transport::{Duplex, Origin, Stream, tune};
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
    // What is said here is said once: its state is not kept for as long as the client stays.
    let arrive = Box::pin(arrive(Arc::clone(shared), client, tally));
    let route = Arc::clone(route);
    shared.lifecycle.connections.spawn(async move {
        contain(pin!(admit(&place.shared, &route, arrive))).await;
        drop(place);
    });
}

/// Relays for a client once it has said all that stands before its protocol.
async fn admit<F>(shared: &Shared, route: &Route, arrive: Pin<Box<F>>)
where
    F: Future<Output = Option<Arrived>>,
{
    if let Some(Arrived { pump, origin }) = arrive.await {
        carry(shared, pump, move || dial(shared, route, *origin)).await;
    }
}

/// A broker's connection.
struct Dialled<B> {
    broker: B,
    /// Keeps the connection among our own.
    entry: Option<Box<Entry>>,
}

/// Connects to the broker.
async fn dial(
    shared: &Shared,
    route: &Route,
    origin: Origin,
) -> Result<Dialled<Stream>, ConnectError> {
    let connected = upstream::connect(route, origin, shared.connect_timeout).await?;
    let broker = connected.stream;
    if let Err(error) = tune(broker.socket()) {
        debug!(%error, "socket options");
    }
    Ok(Dialled {
        broker,
        entry: connected.entry.map(Box::new),
    })
}

/// Carries octets to the broker that `dial` leads to and back, until the connection is over.
///
/// A broker is looked for once.
async fn carry<C, B, D>(shared: &Shared, mut pump: Box<Pump<C, B>>, dial: impl FnOnce() -> D)
where
    C: Duplex,
    B: Duplex,
    D: Future<Output = Result<Dialled<B>, ConnectError>>,
{
    // Behind the pump, so that it goes before the socket.
    let mut entry = None;
    let mut dial = Some(dial);
    let outcome = loop {
        let dialled = match pump.run().await {
            Event::Over(outcome) => break outcome,
            Event::NeedsBroker => {
                let Some(dial) = dial.take() else {
                    // The client has been told that there is none.
                    break Outcome::Cut;
                };
                pump.awaits_broker();
                Box::pin(dial()).await
            }
            Event::Spurned(fault) => Err(ConnectError::Tls(fault.into())),
        };
        shared.metrics.upstream_up(dialled.is_ok());
        match dialled {
            Ok(dialled) => {
                entry = dialled.entry;
                pump.attach(dialled.broker);
            }
            Err(error) => {
                shared.metrics.upstream_error(error.reason());
                let (connection, peer) = pump.client();
                warn!(connection, %peer, reason = error.reason(), %error, "no broker");
                pump.broker_is_unreachable();
            }
        }
    };
    drop(entry);
    pump.close(outcome);
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
