//! The PROXY header that tells the broker where a client is.

use std::io;

use parsers::proxy_protocol::{Addresses, Version, encode};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::transport::Origin;

/// Writes the header, in one piece, as the first octets of a connection to the broker.
pub(super) async fn write<B: AsyncWrite + Unpin>(
    broker: &mut B,
    version: Version,
    origin: &Origin,
) -> io::Result<()> {
    let addresses = Addresses {
        source: origin.peer,
        destination: origin.destination,
    };
    let mut header = Vec::new();
    encode(&mut header, version, &addresses);
    broker.write_all(&header).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Hop;

    #[tokio::test]
    async fn the_broker_is_told_where_the_client_is_and_not_who_came_last() {
        let [peer, destination, proxy, here] = [
            "192.0.2.1:4711",
            "198.51.100.2:1883",
            "10.0.0.1:1",
            "10.0.0.2:2",
        ]
        .map(|address| address.parse().unwrap());
        let origin = Origin {
            peer,
            destination,
            hop: Hop {
                from: proxy,
                to: here,
            },
        };
        let mut broker = Vec::new();
        write(&mut broker, Version::V1, &origin).await.unwrap();
        assert_eq!(broker, b"PROXY TCP4 192.0.2.1 198.51.100.2 4711 1883\r\n");
    }
}
