//! A connection from its first octet to its last, whatever is said on it.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};
use support::mqtt::{Connect, PINGREQ, PINGRESP, Publish, Version};
use support::{Conversation, FakeBroker, Raw, Sidecar, expect_quiet, field, free_port, pass};

#[test]
fn a_clients_half_close_is_passed_on() {
    let conversation = Conversation::start(&[]);
    let (mut client, mut broker) = conversation.client(Version::V311, "c");
    client.send(PINGREQ);
    client.shut_write();
    broker.expect(PINGREQ, "the last packet of the client");
    broker.expect_eof("the end of the client's stream");
    let farewell = Publish::new(Version::V311, 0, "t")
        .payload_len(200_000)
        .encode();
    pass(
        &mut broker,
        &mut client,
        &farewell,
        "what the broker still had to say",
    );
    drop(broker);
    client.expect_eof("the end of the broker's stream");
    closed_by(&conversation.sidecar, "client");
}

#[test]
fn a_brokers_half_close_is_passed_on() {
    let conversation = Conversation::start(&[]);
    let (mut client, mut broker) = conversation.client(Version::V311, "c");
    broker.send(PINGRESP);
    broker.shut_write();
    client.expect(PINGRESP, "the last packet of the broker");
    client.expect_eof("the end of the broker's stream");
    let farewell = Publish::new(Version::V311, 0, "t")
        .payload_len(200_000)
        .encode();
    pass(
        &mut client,
        &mut broker,
        &farewell,
        "what the client still had to say",
    );
    drop(client);
    broker.expect_eof("the end of the client's stream");
    closed_by(&conversation.sidecar, "broker");
}

#[test]
fn a_broker_that_is_down_is_named_and_found_again() {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let sidecar = Sidecar::start(address, &[]);
    assert_eq!(
        sidecar.get("/readyz").0,
        200,
        "starting does not wait for the broker"
    );
    for (version, refusal) in [
        (Version::V5, &[0x20, 3, 0, 0x88, 0][..]),
        (Version::V311, &[0x20, 2, 0, 3]),
        (Version::V31, &[0x20, 2, 0, 3]),
    ] {
        let mut client = Raw::connect(sidecar.listen());
        client.send(Connect::new(version, "c").encode());
        if version == Version::V5 {
            let answer = client.read_packet();
            assert_eq!(answer[2], 0, "no session is present");
            let answer = support::mqtt::Answer::parse(&answer);
            assert_eq!((answer.first, answer.code), (0x20, 0x88));
        } else {
            client.expect(refusal, "server unavailable");
        }
        client.expect_eof("the end");
    }
    sidecar.metric_becomes("sizegate_upstream_up", &[], 0.0);
    sidecar.metric_becomes("sizegate_upstream_connect_errors_total", &[], 3.0);
    let reason = [("reason", "upstream-unreachable")];
    sidecar.metric_becomes("sizegate_connections_closed_total", &reason, 3.0);

    let broker = FakeBroker::start_on(address);
    let conversation = Conversation { sidecar, broker };
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    expect_quiet(&mut client, &mut broker);
    conversation
        .sidecar
        .metric_becomes("sizegate_upstream_up", &[], 1.0);
}

#[test]
fn a_broker_that_does_not_answer_is_given_up() {
    // No more than one connection waits in this listener's queue; the next ones get no answer.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    listener.bind(&any.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let _queued = TcpStream::connect(address).unwrap();
    let sidecar = Sidecar::start(address, &["--connect-timeout", "300ms"]);
    let mut client = Raw::connect(sidecar.listen());
    client.send(Connect::new(Version::V311, "c").encode());
    client.expect([0x20, 2, 0, 3], "server unavailable");
    client.expect_eof("the end");
    sidecar.metric_becomes("sizegate_upstream_up", &[], 0.0);
}

#[test]
fn the_wait_for_the_broker_is_not_the_clients_fault() {
    let flags = ["--handshake-timeout", "200ms", "--max-message-size", "1000"];
    let conversation = Conversation::start(&flags);
    let connect = Connect::new(Version::V5, "c");
    let (mut client, mut broker) = conversation.client_waiting(&connect);
    // Its own time is over when that of one who came later is.
    conversation
        .connect()
        .expect_eof("a client that says nothing");
    broker.send(Version::V5.connack());
    client.expect(Version::V5.connack(), "CONNACK");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn a_broker_may_be_given_by_its_name() {
    let broker = FakeBroker::start();
    let upstream = format!("localhost:{}", broker.address().port());
    let sidecar = Sidecar::start_before(&upstream, &[]);
    let conversation = Conversation { sidecar, broker };
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    expect_quiet(&mut client, &mut broker);
}

#[test]
fn one_connection_too_many_never_reaches_the_broker() {
    let conversation = Conversation::start(&["--max-connections", "2"]);
    let (first, _first_broker) = conversation.client(Version::V311, "first");
    let (mut second, mut second_broker) = conversation.client(Version::V5, "second");
    let mut third = conversation.connect();
    third.expect_gone("one too many");
    let labels = [("reason", "too-many-connections")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
    expect_quiet(&mut second, &mut second_broker);
    drop((first, _first_broker));
    sidecar.metric_becomes("sizegate_connections_active", &[], 1.0);
    conversation.expect_no_other_connection();
}

#[test]
fn a_client_that_does_not_say_who_it_is_is_closed_in_time() {
    let conversation = Conversation::start(&["--handshake-timeout", "300ms"]);
    // Older than the others, identified, idle, and its broker has not even answered yet.
    let connect = Connect::new(Version::V311, "patient");
    let (mut patient, mut patient_broker) = conversation.client_waiting(&connect);
    let mut silent = conversation.connect();
    let mut slow = conversation.connect();
    let half = Connect::new(Version::V5, "slow").encode();
    slow.send(&half[..half.len() / 2]);
    silent.expect_eof("a client that says nothing");
    slow.expect_eof("a client that says half a CONNECT");
    patient_broker.send(Version::V311.connack());
    patient.expect(Version::V311.connack(), "CONNACK, late");
    expect_quiet(&mut patient, &mut patient_broker);
    conversation.expect_no_other_connection();
    let labels = [("reason", "handshake-timeout")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 2.0);
}

#[test]
fn what_is_no_protocol_of_ours_is_closed_with_a_line_in_the_log() {
    for (what, octets) in unknown() {
        let conversation = Conversation::start(&["--protocol", "mqtt"]);
        let mut client = conversation.connect();
        client.send(&octets);
        client.expect_eof(what);
        conversation.sidecar.log_line(|line| {
            line.to_string().contains("unknown-protocol")
                && field(line, "peer") == client.local_addr().to_string()
        });
        let labels = [("reason", "unknown-protocol")];
        let sidecar = &conversation.sidecar;
        sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
        conversation.expect_no_other_connection();
    }
}

#[test]
fn what_is_no_protocol_of_ours_is_forwarded_on_demand() {
    for (what, octets) in unknown() {
        let flags = ["--on-unknown", "forward", "--max-message-size", "100"];
        let conversation = Conversation::start(&flags);
        let mut client = conversation.connect();
        client.send(&octets);
        let mut broker = conversation.broker.accept();
        broker.expect(&octets, what);
        pass(&mut client, &mut broker, &[0x30; 100_000], "what follows");
        pass(
            &mut broker,
            &mut client,
            &[0x15; 100_000],
            "what is answered",
        );
        client.shut_write();
        broker.expect_eof("the client's end");
        drop(broker);
        client.expect_eof("the broker's end");
    }
}

#[test]
fn a_connect_of_no_known_kind_never_reaches_the_broker() {
    let conversation = Conversation::start(&[]);
    let mut with_name = Connect::new(Version::V311, "c").encode();
    with_name[7] = b'X'; // MQTX
    let mut with_level = Connect::new(Version::V311, "c").encode();
    with_level[8] = 9;
    for octets in [with_name, with_level] {
        let mut client = conversation.connect();
        client.send(octets);
        // It may be told so with a CONNACK that refuses; then comes the end.
        let mut answer = Vec::new();
        client
            .stream()
            .read_to_end(&mut answer)
            .expect("an orderly end");
        assert!(
            answer.is_empty() || (answer[0] == 0x20 && answer[3] != 0),
            "{answer:02x?}"
        );
    }
    conversation.expect_no_other_connection();
}

#[test]
fn listeners_are_paired_with_their_brokers_in_order() {
    let first = FakeBroker::start();
    let second = FakeBroker::start();
    let other = second.address().to_string();
    let flags = [
        "--listen",
        "127.0.0.1:0",
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        &other,
    ];
    let sidecar = Sidecar::start(first.address(), &flags);
    for (listener, broker) in sidecar.listeners().iter().zip([&first, &second]) {
        let mut client = Raw::connect(*listener);
        let connect = Connect::new(Version::V311, "c").encode();
        client.send(&connect);
        broker.accept().expect(&connect, "CONNECT");
    }
}

#[test]
fn a_client_is_served_over_ipv6() {
    let broker = FakeBroker::start();
    let sidecar = Sidecar::start(broker.address(), &["--listen", "[::1]:0"]);
    let conversation = Conversation { sidecar, broker };
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    assert!(client.local_addr().is_ipv6());
    expect_quiet(&mut client, &mut broker);
}

/// First octets of what sizegate does not speak here.
fn unknown() -> [(&'static str, Vec<u8>); 3] {
    [
        ("HTTP", b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n".to_vec()),
        (
            "a TLS hello",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        ),
        (
            "MQTT, but not CONNECT",
            Publish::new(Version::V311, 0, "t").encode(),
        ),
    ]
}

fn closed_by(sidecar: &Sidecar, side: &str) {
    let labels = [("side", side), ("reason", "closed")];
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
}
