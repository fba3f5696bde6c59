//! Many clients at once, each with a long stream of messages of all sizes, cut anywhere: the broker
//! gets the compliant ones and nothing else, and each refused one is answered once.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::thread;

use support::mqtt::{Answer, PUBACK, PUBREC, Publish, Version, ack};
use support::{Conversation, Raw, expect_quiet};

#[test]
fn compliant_messages_pass_between_refused_ones() {
    play(&["--max-message-size", "1000"]);
}

#[test]
fn compliant_messages_pass_between_refused_ones_with_several_threads() {
    play(&["--max-message-size", "1000", "--threads", "2"]);
}

fn play(flags: &[&str]) {
    let conversation = Conversation::start(flags);
    let clients: Vec<_> = (1..=CLIENTS)
        .map(|seed| {
            let version = Version::ALL[seed as usize % 3];
            (
                seed,
                version,
                conversation.client(version, &format!("client-{seed}")),
            )
        })
        .collect();
    let mut denied = 0;
    thread::scope(|scope| {
        let running: Vec<_> = clients
            .into_iter()
            .map(|(seed, version, (mut client, mut broker))| {
                scope.spawn(move || one_client(seed, version, &mut client, &mut broker))
            })
            .collect();
        for client in running {
            denied += client.join().unwrap();
        }
    });
    for (verdict, count) in [("denied", denied), ("allowed", CLIENTS * MESSAGES - denied)] {
        let labels = [("direction", "send"), ("verdict", verdict)];
        let sidecar = &conversation.sidecar;
        sidecar.metric_becomes("sizegate_messages_total", &labels, count as f64);
    }
}

/// Plays one client and its broker, and returns how many messages were refused.
fn one_client(seed: u64, version: Version, client: &mut Raw, broker: &mut Raw) -> u64 {
    let mut random = Random(seed);
    let (mut stream, mut compliant, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    let mut denied = 0;
    for number in 0..MESSAGES {
        let qos = random.below(3) as u8;
        let id = number as u16 + 1;
        let publish = Publish::new(version, qos, "t").id(id);
        // Half of them next to the limit, where a mistake by one would show.
        let publish = match random.below(8) {
            0..4 => publish.packet_len(997 + random.below(8) as usize),
            4..7 => publish.payload_len(random.below(3000) as usize),
            _ => publish.payload_len(random.below(200_000) as usize),
        };
        let size = publish.encode().len();
        stream.extend(publish.encode());
        if size <= 1000 {
            compliant.extend(publish.encode());
            continue;
        }
        denied += 1;
        match qos {
            0 => {}
            1 => answers.push((PUBACK, id)),
            _ => answers.push((PUBREC, id)),
        }
    }
    thread::scope(|scope| {
        let mut writer = client.writer();
        scope.spawn(move || {
            let mut rest = &stream[..];
            while !rest.is_empty() {
                let most = [3, 100, 10_000, 300_000][random.below(4) as usize];
                let (piece, tail) =
                    rest.split_at((1 + random.below(most) as usize).min(rest.len()));
                writer.send(piece);
                rest = tail;
            }
        });
        scope.spawn(|| broker.expect(compliant, "the compliant messages and no other octet"));
        for (first, id) in answers {
            if version == Version::V5 {
                let answer = Answer::parse(&client.read_packet());
                assert_eq!(
                    (answer.first, answer.id, answer.code),
                    (first, Some(id), 0x97)
                );
            } else {
                client.expect(ack(first, id), "the plain acknowledgement");
            }
        }
    });
    expect_quiet(client, broker);
    denied
}

/// Numbers that look random and are the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// How many connect at once.
const CLIENTS: u64 = 12;

/// How much each of them has to say.
const MESSAGES: u64 = 300;
