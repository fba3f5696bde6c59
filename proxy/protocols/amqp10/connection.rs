//! One AMQP 1.0 connection: the streams of its two sides, and where they meet.
//!
//! Each stream is walked frame by frame. Most frames join the run that is forwarded as it is; one
//! that does not is turned into an [`Act`], which is carried out once the run before it has gone out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parsers::amqp10::{Channel, Close, Malformed, encode};

use super::PerSide;
use super::act::{Act, Halt};
use super::claim::Claim;
use super::link::direction;
use super::oversize::Closing;
use super::presettled::{Dues, Presettled};
use super::refuse::{Greeted, Why, Word, sasl_offer};
use super::session::Session;
use crate::gate::{
    Ending, Gate, HangUp, Identity, Limits, Meter, Phase, Reason, Report, Side, Step,
};
use crate::policy::Mode;
use crate::protocols::{Opening, Settings};

/// The gate of one AMQP 1.0 connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// What all connections are held to.
    pub(super) settings: Arc<Settings>,
    /// The client's network address.
    pub(super) peer: IpAddr,
    /// What each side has said and is to be told.
    pub(super) sides: PerSide<Peer>,
    /// The sessions, each in a place that it keeps; at most [`Connection::MOST_SESSIONS`].
    pub(super) sessions: Vec<Option<Session>>,
    /// Who the client says it is.
    pub(super) claim: Claim,
    /// Its limits, once it has said who it is.
    pub(super) limits: Option<Limits>,
    /// Octets of the client that went to the broker before it accepted the client.
    pub(super) passed: u64,
    /// The refusal after which the connection is closed, while the end of the message is awaited.
    pub(super) closing: Option<Closing>,
    /// How the connection ends, once that is decided.
    pub(super) farewell: Option<Ending>,
    /// Whether there is no broker, and the client is led to where it can be told.
    pub(super) is_alone: bool,
    /// Whether frames of some delivery may be held or thrown away, so that a side may starve.
    pub(super) keeps: bool,
    /// Whether what the client sends settled goes to the broker unsettled, and is restored.
    pub(super) unsettles: bool,
    /// What is to be said of such deliveries.
    pub(super) dues: Dues,
}

/// One side of the connection.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// How far its stream has come.
    pub(super) layer: Layer,
    /// The largest frame that it takes, once it has said so.
    pub(super) max_frame_size: Option<u32>,
    /// After how long without a frame it gives up.
    pub(super) idle_time_out: Option<Duration>,
    /// Its channels, and the place of the session of each.
    pub(super) channels: BTreeMap<Channel, usize>,
    /// Frames that it is to be sent at the next boundary.
    pub(super) words: Vec<u8>,
    /// What is to be done with the frame of its own that comes next.
    pub(super) act: Option<Act>,
    /// Whether frames that it sent and that are held may go out now.
    pub(super) may_release: bool,
    /// Whether it has been sent a frame since the last tick.
    pub(super) is_fed: bool,
    /// Whether a close has been sent to it, by whomever.
    pub(super) is_closed: bool,
}

/// How far the stream of a side has come (AMQP 1.0 §2.2, §5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Layer {
    /// A protocol header is due.
    #[default]
    Header,
    /// SASL frames, up to the outcome; then another protocol header.
    Sasl,
    /// An open is due.
    Open,
    /// It has opened the connection.
    Opened,
    /// It has closed the connection; nothing follows.
    Closed,
    /// What follows cannot be read, and is forwarded all the same.
    Opaque,
}

impl Connection {
    /// Sessions that may be begun at once.
    pub(super) const MOST_SESSIONS: usize = 1_024;
    /// Octets of words to a side that may wait; beyond it nothing more is taken of the other one.
    pub(super) const MOST_WORDS: usize = 64 * 1024;

    pub(super) fn new(opening: &Opening<'_>) -> Self {
        Self {
            settings: Arc::clone(opening.settings),
            peer: opening.peer,
            sides: PerSide::default(),
            sessions: Vec::new(),
            claim: Claim::shown(opening),
            limits: None,
            passed: 0,
            closing: None,
            farewell: None,
            is_alone: false,
            keeps: false,
            unsettles: opening.settings.amqp10.presettled == Presettled::Unsettled
                && opening.settings.policy.mode() == Mode::Enforce,
            dues: Dues::default(),
        }
    }

    /// The session in a place.
    pub(super) fn session_mut(&mut self, at: usize) -> Option<&mut Session> {
        self.sessions.get_mut(at)?.as_mut()
    }

    /// Says something on a session to a side, or keeps it until it can be said.
    pub(super) fn say(&mut self, to: Side, at: usize, word: Word) {
        if self.sides.of(to).is_closed {
            // Nothing may follow a close (AMQP 1.0 §2.4.3).
            return;
        }
        let Some(session) = self.sessions.get_mut(at).and_then(Option::as_mut) else {
            return;
        };
        match *session.channels.of(to.other()) {
            Some(channel) => word.write(channel, &mut self.sides.of_mut(to).words),
            None if session.windows.of(to.other()).is_none() => {
                session.waiting.of_mut(to.other()).push(word);
            }
            // That side has ended the session; nobody listens.
            None => {}
        }
    }

    /// Ends the connection over octets that `side` may not send.
    pub(super) fn malformed(&mut self, side: Side, fault: Malformed, meter: &mut Meter) {
        let what = fault.to_string();
        meter.reports.push(Report::Malformed {
            side,
            what: what.clone(),
        });
        let why = Why::Framing(format!("{what}, sent by the {}", side.as_str()));
        self.end(Ending::by(side, Reason::Malformed), &why);
    }

    /// Decides that the connection ends; the first decision stands. Each side gets one close.
    pub(super) fn end(&mut self, ending: Ending, why: &Why) {
        if self.farewell.is_some() {
            return;
        }
        self.say_accepts();
        let greeted = self.greeted(Side::Client);
        if let (Some(greeted), false) = (greeted, self.sides.client.is_closed) {
            why.write(greeted, &mut self.sides.client.words);
            self.sides.client.is_closed = true;
        }
        if self.greeted(Side::Broker) == Some(Greeted::WithOpen) && !self.sides.broker.is_closed {
            encode::close(&mut self.sides.broker.words, &Close { error: None });
            self.sides.broker.is_closed = true;
        }
        self.farewell = Some(ending);
    }

    /// Ends a connection whose broker could not be reached.
    pub(super) fn end_alone(&mut self) {
        // Octets for a broker that is not there would have it looked for again, and again.
        self.sides.broker.is_closed = true;
        self.sides.broker.words.clear();
        let ending = Ending::by(Side::Broker, Reason::UpstreamUnreachable);
        self.end(ending, &Why::Forced("the broker cannot be reached"));
    }

    /// What a side has been sent in the name of the other; `None` where nothing could be added.
    fn greeted(&self, side: Side) -> Option<Greeted> {
        let from = self.sides.of(side.other()).layer;
        match (from, self.sides.of(side).layer) {
            (Layer::Opened | Layer::Closed, _) => Some(Greeted::WithOpen),
            (Layer::Open, _) => Some(Greeted::WithHeader),
            (Layer::Header, Layer::Open | Layer::Opened) => Some(Greeted::Not),
            _ => None,
        }
    }

    /// Carries out what was decided on the frame that comes next.
    fn act(&mut self, from: Side, input: &[u8], inject: &mut Vec<u8>) -> Option<Step> {
        let act = self.sides.of_mut(from).act.take()?;
        let (step, next) = match act {
            Act::Withhold(octets) => (Step::Withhold(octets), None),
            Act::WithholdLast(octets, answer) => {
                (Step::Withhold(octets), Some(Act::Answer(answer)))
            }
            Act::Answer(answer) => {
                self.answer(from, answer);
                return None;
            }
            Act::Replace(old, new, rest) => (Step::Withhold(old), Some(Act::Send(new, rest))),
            Act::Send(octets, rest) => {
                *inject = octets;
                let rest = (rest > 0).then_some(Act::Forward(rest));
                (Step::Inject, rest)
            }
            Act::Forward(octets) => (Step::Forward(octets), None),
            Act::Hold(mut hold) => {
                if input.is_empty() {
                    self.sides.of_mut(from).act = Some(Act::Hold(hold));
                    return Some(Step::More(1));
                }
                let (taken, _) = input.split_at(input.len().min(hold.left));
                hold.frame.extend_from_slice(taken);
                hold.left -= taken.len();
                let step = Step::Withhold(taken.len() as u64);
                if hold.left == 0 {
                    self.frame_is_held(from, hold);
                    (step, None)
                } else {
                    (step, Some(Act::Hold(hold)))
                }
            }
        };
        self.sides.of_mut(from).act = next;
        Some(step)
    }

    /// What goes to `to` on sizegate's own account at this boundary between frames.
    fn own_words(&mut self, to: Side, inject: &mut Vec<u8>) -> Option<Step> {
        let peer = self.sides.of_mut(to);
        if !peer.words.is_empty() {
            std::mem::swap(inject, &mut peer.words);
            peer.is_fed = true;
            return Some(Step::Inject);
        }
        self.farewell.map(Step::End)
    }

    /// Walks over the frames of a side, as far as they go on as they are.
    fn walk(&mut self, from: Side, input: &[u8], meter: &mut Meter, inject: &mut Vec<u8>) -> Step {
        if self.sides.of(from).words.len() > Self::MOST_WORDS {
            return Step::Wait;
        }
        let mut run = 0;
        let halt = loop {
            run += self.straight_run(from, input.get(run..).unwrap_or_default(), meter);
            let rest = input.get(run..).unwrap_or_default();
            if rest.is_empty() && run > 0 {
                break Halt::NeedMore(1);
            }
            match self.next_frame(from, rest, meter) {
                Ok(len) if self.is_alone => break Halt::Act(Act::Withhold(len as u64)),
                Ok(len) => run += len,
                Err(halt) => break halt,
            }
            // What was decided over this frame is said right behind it.
            if !self.sides.of(from.other()).words.is_empty() {
                break Halt::NeedMore(1);
            }
        };
        let mut decided = false;
        let step = match halt {
            Halt::NeedMore(octets) => {
                if self.has_dues(from) && self.sides.client.words.is_empty() {
                    self.say_dues();
                    decided = !self.sides.client.words.is_empty();
                }
                Step::More(octets)
            }
            Halt::Wait => Step::Wait,
            Halt::Act(act) => {
                self.sides.of_mut(from).act = Some(act);
                decided = true;
                Step::Wait
            }
            Halt::Malformed(_) if run > 0 => Step::Wait,
            Halt::Malformed(fault) => {
                self.malformed(from, fault, meter);
                decided = true;
                Step::Wait
            }
            Halt::Over => {
                decided = self.farewell.is_some();
                Step::Wait
            }
        };
        if run > 0 {
            self.sides.of_mut(from.other()).is_fed = true;
            return Step::Forward(run as u64);
        }
        if decided {
            return self.step(from, input, meter, inject);
        }
        step
    }
}

impl Gate for Connection {
    fn step(&mut self, from: Side, input: &[u8], meter: &mut Meter, inject: &mut Vec<u8>) -> Step {
        if let Some(step) = self.act(from, input, inject) {
            meter.released(direction(from), inject.len() as u64);
            return step;
        }
        // Words before what is released: they say how many frames have gone out when they were made.
        if let Some(step) = self.own_words(from.other(), inject) {
            return step;
        }
        if let Some(step) = self.release(from, inject) {
            meter.released(direction(from), inject.len() as u64);
            return step;
        }
        self.walk(from, input, meter, inject)
    }

    fn pending(&self, from: Side) -> bool {
        let act = &self.sides.of(from).act;
        !matches!(act, Some(Act::Hold(_)))
            && (act.is_some()
                || self.farewell.is_some()
                || self.sides.of(from).may_release
                || self.has_dues(from)
                || !self.sides.of(from.other()).words.is_empty())
    }

    fn hang_up(&mut self, why: HangUp) {
        match why {
            HangUp::Drain => {
                let text = Why::Forced("sizegate is shutting down");
                self.end(Ending::ours(Reason::Drain), &text);
            }
            HangUp::BrokerUnreachable => {
                // A SASL layer has no word for it, so it is gone through first.
                if self.sides.client.layer == Layer::Sasl {
                    self.is_alone = true;
                    sasl_offer(&mut self.sides.client.words);
                } else {
                    self.end_alone();
                }
            }
        }
    }

    fn tick_after(&mut self) -> Option<Duration> {
        self.next_tick()
    }

    fn tick(&mut self) {
        self.take_tick();
    }

    fn unsettled(&self) -> u64 {
        if self.unsettles { self.owed() } else { 0 }
    }

    fn phase(&self) -> Phase {
        let accepted = matches!(
            self.sides.broker.layer,
            Layer::Opened | Layer::Closed | Layer::Opaque
        );
        if accepted {
            Phase::Accepted
        } else if self.limits.is_some() || self.claim.has_begun {
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
