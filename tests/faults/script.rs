//! One conversation for each protocol, step by step, with all that sizegate does in the middle of it:
//! pass on, hold, throw away, answer by itself.

use crate::support::mqtt::{self, Connect, PUBACK, Publish, Version};
use crate::support::{Conversation, Raw, amqp10, amqp091, expect_quiet};

/// The limit that the conversations are held to.
pub(crate) const LIMIT: usize = 2_000;

/// Who sends a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Client,
    Broker,
}

/// What one side sends next.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Which side.
    pub(crate) from: From,
    /// What.
    pub(crate) octets: Vec<u8>,
    /// Whether the other side gets it at once.
    pub(crate) passes: bool,
}

/// A conversation.
#[derive(Debug)]
pub(crate) struct Script {
    /// As the metrics name it.
    pub(crate) protocol: &'static str,
    /// How many steps there are before the first message.
    pub(crate) greeting: usize,
    /// What is said. The client begins.
    pub(crate) steps: Vec<Step>,
}

/// The two ends of a connection through sizegate.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The client's.
    pub(crate) client: Raw,
    /// The broker's, once there is one.
    pub(crate) broker: Option<Raw>,
}

impl Script {
    /// Those of all protocols.
    pub(crate) fn all() -> [Self; 3] {
        [Self::mqtt(), Self::amqp10(), Self::amqp091()]
    }

    /// Up to a refusal that the client has not read.
    pub(crate) fn mqtt() -> Self {
        let connect = Connect::new(Version::V5, "c").encode();
        let subscribe = mqtt::subscribe(Version::V5, 1, &["#"]);
        let publish = |len| {
            Publish::new(Version::V5, 1, "t")
                .id(7)
                .packet_len(len)
                .encode()
        };
        Self {
            protocol: "mqtt",
            greeting: 2,
            steps: vec![
                passes(From::Client, connect),
                passes(From::Broker, Version::V5.connack()),
                passes(From::Client, subscribe),
                passes(From::Broker, vec![0x90, 4, 0, 1, 0, 1]),
                passes(From::Client, publish(LIMIT)),
                passes(From::Broker, mqtt::ack(PUBACK, 7)),
                passes(From::Broker, publish(LIMIT)),
                stays(publish(LIMIT + 1)),
                passes(From::Client, publish(30)),
            ],
        }
    }

    /// With a delivery that is held until it passes its limit, and one that is held for ever.
    pub(crate) fn amqp10() -> Self {
        use amqp10::{
            HEADER, Link, accepted, attach_receiver, attach_sender, begin, flow, message, open,
            transfer,
        };
        let link = Link {
            handle: 0,
            address: "a",
        };
        let half = vec![b'm'; LIMIT / 2];
        Self {
            protocol: "amqp10",
            greeting: 9,
            steps: vec![
                passes(From::Client, HEADER.to_vec()),
                passes(From::Broker, HEADER.to_vec()),
                passes(From::Client, open("c", 4_096)),
                passes(From::Broker, open("b", 4_096)),
                passes(From::Client, begin(None)),
                passes(From::Broker, begin(Some(0))),
                passes(From::Client, attach_sender(link)),
                passes(From::Broker, attach_receiver(link)),
                passes(From::Broker, flow(link, 1 << 20)),
                passes(From::Client, transfer(link, 0, false, &message(LIMIT))),
                passes(From::Broker, accepted(0)),
                stays(transfer(link, 1, true, &half)),
                stays(transfer(link, 1, true, &half)),
                stays(transfer(link, 1, true, &half)),
                stays(transfer(link, 1, false, &half)),
                stays(transfer(link, 2, true, &half)),
            ],
        }
    }

    /// With a confirm of the broker, and a message that is refused in its middle.
    pub(crate) fn amqp091() -> Self {
        use amqp091::{
            HEADER, ack, body, channel_open, channel_open_ok, confirm_select, confirm_select_ok,
            open, open_ok, publish, publish_head, start, start_ok, tune, tune_ok,
        };
        let large = LIMIT + 1;
        Self {
            protocol: "amqp091",
            greeting: 9,
            steps: vec![
                passes(From::Client, HEADER.to_vec()),
                passes(From::Broker, start()),
                passes(From::Client, start_ok("alice", "billing")),
                passes(From::Broker, tune(0)),
                passes(From::Client, tune_ok(0)),
                passes(From::Client, open("prod")),
                passes(From::Broker, open_ok()),
                passes(From::Client, channel_open(1)),
                passes(From::Broker, channel_open_ok(1)),
                passes(From::Client, confirm_select(1)),
                passes(From::Broker, confirm_select_ok(1)),
                passes(From::Client, publish(1, "t", LIMIT)),
                passes(From::Broker, ack(1, 1, false)),
                stays(publish_head(1, "t", large)),
                stays(body(1, large)),
                passes(From::Client, publish(1, "t", 10)),
            ],
        }
    }

    /// Connects, and says the first so many steps.
    pub(crate) fn begin(&self, conversation: &Conversation, steps: usize) -> Ends {
        self.begin_with(conversation.connect(), conversation, steps)
    }

    /// The same with a client that has connected.
    pub(crate) fn begin_with(
        &self,
        client: Raw,
        conversation: &Conversation,
        steps: usize,
    ) -> Ends {
        let mut ends = Ends {
            client,
            broker: None,
        };
        for step in &self.steps[..steps] {
            ends.send(conversation, step, step.octets.len());
        }
        ends
    }
}

impl Ends {
    /// Proves that a connection of MQTT carries octets both ways.
    pub(crate) fn answers_pings(&mut self) {
        expect_quiet(&mut self.client, self.broker.as_mut().unwrap());
    }

    /// Sends the first `len` octets of a step, and waits for the whole one at the other end where it
    /// gets there.
    pub(crate) fn send(&mut self, conversation: &Conversation, step: &Step, len: usize) {
        let octets = &step.octets[..len];
        let is_awaited = step.passes && len == step.octets.len();
        match (step.from, &mut self.broker) {
            (From::Client, broker) => {
                self.client.send(octets);
                if is_awaited {
                    let broker = broker.get_or_insert_with(|| conversation.broker.accept());
                    broker.expect(octets, "what the client says");
                }
            }
            (From::Broker, Some(broker)) => {
                broker.send(octets);
                if is_awaited {
                    self.client.expect(octets, "what the broker says");
                }
            }
            (From::Broker, None) => unreachable!("the client begins"),
        }
    }
}

fn passes(from: From, octets: Vec<u8>) -> Step {
    Step {
        from,
        octets,
        passes: true,
    }
}

fn stays(octets: Vec<u8>) -> Step {
    Step {
        from: From::Client,
        octets,
        passes: false,
    }
}
