//! Connections that are reset, by either side and at every step of a conversation.

use crate::expect_nothing_left;
use crate::script::{From, LIMIT, Script, Step};
use crate::support::Conversation;

fn start() -> Conversation {
    let limit = LIMIT.to_string();
    // A side that stays when the other is gone is not waited for by these tests.
    Conversation::start(&["--max-message-size", &limit, "--linger", "60s"])
}

/// Says so many steps, then part of the next one, and has one side reset its connection. Fails unless
/// the other one sees the end.
fn reset(conversation: &Conversation, script: &Script, steps: usize, more: usize, by: From) {
    let mut ends = script.begin(conversation, steps);
    if let Some(step) = script.steps.get(steps).filter(|_| more > 0) {
        ends.send(conversation, step, more.min(step.octets.len() - 1));
    }
    let (gone, stays) = match (by, ends.broker) {
        (From::Client, broker) => (ends.client, broker),
        (From::Broker, Some(broker)) => (broker, Some(ends.client)),
        // Nobody is there yet to reset anything.
        (From::Broker, None) => return,
    };
    gone.reset();
    if let Some(mut stays) = stays {
        stays.read_to_the_end();
    }
}

/// What of a step is sent: nothing, what may be its head, and all but its last octet.
fn pieces(step: Option<&Step>) -> Vec<usize> {
    match step {
        Some(step) => vec![0, 5, step.octets.len() - 1],
        None => vec![0],
    }
}

#[test]
fn a_reset_at_any_step_ends_both_connections_and_leaves_nothing_behind() {
    let mut conversation = start();
    let before = conversation.sidecar.descriptors();
    let mut count = 0;
    for script in Script::all() {
        for steps in 0..=script.steps.len() {
            for more in pieces(script.steps.get(steps)) {
                for by in [From::Client, From::Broker] {
                    reset(&conversation, &script, steps, more, by);
                    count += 1;
                }
            }
        }
        expect_nothing_left(&mut conversation.sidecar, before);
        let protocol = [("protocol", script.protocol)];
        let metrics = conversation.sidecar.metrics();
        let reset = metrics.value(CLOSED, &[protocol[0], ("reason", "reset")]);
        assert!(reset > 0.5, "none of {} was counted", script.protocol);
        // All steps at once still pass.
        drop(script.begin(&conversation, script.steps.len()));
    }
    assert!(count > 200, "{count} resets");
    expect_nothing_left(&mut conversation.sidecar, before);
}

const CLOSED: &str = "sizegate_connections_closed_total";
