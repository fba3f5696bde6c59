//! One AMQP 0-9-1 connection: what each side has said and is to be told, and how it ends.
//!
//! The streams of the sides are walked in `walk`, frame by frame as `frames` has it; they meet here.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parsers::amqp091::{Channel, FrameHeader, Malformed, Version, encode};

use super::PerSide;
use super::channel::ChannelState;
use super::claim::Claim;
use super::refuse::{RESOURCE_ERROR, Why};
use super::walk::{Halt, Pending};
use crate::gate::{
    Ending, Gate, HangUp, Identity, Limits, Meter, Phase, Reason, Report, Side, Step,
};
use crate::protocols::{Opening, Settings};

/// The gate of one AMQP 0-9-1 connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// What all connections are held to.
    pub(super) settings: Arc<Settings>,
    /// The client's network address.
    pub(super) peer: IpAddr,
    /// The version that the client speaks.
    pub(super) version: Version,
    /// What each side has said and is to be told.
    pub(super) sides: PerSide<Peer>,
    /// Who the client says it is.
    pub(super) claim: Claim,
    /// Its limits, once it has opened the connection.
    pub(super) limits: Option<Limits>,
    /// The largest payload of a frame, once that was agreed upon.
    pub(super) most_payload: Option<u32>,
    /// Seconds between two heartbeats, once that was agreed upon; 0 for none.
    pub(super) heartbeat: u16,
    /// The channels; at most [`Connection::MOST_CHANNELS`].
    pub(super) channels: BTreeMap<Channel, ChannelState>,
    /// What the channels weigh together; at most [`Connection::MOST_KEPT`].
    pub(super) kept: usize,
    /// Octets of the client that went to the broker before it accepted the client.
    pub(super) passed: u64,
    /// Whether messages may be kept from the client while its channel lives on, so that the broker
    /// has to be answered in its place.
    pub(super) answers_broker: bool,
    /// Whether messages that come from a side may be refused.
    pub(super) refuses: PerSide<bool>,
    /// Where an exchange and a routing key are put together.
    pub(super) address: Vec<u8>,
    /// The end that a message brings about as soon as the broker has accepted the client.
    pub(super) deferred: Option<(Ending, Why)>,
    /// How the connection ends, once that is decided.
    pub(super) farewell: Option<Ending>,
    /// Octets of the client that were thrown away while its close-ok is awaited; at most
    /// [`Connection::MOST_DISCARDED`].
    pub(super) discarded: u64,
    /// Whether there is no broker, and the client is led to where it can be told.
    pub(super) is_alone: bool,
}

/// One side of the connection.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// How far its stream has come.
    pub(super) layer: Layer,
    /// The frame of it that has come in part.
    pub(super) partial: Option<Partial>,
    /// What has been decided on its next octets.
    pub(super) pending: Pending,
    /// Frames that it is to be sent at the next boundary.
    pub(super) words: Vec<u8>,
    /// How many octets of `words` are the other side's own.
    pub(super) released: usize,
    /// Whether it has been sent anything since the last tick.
    pub(super) is_fed: bool,
    /// Whether octets of it have been thrown away since the last tick.
    pub(super) is_losing: bool,
    /// Whether a connection.close has been sent to it, by whomever.
    pub(super) is_closed: bool,
    /// Whether it has still to answer the close that sizegate has sent it. Some that read the end of the
    /// stream before take it for what has happened, and RabbitMQ then drops what it was sent last.
    pub(super) owes_close_ok: bool,
    /// Whether what it was sent last is a frame that will never be whole.
    pub(super) is_cut: bool,
}

/// How far the stream of a side has come, by what is due from it (AMQP 0-9-1 §2.2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// The protocol header; from the broker, connection.start or a protocol header that it would
    /// rather see.
    #[default]
    Header,
    /// connection.start-ok; from the client only.
    Start,
    /// connection.secure and connection.tune, or connection.secure-ok and connection.tune-ok.
    Tune,
    /// connection.open, or connection.open-ok.
    Open,
    /// Anything.
    Opened,
    /// connection.close-ok: it has closed the connection.
    Closing,
    /// Nothing: it has answered a close, or refused the protocol.
    Closed,
}

/// A frame that has come in part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    /// Its header.
    pub(super) header: FrameHeader,
    /// Octets before its frame-end that are still to be thrown away; none where it passes.
    pub(super) left: usize,
    /// Whether its octets go on.
    pub(super) passes: bool,
}

impl Peer {
    /// Where to write what the side is to be told; nowhere once its connection is closed.
    pub(super) fn words(&mut self) -> Option<&mut Vec<u8>> {
        (!self.is_closed).then_some(&mut self.words)
    }
}

impl Connection {
    /// Channels that may be open at once.
    pub(super) const MOST_CHANNELS: usize = 8_192;
    /// Octets that may be kept for what is going on on the channels.
    pub(super) const MOST_KEPT: usize = 4 << 20;
    /// Octets of a client that are thrown away while its close-ok is awaited.
    pub(super) const MOST_DISCARDED: u64 = 64 << 20;
    /// Octets of words to a side that may wait; beyond it nothing more is taken of the other one.
    pub(super) const MOST_WORDS: usize = 64 * 1024;

    pub(super) fn new(opening: &Opening<'_>) -> Self {
        Self {
            settings: Arc::clone(opening.settings),
            peer: opening.peer,
            version: Version::default(),
            sides: PerSide::default(),
            claim: Claim::shown(opening),
            limits: None,
            most_payload: None,
            heartbeat: 0,
            channels: BTreeMap::new(),
            kept: 0,
            passed: 0,
            answers_broker: false,
            refuses: PerSide::default(),
            address: Vec::new(),
            deferred: None,
            farewell: None,
            discarded: 0,
            is_alone: false,
        }
    }

    /// Whether the broker has accepted the client.
    pub(super) fn is_accepted(&self) -> bool {
        self.sides.broker.layer >= Layer::Opened
    }

    /// Says something to a side on a channel that is open, now or as soon as it may be.
    pub(super) fn say(&mut self, to: Side, channel: Channel, octets: &[u8]) {
        let Some(state) = self.channels.get_mut(&channel) else {
            return;
        };
        if state.must_wait(to) {
            state.parked.of_mut(to).extend_from_slice(octets);
        } else if let Some(words) = self.sides.of_mut(to).words() {
            words.extend_from_slice(octets);
        }
    }

    /// Says what waited to be said to a side on a channel, if nothing is in its way any more.
    pub(super) fn unpark(&mut self, to: Side, channel: Channel) {
        if let Some(state) = self.channels.get_mut(&channel)
            && !state.must_wait(to)
            && let Some(words) = self.sides.of_mut(to).words()
        {
            words.append(state.parked.of_mut(to));
        }
    }

    /// Takes note of what is kept about a channel; ends the connection over too much of it.
    pub(super) fn weigh(&mut self, channel: Channel) -> Result<(), Halt> {
        if let Some(state) = self.channels.get_mut(&channel) {
            let weight = state.weight();
            self.kept = self.kept - state.kept + weight;
            state.kept = weight;
        }
        if self.kept > Self::MOST_KEPT {
            return Err(self.too_many("things under way"));
        }
        Ok(())
    }

    /// Forgets a channel.
    pub(super) fn forget(&mut self, channel: Channel) {
        if let Some(state) = self.channels.remove(&channel) {
            self.kept -= state.kept;
        }
    }

    /// Ends a connection that has more of something than is kept track of.
    pub(super) fn too_many(&mut self, what: &str) -> Halt {
        let why = Why::Fault {
            side: Side::Client,
            code: RESOURCE_ERROR,
            text: format!("Too many {what}"),
        };
        self.end(Ending::by(Side::Client, Reason::Oversize), &why);
        Halt::Over
    }

    /// Ends the connection over octets that `side` may not send.
    pub(super) fn malformed(&mut self, side: Side, fault: &Malformed, meter: &mut Meter) {
        if self.farewell.is_some() {
            // No close-ok can be found in what follows.
            self.sides.of_mut(side).owes_close_ok = false;
            return;
        }
        meter.reports.push(Report::Malformed {
            side,
            what: fault.to_string(),
        });
        let why = Why::malformed(side, fault);
        self.end(Ending::by(side, Reason::Malformed), &why);
    }

    /// Ends the connection over what a side has sent: a client that the broker has not accepted yet
    /// is told when it has, and never if it does not.
    pub(super) fn end_if_accepted(&mut self, side: Side, reason: Reason, why: Why) {
        let ending = Ending::by(side, reason);
        if self.sides.client.layer >= Layer::Opened && !self.is_accepted() && side == Side::Client {
            self.deferred.get_or_insert((ending, why));
        } else {
            self.end(ending, &why);
        }
    }

    /// Decides that the connection ends; the first decision stands. Each side gets one close.
    ///
    /// There is no word before connection.open: an error is told by the end of the connection
    /// (AMQP 0-9-1 §2.2.4). After it the close may stand between the frames of a content, as it is
    /// on another channel (§4.2.6).
    pub(super) fn end(&mut self, ending: Ending, why: &Why) {
        if self.farewell.is_some() {
            return;
        }
        let is_open = self.sides.client.layer == Layer::Opened;
        let is_closing = self.sides.client.is_closed || self.sides.broker.is_closed;
        for to in [Side::Client, Side::Broker] {
            let peer = self.sides.of_mut(to);
            if is_open && !is_closing && !peer.is_cut {
                why.write(to, self.version, &mut peer.words);
                peer.is_closed = true;
                // In what cannot be read no answer can be found.
                peer.owes_close_ok = ending != Ending::by(to, Reason::Malformed);
            }
        }
        self.farewell = Some(ending);
        // What is under way goes nowhere any more.
        self.channels.clear();
        self.kept = 0;
    }

    /// Ends a connection whose broker could not be reached, now that the client can be told.
    pub(super) fn end_alone(&mut self) {
        let why = Why::Forced("The broker cannot be reached".to_owned());
        why.write(Side::Client, self.version, &mut self.sides.client.words);
        self.sides.client.owes_close_ok = true;
        self.farewell = Some(Ending::by(Side::Broker, Reason::UpstreamUnreachable));
    }
}

impl Gate for Connection {
    fn step(&mut self, from: Side, input: &[u8], meter: &mut Meter, inject: &mut Vec<u8>) -> Step {
        self.next_step(from, input, meter, inject)
    }

    fn pending(&self, from: Side) -> bool {
        let (peer, to) = (self.sides.of(from), self.sides.of(from.other()));
        let may_speak = !self.is_within_frame(from);
        let may_end = self.farewell.is_some() && !peer.owes_close_ok;
        peer.pending.is_some() || may_speak && (!to.words.is_empty() || may_end)
    }

    fn hang_up(&mut self, why: HangUp) {
        match why {
            HangUp::Drain => {
                let why = Why::Forced("sizegate is shutting down".to_owned());
                self.end(Ending::ours(Reason::Drain), &why);
            }
            HangUp::BrokerUnreachable => {
                self.is_alone = true;
                self.sides.client.pending = Pending::default();
                encode::connection_start(&mut self.sides.client.words, MECHANISMS, "en_US");
            }
        }
    }

    fn tick_after(&mut self) -> Option<Duration> {
        self.next_tick()
    }

    fn tick(&mut self) {
        self.take_tick();
    }

    fn phase(&self) -> Phase {
        if self.is_accepted() {
            Phase::Accepted
        } else if self.sides.client.layer > Layer::Start {
            Phase::Claimed
        } else {
            Phase::Unidentified
        }
    }

    fn identity(&self) -> Identity<'_> {
        Identity {
            peer: Some(self.peer),
            vhost: self.claim.vhost.as_deref(),
            user: self.claim.user.as_deref(),
            client: self.claim.client.as_deref(),
        }
    }

    fn limits(&self) -> Option<&Limits> {
        self.limits.as_ref()
    }
}

/// The security mechanisms that need no broker.
const MECHANISMS: &str = "PLAIN AMQPLAIN EXTERNAL";
