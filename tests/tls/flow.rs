//! TLS on both sides with peers that are slow to read: nothing grows, nothing gets lost.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::certificates::{AsClient, Certificates, as_server};
use crate::support::mqtt::{Answer, Connect, PUBACK, Publish, Version};
use crate::support::{DEADLINE, Sidecar};

/// A client and its broker, with TLS on both sides of the sidecar between them.
struct Through {
    client: client::TlsStream<TcpStream>,
    broker: server::TlsStream<TcpStream>,
}

/// A sidecar that speaks TLS on both sides, and a broker behind it.
struct Stage {
    certificates: Certificates,
    listener: TcpListener,
    sidecar: Sidecar,
}

impl Stage {
    async fn start(flags: &[&str]) -> Self {
        let certificates = Certificates::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ca = certificates.file("ca.crt");
        let own = certificates.server_flags();
        let mut all: Vec<&str> = own.iter().map(String::as_str).collect();
        all.extend(["--upstream-tls", "--upstream-tls-ca", &ca, "--no-advertise"]);
        all.extend(flags);
        let sidecar = Sidecar::start(listener.local_addr().unwrap(), &all);
        Self {
            certificates,
            listener,
            sidecar,
        }
    }

    /// A client that the broker has accepted.
    async fn connect(&self, id: &str) -> Through {
        let config = AsClient::of(&self.certificates).config();
        let socket = TcpStream::connect(self.sidecar.listen()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let client = TlsConnector::from(config).connect(name, socket);
        let mut client = in_time(client).await.unwrap();
        let connect = Connect::new(Version::V5, id).encode();
        say(&mut client, &connect).await;
        let (socket, _) = in_time(self.listener.accept()).await.unwrap();
        let [cert, key] = ["server.crt", "server.key"].map(|name| self.certificates.file(name));
        let acceptor = TlsAcceptor::from(as_server(&cert, &key, None));
        let mut broker = in_time(acceptor.accept(socket)).await.unwrap();
        hear(&mut broker, &connect, "CONNECT").await;
        say(&mut broker, &Version::V5.connack()).await;
        hear(&mut client, &Version::V5.connack(), "CONNACK").await;
        Through { client, broker }
    }
}

#[tokio::test]
async fn refusals_and_messages_pass_peers_that_read_late_and_memory_does_not_grow() {
    let stage = Stage::start(&["--max-message-size", "20000"]).await;
    let Through { client, broker } = stage.connect("eager").await;
    let before = stage.sidecar.peak_rss_kib();
    let allowed = publish(20_000);
    let refused = publish(30_000);
    // Nobody reads, neither the messages nor their refusals, until the client can't write any more.
    let (mut from_client, mut to_client) = split(client);
    let (mut from_broker, _to_broker) = split(broker);
    let rounds = write_until_stopped(&mut to_client, &[&allowed[..], &refused].concat()).await;
    assert!(rounds.whole > 10, "{rounds:?}");
    let grown = stage.sidecar.peak_rss_kib() - before;
    assert!(grown < SPARE_KIB, "memory has grown by {grown} KiB");
    // Others do not notice.
    let mut other = stage.connect("other").await;
    say(&mut other.client, &allowed).await;
    hear(&mut other.broker, &allowed, "a message of somebody else").await;

    let rest = [&allowed[..], &refused].concat().split_off(rounds.cut);
    let write = say(&mut to_client, &rest);
    let read_messages = async {
        for number in 0..=rounds.whole {
            hear(&mut from_broker, &allowed, &format!("message {number}")).await;
        }
    };
    let read_refusals = async {
        for _ in 0..=rounds.whole {
            let mut packet = vec![0; 2];
            in_time(from_client.read_exact(&mut packet)).await.unwrap();
            packet.resize(2 + usize::from(packet[1]), 0);
            in_time(from_client.read_exact(&mut packet[2..]))
                .await
                .unwrap();
            let answer = Answer::parse(&packet);
            assert_eq!((answer.first, answer.code), (PUBACK, 0x97));
        }
    };
    tokio::join!(write, read_messages, read_refusals);
    let denied = [("verdict", "denied")];
    let count = (rounds.whole + 1) as f64;
    stage
        .sidecar
        .metric_becomes("sizegate_messages_total", &denied, count);
}

#[tokio::test]
async fn a_huge_message_passes_in_constant_memory() {
    let stage = Stage::start(&[]).await;
    let Through {
        mut client,
        mut broker,
    } = stage.connect("huge").await;
    let before = stage.sidecar.peak_rss_kib();
    let message = publish(64 << 20);
    let written = async {
        client.write_all(&message).await.unwrap();
        client.flush().await.unwrap();
    };
    let read = async {
        let mut piece = vec![0; 1 << 20];
        let mut read = 0;
        while read < message.len() {
            let len = broker.read(&mut piece).await.unwrap();
            assert!(
                len > 0 && piece[..len] == message[read..read + len],
                "after {read} octets"
            );
            read += len;
        }
    };
    in_time(async { tokio::join!(written, read) }).await;
    let grown = stage.sidecar.peak_rss_kib() - before;
    assert!(grown < SPARE_KIB, "memory has grown by {grown} KiB");
}

#[tokio::test]
async fn idle_connections_cost_little() {
    let stage = Stage::start(&["--max-message-size", "1Mi"]).await;
    let message = publish(20_000);
    // What the first ones bring about is there for all.
    let mut connections = Vec::new();
    let mut before = 0;
    for count in 0..200 {
        if count == 20 {
            before = stage.sidecar.rss_kib();
        }
        let mut through = stage.connect(&format!("idle-{count}")).await;
        say(&mut through.client, &message).await;
        hear(&mut through.broker, &message, "a message").await;
        say(&mut through.broker, &message).await;
        hear(&mut through.client, &message, "a message").await;
        connections.push(through);
    }
    let grown = stage.sidecar.rss_kib().saturating_sub(before);
    assert!(grown < 180 * 48, "180 idle connections cost {grown} KiB");
}

#[tokio::test]
async fn a_client_that_vanishes_in_the_middle_of_a_record_is_an_end_like_any_other() {
    let stage = Stage::start(&[]).await;
    let Through {
        mut client,
        mut broker,
    } = stage.connect("gone").await;
    // The head of a record and not its end.
    let (socket, _) = client.get_mut();
    socket.write_all(&[0x17, 3, 3, 1, 0, 9, 9]).await.unwrap();
    socket.shutdown().await.unwrap();
    assert_eq!(in_time(broker.read(&mut [0; 9])).await.unwrap(), 0);
    drop((client, broker));
    let closed = [("side", "client"), ("reason", "closed")];
    stage
        .sidecar
        .metric_becomes("sizegate_connections_closed_total", &closed, 1.0);
}

/// A PUBLISH of QoS 1 of so many octets.
fn publish(packet_len: usize) -> Vec<u8> {
    Publish::new(Version::V5, 1, "t")
        .id(7)
        .packet_len(packet_len)
        .encode()
}

/// How much was written before nothing was taken any more.
#[derive(Debug)]
struct Written {
    /// Whole packets.
    whole: usize,
    /// Octets of the one that was cut.
    cut: usize,
}

/// Writes this packet again and again until no octet of it has been taken for a while.
async fn write_until_stopped(
    to: &mut WriteHalf<client::TlsStream<TcpStream>>,
    packet: &[u8],
) -> Written {
    let mut sent = 0;
    while let Ok(written) = timeout(STOPPED, to.write(&packet[sent % packet.len()..])).await {
        sent += written.unwrap();
        assert!(
            sent < MORE_THAN_BUFFERS,
            "{sent} octets were taken from a client that must wait"
        );
    }
    Written {
        whole: sent / packet.len(),
        cut: sent % packet.len(),
    }
}

async fn say(to: &mut (impl AsyncWrite + Unpin), octets: &[u8]) {
    let said = async {
        to.write_all(octets).await.unwrap();
        to.flush().await.unwrap();
    };
    in_time(said).await;
}

async fn hear(from: &mut (impl AsyncRead + Unpin), octets: &[u8], what: &str) {
    let mut read = vec![0; octets.len()];
    in_time(from.read_exact(&mut read)).await.unwrap();
    assert!(read == octets, "{what}: other octets than were sent");
}

async fn in_time<T>(it: impl Future<Output = T>) -> T {
    timeout(DEADLINE, it).await.expect("it got stuck")
}

/// What memory may grow by.
const SPARE_KIB: u64 = 16 * 1024;
/// A silence that means stopped. Too short a one makes the test weaker, never wrong.
const STOPPED: Duration = Duration::from_secs(1);
/// Octets that all buffers on the way cannot hold together.
const MORE_THAN_BUFFERS: usize = 64 << 20;
