//! `--on-oversize detach` and `close`: the connection ends, and the client can learn why.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::Conversation;
use support::mqtt::{Answer, Connect, DISCONNECT, Publish, Version, maximum_packet_size};

/// MQTT has nothing between a message and its connection, so both do the same.
const MODES: [&str; 2] = ["detach", "close"];

#[test]
fn a_modern_client_is_told_packet_too_large_and_disconnected() {
    for mode in MODES {
        for qos in [0, 1, 2] {
            let conversation = limited(mode);
            let (mut client, mut broker) = conversation.client(Version::V5, "c");
            let small = Publish::new(Version::V5, 0, "t").payload_len(10).encode();
            let large = Publish::new(Version::V5, qos, "t")
                .id(7)
                .packet_len(2000)
                .encode();
            client.send([&small[..], &large, &small].concat());
            let answer = Answer::parse(&client.read_packet());
            assert_eq!((answer.first, answer.code), (DISCONNECT, 0x95));
            let reason = answer.reason.expect("a Reason String");
            for part in ["2000", "1000", "--max-message-size"] {
                assert!(reason.contains(part), "{part} in {reason:?}");
            }
            client.expect_eof("the end after DISCONNECT");
            broker.expect(&small, "the message before");
            broker.expect_gone("neither the large one, nor what follows, nor DISCONNECT");
            drop((client, broker));
            expect_closed_for_oversize(&conversation);
        }
    }
}

#[test]
fn an_old_client_is_disconnected() {
    for mode in MODES {
        for version in Version::OLD {
            for qos in [0, 1, 2] {
                let conversation = limited(mode);
                let (mut client, mut broker) = conversation.client(version, "c");
                let small = Publish::new(version, 0, "t").payload_len(10).encode();
                let large = Publish::new(version, qos, "t")
                    .id(7)
                    .packet_len(2000)
                    .encode();
                client.send([&small[..], &large].concat());
                client.expect_eof("the end and nothing before it");
                broker.expect(&small, "the message before");
                broker.expect_gone("neither the large one nor DISCONNECT");
                drop((client, broker));
                expect_closed_for_oversize(&conversation);
            }
        }
    }
}

#[test]
fn disconnect_fits_the_clients_maximum_packet_size() {
    let conversation = limited("close");
    let connect = Connect::new(Version::V5, "c").properties(maximum_packet_size(10));
    let (mut client, _broker) = conversation.client_with(&connect);
    client.send(
        Publish::new(Version::V5, 1, "t")
            .id(7)
            .packet_len(2000)
            .encode(),
    );
    let answer = client.read_packet();
    assert!(answer.len() <= 10, "{answer:02x?}");
    assert_eq!(Answer::parse(&answer).code, 0x95);
    client.expect_eof("the end after DISCONNECT");
}

#[test]
fn a_client_that_writes_everything_before_it_reads_still_learns_why() {
    for mode in MODES {
        let conversation = limited(mode);
        let (mut client, mut broker) = conversation.client(Version::V5, "c");
        client.send(
            Publish::new(Version::V5, 1, "t")
                .id(7)
                .payload_len(5_000_000)
                .encode(),
        );
        let answer = Answer::parse(&client.read_packet());
        assert_eq!((answer.first, answer.code), (DISCONNECT, 0x95));
        client.expect_eof("the end, and no reset");
        broker.expect_gone("nothing of the message");
    }
}

#[test]
fn other_clients_do_not_notice() {
    let conversation = limited("close");
    let (mut other, mut others_broker) = conversation.client(Version::V311, "other");
    let (mut client, _broker) = conversation.client(Version::V5, "offender");
    client.send(
        Publish::new(Version::V5, 1, "t")
            .id(7)
            .packet_len(2000)
            .encode(),
    );
    assert_eq!(client.read_packet()[0], DISCONNECT);
    client.expect_eof("the end after DISCONNECT");
    support::expect_quiet(&mut other, &mut others_broker);
}

#[test]
fn a_client_that_does_not_leave_is_cut_after_the_linger() {
    let flags = [
        "--max-message-size",
        "1000",
        "--on-oversize",
        "close",
        "--linger",
        "200ms",
    ];
    let conversation = Conversation::start(&flags);
    let (mut client, mut broker) = conversation.client(Version::V5, "c");
    client.send(
        Publish::new(Version::V5, 1, "t")
            .id(7)
            .packet_len(2000)
            .encode(),
    );
    assert_eq!(client.read_packet()[0], DISCONNECT);
    client.expect_eof("the end after DISCONNECT");
    broker.expect_gone("the end");
    // The client keeps its end open.
    expect_closed_for_oversize(&conversation);
}

fn limited(mode: &str) -> Conversation {
    Conversation::start(&["--max-message-size", "1000", "--on-oversize", mode])
}

fn expect_closed_for_oversize(conversation: &Conversation) {
    let labels = [("protocol", "mqtt"), ("reason", "oversize")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    let denied = sidecar
        .metrics()
        .value("sizegate_messages_denied_total", &[("action", "close")])
        + sidecar
            .metrics()
            .value("sizegate_messages_denied_total", &[("action", "detach")]);
    assert!(
        (denied - 1.0).abs() < f64::EPSILON,
        "one message was refused"
    );
}
