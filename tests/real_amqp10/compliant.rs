//! What is within the limits is as without us.

use crate::plan::{Library, Link, Plan};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, address, expect_counts};

#[test]
fn every_library_observes_the_same_of_rabbitmq_3_with_and_without_us() {
    both_ways(Release::V3);
}

#[test]
fn every_library_observes_the_same_of_rabbitmq_4_with_and_without_us() {
    both_ways(Release::V4);
}

fn both_ways(release: Release) {
    let broker = RabbitMq::shared(release);
    let sidecar = Sidecar::start(broker.address(), &["--max-message-size", "1Gi"]);
    let mut allowed = 0;
    for library in Library::ALL {
        let links = [false, true].map(|settled| {
            let address = address(&format!("compliant-{library:?}-{settled}"));
            Link::mixed(address, settled, 150, LIMIT, LIMIT + 1)
        });
        let plan = Plan::new(links.to_vec());
        let [without, with] = [broker.address(), sidecar.listen()].map(|address| {
            let mut sent = library.send(address, &plan);
            for link in sent["links"].as_array_mut().unwrap() {
                link.as_object_mut().unwrap().remove("max-message-size");
            }
            (sent, library.receive(address, &plan.receiver(false)))
        });
        assert_eq!(without, with, "{library:?}, without us and with us");
        allowed += plan.allowed(usize::MAX);
        for (number, received) in with.1["links"].as_array().unwrap().iter().enumerate() {
            let expected = plan.received(number, usize::MAX);
            assert_eq!(received["received"], expected, "{library:?}");
        }
    }
    expect_counts(&sidecar, "send", allowed, &[]);
    expect_counts(&sidecar, "receive", allowed, &[]);
}
