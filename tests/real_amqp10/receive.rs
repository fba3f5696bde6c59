//! What a broker sends that is too large for a client: it gets the rest, and the broker does not
//! send it again.

use serde_json::Value;

use crate::plan::{Library, Link, Plan};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, address, expect_counts};

#[test]
fn consumers_of_rabbitmq_3_get_all_but_the_oversized_messages_which_are_gone() {
    oversized_messages_are_swallowed(Release::V3);
}

#[test]
fn consumers_of_rabbitmq_4_get_all_but_the_oversized_messages_which_are_gone() {
    oversized_messages_are_swallowed(Release::V4);
}

fn oversized_messages_are_swallowed(release: Release) {
    let broker = RabbitMq::shared(release);
    let limit = LIMIT.to_string();
    for library in Library::ALL {
        for (credit, settled) in [(1, false), (50, false), (50, true)] {
            let case = format!("{library:?}, credit {credit}, settled: {settled}");
            let queue = |number: usize| format!("receive-{library:?}-{credit}-{settled}-{number}");
            // The broker adds sections of its own to a message, so that its size is not just the
            // one that was sent.
            let links = (0..2)
                .map(|number| Link::mixed(address(&queue(number)), false, 100, LIMIT - 500, LIMIT));
            let plan = Plan::new(links.collect());
            Library::Proton.send(broker.address(), &plan);

            let sidecar = Sidecar::start(broker.address(), &["--max-receive-size", &limit]);
            let mut receiver = plan.receiver(settled);
            receiver.credit = credit;
            let received = library.receive(sidecar.listen(), &receiver);
            assert_eq!(received["closed"], Value::Null, "{case}");
            for (number, observed) in received["links"].as_array().unwrap().iter().enumerate() {
                let expected = plan.received(number, LIMIT - 1);
                assert_eq!(observed["received"], expected, "{case}, link {number}");
                assert_eq!(observed["error"], Value::Null, "{case}, link {number}");
            }
            let (action, denied) = match settled {
                true => ("drop", receiver.denied(LIMIT - 1, true)),
                false => ("reject", receiver.denied(LIMIT - 1, false)),
            };
            assert_eq!(denied, 2 * 20);
            let allowed = plan.allowed(LIMIT - 1);
            expect_counts(&sidecar, "receive", allowed, &[(action, denied)]);
            for number in 0..2 {
                broker.queue_becomes_empty(&queue(number));
            }
        }
    }
}
