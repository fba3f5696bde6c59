//! Clients that come, say their first octets, and break off without a word.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::lane::STUCK;
use crate::stage::Protocol;
use crate::support::mqtt::{Connect, Version};

/// How many there were, by protocol.
pub(crate) type Visits = Vec<(Protocol, u64)>;

/// Sends one to each door in turn, every half second, until the end.
pub(crate) async fn come(doors: Vec<(Protocol, SocketAddr)>, end: Instant) -> Visits {
    let mut visits: Visits = doors.iter().map(|(protocol, _)| (*protocol, 0)).collect();
    loop {
        for (at, (protocol, address)) in doors.iter().enumerate() {
            tokio::time::sleep(BETWEEN).await;
            if Instant::now() >= end {
                return visits;
            }
            let knocks = timeout(STUCK, knock(*protocol, *address));
            knocks.await.expect("an answer in time");
            if let Some((_, count)) = visits.get_mut(at) {
                *count += 1;
            }
        }
    }
}

/// Connects, waits until the broker has answered, and cuts the connection.
async fn knock(protocol: Protocol, address: SocketAddr) {
    let hello = match protocol {
        Protocol::Mqtt3 => Connect::new(Version::V311, "guest").encode(),
        Protocol::Mqtt5 => Connect::new(Version::V5, "guest").encode(),
        Protocol::Amqp10 => b"AMQP\x03\x01\x00\x00".to_vec(),
        Protocol::Amqp091 => b"AMQP\x00\x00\x09\x01".to_vec(),
    };
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&hello).await.unwrap();
    stream.read_u8().await.unwrap();
    // The end is a reset.
    let none = Some(Duration::ZERO);
    SockRef::from(&stream).set_linger(none).unwrap();
}

const BETWEEN: Duration = Duration::from_millis(500);
