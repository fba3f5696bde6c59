//! Clients at the door, over real sockets, under a clock that moves only when nothing happens.

use std::future::poll_fn;
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::time::Duration;

use parsers::proxy_protocol::{Addresses, Fault, Malformed, Version, encode};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;

/// What follows a header in these tests.
const PROTOCOL: &[u8] = b"\x10\x0C\0\x04MQTT\x04\x02\0\0\0\0";

/// A client, the near end of its connection, and a second handle to that to look with.
struct Pair {
    client: std::net::TcpStream,
    near: TcpStream,
    look: std::net::TcpStream,
    peer: SocketAddr,
}

impl Pair {
    fn new() -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nodelay(true).unwrap();
        let (near, peer) = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        Self {
            client,
            look: near.try_clone().unwrap(),
            near: TcpStream::from_std(near).unwrap(),
            peer,
        }
    }

    /// What becomes of a client that says this and then no more.
    async fn says(mut self, door: &Door, octets: &[u8]) -> Result<Guest, Unwelcome> {
        self.client.write_all(octets).unwrap();
        self.client.shutdown(std::net::Shutdown::Write).unwrap();
        welcome(door, self.near, self.peer).await
    }
}

/// Proves that there is nothing left to do but to wait: the clock moves on only then.
async fn expect_idle(mut welcomed: Pin<&mut impl Future<Output = Result<Guest, Unwelcome>>>) {
    let mut polls = 0;
    let counted = poll_fn(|cx| {
        polls += 1;
        assert!(polls < 100, "it looks at the same octets again and again");
        welcomed.as_mut().poll(cx)
    });
    let answer = timeout(Duration::from_secs(1), counted).await;
    assert!(answer.is_err(), "{answer:?}");
}

fn door(proxies: &str) -> Door {
    Door {
        proxies: vec![proxies.parse().unwrap()],
        redirect: None,
        tls: None,
    }
}

fn addresses() -> Addresses {
    Addresses {
        source: "192.0.2.1:4711".parse().unwrap(),
        destination: "198.51.100.2:1883".parse().unwrap(),
    }
}

fn header(version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out, version, &addresses());
    out
}

/// A header of version 2 with TLVs up to so many octets in all.
fn padded(len: usize) -> Vec<u8> {
    let mut out = header(Version::V2);
    let tlv_len = u16::try_from(len - out.len() - 3).unwrap();
    out.extend([4]);
    out.extend(tlv_len.to_be_bytes());
    out.resize(len, 0);
    let block = u16::try_from(len - 16).unwrap();
    out[14..16].copy_from_slice(&block.to_be_bytes());
    out
}

#[tokio::test(start_paused = true)]
async fn a_header_is_read_to_its_last_octet_wherever_it_is_cut_and_without_spinning() {
    let long = padded(4_096);
    let cuts_of_long = [1, 12, 16, 28, 127, 128, 129, 1_000, 4_095];
    let short = [header(Version::V1), header(Version::V2), padded(200)];
    let every = short
        .iter()
        .flat_map(|it| (1..it.len()).map(move |cut| (it, cut)));
    for (header, cut) in every.chain(cuts_of_long.map(|cut| (&long, cut))) {
        let Pair {
            mut client,
            near,
            look,
            peer,
        } = Pair::new();
        let door = door("127.0.0.0/8");
        let mut welcomed = pin!(welcome(&door, near, peer));
        client.write_all(&header[..cut]).unwrap();
        expect_idle(welcomed.as_mut()).await;
        let left = look.peek(&mut [0]).map_err(|error| error.kind());
        assert_eq!(left, Err(ErrorKind::WouldBlock), "octets left at {cut}");
        client.write_all(&header[cut..]).unwrap();
        client.write_all(PROTOCOL).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut guest = welcomed.await.unwrap();
        assert_eq!(guest.origin.peer, addresses().source);
        assert_eq!(guest.origin.destination, addresses().destination);
        assert_eq!(guest.origin.hop.from, peer);
        let mut behind = Vec::new();
        guest.stream.read_to_end(&mut behind).await.unwrap();
        assert_eq!(behind, PROTOCOL, "at {cut}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_comes_octet_by_octet_is_read_too() {
    for header in [header(Version::V1), header(Version::V2)] {
        let mut pair = Pair::new();
        let door = door("127.0.0.0/8");
        let mut welcomed = pin!(welcome(&door, pair.near, pair.peer));
        let (last, octets) = header.split_last().unwrap();
        for octet in octets {
            pair.client.write_all(&[*octet]).unwrap();
            expect_idle(welcomed.as_mut()).await;
        }
        pair.client.write_all(&[*last]).unwrap();
        assert_eq!(welcomed.await.unwrap().origin.peer, addresses().source);
    }
}

#[tokio::test]
async fn a_header_without_addresses_leaves_those_of_the_socket() {
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    for header in [&b"PROXY UNKNOWN 1.2.3.4 1.2.3.4 1 1\r\n"[..], local] {
        let pair = Pair::new();
        let (peer, here) = (pair.peer, pair.look.local_addr().unwrap());
        let guest = pair.says(&door("127.0.0.1/32"), header).await.unwrap();
        assert_eq!(guest.origin.peer, peer);
        assert_eq!(guest.origin.destination, here);
    }
}

#[tokio::test]
async fn a_mapped_address_in_a_header_is_an_ipv4_address() {
    let header = b"PROXY TCP6 ::ffff:192.0.2.1 ::ffff:c633:6402 4711 1883\r\n";
    let guest = Pair::new().says(&door("127.0.0.0/8"), header).await;
    let origin = guest.unwrap().origin;
    assert_eq!(origin.peer, addresses().source);
    assert_eq!(origin.destination, addresses().destination);
}

#[tokio::test]
async fn a_client_without_its_header_is_not_let_in() {
    let door = door("127.0.0.0/8");
    for octets in [PROTOCOL, b"AMQP\0\x01\0\0", b"\x16\x03\x01", b"PROXIED"] {
        let answer = Pair::new().says(&door, octets).await;
        assert!(matches!(answer, Err(Unwelcome::NoHeader)), "{answer:?}");
    }
    for octets in [&b""[..], b"PROXY TCP4 192.0.2.1", &padded(300)[..200]] {
        let answer = Pair::new().says(&door, octets).await;
        assert!(matches!(answer, Err(Unwelcome::Left)), "{answer:?}");
    }
    let answer = Pair::new().says(&door, b"PROXY TCP4 broker\r\n").await;
    let Err(Unwelcome::MalformedHeader(malformed)) = answer else {
        panic!("{answer:?}");
    };
    let expected = Malformed {
        at: 11,
        what: Fault::BadAddress,
    };
    assert_eq!(malformed, expected);
}

#[tokio::test]
async fn nothing_is_taken_from_a_client_that_need_not_send_a_header() {
    for octets in [PROTOCOL, &header(Version::V1)] {
        for door in [door("127.0.0.2/31"), door("::/0"), Door::default()] {
            let mut guest = Pair::new().says(&door, octets).await.unwrap();
            let mut read = Vec::new();
            guest.stream.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, octets);
        }
    }
}

#[tokio::test]
async fn a_client_that_was_not_redirected_is_not_let_in_where_clients_are_led_on() {
    let pair = Pair::new();
    let door = Door {
        redirect: Some(Redirect {
            listeners: vec![pair.look.local_addr().unwrap()],
        }),
        ..Door::default()
    };
    let answer = pair.says(&door, PROTOCOL).await;
    // The kernel may have looked at the connection or not.
    assert!(
        matches!(
            answer,
            Err(Unwelcome::NotRedirected(_) | Unwelcome::MeantForUs(_))
        ),
        "{answer:?}"
    );
}

#[tokio::test]
async fn an_accepted_socket_is_tuned_as_the_listening_one() {
    let listener = bind((Ipv4Addr::LOCALHOST, 0).into(), Sharing::Alone).unwrap();
    let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = TcpListener::from_std(listener)
        .unwrap()
        .accept()
        .await
        .unwrap();
    let socket = socket2::SockRef::from(&accepted);
    assert!(socket.tcp_nodelay().unwrap());
    assert!(socket.keepalive().unwrap());
    assert_eq!(
        socket.tcp_keepalive_time().unwrap(),
        Duration::from_secs(60)
    );
    assert_eq!(
        socket.tcp_keepalive_interval().unwrap(),
        Duration::from_secs(15)
    );
    assert_eq!(socket.tcp_keepalive_retries().unwrap(), 4);
}
