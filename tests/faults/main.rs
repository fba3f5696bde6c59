//! Faults of the peers and of the system around sizegate: brokers and clients that die, connections
//! that are reset, descriptors that run out, crowds, and more announced than there is memory for.
//! What is at fault ends, all that it took up is given back, and nobody else notices.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod announced;
mod crowd;
mod descriptors;
mod halves;
mod outage;
mod outage_amqp;
mod panic;
mod refusals;
mod resets;
mod script;
#[path = "../support/mod.rs"]
mod support;

use support::Sidecar;

/// Waits until no connection is left and as many descriptors are open as before the first one, and
/// fails if anything else of them is left.
fn expect_nothing_left(sidecar: &mut Sidecar, descriptors: usize) {
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    sidecar.metric_becomes("sizegate_held_bytes", &[], 0.0);
    sidecar.metric_becomes("sizegate_presettled_unsettled", &[], 0.0);
    support::wait_for("the descriptors of before", || {
        (sidecar.descriptors() <= descriptors).then_some(())
    });
    assert!(!sidecar.has_ended(), "it lives");
}

/// Descriptors that may stay: of the pipes through which large payloads went, a thread keeps 16.
const PIPES: usize = 2 * 16;
