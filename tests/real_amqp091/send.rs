//! A thousand messages over four channels of one connection, half of them with confirms, a fifth of
//! them too large, most of them in several frames; then what the broker has of them.

use serde_json::{Value, json};

use crate::plan::{Channel, Library, Mode, Plan};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, expect_counts, expect_empty};

#[test]
fn rabbitmq_3_and_pika_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V3, Library::Pika);
}

#[test]
fn rabbitmq_3_and_aio_pika_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V3, Library::AioPika);
}

#[test]
fn rabbitmq_3_and_amqplib_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V3, Library::Amqplib);
}

#[test]
fn rabbitmq_3_and_lapin_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V3, Library::Lapin);
}

#[test]
fn rabbitmq_4_and_pika_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V4, Library::Pika);
}

#[test]
fn rabbitmq_4_and_aio_pika_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V4, Library::AioPika);
}

#[test]
fn rabbitmq_4_and_amqplib_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V4, Library::Amqplib);
}

#[test]
fn rabbitmq_4_and_lapin_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V4, Library::Lapin);
}

fn a_fifth_is_refused(release: Release, library: Library) {
    let broker = RabbitMq::shared(release);
    let limit = LIMIT.to_string();
    let sidecar = Sidecar::start(broker.address(), &["--max-message-size", &limit]);
    let queue = |number: usize| format!("fifth-{library:?}-{number}");
    let mixed = |number, mode| Channel::mixed(queue(number), mode, 250, LIMIT);
    let plan = Plan::new(vec![
        mixed(0, Mode::Confirm),
        mixed(1, Mode::Confirm).mandatory(),
        mixed(2, Mode::Plain),
        mixed(3, Mode::Plain).mandatory(),
    ]);
    let sent = library.send(sidecar.listen(), &plan);
    assert_eq!(sent["closed"], Value::Null);
    for (number, observed) in sent["channels"].as_array().unwrap().iter().enumerate() {
        assert_eq!(observed["error"], Value::Null, "channel {number}");
        let expected = plan.outcomes(number, LIMIT);
        assert_eq!(observed["outcomes"], expected, "channel {number}");
        let mut expected = plan.returned(number, LIMIT);
        if library == Library::AioPika && number >= 2 {
            // Without confirms it knows of no message that could come back, and says so in its log.
            expected = json!([]);
        }
        assert_eq!(observed["returned"], expected, "channel {number}");
    }
    let (allowed, denied) = (plan.allowed(LIMIT), plan.denied(LIMIT));
    assert_eq!((allowed, denied), (1_000 - 200 + 4, 200));
    expect_counts(&sidecar, "send", allowed, &[("reject", denied)]);

    let received = library.receive(sidecar.listen(), &plan.receiver(false));
    for (number, observed) in received["channels"].as_array().unwrap().iter().enumerate() {
        let expected = plan.received(number, LIMIT);
        assert_eq!(observed["received"], expected, "channel {number}");
    }
    expect_counts(&sidecar, "receive", allowed, &[]);
    expect_empty(broker, &[0, 1, 2, 3].map(queue));
}
