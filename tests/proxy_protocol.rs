//! Whom a connection speaks for: PROXY headers that come in.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use serde_json::Value;
use support::mqtt::{Answer, Connect, Publish, Version};
use support::{Conversation, Raw, Sidecar, expect_quiet, field, pass};

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

/// LOCAL in version 2, with a block that means nothing.
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\x11\0\x03abc";

#[test]
fn the_address_in_a_header_serves_the_rules_and_the_log() {
    let flags = [
        "--limit",
        "peer:192.0.2.1=50",
        "--limit",
        "peer:2001:db8::/32=60",
    ];
    let conversation = Conversation::start(&[&TRUSTED[..], &flags].concat());
    for (header, peer, limit) in [
        (V1, "192.0.2.1:4711", "50"),
        (V2, "192.0.2.1:4711", "50"),
        (V2_INET6, "[2001:db8::1]:4711", "60"),
    ] {
        let (mut client, mut broker) = behind(&conversation, header);
        refused(&mut client);
        expect_quiet(&mut client, &mut broker);
        drop((client, broker));
        let of_peer = |line: &Value| field(line, "peer") == peer;
        let sidecar = &conversation.sidecar;
        sidecar.log_line(|line| of_peer(line) && field(line, "limit") == limit);
        sidecar.log_line(|line| of_peer(line) && field(line, "message") == "connection closed");
    }
    let other = b"PROXY TCP4 192.0.2.2 198.51.100.2 4711 1883\r\n";
    let (mut client, mut broker) = behind(&conversation, other);
    pass(
        &mut client,
        &mut broker,
        &large(),
        "no rule is for this one",
    );
}

#[test]
fn a_header_may_be_cut_anywhere_and_nothing_behind_it_is_lost() {
    let conversation = Conversation::start(&TRUSTED);
    let connect = Connect::new(Version::V5, "c").encode();
    for header in [V1, V2, V2_INET6, LOCAL] {
        for cut in 0..=header.len() {
            let mut client = conversation.connect();
            client.send(&header[..cut]);
            client.send([&header[cut..], &connect].concat());
            let mut broker = conversation.broker.accept();
            broker.expect(&connect, "CONNECT and nothing of the header");
        }
        let mut client = conversation.connect();
        for octet in [header, &connect].concat() {
            client.send([octet]);
        }
        let mut broker = conversation.broker.accept();
        broker.expect(&connect, "CONNECT, octet by octet");
    }
}

#[test]
fn a_header_stands_before_every_protocol() {
    let conversation = Conversation::start(&TRUSTED);
    let sasl = b"AMQP\x03\x01\0\0";
    let mut client = conversation.connect();
    client.send([V2, sasl].concat());
    conversation
        .broker
        .accept()
        .expect(sasl, "the protocol header");
}

#[test]
fn a_proxy_that_speaks_for_itself_keeps_its_own_address() {
    for header in [
        &b"PROXY UNKNOWN\r\n"[..],
        b"PROXY UNKNOWN 1 2 3 4\r\n",
        LOCAL,
    ] {
        let flags = ["--limit", "peer:127.0.0.1=50"];
        let conversation = Conversation::start(&[&TRUSTED[..], &flags].concat());
        let (mut client, _broker) = behind(&conversation, header);
        refused(&mut client);
        let peer = client.local_addr().to_string();
        conversation
            .sidecar
            .log_line(|line| field(line, "limit") == "50" && field(line, "peer") == peer);
    }
}

#[test]
fn a_header_of_somebody_else_is_closed_and_named_and_never_forwarded() {
    let others = ["--proxy-protocol-from", "10.0.0.0/8"];
    let forward = ["--on-unknown", "forward"];
    for flags in [&[][..], &others, &forward, &[others, forward].concat()] {
        let conversation = Conversation::start(flags);
        for (count, header) in (1..).zip([V1, V2, LOCAL, b"PROXY nonsense"]) {
            let mut client = conversation.connect();
            client.send(header);
            client.expect_gone("a header of somebody who may not send one");
            let peer = client.local_addr().to_string();
            not_let_in(
                &conversation.sidecar,
                &peer,
                "not in --proxy-protocol-from",
                count,
            );
        }
        conversation.expect_no_other_connection();
    }
}

#[test]
fn a_header_of_somebody_else_is_not_forwarded_in_pieces_either() {
    let conversation = Conversation::start(&["--on-unknown", "forward"]);
    for (header, signature_len) in [(V1, 6), (V2, 12)] {
        let mut client = conversation.connect();
        for octet in &header[..signature_len] {
            client.send([*octet]);
        }
        client.expect_gone("a header in pieces");
    }
    conversation.expect_no_other_connection();
    // What begins alike and is something else is forwarded, once that is known.
    for (begun, goes_on) in [(&b"PROX"[..], &b"IMITY"[..]), (b"\r\n\r\n", b"\r\nQUIT")] {
        let mut client = conversation.connect();
        client.send(begun);
        client.send(goes_on);
        let mut broker = conversation.broker.accept();
        broker.expect([begun, goes_on].concat(), "what is no header");
    }
}

#[test]
fn a_header_behind_a_header_is_that_of_somebody_else() {
    let flags = [&TRUSTED[..], &["--on-unknown", "forward"]].concat();
    let conversation = Conversation::start(&flags);
    let mut client = conversation.connect();
    client.send([V2, V1].concat());
    client.expect_gone("two headers");
    let sidecar = &conversation.sidecar;
    not_let_in(sidecar, "192.0.2.1:4711", "not in --proxy-protocol-from", 1);
    expect_no_other_connection(&conversation);
}

#[test]
fn who_must_send_a_header_is_closed_without_one() {
    let flags = [&TRUSTED[..], &["--on-unknown", "forward"]].concat();
    let conversation = Conversation::start(&flags);
    let connect = Connect::new(Version::V5, "c").encode();
    let unknown = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    let [command, length] = [(12, 0x22), (14, 0xFF)].map(|(at, octet)| {
        let mut header = V2.to_vec();
        header[at] = octet;
        header
    });
    let no_line = b"PROXY TCP4 192.0.2.1 broker 4711 1883\r\n".to_vec();
    for (count, (octets, error)) in (1..).zip([
        (connect, "no PROXY header"),
        (unknown, "no PROXY header"),
        (
            command,
            "malformed PROXY header: unknown command at octet 12",
        ),
        (length, "malformed PROXY header: length above what is read"),
        (no_line, "malformed PROXY header: address that is not one"),
    ]) {
        let mut client = conversation.connect();
        client.send(octets);
        client.expect_gone(error);
        let peer = client.local_addr().to_string();
        not_let_in(&conversation.sidecar, &peer, error, count);
    }
    expect_no_other_connection(&conversation);
}

#[test]
fn a_header_that_does_not_end_is_closed_in_time() {
    let flags = [&TRUSTED[..], &["--handshake-timeout", "300ms"]].concat();
    let conversation = Conversation::start(&flags);
    let endless = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x0F\xF0";
    let beginnings = [&b""[..], b"PROXY UNKNOWN ", endless, endless];
    let mut clients = beginnings.map(|beginning| {
        let mut client = conversation.connect();
        client.send(beginning);
        client
    });
    // Of what the last one announces, 80 octets never come.
    let busy = &mut clients[3];
    for _ in 0..100 {
        busy.send([0; 40]);
    }
    for client in &mut clients {
        client.expect_gone("a client that does not end its header");
    }
    let labels = [("reason", "handshake-timeout"), ("side", "client")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 4.0);
    expect_no_other_connection(&conversation);
}

#[test]
fn who_only_asks_whether_the_port_is_open_gets_no_warning() {
    let conversation = Conversation::start(&TRUSTED);
    drop(conversation.connect());
    let labels = [("reason", "closed"), ("side", "client")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
    let warned = |line: &Value| field(line, "level") == "WARN";
    assert!(!sidecar.log_lines().iter().any(warned));
}

#[test]
fn an_ipv4_client_of_a_listener_for_both_families_is_an_ipv4_client() {
    let flags = ["--listen", "[::]:0", "--limit", "peer:127.0.0.0/8=50"];
    for trusted in [&[][..], &TRUSTED] {
        let conversation = Conversation::start(&[&flags[..], trusted].concat());
        let mut to = conversation.sidecar.listen();
        to.set_ip([127, 0, 0, 1].into());
        let mut client = Raw::connect(to);
        let connect = Connect::new(Version::V5, "c").encode();
        let header = if trusted.is_empty() { &b""[..] } else { LOCAL };
        client.send([header, &connect].concat());
        let mut broker = conversation.broker.accept();
        broker.expect(&connect, "CONNECT");
        broker.send(Version::V5.connack());
        client.expect(Version::V5.connack(), "CONNACK");
        refused(&mut client);
        let peer = client.local_addr().to_string();
        let line = conversation
            .sidecar
            .log_line(|line| field(line, "limit") == "50");
        assert_eq!(field(&line, "peer"), peer);
    }
}

/// What a client sends that is over the small limits of these tests and within the others.
fn large() -> Vec<u8> {
    Publish::new(Version::V5, 1, "t")
        .id(7)
        .packet_len(200)
        .encode()
}

/// Has a client's message refused.
fn refused(client: &mut Raw) {
    client.send(large());
    assert_eq!(Answer::parse(&client.read_packet()).code, 0x97);
}

/// A client behind a proxy that says this, accepted by the broker.
fn behind(conversation: &Conversation, header: &[u8]) -> (Raw, Raw) {
    let connect = Connect::new(Version::V5, "c").encode();
    let mut client = conversation.connect();
    client.send([header, &connect].concat());
    let mut broker = conversation.broker.accept();
    broker.expect(&connect, "CONNECT");
    broker.send(Version::V5.connack());
    client.expect(Version::V5.connack(), "CONNACK");
    (client, broker)
}

/// Proves that no other connection has reached the broker: the next one is that of a client behind a
/// proxy that connects now.
fn expect_no_other_connection(conversation: &Conversation) {
    behind(conversation, V2);
}

/// Waits until the log and the metrics tell of the client that it was not let in, as one of so many.
fn not_let_in(sidecar: &Sidecar, peer: &str, error: &str, count: u32) {
    let line = sidecar.log_line(|line| {
        field(line, "message") == "client not let in" && field(line, "peer") == peer
    });
    assert!(field(&line, "error").contains(error), "{line}");
    let labels = [("reason", "proxy-protocol"), ("side", "client")];
    let name = "sizegate_connections_closed_total";
    sidecar.metric_becomes(name, &labels, f64::from(count));
}
