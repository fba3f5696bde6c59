//! The first octets of a client: TLS, AMQP's word for it, or something else.

use crate::certificates::{AsClient, Certificates};
use crate::clients::{enter, greet, refused};
use crate::secure::{Hello, Secure};
use crate::support::mqtt::{Connect, Version};
use crate::support::{Conversation, field};
use crate::{Stage, expect_through};

#[test]
fn the_first_octets_may_come_one_by_one() {
    let stage = Stage::start(&[]);
    let mut raw = stage.connect();
    let mut hello = hello(&stage);
    for octet in hello.octets() {
        raw.send([octet]);
    }
    let mut client = hello.finish(&raw).unwrap();
    let mut broker = greet(&stage, &mut client, "c");
    expect_through(&mut client, &mut broker);
}

#[test]
fn who_does_not_speak_tls_is_named_and_turned_away() {
    let stage = Stage::start(&[]);
    let connect = Connect::new(Version::V5, "c").encode();
    for (count, (said, looks_like, told)) in [
        (&connect[..], "MQTT", &b""[..]),
        (b"AMQP\x00\x01\x00\x00", "AMQP", b"AMQP\x02\x01\x00\x00"),
        (b"AMQP\x03\x01\x00\x00", "AMQP", b"AMQP\x02\x01\x00\x00"),
        (b"AMQP\x00\x00\x09\x01", "AMQP", b"AMQP\x02\x01\x00\x00"),
        (
            b"AMQP\x02\x01\x01\x00",
            "AMQP in TLS",
            b"AMQP\x02\x01\x00\x00",
        ),
        (b"GET / HTTP/1.1\r\n\r\n", "HTTP", b""),
        (b"PROXY TCP4 1.1.1.1 2.2.2.2 3 4\r\n", "PROXY protocol", b""),
        (b"ABCD", "nothing known", b""),
    ]
    .into_iter()
    .enumerate()
    {
        let mut client = stage.connect();
        client.send(said);
        client.expect(told, "the answer");
        client.expect_eof("the end of a client without TLS");
        drop(client);
        let line = refused(&stage, count + 1, "the client does not begin with TLS");
        assert_eq!(field(&line, "looks_like"), looks_like, "{said:?}");
    }
    stage.sidecar.metric_becomes(
        "sizegate_connections_closed_total",
        &[
            ("side", "client"),
            ("reason", "tls"),
            ("protocol", "unknown"),
        ],
        8.0,
    );
}

#[test]
fn what_follows_in_place_of_a_client_hello_is_answered_with_an_alert() {
    let stage = Stage::start(&[]);
    let mut client = stage.connect();
    // The head of a handshake record, and a record of no known kind behind it.
    client.send([0x16, 3, 1, 0, 1, 0, 0x99, 9, 9, 0, 0]);
    let alert = client.read(7);
    assert_eq!((alert[0], alert[5]), (0x15, 2), "a fatal alert");
    client.expect_eof("the end");
    refused(&stage, 1, "TLS failed: ");
}

#[test]
fn a_client_that_only_looks_whether_the_port_is_open_is_no_warning() {
    let stage = Stage::start(&[]);
    drop(stage.connect());
    let closed = [("side", "client"), ("reason", "closed")];
    stage
        .sidecar
        .metric_becomes("sizegate_connections_closed_total", &closed, 1.0);
    let lines = stage.sidecar.log_lines();
    assert!(
        lines.iter().all(|line| field(line, "level") != "WARN"),
        "{lines:#?}"
    );
}

#[test]
fn a_handshake_is_to_be_over_in_time() {
    let stage = Stage::start(&["--handshake-timeout", "300ms"]);
    let mut silent = stage.connect();
    let mut half = stage.connect();
    half.send([0x16, 3, 1, 0, 200]);
    let mut announced = stage.connect();
    announced.send(b"AMQP\x02\x01\x00\x00");
    announced.expect(b"AMQP\x02\x01\x00\x00", "the header of TLS");
    silent.expect_gone("a client that says nothing");
    half.expect_gone("a client that stops in its ClientHello");
    announced.expect_gone("a client that announced TLS and does not begin it");
    let reason = [("side", "client"), ("reason", "handshake-timeout")];
    stage
        .sidecar
        .metric_becomes("sizegate_connections_closed_total", &reason, 3.0);
    // The time that TLS took is gone for what comes after it.
    let mut client = enter(&stage, &AsClient::of(&stage.certificates)).unwrap();
    client.expect_eof("a client that says nothing in TLS");
}

#[test]
fn amqp_may_announce_tls_in_plain_and_begin_it_after_the_echo() {
    let stage = Stage::start(&[]);
    for in_pieces in [false, true] {
        let mut raw = stage.connect();
        for piece in b"AMQP\x02\x01\x00\x00".chunks(if in_pieces { 1 } else { 8 }) {
            raw.send(piece);
        }
        raw.expect(b"AMQP\x02\x01\x00\x00", "the echo");
        let config = AsClient::of(&stage.certificates).config();
        let mut client = Secure::connect(&raw, config, "localhost").unwrap();
        client.send(b"AMQP\x00\x01\x00\x00");
        let mut broker = stage.broker.accept();
        broker.expect(
            b"AMQP\x00\x01\x00\x00",
            "the header of AMQP 1.0 and nothing else",
        );
        broker.send(b"AMQP\x00\x01\x00\x00");
        client.expect(b"AMQP\x00\x01\x00\x00", "the broker's");
    }
}

#[test]
fn a_client_hello_may_follow_the_header_at_once() {
    let stage = Stage::start(&[]);
    let mut raw = stage.connect();
    let mut hello = hello(&stage);
    raw.send([b"AMQP\x02\x01\x00\x00".to_vec(), hello.octets()].concat());
    raw.expect(b"AMQP\x02\x01\x00\x00", "the echo");
    let mut client = hello.finish(&raw).unwrap();
    let mut broker = greet(&stage, &mut client, "c");
    expect_through(&mut client, &mut broker);
}

#[test]
fn a_tls_client_of_a_plain_listener_is_named_in_the_log() {
    let conversation = Conversation::start(&[]);
    let config = AsClient::of(&Certificates::new()).config();
    let mut client = conversation.connect();
    client.send(Hello::new(config, "localhost").octets());
    client.expect_gone("the end");
    let line = conversation
        .sidecar
        .log_line(|line| field(line, "message") == "unknown protocol");
    assert_eq!(field(&line, "looks_like"), "TLS");
    let mut client = conversation.connect();
    client.send(b"AMQP\x02\x01\x00\x00");
    client.expect_gone("the end");
    conversation
        .sidecar
        .log_line(|line| field(line, "looks_like") == "AMQP in TLS");
}

/// A client that is about to begin TLS.
fn hello(stage: &Stage) -> Hello {
    Hello::new(AsClient::of(&stage.certificates).config(), "localhost")
}
