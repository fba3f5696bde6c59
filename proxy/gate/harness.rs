//! A relay without sockets, for the tests of gates: it carries steps out at once and keeps what
//! would have been written, and it holds a gate to its contract.

use super::{Ending, Gate, Meter, Side, Step};

/// A gate between two streams in memory.
pub(crate) struct Harness {
    pub(crate) gate: Box<dyn Gate>,
    pub(crate) meter: Meter,
    client: Stream,
    broker: Stream,
}

/// What came from one side, and what became of it.
#[derive(Default)]
struct Stream {
    undecided: Vec<u8>,
    /// Octets of the current step that have not come yet.
    forward: u64,
    withhold: u64,
    /// What the other side was sent.
    output: Vec<u8>,
    ending: Option<Ending>,
    waits: bool,
}

impl Harness {
    pub(crate) fn new(gate: Box<dyn Gate>) -> Self {
        Self {
            gate,
            meter: Meter::default(),
            client: Stream::default(),
            broker: Stream::default(),
        }
    }

    /// Lets octets come from a side, and everything happen that they bring about.
    pub(crate) fn feed(&mut self, from: Side, octets: &[u8]) {
        self.stream(from).undecided.extend_from_slice(octets);
        self.settle();
    }

    /// Takes what a side has been sent since this was asked last.
    pub(crate) fn sent_to(&mut self, side: Side) -> Vec<u8> {
        std::mem::take(&mut self.stream(side.other()).output)
    }

    /// How the stream from a side ended, if it has.
    pub(crate) fn ending(&mut self, from: Side) -> Option<Ending> {
        self.stream(from).ending
    }

    /// Whether the gate waits for the other side before it takes more of this one.
    pub(crate) fn waits(&mut self, from: Side) -> bool {
        self.stream(from).waits
    }

    /// Octets of a side that have come and are neither forwarded nor thrown away.
    pub(crate) fn undecided(&mut self, from: Side) -> usize {
        self.stream(from).undecided.len()
    }

    /// Lets the time pass that the gate asked for, and says whether it asked.
    pub(crate) fn tick(&mut self) -> bool {
        let asked = self.gate.tick_after().is_some();
        if asked {
            self.gate.tick();
            self.settle();
        }
        asked
    }

    /// Carries out steps until neither stream has one.
    pub(crate) fn settle(&mut self) {
        let sides = [Side::Client, Side::Broker];
        while sides.map(|from| self.turn(from)).contains(&true)
            || sides.map(|from| self.is_pending(from)).contains(&true)
        {}
    }

    /// Whether a stream that could be asked for a step has one that no octet of it brings about.
    fn is_pending(&mut self, from: Side) -> bool {
        let stream = self.stream(from);
        let is_idle = stream.forward + stream.withhold == 0 && stream.ending.is_none();
        is_idle && self.gate.pending(from)
    }

    fn stream(&mut self, from: Side) -> &mut Stream {
        match from {
            Side::Client => &mut self.client,
            Side::Broker => &mut self.broker,
        }
    }

    /// Takes one step of a stream and says whether there was one.
    fn turn(&mut self, from: Side) -> bool {
        let Self {
            gate,
            meter,
            client,
            broker,
        } = self;
        let stream = match from {
            Side::Client => client,
            Side::Broker => broker,
        };
        stream.carry_out();
        if stream.forward + stream.withhold > 0 || stream.ending.is_some() {
            return false;
        }
        let mut inject = Vec::new();
        let step = gate.step(from, &stream.undecided, meter, &mut inject);
        assert_eq!(
            step == Step::Inject,
            !inject.is_empty(),
            "{step:?} {inject:?}"
        );
        stream.waits = step == Step::Wait;
        match step {
            Step::Forward(octets) => {
                assert!(octets > 0, "a step takes something");
                stream.forward = octets;
            }
            Step::Withhold(octets) => {
                assert!(octets > 0, "a step takes something");
                stream.withhold = octets;
            }
            Step::Inject => stream.output.append(&mut inject),
            Step::More(octets) => {
                assert!(octets > stream.undecided.len(), "{octets} octets are there");
                assert!(
                    !gate.pending(from),
                    "something is pending, and was not given"
                );
                return false;
            }
            Step::Wait => return false,
            Step::End(ending) => {
                stream.ending = Some(ending);
                stream.undecided.clear();
            }
        }
        stream.carry_out();
        true
    }
}

impl Stream {
    fn carry_out(&mut self) {
        let there = self.undecided.len() as u64;
        let forward = self.forward.min(there);
        self.output.extend(self.undecided.drain(..forward as usize));
        self.forward -= forward;
        let withhold = self.withhold.min(there - forward);
        self.undecided.drain(..withhold as usize);
        self.withhold -= withhold;
        if self.ending.is_some() {
            self.undecided.clear();
        }
    }
}
