//! A relay between pipes in memory, under a clock that is moved by hand.

mod ends;
mod languages;
mod panics;
mod relay;
mod splice;
mod stalls;
mod tls;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::relay::relay;
use super::buffers::LARGE;
use super::lane::Lane;
use super::pump::Terms;
use super::*;
use crate::gate::Gate;
use crate::policy::{ByteSize, Limit, Mode, OnOversize, Policy};
use crate::protocols::{Opening, mqtt};

/// The smallest CONNECT of MQTT 3.1.1 and 5.0, and what a broker says to them.
const CONNECT_V311: &[u8] = b"\x10\x0C\0\x04MQTT\x04\x02\0\0\0\0";
const CONNECT_V5: &[u8] = b"\x10\x0D\0\x04MQTT\x05\x02\0\0\0\0\0";
const CONNACK_V311: &[u8] = &[0x20, 2, 0, 0];
const CONNACK_V5: &[u8] = &[0x20, 3, 0, 0, 0];
/// A PUBLISH of QoS 0 to "t"; the 0 is payload, or no properties in 5.0.
const SMALL: &[u8] = b"\x30\x07\0\x01t\0abc";
/// The head of a PUBLISH of 1,000 octets, QoS 1, identifier 9; its payload follows.
const LARGE_HEAD: &[u8] = b"\x32\xE5\x07\0\x01t\0\x09\0";
const LARGE_LEN: usize = 1_000;

/// What is read when nothing is.
const NOTHING: [u8; 0] = [];

const LINGER: Duration = Duration::from_secs(5);
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A relay, the client's end of it, and the broker's once it has been connected to.
struct Bench {
    client: DuplexStream,
    broker: tokio::sync::mpsc::UnboundedReceiver<DuplexStream>,
    relay: JoinHandle<()>,
    shared: Arc<Shared>,
}

impl Duplex for DuplexStream {}

impl Duplex for crate::transport::Tls<DuplexStream> {}

/// How a bench differs from the usual one.
#[derive(Clone, Copy)]
struct Setting {
    on_oversize: OnOversize,
    on_unknown: OnUnknown,
    /// Octets that a pipe holds before its writer has to wait.
    pipe: usize,
    is_broker_up: bool,
    /// How long it takes to connect to the broker.
    dial_takes: Duration,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            on_oversize: OnOversize::Reject,
            on_unknown: OnUnknown::Close,
            pipe: 64 * 1024,
            is_broker_up: true,
            dial_takes: Duration::ZERO,
        }
    }
}

impl Setting {
    /// What the relay of this bench shares with all others.
    fn shared(self) -> Arc<Shared> {
        let policy = Policy::new(
            Limit::new(ByteSize(500), "--max-message-size"),
            Limit::new(ByteSize(0), "--max-receive-size"),
            self.on_oversize,
            Mode::Enforce,
        );
        let other = [Arc::from("other")];
        Arc::new(Shared {
            settings: Arc::new(Settings {
                max_control_size: ByteSize(1_024),
                mqtt: mqtt::Settings::default(),
                ..Settings::new(policy)
            }),
            door: Door::default(),
            protocol: ProtocolChoice::Auto,
            on_unknown: self.on_unknown,
            max_connections: NonZeroUsize::new(1),
            handshake_timeout: HANDSHAKE,
            connect_timeout: Duration::from_secs(5),
            linger: LINGER,
            metrics: Arc::new(
                Metrics::new(
                    &["mqtt", "amqp10", "amqp091"],
                    &other,
                    &other,
                    &Arc::new(crate::gate::HoldBudget::new(0)),
                )
                .unwrap(),
            ),
            lifecycle: Arc::new(Lifecycle::new()),
            census: Census::default(),
        })
    }

    fn start(self) -> Bench {
        let shared = self.shared();
        let (client, near_client) = duplex(self.pipe);
        let (brokers, broker) = tokio::sync::mpsc::unbounded_channel();
        let relay = tokio::spawn({
            let shared = Arc::clone(&shared);
            async move {
                let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
                let dial = || async {
                    tokio::time::sleep(self.dial_takes).await;
                    if !self.is_broker_up {
                        let error = io::Error::from(io::ErrorKind::ConnectionRefused);
                        return Err(ConnectError::Refused(error));
                    }
                    let (broker, near_broker) = duplex(self.pipe);
                    brokers.send(broker).expect("the bench is there");
                    Ok(Dialled {
                        broker: near_broker,
                        entry: None,
                    })
                };
                let tally = Tally::new(&shared.metrics, 1, peer);
                let opening = Opening {
                    settings: &shared.settings,
                    peer: peer.ip(),
                    server_name: None,
                    subject: None,
                };
                let handshake = Instant::now() + HANDSHAKE;
                relay(&shared, near_client, dial, tally, &opening, handshake).await;
            }
        });
        Bench {
            client,
            broker,
            relay,
            shared,
        }
    }

    /// A relay whose client and broker have greeted each other.
    async fn connected(self, connect: &[u8], connack: &[u8]) -> (Bench, DuplexStream) {
        let mut bench = self.start();
        bench.client.write_all(connect).await.unwrap();
        let mut broker = bench.broker.recv().await.unwrap();
        expect(&mut broker, connect).await;
        broker.write_all(connack).await.unwrap();
        expect(&mut bench.client, connack).await;
        (bench, broker)
    }
}

impl Bench {
    /// Waits for the relay to end and says how long that took.
    async fn ended(self) -> Duration {
        let before = Instant::now();
        self.relay.await.expect("the relay does not panic");
        before.elapsed()
    }

    /// Whether the metrics count one connection of MQTT that ended so.
    fn has_closed(&self, side: &str, reason: &str) -> bool {
        has_closed(&self.shared, "mqtt", side, reason)
    }
}

/// Whether the metrics count one connection of this protocol that ended so.
fn has_closed(shared: &Shared, protocol: &str, side: &str, reason: &str) -> bool {
    shared.metrics.render().contains(&format!(
        "sizegate_connections_closed_total{{protocol=\"{protocol}\",reason=\"{reason}\",\
         side=\"{side}\"}} 1\n"
    ))
}

async fn expect(from: &mut DuplexStream, octets: &[u8]) {
    let mut read = vec![0; octets.len()];
    from.read_exact(&mut read).await.unwrap();
    assert_eq!(read, octets);
}

/// Reads until the other end has no more to say.
async fn rest(from: &mut DuplexStream) -> Vec<u8> {
    let mut octets = Vec::new();
    from.read_to_end(&mut octets).await.unwrap();
    octets
}

/// Writes as much as the pipe takes without anybody reading, and says how much that was.
async fn fill(to: &mut (impl AsyncWrite + Unpin), piece: &[u8], most: usize) -> usize {
    let mut written = 0;
    while written < most {
        // The relay runs whenever this task gives way.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        let piece = &piece[written % piece.len()..];
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match Pin::new(&mut *to).poll_write(&mut cx, piece) {
            Poll::Ready(len) => written += len.unwrap(),
            Poll::Pending => break,
        }
    }
    written
}

fn large() -> Vec<u8> {
    let mut message = LARGE_HEAD.to_vec();
    message.resize(LARGE_LEN, b'p');
    message
}

#[tokio::test(start_paused = true)]
async fn a_broker_is_not_connected_to_before_the_client_has_said_who_it_is() {
    let mut bench = Setting::default().start();
    bench.client.write_all(&CONNECT_V311[..13]).await.unwrap();
    tokio::task::yield_now().await;
    assert!(bench.broker.try_recv().is_err());
    bench.client.write_all(&CONNECT_V311[13..]).await.unwrap();
    let mut broker = bench.broker.recv().await.unwrap();
    expect(&mut broker, CONNECT_V311).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_broker_holds_its_client_back() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    let most = 64 << 20;
    let written = fill(&mut bench.client, SMALL, most).await;
    // Two pipes and one buffer are between the client and a broker that does not read.
    assert!(
        written <= 2 * 64 * 1024 + LARGE,
        "{written} octets were taken"
    );
    let mut read = vec![0; written];
    broker.read_exact(&mut read).await.unwrap();
    assert!(
        read.chunks(SMALL.len())
            .all(|piece| SMALL.starts_with(piece))
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answers_is_not_read_from() {
    let (mut bench, _broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    let written = fill(&mut bench.client, &large(), 1 << 30).await;
    // Each KiB that is refused is answered with some 80 octets, which fill the pipe to the client.
    assert!(written < 4 << 20, "{written} octets were taken");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_say_who_it_is_is_closed_in_time() {
    for said in [&b""[..], &CONNECT_V311[..1], &CONNECT_V311[..13]] {
        let mut bench = Setting::default().start();
        bench.client.write_all(said).await.unwrap();
        let client = std::mem::replace(&mut bench.client, duplex(1).0);
        assert_eq!(bench.ended().await, HANDSHAKE, "after {said:02X?}");
        drop(client);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_said_who_it_is_may_be_silent_for_ever() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    tokio::time::sleep(HANDSHAKE * 1_000).await;
    broker.write_all(SMALL).await.unwrap();
    expect(&mut bench.client, SMALL).await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_protocol_is_closed_and_reaches_no_broker() {
    let mut bench = Setting::default().start();
    bench
        .client
        .write_all(&[0x16, 0x03, 0x01, 0x02])
        .await
        .unwrap();
    assert_eq!(rest(&mut bench.client).await, NOTHING);
    assert!(bench.broker.try_recv().is_err());
    let metrics = bench.shared.metrics.render();
    assert!(
        metrics.contains("reason=\"unknown-protocol\",side=\"client\"} 1\n"),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_protocol_passes_where_that_is_wanted() {
    let setting = Setting {
        on_unknown: OnUnknown::Forward,
        ..Setting::default()
    };
    let mut bench = setting.start();
    bench
        .client
        .write_all(b"GET / HTTP/1.0\r\n\r\n")
        .await
        .unwrap();
    let mut broker = bench.broker.recv().await.unwrap();
    expect(&mut broker, b"GET / HTTP/1.0\r\n\r\n").await;
    broker.write_all(b"HTTP/1.0 200 OK\r\n\r\n").await.unwrap();
    drop(broker);
    assert_eq!(rest(&mut bench.client).await, b"HTTP/1.0 200 OK\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn a_proxy_header_passes_nowhere_not_even_in_pieces() {
    for header in [&b"PROXY "[..], b"\r\n\r\n\0\r\nQUIT\n"] {
        for on_unknown in [OnUnknown::Close, OnUnknown::Forward] {
            let setting = Setting {
                on_unknown,
                ..Setting::default()
            };
            let mut bench = setting.start();
            for octet in header {
                bench.client.write_all(&[*octet]).await.unwrap();
                tokio::task::yield_now().await;
            }
            assert_eq!(rest(&mut bench.client).await, NOTHING);
            assert!(bench.broker.try_recv().is_err());
            let metrics = bench.shared.metrics.render();
            assert!(metrics.contains("reason=\"proxy-protocol\",side=\"client\"} 1\n"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_begins_like_a_proxy_header_passes_once_that_is_known() {
    let setting = Setting {
        on_unknown: OnUnknown::Forward,
        ..Setting::default()
    };
    let mut bench = setting.start();
    bench.client.write_all(b"PROX").await.unwrap();
    tokio::task::yield_now().await;
    assert!(bench.broker.try_recv().is_err());
    bench.client.write_all(b"IMITY").await.unwrap();
    let mut broker = bench.broker.recv().await.unwrap();
    expect(&mut broker, b"PROXIMITY").await;
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_when_there_is_no_broker() {
    let setting = Setting {
        is_broker_up: false,
        ..Setting::default()
    };
    for (connect, word) in [
        (CONNECT_V311, &[0x20, 2, 0, 3][..]),
        (CONNECT_V5, &[0x20, 3, 0, 0x88, 0]),
    ] {
        let mut bench = setting.start();
        bench.client.write_all(connect).await.unwrap();
        assert_eq!(rest(&mut bench.client).await, word);
        bench.client.shutdown().await.unwrap();
        let metrics = Arc::clone(&bench.shared.metrics);
        bench.ended().await;
        let metrics = metrics.render();
        assert!(metrics.contains("sizegate_upstream_up 0\n"), "{metrics}");
        assert!(metrics.contains("reason=\"upstream-unreachable\",side=\"broker\"} 1\n"));
    }
}
