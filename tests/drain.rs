//! How a sidecar ends: it stops taking clients, says goodbye to those it has, and goes.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::io::Read;
use std::net::TcpStream;

use support::mqtt::{Answer, Connect, DISCONNECT, Publish, Version};
use support::{Conversation, DEADLINE, expect_quiet, wait_for};

#[test]
fn a_draining_sidecar_takes_no_clients_and_says_goodbye_to_those_it_has() {
    let mut conversation = Conversation::start(&["--drain-timeout", "3s", "--linger", "10s"]);
    let (mut modern, mut modern_broker) = conversation.client(Version::V5, "modern");
    let (mut old, mut old_broker) = conversation.client(Version::V311, "old");
    conversation.sidecar.signal("TERM");
    let sidecar = &conversation.sidecar;
    wait_for("/readyz says no", || {
        (sidecar.get("/readyz").0 == 503).then_some(())
    });
    assert_eq!(sidecar.get("/livez").0, 200, "a draining sidecar lives");
    sidecar.metric_becomes("sizegate_draining", &[], 1.0);
    expect_not_taken(&conversation);
    expect_quiet(&mut modern, &mut modern_broker);
    expect_quiet(&mut old, &mut old_broker);

    let answer = Answer::parse(&modern.read_packet());
    assert_eq!(
        (answer.first, answer.code),
        (DISCONNECT, 0x8b),
        "server shutting down"
    );
    modern.expect_eof("the end after DISCONNECT");
    old.expect_eof("the end");
    modern_broker.expect_gone("the end without DISCONNECT");
    old_broker.expect_gone("the end without DISCONNECT");
    drop((modern, old, modern_broker, old_broker));
    assert_eq!(conversation.sidecar.wait().code(), Some(0));
}

#[test]
fn the_goodbye_comes_between_two_packets() {
    let mut conversation = Conversation::start(&["--drain-timeout", "100ms", "--linger", "20s"]);
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let publish = Publish::new(Version::V5, 0, "t").payload_len(5000).encode();
    let (head, tail) = publish.split_at(1000);
    broker.send(head);
    client.expect(head, "the beginning of a message");
    let (mut witness, witness_broker) = conversation.client(Version::V311, "witness");
    conversation.sidecar.signal("TERM");
    witness.expect_eof("the goodbye to another client");
    broker.send(tail);
    client.expect(tail, "the rest of the message");
    let answer = Answer::parse(&client.read_packet());
    assert_eq!((answer.first, answer.code), (DISCONNECT, 0x8b));
    client.expect_eof("the end after DISCONNECT");
    drop((client, broker, witness, witness_broker));
    assert_eq!(conversation.sidecar.wait().code(), Some(0));
}

#[test]
fn a_client_that_stays_is_cut_and_costs_the_exit_code() {
    for version in [Version::V311, Version::V5] {
        let mut conversation =
            Conversation::start(&["--drain-timeout", "100ms", "--linger", "300ms"]);
        let (mut client, _broker) = conversation.client(version, "stays");
        conversation.sidecar.signal("TERM");
        if version == Version::V5 {
            assert_eq!(client.read_packet()[0], DISCONNECT);
        }
        client.expect_eof("the goodbye");
        assert_eq!(conversation.sidecar.wait().code(), Some(1));
    }
}

#[test]
fn a_sidecar_without_clients_exits_at_once() {
    let mut conversation = Conversation::start(&["--drain-timeout", "1h"]);
    conversation.sidecar.signal("TERM");
    assert_eq!(conversation.sidecar.wait().code(), Some(0));
}

#[test]
fn a_draining_sidecar_exits_when_its_last_client_has_left() {
    let mut conversation = Conversation::start(&["--drain-timeout", "1h"]);
    let (first, _first_broker) = conversation.client(Version::V5, "first");
    let (mut second, mut second_broker) = conversation.client(Version::V311, "second");
    conversation.sidecar.signal("TERM");
    let sidecar = &conversation.sidecar;
    wait_for("/readyz says no", || {
        (sidecar.get("/readyz").0 == 503).then_some(())
    });
    drop((first, _first_broker));
    sidecar.metric_becomes("sizegate_connections_active", &[], 1.0);
    expect_quiet(&mut second, &mut second_broker);
    assert!(!conversation.sidecar.has_ended(), "one client is left");
    drop((second, second_broker));
    assert_eq!(conversation.sidecar.wait().code(), Some(0));
}

#[test]
fn a_client_that_has_not_said_who_it_is_is_closed_without_a_word() {
    let flags = ["--drain-timeout", "100ms", "--handshake-timeout", "1h"];
    let mut conversation = Conversation::start(&flags);
    let mut silent = conversation.connect();
    // The one that comes after it is connected, so it has been taken as well.
    let (mut witness, broker) = conversation.client(Version::V311, "witness");
    conversation.sidecar.signal("TERM");
    silent.expect_gone("no word");
    witness.expect_eof("the goodbye to the other");
    drop((silent, witness, broker));
    assert_eq!(conversation.sidecar.wait().code(), Some(0));
}

#[test]
fn a_client_that_waits_for_its_connack_hears_no_disconnect() {
    for version in [Version::V311, Version::V5] {
        let mut conversation = Conversation::start(&["--drain-timeout", "100ms"]);
        let connect = Connect::new(version, "waits");
        let (client, mut broker) = conversation.client_waiting(&connect);
        conversation.sidecar.signal("TERM");
        // Before CONNACK there is no word but a CONNACK that refuses.
        let mut answer = Vec::new();
        client
            .stream()
            .read_to_end(&mut answer)
            .expect("an orderly end");
        assert!(
            answer.is_empty() || (answer[0] == 0x20 && answer[3] != 0),
            "{answer:02x?}"
        );
        broker.expect_gone("the end");
        drop((client, broker));
        assert_eq!(conversation.sidecar.wait().code(), Some(0));
    }
}

#[test]
fn a_packet_that_never_ends_does_not_hold_up_the_exit() {
    let flags = ["--drain-timeout", "100ms", "--linger", "300ms"];
    let mut conversation = Conversation::start(&flags);
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    let publish = Publish::new(Version::V5, 0, "t").payload_len(5000).encode();
    broker.send(&publish[..1000]);
    client.expect(&publish[..1000], "the beginning of a message");
    conversation.sidecar.signal("TERM");
    client.expect_gone("no word inside a packet");
    assert_eq!(conversation.sidecar.wait().code(), Some(1), "it was cut");
}

#[test]
fn a_second_signal_cuts_at_once() {
    let mut conversation = Conversation::start(&["--drain-timeout", "1h", "--linger", "1h"]);
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    conversation.sidecar.signal("TERM");
    let sidecar = &conversation.sidecar;
    wait_for("/readyz says no", || {
        (sidecar.get("/readyz").0 == 503).then_some(())
    });
    expect_quiet(&mut client, &mut broker);
    conversation.sidecar.signal("TERM");
    assert_eq!(conversation.sidecar.wait().code(), Some(1));
    // It may still hear a goodbye; what counts is that it is over.
    client.stream().set_read_timeout(Some(DEADLINE)).unwrap();
    let mut rest = Vec::new();
    let _ = client.stream().read_to_end(&mut rest);
}

#[test]
fn a_hangup_signal_ends_nothing() {
    let conversation = Conversation::start(&[]);
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    conversation.sidecar.signal("HUP");
    expect_quiet(&mut client, &mut broker);
    let (mut next, mut next_broker) = conversation.client(Version::V311, "next");
    expect_quiet(&mut next, &mut next_broker);
    assert_eq!(conversation.sidecar.get("/readyz").0, 200);
}

/// A client that comes now is not connected, or its connection ends without a word.
fn expect_not_taken(conversation: &Conversation) {
    let Ok(mut stream) = TcpStream::connect(conversation.sidecar.listen()) else {
        return;
    };
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut octets = [0; 1];
    match stream.read(&mut octets) {
        Ok(count) => assert_eq!(count, 0, "a word for a client that came too late"),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}
