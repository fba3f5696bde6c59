//! What a broker sends that is too large for a client: it gets the rest, and the broker does not
//! send it again.

use serde_json::{Value, json};

use crate::plan::{Channel, Library, Mode, Plan};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, expect_counts, expect_empty};

#[test]
fn consumers_of_rabbitmq_3_get_all_but_the_oversized_messages_which_are_gone() {
    oversized_messages_are_swallowed(Release::V3);
}

#[test]
fn consumers_of_rabbitmq_4_get_all_but_the_oversized_messages_which_are_gone() {
    oversized_messages_are_swallowed(Release::V4);
}

#[test]
fn who_gets_an_oversized_message_finds_the_queue_empty_and_then_the_next_one() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        let mut queues = Vec::new();
        for library in Library::ALL {
            for no_ack in [false, true] {
                let case = format!("{release:?}, {library:?}, no-ack: {no_ack}");
                let queue = |number| format!("get-{library:?}-{no_ack}-{number}");
                let plan = sent(broker, 2, 30, queue);
                let sidecar = sidecar(broker);
                let got = library.get(sidecar.listen(), &plan.receiver(no_ack));
                for number in 0..2 {
                    let expected = plan.received(number, LIMIT);
                    let mut expected = expected.as_array().unwrap().clone();
                    let sizes = plan.channels[number].sizes.iter().enumerate();
                    for (at, _) in sizes.filter(|(_, size)| **size > LIMIT) {
                        expected.insert(at, json!("empty"));
                    }
                    let got = &got["channels"][number]["received"];
                    assert_eq!(*got, json!(expected), "{case}");
                    queues.push(queue(number));
                }
                let denied = (action(no_ack), plan.denied(LIMIT));
                expect_counts(&sidecar, "receive", plan.allowed(LIMIT), &[denied]);
            }
        }
        expect_empty(broker, &queues);
    }
}

fn oversized_messages_are_swallowed(release: Release) {
    let broker = RabbitMq::shared(release);
    let mut queues = Vec::new();
    for library in Library::ALL {
        for (prefetch, no_ack) in [(1, false), (50, false), (50, true)] {
            let case = format!("{library:?}, prefetch {prefetch}, no-ack: {no_ack}");
            let queue = |number| format!("receive-{library:?}-{prefetch}-{no_ack}-{number}");
            let plan = sent(broker, 2, 100, queue);
            let sidecar = sidecar(broker);
            let mut receiver = plan.receiver(no_ack);
            receiver.prefetch = prefetch;
            let received = library.receive(sidecar.listen(), &receiver);
            assert_eq!(received["closed"], Value::Null, "{case}");
            for (number, observed) in received["channels"].as_array().unwrap().iter().enumerate() {
                let expected = plan.received(number, LIMIT);
                assert_eq!(observed["received"], expected, "{case}, channel {number}");
                queues.push(queue(number));
            }
            let denied = plan.denied(LIMIT);
            assert_eq!(denied, 2 * 20);
            let denied = (action(no_ack), denied);
            expect_counts(&sidecar, "receive", plan.allowed(LIMIT), &[denied]);
        }
    }
    expect_empty(broker, &queues);
}

/// Sends messages to the broker itself, over so many channels.
fn sent(broker: &RabbitMq, channels: usize, count: usize, queue: impl Fn(usize) -> String) -> Plan {
    let channels =
        (0..channels).map(|number| Channel::mixed(queue(number), Mode::Confirm, count, LIMIT));
    let plan = Plan::new(channels.collect());
    Library::Pika.send(broker.address(), &plan);
    plan
}

fn sidecar(broker: &RabbitMq) -> Sidecar {
    let limit = LIMIT.to_string();
    Sidecar::start(broker.address(), &["--max-receive-size", &limit])
}

/// What is done to a delivery.
fn action(no_ack: bool) -> &'static str {
    if no_ack { "drop" } else { "reject" }
}
