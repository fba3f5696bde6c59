//! A relay between pipes in memory, under a clock that is moved by hand.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::buffers::LARGE;
use super::*;
use crate::policy::{ByteSize, Limit, Mode, OnOversize, Policy};
use crate::protocols::mqtt;

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

/// How a bench differs from the usual one.
#[derive(Clone, Copy)]
struct Setting {
    on_oversize: OnOversize,
    on_unknown: OnUnknown,
    /// Octets that a pipe holds before its writer has to wait.
    pipe: usize,
    is_broker_up: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            on_oversize: OnOversize::Reject,
            on_unknown: OnUnknown::Close,
            pipe: 64 * 1024,
            is_broker_up: true,
        }
    }
}

impl Setting {
    fn start(self) -> Bench {
        let policy = Policy::new(
            Limit::new(ByteSize(500), "--max-message-size"),
            Limit::new(ByteSize(0), "--max-receive-size"),
            self.on_oversize,
            Mode::Enforce,
        );
        let other = [Arc::from("other")];
        let shared = Arc::new(Shared {
            settings: Arc::new(Settings {
                policy: Arc::new(policy),
                max_control_size: ByteSize(1_024),
                mqtt: mqtt::Settings::default(),
            }),
            protocol: ProtocolChoice::Auto,
            on_unknown: self.on_unknown,
            max_connections: NonZeroUsize::new(1),
            handshake_timeout: HANDSHAKE,
            connect_timeout: Duration::from_secs(5),
            linger: LINGER,
            metrics: Arc::new(Metrics::new(&["mqtt"], &other, &other).unwrap()),
            lifecycle: Arc::new(Lifecycle::new()),
            census: Census::default(),
        });
        let (client, near_client) = duplex(self.pipe);
        let (brokers, broker) = tokio::sync::mpsc::unbounded_channel();
        let relay = tokio::spawn({
            let shared = Arc::clone(&shared);
            async move {
                let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
                let dial = || async {
                    if !self.is_broker_up {
                        let error = io::Error::from(io::ErrorKind::ConnectionRefused);
                        return Err(ConnectError::Refused(error));
                    }
                    let (broker, near_broker) = duplex(self.pipe);
                    brokers.send(broker).expect("the bench is there");
                    Ok(Dialled {
                        broker: near_broker,
                        to_broker: LARGE,
                        to_client: LARGE,
                    })
                };
                let tally = Tally::new(&shared.metrics, 1, peer);
                relay(&shared, near_client, dial, tally, peer).await;
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

    /// Whether the metrics count one connection that ended so.
    fn has_closed(&self, side: &str, reason: &str) -> bool {
        self.shared.metrics.render().contains(&format!(
            "sizegate_connections_closed_total{{protocol=\"mqtt\",reason=\"{reason}\",\
             side=\"{side}\"}} 1\n"
        ))
    }
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
async fn fill(to: &mut DuplexStream, piece: &[u8], most: usize) -> usize {
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
async fn a_message_over_the_limit_is_drained_and_answered_and_the_next_one_passes() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    bench.client.write_all(&large()).await.unwrap();
    bench.client.write_all(SMALL).await.unwrap();
    expect(&mut bench.client, &[0x40, 2, 0, 9]).await;
    expect(&mut broker, SMALL).await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_clients_stream_passes_and_the_broker_may_still_answer() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    bench.client.write_all(SMALL).await.unwrap();
    bench.client.shutdown().await.unwrap();
    assert_eq!(rest(&mut broker).await, SMALL);
    tokio::time::advance(LINGER * 100).await;
    broker.write_all(SMALL).await.unwrap();
    expect(&mut bench.client, SMALL).await;
    drop(broker);
    assert_eq!(rest(&mut bench.client).await, NOTHING);
    bench.ended().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_brokers_stream_passes_and_gives_the_client_the_linger_time() {
    let (mut bench, mut broker) = Setting::default()
        .connected(CONNECT_V311, CONNACK_V311)
        .await;
    broker.write_all(SMALL).await.unwrap();
    broker.shutdown().await.unwrap();
    assert_eq!(rest(&mut bench.client).await, SMALL);
    bench.client.write_all(SMALL).await.unwrap();
    expect(&mut broker, SMALL).await;
    let client = std::mem::replace(&mut bench.client, duplex(1).0);
    assert_eq!(bench.ended().await, LINGER);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_goodbye_reaches_a_client_that_writes_before_it_reads() {
    let setting = Setting {
        on_oversize: OnOversize::Close,
        ..Setting::default()
    };
    let (mut bench, mut broker) = setting.connected(CONNECT_V5, CONNACK_V5).await;
    let piece = large();
    for _ in 0..5_000 {
        bench.client.write_all(&piece).await.unwrap();
    }
    bench.client.shutdown().await.unwrap();
    let said = rest(&mut bench.client).await;
    assert_eq!((said[0], said[2]), (0xE0, 0x95));
    assert_eq!(
        rest(&mut broker).await,
        NOTHING,
        "no DISCONNECT: the Will is to fire"
    );
    drop(broker);
    assert!(bench.ended().await < LINGER, "nothing is left to wait for");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stays_after_its_goodbye_is_cut_when_the_linger_time_is_over() {
    let setting = Setting {
        on_oversize: OnOversize::Close,
        ..Setting::default()
    };
    let (mut bench, broker) = setting.connected(CONNECT_V5, CONNACK_V5).await;
    bench.client.write_all(&large()).await.unwrap();
    drop(broker);
    let shared = Arc::clone(&bench.shared);
    let client = std::mem::replace(&mut bench.client, duplex(1).0);
    let Bench { relay, .. } = bench;
    let before = Instant::now();
    relay.await.unwrap();
    assert_eq!(before.elapsed(), LINGER);
    let metrics = shared.metrics.render();
    assert!(
        metrics.contains("reason=\"oversize\",side=\"client\"} 1\n"),
        "{metrics}"
    );
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_on_sending_after_its_goodbye_is_cut_after_64_mib() {
    let setting = Setting {
        on_oversize: OnOversize::Close,
        pipe: 1 << 20,
        ..Setting::default()
    };
    let (mut bench, _broker) = setting.connected(CONNECT_V5, CONNACK_V5).await;
    bench.client.write_all(&large()).await.unwrap();
    let piece = vec![0; 1 << 20];
    let mut sent = 0;
    while bench.client.write_all(&piece).await.is_ok() {
        sent += 1;
        assert!(sent < 80, "still reading after {sent} MiB");
    }
    assert!(sent >= 64, "cut after {sent} MiB");
    assert_eq!(bench.ended().await, Duration::ZERO);
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

#[tokio::test(start_paused = true)]
async fn a_drain_says_goodbye_between_packets_and_is_over_when_the_client_leaves() {
    let (mut bench, mut broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    let (first, second) = SMALL.split_at(7);
    broker.write_all(first).await.unwrap();
    expect(&mut bench.client, first).await;
    bench.shared.lifecycle.say_goodbye();
    tokio::task::yield_now().await;
    broker.write_all(second).await.unwrap();
    assert_eq!(
        rest(&mut bench.client).await,
        [second, &[0xE0, 1, 0x8B]].concat()
    );
    drop(bench.client);
    drop(broker);
    bench.relay.await.unwrap();
    assert!(!bench.shared.lifecycle.was_cut());
}

#[tokio::test(start_paused = true)]
async fn a_drain_tells_of_a_client_that_did_not_leave() {
    let (bench, broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    drop(broker);
    bench.shared.lifecycle.say_goodbye();
    bench.relay.await.unwrap();
    assert!(bench.shared.lifecycle.was_cut());
}

#[tokio::test(start_paused = true)]
async fn a_drain_closes_clients_that_have_not_said_who_they_are() {
    for said in [&b""[..], &CONNECT_V311[..1], &CONNECT_V311[..13]] {
        let mut bench = Setting::default().start();
        bench.client.write_all(said).await.unwrap();
        tokio::task::yield_now().await;
        bench.shared.lifecycle.say_goodbye();
        assert_eq!(rest(&mut bench.client).await, NOTHING);
        assert_eq!(bench.ended().await, Duration::ZERO, "after {said:02X?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_cut_ends_at_once() {
    let (mut bench, _broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    bench.shared.lifecycle.cut_all();
    assert_eq!(rest(&mut bench.client).await, NOTHING);
    assert!(bench.has_closed("sizegate", "drain"));
    assert_eq!(bench.ended().await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_last_words_of_a_broker_that_breaks_off_reach_the_client() {
    let (mut bench, mut broker) = Setting::default().connected(CONNECT_V5, CONNACK_V5).await;
    broker.write_all(&[0xE0, 1, 0x8D]).await.unwrap();
    drop(broker);
    // What the client sends now has nowhere to go.
    bench.client.write_all(SMALL).await.unwrap();
    assert_eq!(rest(&mut bench.client).await, [0xE0, 1, 0x8D]);
}
