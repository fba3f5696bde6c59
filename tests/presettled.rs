//! Pre-settled messages over sockets, between a scripted client and a scripted broker: what is counted,
//! what is logged, and what becomes of those that nobody speaks of.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::amqp10::{
    ATTACH, BEGIN, CLOSE, FLOW, HEADER, Link, OPEN, TRANSFER, accepted, attach_receiver,
    attach_sender, begin, close, disposed, flow, message, open, read_frame, settled_transfer,
};
use support::{Conversation, Raw, field};

const LINK: Link = Link {
    handle: 0,
    address: "orders",
};
const MARK: &str = "x-opt-sizegate-presettled";

#[test]
fn they_go_to_the_broker_as_they_are_unless_it_is_asked_for() {
    let conversation = Conversation::start(&[]);
    let (mut client, mut broker) = opened(&conversation);
    let says = settled_transfer(LINK, 0, &message(20));
    client.send(&says);
    broker.expect(&says, "the message as it is");
}

#[test]
fn what_became_of_them_is_counted_and_said() {
    let conversation = Conversation::start(&["--presettled", "unsettled"]);
    let (mut client, mut broker) = opened(&conversation);
    send(&mut client, &mut broker, 0..7);
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_presettled_unsettled", &[], 7.0);
    broker.send(accepted(0));
    for (id, state) in [(1, 0x25), (2, 0x26), (3, 0x27), (4, 0x25)] {
        broker.send(disposed(id, state));
    }
    sidecar.metric_becomes("sizegate_presettled_unsettled", &[], 2.0);
    assert_counted(&conversation, [1.0, 2.0, 1.0, 1.0, 0.0]);
    for outcome in ["rejected", "released", "modified"] {
        let line = sidecar.log_line(|line| field(line, "outcome") == outcome);
        assert_eq!(field(&line, "message"), "pre-settled not accepted");
        assert_eq!(field(&line, "address"), "orders");
        assert_eq!(field(&line, "messages"), "1");
        assert_eq!(field(&line, "direction"), "send");
    }
}

#[test]
fn those_that_a_broken_connection_leaves_open_are_lost() {
    for breaks in ["client", "broker"] {
        let conversation = Conversation::start(&["--presettled", "unsettled", "--linger", "1s"]);
        let (mut client, mut broker) = opened(&conversation);
        send(&mut client, &mut broker, 0..3);
        broker.send(accepted(1));
        let sidecar = &conversation.sidecar;
        sidecar.metric_becomes("sizegate_presettled_unsettled", &[], 2.0);
        // The other one sees the end and leaves as well.
        let (first, mut other) = match breaks {
            "client" => (client, broker),
            _ => (broker, client),
        };
        drop(first);
        other.expect_eof("the end of the other side");
        drop(other);
        sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
        sidecar.metric_becomes("sizegate_presettled_unsettled", &[], 0.0);
        assert_counted(&conversation, [1.0, 0.0, 0.0, 0.0, 2.0]);
        let line = sidecar.log_line(|line| field(line, "message") == "connection closed");
        assert_eq!(field(&line, "presettled_lost"), "2", "{breaks}: {line}");
    }
}

#[test]
fn a_close_waits_for_them_and_not_for_long() {
    let conversation = Conversation::start(&["--presettled", "unsettled"]);
    let (mut client, mut broker) = opened(&conversation);
    send(&mut client, &mut broker, 0..2);
    client.send(close());
    broker.send(accepted(0));
    read_frame(&mut broker).expect(CLOSE, &[]);
    assert_counted(&conversation, [1.0, 0.0, 0.0, 0.0, 0.0]);
    broker.send(accepted(1));
    broker.send(close());
    read_frame(&mut client).expect(CLOSE, &[]);
    drop((client, broker));
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    // What the broker said while it closed was heard all the same.
    assert_counted(&conversation, [2.0, 0.0, 0.0, 0.0, 0.0]);
}

/// A client that this broker has accepted, with a link that has credit.
fn opened(conversation: &Conversation) -> (Raw, Raw) {
    let mut client = conversation.connect();
    let begins = [
        HEADER,
        &open("c", FRAME),
        &begin(None),
        &attach_sender(LINK),
    ]
    .concat();
    client.send(&begins);
    let mut broker = conversation.broker.accept();
    broker.expect(&begins, "what the client begins with");
    let answers = [
        HEADER,
        &open("b", FRAME),
        &begin(Some(0)),
        &attach_receiver(LINK),
        &flow(LINK, 100),
    ]
    .concat();
    broker.send(&answers);
    client.expect(HEADER, "the broker's header");
    for code in [OPEN, BEGIN, ATTACH, FLOW] {
        assert_eq!(read_frame(&mut client).code, Some(code));
    }
    (client, broker)
}

/// The client sends pre-settled messages, which arrive with the mark.
fn send(client: &mut Raw, broker: &mut Raw, ids: std::ops::Range<u32>) {
    for id in ids {
        client.send(settled_transfer(LINK, id, &message(20)));
        let came = read_frame(broker);
        came.expect(TRANSFER, &[MARK]);
        assert!(came.octets.ends_with(&message(20)));
    }
}

/// Checks how many were accepted, rejected, released, modified, and lost.
fn assert_counted(conversation: &Conversation, due: [f64; 5]) {
    let metrics = conversation.sidecar.metrics();
    let outcomes = ["accepted", "rejected", "released", "modified", "lost"];
    let counted =
        outcomes.map(|outcome| metrics.value(&format!("sizegate_presettled_{outcome}_total"), &[]));
    assert_eq!(counted, due, "{outcomes:?}");
}

/// What both peers say is the largest frame that they take.
const FRAME: u32 = 4_096;
