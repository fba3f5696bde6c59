//! What a broker is told of its client: PROXY headers that go out.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::net::{IpAddr, SocketAddr};

use support::mqtt::{Connect, Version};
use support::{Conversation, Raw};

/// Every client of these tests is trusted to speak for others.
const TRUSTED: [&str; 2] = ["--proxy-protocol-from", "127.0.0.0/8"];

/// 192.0.2.1:4711, who meant to go to 198.51.100.2:1883, in version 1.
const V1: &[u8] = b"PROXY TCP4 192.0.2.1 198.51.100.2 4711 1883\r\n";

/// The same in version 2.
const V2: &[u8] = &[
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, // signature
    0x21, 0x11, 0, 12, // version 2, PROXY, TCP over IPv4, 12 octets
    192, 0, 2, 1, 198, 51, 100, 2, // addresses
    0x12, 0x67, 0x07, 0x5B, // ports 4711 and 1883
];

/// [2001:db8::1]:4711, who meant to go to [2001:db8::2]:1883, in version 2 with a no-op behind it.
const V2_INET6: &[u8] = &[
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, // signature
    0x21, 0x21, 0, 40, // version 2, PROXY, TCP over IPv6, 40 octets
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, // source
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, // destination
    0x12, 0x67, 0x07, 0x5B, // ports 4711 and 1883
    0x04, 0, 1, 0xFF, // no-op
];

#[test]
fn the_broker_is_told_where_its_client_is() {
    for listen in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        for version in ["v1", "v2"] {
            let flags = ["--listen", listen, "--send-proxy-protocol", version];
            let conversation = Conversation::start(&flags);
            let mut to = conversation.sidecar.listen();
            if to.ip().is_unspecified() {
                // An IPv4 client of a listener for both: it is told of as what it is.
                to.set_ip([127, 0, 0, 1].into());
            }
            let mut client = Raw::connect(to);
            let connect = Connect::new(Version::V5, "c").encode();
            client.send(&connect);
            let (from, mut broker) = (client.local_addr(), conversation.broker.accept());
            let expected = match (version, from.is_ipv4()) {
                ("v1", true) => line("TCP4", from, to),
                ("v1", false) => line("TCP6", from, to),
                (_, true) => octets(0x11, from, to),
                (_, false) => octets(0x21, from, to),
            };
            broker.expect([expected, connect].concat(), "the header and CONNECT");
        }
    }
}

#[test]
fn the_broker_is_told_of_the_client_behind_the_proxy() {
    for (header, version, expected) in [
        (V1, "v1", V1.to_vec()),
        (V1, "v2", V2.to_vec()),
        (V2, "v1", V1.to_vec()),
        (
            V2_INET6,
            "v1",
            b"PROXY TCP6 2001:db8::1 2001:db8::2 4711 1883\r\n".to_vec(),
        ),
        // Of the TLVs nothing is passed on.
        (V2_INET6, "v2", {
            let mut header = V2_INET6[..52].to_vec();
            header[15] = 36;
            header
        }),
        // One address of each family: an IPv4-mapped one is IPv4, and there is one family in all.
        (
            b"PROXY TCP6 2001:db8::1 ::ffff:198.51.100.2 1 2\r\n",
            "v1",
            b"PROXY TCP6 2001:db8::1 ::ffff:c633:6402 1 2\r\n".to_vec(),
        ),
    ] {
        let flags = [&TRUSTED[..], &["--send-proxy-protocol", version]].concat();
        let conversation = Conversation::start(&flags);
        let connect = Connect::new(Version::V311, "c").encode();
        let mut client = conversation.connect();
        client.send([header, &connect].concat());
        let mut broker = conversation.broker.accept();
        broker.expect([expected, connect].concat(), "the header and CONNECT");
    }
}

/// A header of version 1 as it should be.
fn line(protocol: &str, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let (from_port, to_port) = (from.port(), to.port());
    let line = format!(
        "PROXY {protocol} {} {} {from_port} {to_port}\r\n",
        from.ip(),
        to.ip()
    );
    line.into_bytes()
}

/// A header of version 2 as it should be.
fn octets(family: u8, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let mut octets = V2[..14].to_vec();
    octets[13] = family;
    let mut block = Vec::new();
    for address in [from, to] {
        match address.ip() {
            IpAddr::V4(ip) => block.extend(ip.octets()),
            IpAddr::V6(ip) => block.extend(ip.octets()),
        }
    }
    block.extend(from.port().to_be_bytes());
    block.extend(to.port().to_be_bytes());
    octets.extend([0, u8::try_from(block.len()).unwrap()]);
    octets.extend(block);
    octets
}
