//! One MQTT connection: how far it has come, what the client is owed, and how it ends.
//!
//! The streams of the two sides are walked in `from_client` and `from_broker`; they meet here.

use std::sync::Arc;

use parsers::mqtt::Version;

use super::client::{Client, Shown};
use super::ends::PACKET_TOO_LARGE;
use super::receipts::{Receipts, Terms};
use super::refuse::{Answers, Due, Farewell, Greeting, Word};
use super::stream::Stream;
use crate::gate::{
    Direction, Ending, Gate, HangUp, Identity, Limits, Meter, Phase, Reason, Side, Step,
};
use crate::protocols::{Opening, Settings};

/// The gate of one MQTT connection.
#[derive(Debug)]
pub(super) struct Session {
    /// What all connections are held to.
    pub(super) settings: Arc<Settings>,
    /// What the client has shown before its first octet.
    pub(super) shown: Shown,
    /// How far the connection has come.
    pub(super) stage: Stage,
    /// Whether the broker has answered the CONNECT; it may do so after the client has left.
    pub(super) is_answered: bool,
    /// What CONNECT said; there in all stages but `AwaitingConnect`.
    pub(super) client: Option<Client>,
    /// Octets of the client that went to the broker before it accepted the client; at most
    /// `max_control_size`.
    pub(super) passed: u64,
    /// What is kept about the client's packets.
    pub(super) from_client: Stream,
    /// What is kept about the broker's packets.
    pub(super) from_broker: Stream,
    /// What the client is owed now; at most [`Answers::CEILING`] and what was owed.
    pub(super) answers: Answers,
    /// What the broker is owed in the client's place; none where no message can be kept from the
    /// client, and when a side has left.
    pub(super) receipts: Option<Box<Receipts>>,
    /// How the connection ends, once that is decided.
    pub(super) farewell: Option<Box<Farewell>>,
    /// Whether the word of the farewell has been said.
    pub(super) said: bool,
}

/// How far a connection has come.
///
/// ```text
///                  CONNECT               CONNACK 0
/// AwaitingConnect ---------> Connecting -----------> Connected --+
///                                |                               | DISCONNECT
///                                | CONNACK other than 0          v  of either side
///                                +---------------------> Disconnected
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The client has not said who it is.
    AwaitingConnect,
    /// Its CONNECT was passed on, and the broker has not answered.
    Connecting,
    /// The broker has accepted the client.
    Connected {
        /// CONNACK's Session Present: the broker may know packet identifiers from before.
        resumed: bool,
    },
    /// A side said that it leaves, or the broker refused the client; nothing may be added any more.
    Disconnected,
}

impl Session {
    pub(super) fn new(opening: &Opening<'_>) -> Self {
        Self {
            settings: Arc::clone(opening.settings),
            shown: Shown::new(opening),
            stage: Stage::AwaitingConnect,
            is_answered: false,
            client: None,
            passed: 0,
            from_client: Stream::default(),
            from_broker: Stream::default(),
            answers: Answers::default(),
            receipts: None,
            farewell: None,
            said: false,
        }
    }

    /// Takes note that a side leaves, or that the broker refused the client: nobody is owed
    /// anything any more.
    pub(super) fn disconnected(&mut self) {
        self.stage = Stage::Disconnected;
        self.answers.clear();
        self.receipts = None;
    }

    /// What is kept about the packets of a side.
    #[inline]
    pub(super) fn stream(&mut self, from: Side) -> &mut Stream {
        match from {
            Side::Client => &mut self.from_client,
            Side::Broker => &mut self.from_broker,
        }
    }

    /// Whether the broker is to be told something in the client's place now.
    #[inline]
    pub(super) fn receipts_are_due(&self) -> bool {
        match (&self.receipts, self.stage) {
            (Some(receipts), Stage::Connected { .. }) => receipts.are_due(),
            _ => false,
        }
    }

    /// The version that the client speaks, once it has said.
    pub(super) fn version(&self) -> Option<Version> {
        self.client.as_ref().map(|client| client.version)
    }

    /// What goes to the client on sizegate's own account at this boundary between packets.
    fn own_words(&mut self, inject: &mut Vec<u8>) -> Option<Step> {
        if let (Stage::Connected { resumed }, Some(client)) = (self.stage, &self.client)
            && !self.answers.is_empty()
        {
            let written =
                self.answers
                    .write(client, resumed, &mut self.from_client.refused, inject);
            if written.is_err() {
                let word = Word::Reason {
                    code: PACKET_TOO_LARGE,
                    text: None,
                };
                self.end(Ending::ours(Reason::Oversize), Due::Now, word);
            }
            if !inject.is_empty() {
                return Some(Step::Inject);
            }
        }
        let farewell = self.farewell.as_ref().filter(|_| self.farewell_is_due())?;
        if !self.said {
            self.said = true;
            let greeting = match self.stage {
                Stage::AwaitingConnect | Stage::Connecting => Greeting::Due,
                Stage::Connected { .. } | Stage::Disconnected => Greeting::Over,
            };
            if self.stage != Stage::Disconnected {
                farewell.write(self.client.as_ref(), greeting, inject);
            }
            if !inject.is_empty() {
                return Some(Step::Inject);
            }
        }
        Some(Step::End(farewell.ending))
    }

    /// Writes down what the broker is owed at this boundary between the client's packets.
    fn tell_broker(&mut self, out: &mut Vec<u8>) {
        let terms = Terms {
            is_v5: self.version() == Some(Version::V5),
            is_resumed: self.stage == Stage::Connected { resumed: true },
        };
        if let Some(receipts) = &mut self.receipts {
            receipts.write(terms, &mut self.from_broker.refused, out);
        }
    }

    fn farewell_is_due(&self) -> bool {
        let accepted = matches!(self.stage, Stage::Connected { .. } | Stage::Disconnected);
        self.farewell
            .as_ref()
            .is_some_and(|farewell| farewell.due == Due::Now || accepted)
    }
}

impl Gate for Session {
    fn step(&mut self, from: Side, input: &[u8], meter: &mut Meter, inject: &mut Vec<u8>) -> Step {
        // What has begun to go out is finished first.
        match from {
            Side::Client => {
                if let Some(answer) = self.from_client.owed.take() {
                    self.answers.push(*answer);
                }
                if let Some(step) = self.from_client.go_on(inject) {
                    meter.released(Direction::ToBroker, inject.len() as u64);
                    return step;
                }
                if let Some(farewell) = &self.farewell {
                    return Step::End(farewell.ending);
                }
                if self.receipts_are_due() {
                    self.tell_broker(inject);
                    return Step::Inject;
                }
                if self.answers.is_full() {
                    return Step::Wait;
                }
                self.client_step(input, meter)
            }
            Side::Broker => {
                let owed = self.from_broker.owed.take();
                if let (Some(answer), Some(receipts)) = (owed, &mut self.receipts) {
                    receipts.owe(&answer);
                }
                if let Some(step) = self.from_broker.go_on(inject) {
                    meter.released(Direction::ToClient, inject.len() as u64);
                    return step;
                }
                self.own_words(inject)
                    .or_else(|| self.broker_step(input, meter))
                    // The broker's octets ended the connection: no packet has begun to go out.
                    .or_else(|| self.own_words(inject))
                    .unwrap_or(Step::Wait)
            }
        }
    }

    fn pending(&self, from: Side) -> bool {
        match from {
            Side::Client => self.farewell.is_some() || self.receipts_are_due(),
            Side::Broker => {
                let answers =
                    matches!(self.stage, Stage::Connected { .. }) && !self.answers.is_empty();
                answers || self.farewell_is_due()
            }
        }
    }

    fn hang_up(&mut self, why: HangUp) {
        let v5 = self.version() == Some(Version::V5);
        let reason = |code| Word::Reason { code, text: None };
        match why {
            HangUp::Drain => {
                let word = match self.stage {
                    Stage::Connected { .. } if v5 => reason(SERVER_SHUTTING_DOWN),
                    _ => Word::Silence,
                };
                self.end(Ending::ours(Reason::Drain), Due::Now, word);
            }
            HangUp::BrokerUnreachable => {
                // The CONNECT was decided on and went nowhere, so a CONNACK is still due.
                let word = if v5 {
                    reason(SERVER_UNAVAILABLE)
                } else {
                    Word::ReturnCode(RETURN_SERVER_UNAVAILABLE)
                };
                let ending = Ending::by(Side::Broker, Reason::UpstreamUnreachable);
                self.end(ending, Due::Now, word);
            }
        }
    }

    fn phase(&self) -> Phase {
        match self.stage {
            Stage::AwaitingConnect => Phase::Unidentified,
            Stage::Connecting => Phase::Claimed,
            Stage::Connected { .. } | Stage::Disconnected => Phase::Accepted,
        }
    }

    fn identity(&self) -> Identity<'_> {
        match &self.client {
            Some(client) => client.identity(self.shown.peer),
            None => self.shown.identity(),
        }
    }

    fn limits(&self) -> Option<&Limits> {
        self.client.as_ref().map(|client| &client.limits)
    }
}

/// DISCONNECT "Server shutting down" (MQTT 5.0 §3.14.2.1).
const SERVER_SHUTTING_DOWN: u8 = 0x8B;
/// CONNACK "Server unavailable" (MQTT 5.0 §3.2.2.2).
const SERVER_UNAVAILABLE: u8 = 0x88;
/// CONNACK "Connection Refused, Server unavailable" (MQTT 3.1.1 §3.2.2.3).
const RETURN_SERVER_UNAVAILABLE: u8 = 0x03;
