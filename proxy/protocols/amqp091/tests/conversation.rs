//! Two strict peers with a gate between them.

use std::fmt::Write as _;

use parsers::amqp091::Tune;

use super::peer::{Broker, Client};
use super::words::*;
use super::{SIDES, Terms};
use crate::gate::Side;
use crate::gate::harness::Harness;

/// A client and a broker, and the octets between them.
pub(super) struct Conversation {
    pub(super) gate: Harness,
    pub(super) client: Client,
    pub(super) broker: Broker,
    /// What a side said and the gate was not given yet.
    on_the_way: [Vec<u8>; 2],
    /// All that the gate was given by a side.
    pub(super) said: [Vec<u8>; 2],
    /// All that a side was sent by the gate.
    pub(super) heard: [Vec<u8>; 2],
    transcript: Transcript,
}

impl Conversation {
    /// A conversation whose connection is open.
    pub(super) fn open(terms: Terms) -> Self {
        let mut gate = terms.open();
        let agreed = Tune {
            heartbeat: 10,
            ..TUNE
        };
        let begin = [HEADER.to_vec(), start_ok(), tune_ok(agreed), open()].concat();
        gate.feed(Side::Client, &begin);
        assert_eq!(gate.sent_to(Side::Broker), begin);
        let answers = [start(), tune(agreed), open_ok()].concat();
        gate.feed(Side::Broker, &answers);
        assert_eq!(gate.sent_to(Side::Client), answers);
        Self {
            gate,
            client: Client::default(),
            broker: Broker::default(),
            on_the_way: Default::default(),
            said: Default::default(),
            heard: Default::default(),
            transcript: Transcript::default(),
        }
    }

    /// Lets everything arrive that is under way, and everything be sent.
    pub(super) fn run(&mut self) {
        loop {
            self.client.wire.push_all();
            self.broker.wire.push_all();
            if !SIDES
                .map(|side| self.carry(side, usize::MAX))
                .contains(&true)
            {
                break;
            }
        }
    }

    /// Lets the time pass that the gate asked for.
    pub(super) fn tick(&mut self) {
        self.gate.tick();
        self.deliver();
    }

    /// Gives the gate up to this many octets of a side, and the peers what comes of it. Returns
    /// whether there were any.
    pub(super) fn carry(&mut self, side: Side, most: usize) -> bool {
        let wire = match side {
            Side::Client => &mut self.client.wire,
            Side::Broker => &mut self.broker.wire,
        };
        let on_the_way = &mut self.on_the_way[side as usize];
        on_the_way.append(&mut wire.output);
        let len = most.min(on_the_way.len());
        if len == 0 {
            return false;
        }
        let octets: Vec<u8> = on_the_way.drain(..len).collect();
        self.said[side as usize].extend_from_slice(&octets);
        self.transcript.note(side, 0, &octets);
        self.gate.feed(side, &octets);
        self.deliver();
        true
    }

    /// Gives the peers what the gate has for them.
    fn deliver(&mut self) {
        for side in SIDES {
            let octets = self.gate.sent_to(side);
            self.heard[side as usize].extend_from_slice(&octets);
            self.transcript.note(side, 1, &octets);
            match side {
                Side::Client => self.client.receive(&octets),
                Side::Broker => self.broker.receive(&octets),
            }
        }
    }
}

/// What was said, for the reader of a failed test: set `TRANSCRIPT=1` to see it.
#[derive(Default)]
struct Transcript {
    lines: String,
    /// What came of each of the four streams and is not a whole frame yet.
    rest: [Vec<u8>; 4],
}

impl Transcript {
    fn note(&mut self, side: Side, hears: usize, octets: &[u8]) {
        if std::env::var_os("TRANSCRIPT").is_none() {
            return;
        }
        let verb = ["says  ", " hears"][hears];
        let stream = &mut self.rest[2 * hears + side as usize];
        stream.extend_from_slice(octets);
        let whole = std::mem::take(stream);
        let (frames, rest) = frames(&whole);
        for frame in frames {
            let frame = frame.escape_ascii();
            writeln!(self.lines, "{} {verb} {frame}", side.as_str()).expect("memory");
        }
        *stream = rest.to_vec();
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.lines.is_empty() {
            println!("---\n{}", self.lines);
        }
    }
}
