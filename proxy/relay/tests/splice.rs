//! A relay between real sockets, where the kernel moves large payloads.

use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;

use super::*;
use crate::relay::pipes::{MOST_LENT, Pipe, lent, moved};
use crate::transport::Stream;

/// A relay, and the far ends of its two connections, which have greeted each other.
struct Sockets {
    client: TcpStream,
    broker: TcpStream,
    relay: JoinHandle<()>,
}

impl Sockets {
    async fn connected() -> Self {
        let (mut client, near_client) = pair().await;
        let (mut broker, near_broker) = pair().await;
        let shared = Setting::default().shared();
        let relay = tokio::spawn(async move {
            let near_broker = std::sync::Mutex::new(Some(Stream::Plain(near_broker)));
            let dial = || {
                let broker = near_broker.lock().unwrap().take();
                let broker = broker.expect("one connection is needed");
                std::future::ready(Ok(Dialled {
                    broker,
                    entry: None,
                }))
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
            let client = Stream::Plain(near_client);
            relay(&shared, client, dial, tally, &opening, handshake).await;
        });
        client.write_all(CONNECT_V311).await.unwrap();
        hears(&mut broker, CONNECT_V311).await;
        broker.write_all(CONNACK_V311).await.unwrap();
        hears(&mut client, CONNACK_V311).await;
        Self {
            client,
            broker,
            relay,
        }
    }
}

/// Two ends of a connection.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).await;
    let (near, _) = listener.accept().await.unwrap();
    near.set_nodelay(true).unwrap();
    (far.unwrap(), near)
}

async fn hears(from: &mut TcpStream, octets: &[u8]) {
    let mut seen = vec![0; octets.len()];
    from.read_exact(&mut seen).await.unwrap();
    assert_eq!(seen, octets);
}

/// A PUBLISH of QoS 0 to "t", with a payload of so many octets that all differ from their neighbours.
fn publish(payload_len: usize) -> Vec<u8> {
    let mut packet = vec![0x30];
    let mut remaining = payload_len + 3;
    loop {
        let digit = (remaining % 128) as u8;
        remaining /= 128;
        packet.push(digit | if remaining > 0 { 0x80 } else { 0 });
        if remaining == 0 {
            break;
        }
    }
    packet.extend([0, 1, b't']);
    packet.extend((0..payload_len).map(|at| (at ^ (at >> 8) ^ payload_len) as u8));
    packet
}

/// Large messages with small ones among them, one behind the other.
fn traffic() -> Vec<u8> {
    let large = [
        40_000,
        1 << 20,
        100,
        3,
        300_000,
        32 * 1024,
        70_000,
        0,
        65_536,
    ];
    let rounds = (0..6).flat_map(|round| large.map(|len| len + round * 7));
    let small = std::iter::repeat_n(20, 500);
    rounds
        .chain(small)
        .chain([2 << 20])
        .flat_map(publish)
        .collect()
}

/// Sends octets in pieces of this size and reads them at the other end.
async fn cross(sockets: &mut Sockets, octets: &[u8], piece: usize) {
    let Sockets { client, broker, .. } = sockets;
    let sent = async {
        for piece in octets.chunks(piece) {
            broker.write_all(piece).await.unwrap();
            // Who reads may come to it before the next piece does.
            yield_now().await;
        }
    };
    let mut seen = vec![0; octets.len()];
    let read = async { client.read_exact(&mut seen).await.map(drop) };
    let (read, ()) = tokio::join!(read, sent);
    read.unwrap();
    assert!(seen == octets, "what arrives is what was sent");
}

#[tokio::test]
async fn large_payloads_arrive_as_they_are_and_the_kernel_moves_most_of_them() {
    let octets = traffic();
    for piece in [octets.len(), 1 << 20, 100_000, 50_000, 9_999] {
        let mut sockets = Sockets::connected().await;
        let before = moved();
        cross(&mut sockets, &octets, piece).await;
        let share = (moved() - before) as f64 / octets.len() as f64;
        assert!(share > 0.5, "{share} of all, in pieces of {piece}");
        sockets.client.write_all(&[0xE0, 0]).await.unwrap();
        hears(&mut sockets.broker, &[0xE0, 0]).await;
        assert_eq!(lent(), 0, "no pipe is held while nothing is under way");
    }
}

#[tokio::test]
async fn small_messages_are_not_spliced() {
    let mut sockets = Sockets::connected().await;
    let octets: Vec<u8> = (0..5_000).flat_map(|_| publish(200)).collect();
    cross(&mut sockets, &octets, octets.len()).await;
    assert_eq!(moved(), 0);
}

#[tokio::test]
async fn where_no_pipe_can_be_had_payloads_are_copied() {
    let taken: Vec<Pipe> = (0..MOST_LENT).map_while(|_| Pipe::lend()).collect();
    assert_eq!(taken.len(), MOST_LENT);
    let mut sockets = Sockets::connected().await;
    cross(&mut sockets, &traffic(), 1 << 20).await;
    assert_eq!(moved(), 0);
}

#[tokio::test]
async fn a_stream_that_ends_within_a_payload_ends_after_what_was_sent_of_it() {
    let Sockets {
        mut client,
        mut broker,
        relay,
    } = Sockets::connected().await;
    let octets = publish(1 << 20);
    let (most, _) = octets.split_at(900_000);
    let (seen, ()) = tokio::join!(
        async {
            let mut seen = Vec::new();
            client.read_to_end(&mut seen).await.map(|_| seen)
        },
        async {
            broker.write_all(most).await.unwrap();
            broker.shutdown().await.unwrap();
        }
    );
    assert!(seen.unwrap() == most, "all that was sent");
    drop(client);
    relay.await.unwrap();
    assert_eq!(lent(), 0);
}

#[tokio::test]
async fn a_reader_that_leaves_takes_its_pipe_with_it() {
    let Sockets {
        client,
        mut broker,
        relay,
    } = Sockets::connected().await;
    // More than all buffers on the way hold, so that the relay is left with octets in its pipe.
    let octets = publish(64 << 20);
    let fill = async {
        for piece in octets.chunks(100_000) {
            tokio::select! {
                biased;
                written = broker.write_all(piece) => written.unwrap(),
                () = async { while lent() == 0 { yield_now().await; } } => return,
            }
        }
    };
    fill.await;
    assert_eq!(lent(), 1, "the pipe holds what the client does not read");
    drop(client);
    drop(broker);
    relay.await.unwrap();
    assert_eq!(lent(), 0);
}
