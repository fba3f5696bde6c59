//! What is counted: small messages, one case for each way in which they come.

use super::passage::Passage;
use crate::Error;
use crate::load::wire::{Batch, Broker, Message, Protocol};

/// Small messages of one kind.
#[derive(Debug)]
pub(super) struct Case {
    /// Its name in the file of ceilings.
    pub(super) name: &'static str,
    message: Message,
    /// How many of them the relay has read together.
    batch: usize,
}

/// How many messages a case has at most; all of them are made before the first is judged, however
/// many are, so that making them does not count.
pub(super) const MESSAGES: usize = 20_000;

/// All cases. Each protocol of the list has one.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "mqtt-3.1.1-qos-0",
        message: mqtt(Protocol::Mqtt, false),
        batch: 100,
    },
    Case {
        name: "mqtt-5.0-qos-0",
        message: mqtt(Protocol::Mqtt5, false),
        batch: 100,
    },
    Case {
        name: "mqtt-3.1.1-qos-1",
        message: mqtt(Protocol::Mqtt, true),
        batch: 1,
    },
    Case {
        name: "mqtt-5.0-qos-1",
        message: mqtt(Protocol::Mqtt5, true),
        batch: 1,
    },
    Case {
        name: "amqp-1.0-settled",
        message: Message {
            protocol: Protocol::Amqp10,
            size: 100,
            is_acknowledged: false,
        },
        batch: 100,
    },
];

const fn mqtt(protocol: Protocol, is_acknowledged: bool) -> Message {
    Message {
        protocol,
        size: 64,
        is_acknowledged,
    }
}

/// The case of this name.
pub(super) fn named(name: &str) -> Result<&'static Case, Error> {
    let found = CASES.iter().find(|case| case.name == name);
    found.ok_or_else(|| Error::Unknown {
        what: "case",
        name: name.to_owned(),
        known: CASES
            .iter()
            .map(|case| case.name)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

impl Case {
    /// Lets so many messages and their acknowledgements pass a gate.
    pub(super) fn run(&self, messages: usize) -> Result<(), Error> {
        let mut broker = Broker::new(self.message);
        let mut passage = Passage::open(self.name, &self.message, &mut broker)?;
        let mut batch = Batch::new(&self.message, self.batch);
        let mut turns = Vec::new();
        for _ in 0..MESSAGES / self.batch {
            let sent = batch.next().to_vec();
            let mut answer = Vec::new();
            broker.take(&sent, &mut answer)?;
            turns.push((sent, answer));
        }
        for (sent, answer) in turns.iter().take(messages / self.batch) {
            passage.pass(sent, answer)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sizegate::protocols::{PROTOCOLS, Recognition};

    use super::*;

    #[test]
    fn each_case_passes_the_gate() {
        for case in CASES {
            case.run(10 * case.batch).unwrap();
        }
    }

    #[test]
    fn each_protocol_has_a_case() {
        for protocol in PROTOCOLS {
            let has_one = CASES.iter().any(|case| {
                let greeting = case.message.protocol.greeting();
                (protocol.recognise)(&greeting[0].0) == Recognition::Ours
            });
            assert!(has_one, "{} has no case", protocol.name);
        }
    }

    #[test]
    fn a_case_is_found_by_its_name() {
        assert_eq!(named("mqtt-5.0-qos-1").unwrap().batch, 1);
        assert!(named("nothing").is_err());
    }
}
