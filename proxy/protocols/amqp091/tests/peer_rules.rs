//! The strict peers are strict: each rule that they hold others to, broken once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::peer::{Broker, ChannelMode, Client};
use super::words::*;
use crate::gate::Side;

/// A client with channel 1, whose confirms are on, a consumer `a`, and two publishes, 0 and 1.
fn client() -> Client {
    let mut client = Client::default();
    client.open(1, ChannelMode::Confirm, false);
    client.receive(&[channel_open_ok(ONE), confirm_select_ok(ONE)].concat());
    client.consume(1, "a", false, true);
    client.publish(1, 5, false, 1);
    client.publish(1, 5, false, 1);
    client.wire.push_all();
    client
}

/// A broker with channel 1, whose confirms are on, a consumer `a`, and one delivery, tag 1.
fn broker() -> Broker {
    let mut broker = Broker::default();
    let said = [
        channel_open(ONE),
        confirm_select(ONE, false),
        consume(ONE, "a", false, true),
    ];
    broker.receive(&said.concat());
    broker.deliver(1, 0, 5, 1);
    broker.wire.push_all();
    broker
}

/// A message with this number for a routing key.
fn message(number: &'static str) -> Message {
    Message {
        exchange: "e",
        routing_key: number,
        ..Message::of(5)
    }
}

/// A delivery of a message, whose body is as the peers have it.
fn delivered(number: &'static str, tag: &str, delivery_tag: u64) -> Vec<u8> {
    let message = message(number);
    [
        message.deliver(tag, delivery_tag),
        message.header(),
        own_body(number),
    ]
    .concat()
}

fn published(number: &'static str) -> Vec<u8> {
    let message = message(number);
    [message.publish(), message.header(), own_body(number)].concat()
}

fn own_body(number: &str) -> Vec<u8> {
    let number = number.parse().expect("a number");
    frame(3, ONE, &super::peer::body(number, 5))
}

/// Whether a peer takes this.
fn takes(side: Side, octets: &[u8]) -> bool {
    let received = catch_unwind(AssertUnwindSafe(|| match side {
        Side::Client => client().receive(octets),
        Side::Broker => broker().receive(octets),
    }));
    received.is_ok()
}

#[test]
fn a_client_takes_what_is_right() {
    for octets in [
        vec![ack(ONE, 1, false), ack(ONE, 2, false)],
        vec![nack(ONE, 2, true)],
        vec![ack(ONE, 2, false), ack(ONE, 1, true)],
        vec![delivered("7", "a", 1), delivered("8", "a", 5)],
        vec![
            message("0").deliver("a", 1),
            heartbeat(),
            message("0").header(),
            own_body("0"),
        ],
        vec![channel_close(ONE, 404, "no", (0, 0))],
        vec![close(320, "bye")],
    ] {
        assert!(takes(Side::Client, &octets.concat()), "{octets:02X?}");
    }
}

#[test]
fn a_client_takes_nothing_else() {
    let small = message("7");
    let head = [small.deliver("a", 1), small.header()].concat();
    for (what, octets) in [
        ("a confirm of nothing", vec![ack(ONE, 3, false)]),
        ("a confirm of everything at once", vec![ack(ONE, 0, true)]),
        (
            "a confirm twice",
            vec![ack(ONE, 1, false), nack(ONE, 1, false)],
        ),
        (
            "a confirm twice, once among many",
            vec![ack(ONE, 2, true), ack(ONE, 1, false)],
        ),
        (
            "a method within a content",
            vec![small.deliver("a", 1), ack(ONE, 1, false)],
        ),
        (
            "a method within a body",
            vec![head.clone(), ack(ONE, 1, false)],
        ),
        (
            "a content within a content",
            vec![head.clone(), head.clone()],
        ),
        ("a header without a method", vec![small.header()]),
        (
            "a body without a header",
            vec![small.deliver("a", 1), own_body("7")],
        ),
        ("a second header", vec![head.clone(), small.header()]),
        (
            "too much of a body",
            vec![head.clone(), frame(3, ONE, &[0; 6])],
        ),
        ("another body", vec![head, frame(3, ONE, &[1; 5])]),
        (
            "a number that was used",
            vec![delivered("7", "a", 1), delivered("8", "a", 1)],
        ),
        ("a consumer that is not there", vec![delivered("7", "b", 1)]),
        ("a get that nobody asked for", vec![get_empty(ONE)]),
        (
            "a select-ok that nobody asked for",
            vec![confirm_select_ok(ONE)],
        ),
        (
            "a close-ok that nobody asked for",
            vec![channel_close_ok(ONE)],
        ),
        ("another channel", vec![ack(TWO, 1, false)]),
        (
            "a channel that is closed",
            vec![channel_close(ONE, 404, "no", (0, 0)), ack(ONE, 1, false)],
        ),
        (
            "anything after a close",
            vec![close(320, "bye"), ack(ONE, 1, false)],
        ),
        ("a second close", vec![close(320, "bye"), close(320, "bye")]),
        ("what is the client's to say", vec![published("7")]),
        (
            "a publish of another's",
            vec![message("9").returned("no", &[0, 0])],
        ),
        (
            "a frame that is too large",
            vec![frame(3, ONE, &[0; 4_089])],
        ),
        (
            "a frame without its end",
            vec![vec![1, 0, 0, 0, 0, 0, 0, 0]],
        ),
        ("a frame of no type", vec![vec![9]]),
    ] {
        assert!(!takes(Side::Client, &octets.concat()), "{what}");
    }
}

#[test]
fn a_client_awaits_the_answers_to_what_it_has_asked_for() {
    let opening = |octets: &[u8]| {
        let mut client = Client::default();
        client.open(1, ChannelMode::Confirm, false);
        client.publish(1, 5, false, 1);
        client.wire.push_all();
        catch_unwind(AssertUnwindSafe(|| client.receive(octets))).is_ok()
    };
    let answers = [channel_open_ok(ONE), confirm_select_ok(ONE)];
    assert!(opening(
        &[&answers.concat()[..], &ack(ONE, 1, false)].concat()
    ));
    assert!(!opening(&ack(ONE, 1, false)), "before the channel is open");
    let early = [channel_open_ok(ONE), ack(ONE, 1, false)].concat();
    assert!(!opening(&early), "before confirms are on");
}

#[test]
fn a_broker_takes_what_is_right() {
    for octets in [
        vec![published("7"), published("8")],
        vec![ack(ONE, 1, true)],
        vec![reject(ONE, 1)],
        vec![
            channel_open(TWO),
            channel_close(ONE, 200, "", (0, 0)),
            channel_open(ONE),
        ],
        vec![close(200, "bye")],
    ] {
        assert!(takes(Side::Broker, &octets.concat()), "{octets:02X?}");
    }
}

#[test]
fn a_broker_takes_nothing_else() {
    let small = message("7");
    let closed = channel_close(ONE, 200, "", (0, 0));
    for (what, octets) in [
        ("a channel that is open", vec![channel_open(ONE)]),
        ("a channel that is not open", vec![ack(TWO, 1, false)]),
        (
            "a channel that is closed",
            vec![closed.clone(), ack(ONE, 1, false)],
        ),
        (
            "a close of one that is closed",
            vec![closed.clone(), closed],
        ),
        (
            "a close-ok that nobody asked for",
            vec![channel_close_ok(ONE)],
        ),
        ("a delivery that is not there", vec![ack(ONE, 2, false)]),
        ("a delivery twice", vec![reject(ONE, 1), reject(ONE, 1)]),
        (
            "a delivery twice, once among many",
            vec![reject(ONE, 1), ack(ONE, 1, true)],
        ),
        (
            "a delivery that comes again",
            vec![method(ONE, 60, 90, &[0, 0, 0, 0, 0, 0, 0, 1, 1])],
        ),
        (
            "a method within a content",
            vec![small.publish(), ack(ONE, 1, false)],
        ),
        (
            "another body",
            vec![small.publish(), small.header(), frame(3, ONE, &[1; 5])],
        ),
        ("what is the broker's to say", vec![delivered("7", "a", 1)]),
        (
            "anything after a close",
            vec![close(320, "bye"), heartbeat(), ack(ONE, 1, false)],
        ),
        ("a second close", vec![close(320, "bye"), close(320, "bye")]),
    ] {
        assert!(!takes(Side::Broker, &octets.concat()), "{what}");
    }
}
