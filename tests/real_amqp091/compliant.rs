//! What is within the limits is as without us.

use crate::plan::{Channel, Library, Mode, Plan};
use crate::support::{RabbitMq, Release, Sidecar};
use crate::{LIMIT, expect_counts};

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
    let limits = ["--max-message-size", "1Gi", "--max-receive-size", "1Gi"];
    let sidecar = Sidecar::start(broker.address(), &limits);
    let mut allowed = 0;
    for library in Library::ALL {
        let channels = [Mode::Confirm, Mode::Plain].map(|mode| {
            let queue = format!("compliant-{library:?}-{mode:?}");
            Channel::mixed(queue, mode, 150, LIMIT)
        });
        let plan = Plan::new(channels.to_vec());
        let [without, with] = [broker.address(), sidecar.listen()].map(|address| {
            let sent = library.send(address, &plan);
            (sent, library.receive(address, &plan.receiver(false)))
        });
        assert_eq!(without, with, "{library:?}, without us and with us");
        allowed += plan.allowed(usize::MAX);
        for (number, received) in with.1["channels"].as_array().unwrap().iter().enumerate() {
            let expected = plan.received(number, usize::MAX);
            assert_eq!(received["received"], expected, "{library:?}");
        }
    }
    expect_counts(&sidecar, "send", allowed, &[]);
    expect_counts(&sidecar, "receive", allowed, &[]);
}
