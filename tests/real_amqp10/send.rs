//! A thousand messages over four links of one connection, half of them pre-settled, a fifth of them
//! too large, most of them in several frames; then what the broker has of them.

use serde_json::{Value, json};

use crate::plan::{Library, Link, Plan};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, address, expect_counts};

#[test]
fn rabbitmq_3_and_proton_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V3, Library::Proton);
}

#[test]
fn rabbitmq_3_and_rhea_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V3, Library::Rhea);
}

#[test]
fn rabbitmq_3_and_fe2o3_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V3, Library::Fe2o3);
}

#[test]
fn rabbitmq_4_and_proton_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V4, Library::Proton);
}

#[test]
fn rabbitmq_4_and_rhea_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V4, Library::Rhea);
}

#[test]
fn rabbitmq_4_and_fe2o3_lose_the_oversized_messages_and_nothing_else() {
    a_fifth_is_refused(Release::V4, Library::Fe2o3);
}

#[test]
fn libraries_are_told_the_limit_and_fe2o3_then_refuses_by_itself() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        let limit = LIMIT.to_string();
        for library in Library::ALL {
            let sidecar = Sidecar::start(broker.address(), &["--max-message-size", &limit]);
            let address = address(&format!("told-{library:?}"));
            let sizes = vec![LIMIT, LIMIT + 1, LIMIT];
            let plan = Plan::new(vec![Link::with_sizes(address, false, sizes)]);
            let observed = &library.send(sidecar.listen(), &plan)["links"][0];
            assert_eq!(
                observed["max-message-size"], LIMIT,
                "{release:?}, {library:?}"
            );
            let mut expected = plan.outcomes(0, LIMIT);
            let mut denied = 1;
            if library == Library::Fe2o3 {
                expected[1] = json!("refused by itself");
                denied = 0;
            }
            assert_eq!(observed["outcomes"], expected, "{release:?}, {library:?}");
            expect_counts(&sidecar, "send", 3, &[("reject", denied)]);
        }
    }
}

fn a_fifth_is_refused(release: Release, library: Library) {
    let broker = RabbitMq::shared(release);
    let limit = LIMIT.to_string();
    // A library that knew the limit might not send what is too large.
    let flags = ["--max-message-size", &limit, "--no-advertise"];
    let sidecar = Sidecar::start(broker.address(), &flags);
    let queue = |number: usize| format!("fifth-{library:?}-{number}");
    let links = (0..4).map(|number| {
        let settled = number % 2 == 1;
        Link::mixed(address(&queue(number)), settled, 250, LIMIT, LIMIT + 1)
    });
    let plan = Plan::new(links.collect());
    let sent = library.send(sidecar.listen(), &plan);
    assert_eq!(sent["connects"], 1);
    assert_eq!(sent["closed"], Value::Null);
    for (number, observed) in sent["links"].as_array().unwrap().iter().enumerate() {
        let expected = plan.outcomes(number, LIMIT);
        assert_eq!(observed["outcomes"], expected, "link {number}");
        assert_eq!(observed["error"], Value::Null, "link {number}");
    }
    let allowed = plan.allowed(LIMIT);
    assert_eq!(allowed, 1_000 - 200 + 4);
    let denied = [
        ("reject", plan.denied(LIMIT, false)),
        ("drop", plan.denied(LIMIT, true)),
    ];
    expect_counts(&sidecar, "send", allowed, &denied);

    let received = library.receive(sidecar.listen(), &plan.receiver(false));
    for (number, observed) in received["links"].as_array().unwrap().iter().enumerate() {
        let expected = plan.received(number, LIMIT);
        assert_eq!(observed["received"], expected, "link {number}");
    }
    expect_counts(&sidecar, "receive", allowed, &[]);
    for number in 0..4 {
        broker.queue_becomes_empty(&queue(number));
    }
}
