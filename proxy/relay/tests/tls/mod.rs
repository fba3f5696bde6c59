//! A relay between TLS peers: nothing gets stuck, nothing grows, and an end is an end.

mod ends;

use std::sync::LazyLock;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::*;
use crate::transport::Tls;

/// A client's end of a TLS connection.
type ClientEnd = client::TlsStream<DuplexStream>;
/// A broker's end of one.
type BrokerEnd = server::TlsStream<DuplexStream>;

/// A relay that speaks TLS on both sides.
struct TlsBench {
    client: ClientEnd,
    /// The far ends of connections to the broker, before their handshake.
    brokers: UnboundedReceiver<DuplexStream>,
    relay: JoinHandle<()>,
    shared: Arc<Shared>,
}

impl TlsBench {
    /// A relay with one client; the broker is the test's to accept.
    async fn start(setting: Setting) -> Self {
        let shared = setting.shared();
        let (client, near_client) = duplex(setting.pipe);
        let (sender, brokers) = unbounded_channel();
        let relay = tokio::spawn(serve(setting, Arc::clone(&shared), near_client, sender));
        Self {
            client: connect(client).await,
            brokers,
            relay,
            shared,
        }
    }

    /// The same, and client and broker have greeted each other.
    async fn connected(setting: Setting) -> (Self, BrokerEnd) {
        let mut bench = Self::start(setting).await;
        say(&mut bench.client, CONNECT_V5).await;
        let mut broker = bench.accept().await;
        hear(&mut broker, CONNECT_V5).await;
        say(&mut broker, CONNACK_V5).await;
        hear(&mut bench.client, CONNACK_V5).await;
        (bench, broker)
    }

    /// The broker's end of the next connection.
    async fn accept(&mut self) -> BrokerEnd {
        let broker = self.brokers.recv().await.unwrap();
        let acceptor = TlsAcceptor::from(Arc::clone(&CONFIGS.server));
        acceptor.accept(broker).await.unwrap()
    }

    fn counts(&self, text: &str) -> bool {
        self.shared.metrics.render().contains(text)
    }
}

/// Relays for one client that speaks TLS.
async fn serve(
    setting: Setting,
    shared: Arc<Shared>,
    client: DuplexStream,
    brokers: tokio::sync::mpsc::UnboundedSender<DuplexStream>,
) {
    let acceptor = TlsAcceptor::from(Arc::clone(&CONFIGS.server));
    let client = Tls::server(acceptor.accept(client).await.unwrap());
    let dial = || async {
        let (broker, near_broker) = duplex(setting.pipe);
        brokers.send(broker).expect("the bench is there");
        Ok(Dialled {
            entry: None,
            broker: Tls::client(connect(near_broker).await),
        })
    };
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let tally = Tally::new(&shared.metrics, 1, peer);
    let opening = Opening {
        settings: &shared.settings,
        peer: peer.ip(),
        server_name: None,
        subject: None,
    };
    let handshake = Instant::now() + HANDSHAKE;
    relay(&shared, client, dial, tally, &opening, handshake).await;
}

async fn connect(stream: DuplexStream) -> ClientEnd {
    let connector = TlsConnector::from(Arc::clone(&CONFIGS.client));
    let name = ServerName::try_from("localhost").unwrap();
    connector.connect(name, stream).await.unwrap()
}

/// Writes and flushes, or fails when an hour has passed.
async fn say(to: &mut (impl AsyncWrite + Unpin), octets: &[u8]) {
    let said = async {
        to.write_all(octets).await.unwrap();
        to.flush().await.unwrap();
    };
    timeout(HOUR, said).await.expect("octets got stuck");
}

/// Reads exactly these octets, or fails when an hour has passed.
async fn hear(from: &mut (impl AsyncRead + Unpin), octets: &[u8]) {
    let mut read = vec![0; octets.len()];
    let heard = timeout(HOUR, from.read_exact(&mut read));
    heard.await.expect("octets got stuck").unwrap();
    assert!(read == octets, "other octets than were sent");
}

/// Reads until the peer says that nothing follows.
async fn to_the_end(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let read = timeout(HOUR, from.read_to_end(&mut octets));
    read.await.expect("the end got stuck")?;
    Ok(octets)
}

/// Numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// Messages of all sizes, of which some are over the limit, and what of them passes.
fn messages(dice: &mut Dice, count: usize) -> (Vec<u8>, Vec<u8>, usize) {
    let (mut sent, mut passed, mut refused) = (Vec::new(), Vec::new(), 0);
    for _ in 0..count {
        match dice.roll(4) {
            0 => {
                sent.extend(large());
                refused += 1;
            }
            1 => {
                let message = [&[0x30, 0xC8, 0x03, 0, 1, b't', 0][..], &[b'm'; 452]].concat();
                sent.extend_from_slice(&message);
                passed.extend(message);
            }
            _ => {
                sent.extend_from_slice(SMALL);
                passed.extend_from_slice(SMALL);
            }
        }
    }
    (sent, passed, refused)
}

/// Writes in pieces of any size, with and without flushes between them, and with pauses.
async fn write_cut(to: &mut (impl AsyncWrite + Unpin), octets: &[u8], dice: &mut Dice) {
    let mut rest = octets;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(1 + dice.roll(3_000)));
        to.write_all(piece).await.unwrap();
        rest = after;
        if dice.roll(3) == 0 {
            to.flush().await.unwrap();
            sleep(Duration::from_millis(dice.roll(50) as u64)).await;
        }
    }
    to.flush().await.unwrap();
}

/// Reads so many octets in pieces of any size, with pauses.
async fn read_cut(from: &mut (impl AsyncRead + Unpin), len: usize, dice: &mut Dice) -> Vec<u8> {
    let mut octets = Vec::new();
    while octets.len() < len {
        let mut piece = vec![0; 1 + dice.roll(2_000)];
        let most = piece.len().min(len - octets.len());
        let read = from.read(&mut piece[..most]).await.unwrap();
        assert_ne!(read, 0, "the end after {} of {len} octets", octets.len());
        octets.extend_from_slice(&piece[..read]);
        if dice.roll(3) == 0 {
            sleep(Duration::from_millis(dice.roll(50) as u64)).await;
        }
    }
    octets
}

#[tokio::test(start_paused = true)]
async fn all_octets_arrive_however_they_are_cut_and_however_slowly_they_are_read() {
    for seed in 0..20 {
        let mut dice = Dice(seed);
        let setting = Setting {
            pipe: 1 + dice.roll(20_000),
            ..Setting::default()
        };
        let (bench, broker) = TlsBench::connected(setting).await;
        let (sent, passed, refused) = messages(&mut dice, 300);
        // Each refusal is answered alike, since all of them are of one message.
        let answer = {
            let (mut bench, _broker) = TlsBench::connected(Setting::default()).await;
            say(&mut bench.client, &large()).await;
            let mut answer = vec![0; 2];
            bench.client.read_exact(&mut answer).await.unwrap();
            answer.resize(2 + usize::from(answer[1]), 0);
            bench.client.read_exact(&mut answer[2..]).await.unwrap();
            answer
        };
        let (mut from_client, mut to_client) = tokio::io::split(bench.client);
        let (mut from_broker, mut to_broker) = tokio::io::split(broker);
        let [mut first, mut second, mut third, mut fourth] =
            [1, 2, 3, 4].map(|it| Dice(seed * 7 + it));
        let played = async {
            tokio::join!(
                write_cut(&mut to_client, &sent, &mut first),
                read_cut(&mut from_broker, passed.len(), &mut second),
                write_cut(&mut to_broker, &passed, &mut third),
                read_cut(
                    &mut from_client,
                    passed.len() + refused * answer.len(),
                    &mut fourth
                ),
            )
        };
        let played = timeout(HOUR, played).await.expect("octets got stuck");
        let ((), at_broker, (), at_client) = played;
        assert!(at_broker == passed, "seed {seed}");
        let answers = at_client
            .windows(answer.len())
            .filter(|window| *window == answer);
        assert_eq!(answers.count(), refused, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_full_pipe_refuses_goes_out_once_there_is_room() {
    let setting = Setting {
        pipe: 16,
        ..Setting::default()
    };
    let (mut bench, mut broker) = TlsBench::connected(setting).await;
    for _ in 0..10 {
        // More than the pipe holds, and nothing else comes that would push it.
        say(&mut bench.client, SMALL).await;
        hear(&mut broker, SMALL).await;
        say(&mut broker, SMALL).await;
        hear(&mut bench.client, SMALL).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_read_holds_its_client_back() {
    let (mut bench, mut broker) = TlsBench::connected(Setting::default()).await;
    let written = fill(&mut bench.client, SMALL, 64 << 20).await;
    // Two pipes, one buffer, and what waits in TLS at the client's end and towards the broker.
    let most = 2 * 64 * 1024 + LARGE + 3 * 64 * 1024;
    assert!(written <= most, "{written} octets were taken");
    // TLS at the client's end keeps some back until it is flushed.
    let read = async {
        // What is behind them is not a whole message yet.
        let mut read = vec![0; written - written % SMALL.len()];
        broker.read_exact(&mut read).await.unwrap();
        assert!(
            read.chunks(SMALL.len())
                .all(|piece| SMALL.starts_with(piece))
        );
    };
    let played = async { tokio::join!(bench.client.flush(), read) };
    let (flushed, ()) = timeout(HOUR, played).await.expect("octets got stuck");
    flushed.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answers_is_not_read_from_in_tls_either() {
    let (mut bench, _broker) = TlsBench::connected(Setting::default()).await;
    let written = fill(&mut bench.client, &large(), 1 << 30).await;
    assert!(written < 8 << 20, "{written} octets were taken");
}

/// Configurations for both ends, with one certificate.
struct Configs {
    server: Arc<ServerConfig>,
    /// Asks each client for a certificate.
    demanding: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

static CONFIGS: LazyLock<Configs> = LazyLock::new(|| {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let chain = vec![own.cert.der().clone()];
    let key = || PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let roots = Arc::new(roots);
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .unwrap();
    let server = || {
        ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
    };
    let mut plain = server()
        .with_no_client_auth()
        .with_single_cert(chain.clone(), key())
        .unwrap();
    // A ticket waits for somebody to read it, which these peers do when a test has them.
    plain.send_tls13_tickets = 0;
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Configs {
        server: Arc::new(plain),
        demanding: Arc::new(
            server()
                .with_client_cert_verifier(verifier)
                .with_single_cert(chain.clone(), key())
                .unwrap(),
        ),
        client: Arc::new(client),
    }
});

/// Longer than anything takes; the clock of these tests goes as fast as they do.
const HOUR: Duration = Duration::from_secs(3_600);
