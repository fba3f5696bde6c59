//! `--on-oversize detach` and `close`: what ends, what lives on, and what the client is told.

use serde_json::{Value, json};

use crate::plan::{Library, Link, Plan, TOO_LARGE, refusal};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, address, expect_counts};

#[test]
fn detach_ends_the_link_of_the_message_and_the_other_links_live_on() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        for library in Library::ALL {
            let case = format!("{release:?} and {library:?}");
            let sidecar = sidecar(broker, "detach");
            let queue = |name: &str| format!("detach-{library:?}-{name}");
            let links = [
                Link::with_sizes(address(&queue("ends")), false, vec![5 * LIMIT]),
                Link::with_sizes(address(&queue("settled")), true, vec![2 * LIMIT]),
                Link::with_sizes(address(&queue("lives")), false, vec![LIMIT; 50]),
            ];
            let mut plan = Plan::new(links.to_vec());
            plan.failing = 2;
            let sent = library.send(sidecar.listen(), &plan);
            assert_eq!(sent["closed"], Value::Null, "{case}");
            for link in [0, 1] {
                let error = &sent["links"][link]["error"];
                assert_eq!(error[0], TOO_LARGE, "{case}");
                expect_at_least(error[1].as_str().unwrap());
            }
            let lives = &sent["links"][2];
            assert_eq!(lives["error"], Value::Null, "{case}");
            let expected = plan.outcomes(2, LIMIT);
            assert_eq!(lives["outcomes"], expected, "{case}");
            expect_counts(&sidecar, "send", 50 + 1, &[("detach", 2)]);
            let queues = broker.queues();
            for (name, count) in [("ends", 0), ("settled", 0), ("lives", 50 + 1)] {
                assert_eq!(queues[&queue(name)], count, "{case}: {name}");
            }
        }
    }
}

#[test]
fn close_rejects_the_message_and_ends_the_connection_with_the_words_of_dispatch() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        for library in Library::ALL {
            let case = format!("{release:?} and {library:?}");
            let sidecar = sidecar(broker, "close");
            let queue = format!("close-{library:?}");
            let mut sizes = vec![LIMIT; 10];
            sizes.push(5 * LIMIT);
            let mut plan = Plan::new(vec![Link::with_sizes(address(&queue), false, sizes)]);
            plan.failing = 1;
            let sent = library.send(sidecar.listen(), &plan);
            let closed = &sent["closed"];
            assert_eq!(closed[0], "amqp:connection:forced", "{case}");
            assert_eq!(closed[1], "Message size exceeded", "{case}");
            let info = &closed[2];
            assert_eq!(info["limit"], LIMIT, "{case}");
            assert_eq!(info["rule"], "--max-message-size", "{case}");
            let size = info["size"].as_u64().unwrap() as usize;
            assert!(size > LIMIT && size <= 5 * LIMIT, "{case}: {size}");
            let mut expected = vec![json!("accepted"); 10];
            expected.push(json!(["rejected", TOO_LARGE, refusal(5 * LIMIT, LIMIT)]));
            assert_eq!(sent["links"][0]["outcomes"], json!(expected), "{case}");
            expect_counts(&sidecar, "send", 10, &[("close", 1)]);
            assert_eq!(broker.queues()[&queue], 10, "{case}");
        }
    }
}

fn sidecar(broker: &RabbitMq, on_oversize: &str) -> Sidecar {
    let limit = LIMIT.to_string();
    let flags = [
        "--max-message-size",
        &limit,
        "--on-oversize",
        on_oversize,
        // fe2o3-amqp, if it knew the limit, would not send what is too large.
        "--no-advertise",
        // Proton does not answer a close with this error.
        "--linger",
        "1s",
    ];
    Sidecar::start(broker.address(), &flags)
}

/// The message was refused at the frame that passed the limit.
fn expect_at_least(description: &str) {
    let rest = description.strip_prefix("Message size exceeded: at least ");
    let (size, rest) = rest.unwrap_or(description).split_once(' ').unwrap();
    assert_eq!(
        rest,
        format!("octets, limit {LIMIT}, set by --max-message-size")
    );
    let size: usize = size.parse().unwrap();
    assert!(
        size > LIMIT && size <= LIMIT + RabbitMq::FRAME_MAX,
        "{description}"
    );
}
