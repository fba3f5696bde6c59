//! How AMQP 0-9-1 connections end over sockets: malformed frames, no broker, another version, a drain.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::amqp091::{
    CLOSE, HEADER, START, TUNE, close_ok, expect_method, frame, method, open, opened, publish_head,
    start, start_ok, tune_ok,
};
use support::{Conversation, Raw, Sidecar, free_port};

#[test]
fn malformed_frames_end_the_connection_and_name_the_side_at_fault() {
    let ack = method(1, (60, 80), &[&[0; 8]]);
    for (octets, code, what) in [
        (b"\x07".to_vec(), 501, "unknown frame type at octet 0"),
        (ack, 502, "argument that reaches beyond its end at octet 19"),
        (
            frame(3, 1, b"body"),
            505,
            "frame that this side may not send now at octet 7",
        ),
    ] {
        for fault in ["client", "broker"] {
            let conversation = Conversation::start(&["--linger", "20s"]);
            let (mut client, mut broker) = opened(&conversation, &[1], 0);
            let (wrong, other) = match fault {
                "client" => (&mut client, &mut broker),
                _ => (&mut broker, &mut client),
            };
            wrong.send(&octets);
            let text = format!("{what} of the frame, sent by the {fault}");
            for (peer, code) in [(wrong, code), (other, 320)] {
                let close = expect_method(peer, 0, CLOSE);
                assert_eq!(close.reason(), (code, text.clone()));
            }
            let innocent = match fault {
                "client" => &mut broker,
                _ => &mut client,
            };
            innocent.send(close_ok());
            client.expect_eof("the end after close");
            broker.expect_eof("the end after close");
            drop((client, broker));
            let labels = [("protocol", "amqp091"), ("side", fault)];
            conversation
                .sidecar
                .metric_becomes("sizegate_malformed_total", &labels, 1.0);
        }
    }
}

#[test]
fn a_client_of_a_broker_that_is_down_is_led_to_where_it_can_be_told() {
    let upstream = format!("127.0.0.1:{}", free_port());
    let sidecar = Sidecar::start_before(&upstream, &[]);
    let mut client = Raw::connect(sidecar.listen());
    client.send(HEADER);
    expect_method(&mut client, 0, START);
    client.send(start_ok("alice", "billing"));
    expect_method(&mut client, 0, TUNE);
    client.send([tune_ok(0), open("prod")].concat());
    let close = expect_method(&mut client, 0, CLOSE);
    assert_eq!(
        close.reason(),
        (320, "The broker cannot be reached".to_owned())
    );
    client.send(close_ok());
    client.expect_eof("the end after close-ok");
    drop(client);
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    let attempts = sidecar.metrics();
    let attempts = attempts.value("sizegate_upstream_connect_errors_total", &[]);
    assert!(
        (attempts - 1.0).abs() < 0.5,
        "{attempts} attempts to reach the broker"
    );
}

#[test]
fn a_broker_that_wants_another_version_says_so_itself() {
    let conversation = Conversation::start(&[]);
    let mut client = conversation.connect();
    client.send(b"AMQP\x01\x01\x08\x00");
    let mut broker = conversation.broker.accept();
    broker.expect(b"AMQP\x01\x01\x08\x00", "the protocol header");
    broker.send(HEADER);
    client.expect(HEADER, "the broker's own");
    drop(broker);
    client.expect_eof("the broker's end");
}

#[test]
fn a_draining_sidecar_closes_both_connections_within_a_content() {
    let mut conversation = Conversation::start(&["--drain-timeout", "100ms", "--linger", "20s"]);
    let (mut client, mut broker) = opened(&conversation, &[1], 0);
    let (mut unopened, unopened_broker) = {
        let mut client = conversation.connect();
        client.send(HEADER);
        let mut broker = conversation.broker.accept();
        broker.expect(HEADER, "the protocol header");
        broker.send(start());
        client.expect(start(), "start");
        (client, broker)
    };
    let head = publish_head(1, "eu", 5000);
    client.send(&head);
    broker.expect(&head, "the beginning of a message");
    // Half of a frame of its body.
    let body = frame(3, 1, &[b'b'; 5000]);
    client.send(&body[..1000]);
    broker.expect(&body[..1000], "half of a frame");
    conversation.sidecar.signal("TERM");
    let text = "sizegate is shutting down".to_owned();
    let close = expect_method(&mut client, 0, CLOSE);
    assert_eq!(close.reason(), (320, text.clone()));
    // One that has not opened its connection has no word for it.
    unopened.expect_eof("the end");
    client.send(&body[1000..]);
    broker.expect(&body[1000..], "the rest of the frame");
    let close = expect_method(&mut broker, 0, CLOSE);
    assert_eq!(close.reason(), (320, text));
    client.send(close_ok());
    broker.send(close_ok());
    drop((client, broker, unopened, unopened_broker));
    assert_eq!(conversation.sidecar.wait().code(), Some(0));
}
