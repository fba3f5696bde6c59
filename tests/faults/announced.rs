//! More is announced, and begun, than there is memory for.

use crate::script::{Ends, Script};
use crate::support::{Conversation, amqp10, amqp091, mqtt, raise_descriptor_limit};
use crate::{PIPES, expect_nothing_left};

/// Connections of each protocol that announce a message of [`HUGE`] octets.
const EACH: usize = 334;
const HUGE: usize = 256_000_000;
/// What each of them sends of it.
const SENT: usize = 64 * 1024;
/// What may be held of all of them.
const HELD_KIB: u64 = 8 * 1024;
/// What is not messages: 1,000 connections, and buffers that are lent for a moment.
const REST_KIB: u64 = 1_000 * 8 + 3 * 1024;

/// What a client sends after its greeting.
fn begun(protocol: &str) -> Vec<u8> {
    match protocol {
        "mqtt" => {
            let head = [&[0x30][..], &mqtt::variable(HUGE), &[0, 1, b't', 0]].concat();
            [head, vec![b'p'; SENT]].concat()
        }
        "amqp10" => {
            let link = amqp10::Link {
                handle: 0,
                address: "a",
            };
            let frame = amqp10::transfer(link, 0, true, &[b'm'; 4_000]);
            frame.repeat(SENT / 4_000)
        }
        _ => [amqp091::publish_head(1, "t", HUGE), amqp091::body(1, SENT)].concat(),
    }
}

#[test]
fn a_thousand_messages_of_256_mb_that_are_begun_cost_no_more_than_may_be_held() {
    raise_descriptor_limit();
    for mode in ["reject", "detach"] {
        let hold = format!("{HELD_KIB}Ki");
        let flags = ["--max-message-size", "1Gi", "--hold-memory", &hold];
        let flags = [&flags[..], &["--on-oversize", mode]].concat();
        let mut conversation = Conversation::start(&flags);
        let before = conversation.sidecar.descriptors();
        // Its buffers are there afterwards.
        drop(greeted(&conversation, &Script::all()[0]));
        let rss = conversation.sidecar.rss_kib();
        let mut all: Vec<Ends> = Vec::new();
        for script in Script::all() {
            let octets = begun(script.protocol);
            for _ in 0..EACH {
                let mut ends = greeted(&conversation, &script);
                ends.client.send(&octets);
                all.push(ends);
            }
        }
        // What is held first is all that may be held: the rest passes, or waits in sockets.
        if mode == "reject" {
            let held = || {
                conversation
                    .sidecar
                    .metrics()
                    .value("sizegate_held_bytes", &[])
            };
            let full = (HELD_KIB * 1024 - SENT as u64) as f64;
            crate::support::wait_for("as much is held as may be", || {
                (held() > full).then_some(())
            });
        }
        let mut last = greeted(&conversation, &Script::all()[0]);
        last.answers_pings();
        let grown = conversation.sidecar.peak_rss_kib() - rss;
        eprintln!("{mode}: 1,002 messages of 256 MB begun: {grown} KiB");
        let may_hold = if mode == "reject" { HELD_KIB } else { 0 };
        assert!(grown < may_hold + REST_KIB, "{mode}: {grown} KiB");
        drop((all, last));
        expect_nothing_left(&mut conversation.sidecar, before + PIPES);
    }
}

/// A connection on which a message may come next.
fn greeted(conversation: &Conversation, script: &Script) -> Ends {
    script.begin(conversation, script.greeting)
}
