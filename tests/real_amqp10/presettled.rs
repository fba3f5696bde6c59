//! Pre-settled messages that go through real brokers unsettled: every library sends and receives as
//! without us, and those that are too large are dropped as always.

use serde_json::Value;

use crate::plan::{Library, Link, Plan};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, address, expect_counts};

#[test]
fn every_library_observes_the_same_of_rabbitmq_3_when_its_messages_are_paced() {
    paced(Release::V3);
}

#[test]
fn every_library_observes_the_same_of_rabbitmq_4_when_its_messages_are_paced() {
    paced(Release::V4);
}

fn paced(release: Release) {
    let broker = RabbitMq::shared(release);
    for library in Library::ALL {
        let limit = LIMIT.to_string();
        let flags = [
            "--presettled",
            "unsettled",
            "--no-advertise",
            "--max-message-size",
            &limit,
        ];
        let sidecar = Sidecar::start(broker.address(), &flags);
        let links = [false, true].map(|settled| {
            let address = address(&format!("presettled-{library:?}-{settled}"));
            Link::mixed(address, settled, 150, LIMIT, LIMIT + 1)
        });
        let plan = Plan::new(links.to_vec());
        let sent = library.send(sidecar.listen(), &plan);
        for link in 0..2 {
            let outcomes = &sent["links"][link]["outcomes"];
            assert_eq!(*outcomes, plan.outcomes(link, LIMIT), "{library:?}, {link}");
        }
        let received = library.receive(sidecar.listen(), &plan.receiver(false));
        for (number, received) in received["links"].as_array().unwrap().iter().enumerate() {
            let expected = plan.received(number, LIMIT);
            assert_eq!(received["received"], expected, "{library:?}");
            assert_eq!(received["error"], Value::Null, "{library:?}");
        }
        let allowed = plan.allowed(LIMIT);
        let denied = [
            ("reject", plan.denied(LIMIT, false)),
            ("drop", plan.denied(LIMIT, true)),
        ];
        expect_counts(&sidecar, "send", allowed, &denied);
        let metrics = sidecar.metrics();
        let count =
            |name: &str| metrics.value(&format!("sizegate_presettled_{name}"), &[]) as usize;
        assert_eq!(count("accepted_total"), allowed / 2, "{library:?}");
        for name in [
            "rejected_total",
            "released_total",
            "modified_total",
            "lost_total",
        ] {
            assert_eq!(count(name), 0, "{library:?}: {name}");
        }
        assert_eq!(count("unsettled"), 0);
    }
}
