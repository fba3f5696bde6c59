//! Drives a gate as the relay does, without sockets: octets that are in memory already.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use sizegate::gate::{Gate, Meter, Side, Step};
use sizegate::policy::{ByteSize, Limit, Policy, PolicySpec};
use sizegate::protocols::{Advertise, Opening, PROTOCOLS, Recognition, Settings};

use crate::Error;
use crate::load::wire::{Broker, Message};

/// A gate whose client the broker has accepted.
pub(super) struct Passage {
    case: &'static str,
    gate: Box<dyn Gate>,
    inject: Vec<u8>,
    /// Turns that have been taken.
    turns: usize,
    /// Steps since the greeting that changed what a side sent.
    changes: usize,
}

impl Passage {
    /// Opens the gate of the protocol, with limits in both directions, and lets both ends greet.
    pub(super) fn open(
        case: &'static str,
        message: &Message,
        broker: &mut Broker,
    ) -> Result<Self, Error> {
        let limit = |flag| Limit::new(LIMIT, flag);
        let spec = PolicySpec::new(limit("--max-message-size"), limit("--max-receive-size"));
        let settings = Arc::new(Settings {
            advertise: Advertise::Largest,
            ..Settings::new(Policy::compile(&spec))
        });
        let opening = Opening {
            settings: &settings,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_name: None,
            subject: None,
        };
        let greeting = message.protocol.greeting();
        let first = greeting.first().map_or(&[][..], |(says, _)| says);
        let protocol = PROTOCOLS
            .iter()
            .find(|protocol| (protocol.recognise)(first) == Recognition::Ours);
        let Some(protocol) = protocol else {
            return Err(refused(case, "that it is not spoken", 0));
        };
        let mut passage = Self {
            case,
            gate: (protocol.open)(&opening),
            inject: Vec::new(),
            turns: 0,
            changes: 0,
        };
        for (says, _) in &greeting {
            let (mut to_broker, mut answer) = (Vec::new(), Vec::new());
            passage.turn(Side::Client, says, |octets| {
                to_broker.extend_from_slice(octets);
            })?;
            broker.take(&to_broker, &mut answer)?;
            passage.turn(Side::Broker, &answer, |_| {})?;
        }
        passage.changes = 0;
        Ok(passage)
    }

    /// Lets these octets of the client pass, and these of the broker, if any; all of them, and no
    /// others.
    pub(super) fn pass(&mut self, of_client: &[u8], of_broker: &[u8]) -> Result<(), Error> {
        let each = |octets: &[u8]| {
            black_box(octets);
        };
        self.turn(Side::Client, of_client, each)?;
        if !of_broker.is_empty() {
            self.turn(Side::Broker, of_broker, each)?;
        }
        if self.changes > 0 {
            return Err(refused(self.case, "other octets", self.turns));
        }
        Ok(())
    }

    /// One turn of a connection: all steps of a side, and all that the relay asks besides.
    fn turn(
        &mut self,
        from: Side,
        mut octets: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let mut meter = Meter::default();
        loop {
            let step = self.gate.step(from, octets, &mut meter, &mut self.inject);
            match step {
                Step::Forward(count) | Step::Withhold(count) if count <= octets.len() as u64 => {
                    let (front, rest) = octets.split_at(count as usize);
                    if matches!(step, Step::Forward(_)) {
                        each(front);
                    } else {
                        self.changes += 1;
                    }
                    octets = rest;
                }
                Step::Inject => {
                    each(&self.inject);
                    self.inject.clear();
                    self.changes += 1;
                }
                Step::More(_) if octets.is_empty() => break,
                step => return Err(refused(self.case, &format!("{step:?}"), self.turns)),
            }
        }
        black_box(self.gate.pending(Side::Client));
        black_box(self.gate.pending(Side::Broker));
        black_box(self.gate.tick_after());
        black_box(&meter);
        self.turns += 1;
        Ok(())
    }
}

fn refused(case: &'static str, step: &str, at: usize) -> Error {
    Error::Refused {
        case,
        step: step.to_owned(),
        at,
    }
}

/// More than any message of a case, so that it is judged and passes.
const LIMIT: ByteSize = ByteSize(2 << 20);
