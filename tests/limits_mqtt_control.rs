//! What is not a message has limits too: CONNECT with its Will, SUBSCRIBE and its kin.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::mqtt::{
    Answer, CONNACK, Connect, DISCONNECT, Publish, Version, Will, packet, subscribe,
};
use support::{Conversation, Raw, expect_quiet};

#[test]
fn a_will_over_the_limit_is_refused_with_its_connect() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-message-size", "1000"]);
        let mut client = conversation.connect();
        client.send(with_will(version, 1001).encode());
        expect_connect_refused(version, &mut client);
        conversation.expect_no_other_connection();
    }
}

#[test]
fn the_properties_of_a_will_count() {
    let conversation = Conversation::start(&["--max-message-size", "1000"]);
    let mut connect = with_will(Version::V5, 500);
    let content_type = [&[0x03, 2, 88][..], &[b'x'; 600]].concat();
    connect.will.as_mut().unwrap().properties = content_type;
    let mut client = conversation.connect();
    client.send(connect.encode());
    expect_connect_refused(Version::V5, &mut client);
    conversation.expect_no_other_connection();
}

#[test]
fn a_will_within_the_limit_passes() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-message-size", "1000"]);
        let (mut client, mut broker) = conversation.client_with(&with_will(version, 900));
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_dry_run_forwards_a_will_over_the_limit() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-message-size", "1000", "--dry-run"]);
        let (mut client, mut broker) = conversation.client_with(&with_will(version, 5000));
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn the_limit_for_messages_does_not_hold_for_other_packets() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-message-size", "100"]);
        let mut connect = Connect::new(version, "c");
        connect.user = Some("u".repeat(5000));
        let (mut client, mut broker) = conversation.client_with(&connect);
        let topic = "f".repeat(3000);
        let packet = subscribe(version, 1, &[&topic]);
        client.send(&packet);
        broker.expect(&packet, "SUBSCRIBE");
    }
}

#[test]
fn a_connect_over_the_control_size_never_reaches_the_broker() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-control-size", "1Ki"]);
        let mut connect = Connect::new(version, "c");
        connect.user = Some("u".repeat(2000));
        let mut client = conversation.connect();
        client.send(connect.encode());
        expect_connect_refused(version, &mut client);
        conversation.expect_no_other_connection();
    }
}

#[test]
fn a_connect_of_exactly_the_control_size_passes() {
    for version in Version::ALL {
        let mut connect = Connect::new(version, "c");
        connect.user = Some("u".repeat(1000));
        let spare = 1024 - connect.encode().len();
        connect.user = Some("u".repeat(1000 + spare));
        assert_eq!(connect.encode().len(), 1024);
        let conversation = Conversation::start(&["--max-control-size", "1Ki"]);
        conversation.client_with(&connect);
        connect.user = Some("u".repeat(1001 + spare));
        let mut client = conversation.connect();
        client.send(connect.encode());
        expect_connect_refused(version, &mut client);
    }
}

#[test]
fn an_announced_connect_is_refused_before_its_octets_come() {
    for version in Version::ALL {
        let conversation = Conversation::start(&[]);
        let connect = Connect::new(version, "c").encode();
        let mut client = conversation.connect();
        // 200 MB are announced; protocol name and level follow, so that the version is known.
        client.send([&[0x10, 0x80, 0x84, 0xaf, 0x5f][..], &connect[2..12]].concat());
        expect_connect_refused(version, &mut client);
        conversation.expect_no_other_connection();
    }
}

#[test]
fn a_subscribe_over_the_control_size_ends_the_connection() {
    for version in Version::ALL {
        let topic = "f".repeat(2000);
        let unsubscribe = {
            let mut rest = vec![0, 2];
            if version == Version::V5 {
                rest.push(0);
            }
            rest.extend([7, 208]);
            rest.extend(topic.as_bytes());
            packet(0xa2, &rest)
        };
        for large in [subscribe(version, 1, &[&topic]), unsubscribe] {
            let conversation = Conversation::start(&["--max-control-size", "1Ki"]);
            let (mut client, mut broker) = conversation.client(version, "c");
            client.send(large);
            if version == Version::V5 {
                let answer = Answer::parse(&client.read_packet());
                assert_eq!((answer.first, answer.code), (DISCONNECT, 0x95));
            }
            client.expect_eof("the end");
            broker.expect_gone("neither the packet nor DISCONNECT");
        }
    }
}

#[test]
fn a_dry_run_refuses_no_control_packet_of_an_accepted_client() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-control-size", "1Ki", "--dry-run"]);
        let (mut client, mut broker) = conversation.client(version, "c");
        let large = subscribe(version, 1, &[&"f".repeat(2000)]);
        client.send(&large);
        broker.expect(&large, "SUBSCRIBE");
        expect_quiet(&mut client, &mut broker);
    }
}

#[test]
fn a_message_may_be_larger_than_the_control_size() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-control-size", "1Ki"]);
        let (mut client, mut broker) = conversation.client(version, "c");
        let publish = Publish::new(version, 0, "t").payload_len(100_000).encode();
        support::pass(&mut client, &mut broker, &publish, "the message");
        expect_quiet(&mut client, &mut broker);
    }
}

/// A CONNECT with a will of so many octets of payload.
fn with_will(version: Version, payload_len: usize) -> Connect {
    let mut connect = Connect::new(version, "c");
    connect.will = Some(Will {
        properties: Vec::new(),
        topic: "w".to_owned(),
        payload: vec![b'w'; payload_len],
    });
    connect
}

fn expect_connect_refused(version: Version, client: &mut Raw) {
    if version == Version::V5 {
        let packet = client.read_packet();
        assert_eq!(packet[2], 0, "no session is present");
        let answer = Answer::parse(&packet);
        assert_eq!((answer.first, answer.code), (CONNACK, 0x95));
    }
    client.expect_eof("the end");
}
