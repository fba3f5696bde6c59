//! Clients that are killed in the middle of a message.

use crate::script::Script;
use crate::support::mqtt::{Connect, Publish, Version, subscribe};
use crate::support::{Conversation, Mosquitto, Raw, Sidecar, amqp10, amqp091};
use crate::{PIPES, expect_nothing_left};

#[test]
fn half_a_publish_is_delivered_to_nobody() {
    let mosquitto = Mosquitto::start();
    let mut sidecar = Sidecar::start(mosquitto.address(), &["--max-message-size", "1Mi"]);
    let before = sidecar.descriptors();
    let connect = |name: &str| {
        let mut client = Raw::connect(sidecar.listen());
        client.send(Connect::new(Version::V311, name).encode());
        client.expect(Version::V311.connack(), "CONNACK");
        client
    };
    let mut subscriber = connect("subscriber");
    subscriber.send(subscribe(Version::V311, 1, &["#"]));
    subscriber.expect([0x90, 3, 0, 1, 2], "SUBACK");
    for kill in [drop::<Raw>, Raw::reset] {
        for len in [100, 100_000, 1_000_000] {
            let publish = Publish::new(Version::V311, 0, "half")
                .payload_len(len)
                .encode();
            let mut victim = connect("victim");
            victim.send(&publish[..publish.len() / 2]);
            kill(victim);
            sidecar.metric_becomes("sizegate_connections_active", &[], 1.0);
            let whole = Publish::new(Version::V311, 0, "whole")
                .payload_len(len)
                .encode();
            let mut other = connect("other");
            other.send(&whole);
            subscriber.expect(&whole, "the next message, and nothing of the half one");
            drop(other);
        }
    }
    drop(subscriber);
    expect_nothing_left(&mut sidecar, before + PIPES);
}

#[test]
fn nothing_of_half_a_delivery_that_was_held_reaches_the_broker() {
    let mut conversation = Conversation::start(&["--max-message-size", "1Mi"]);
    let before = conversation.sidecar.descriptors();
    let script = Script::amqp10();
    let link = amqp10::Link {
        handle: 0,
        address: "a",
    };
    for kill in [drop::<Raw>, Raw::reset] {
        let mut ends = script.begin(&conversation, script.greeting);
        let frame = amqp10::transfer(link, 0, true, &[b'm'; 4_000]);
        ends.client.send(frame.repeat(10));
        ends.client.send(&frame[..frame.len() / 2]);
        let held = || {
            conversation
                .sidecar
                .metrics()
                .value("sizegate_held_bytes", &[])
        };
        crate::support::wait_for("it is held", || (held() >= 40_000.0).then_some(()));
        kill(ends.client);
        let seen = ends.broker.as_mut().unwrap().read_to_the_end();
        assert_eq!(seen, b"", "what the broker saw of it");
        drop(ends.broker);
        expect_nothing_left(&mut conversation.sidecar, before);
    }
}

#[test]
fn half_a_content_ends_at_the_broker_where_its_client_ended() {
    let mut conversation = Conversation::start(&["--max-message-size", "1Mi"]);
    let before = conversation.sidecar.descriptors();
    let script = Script::amqp091();
    for kill in [drop::<Raw>, Raw::reset] {
        let mut ends = script.begin(&conversation, script.greeting);
        let half = amqp091::publish(1, "t", 100_000);
        let half = &half[..half.len() / 2];
        ends.client.send(half);
        let broker = ends.broker.as_mut().unwrap();
        // Its last frame is not whole, and waits or passes; the broker takes neither for a message.
        broker.expect(&half[..half.len() / 2], "what is whole of it");
        kill(ends.client);
        let seen = broker.read_to_the_end();
        assert!(half[half.len() / 2..].starts_with(&seen));
        drop(ends.broker);
        expect_nothing_left(&mut conversation.sidecar, before);
    }
}
