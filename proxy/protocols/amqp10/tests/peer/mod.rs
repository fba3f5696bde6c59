//! A strict AMQP 1.0 peer for tests: it plays one side of a connection, client or broker.
//!
//! It speaks when it is told to, answers by itself what has to be answered, and panics at the first
//! frame that breaks a rule of the specification or of the brokers and libraries it stands for. What
//! it sent and received is open to be looked at. This file is the connection; `session` is the
//! windows and ids of a session, `link` a link, `sending` and `receiving` its two halves.

mod content;
mod link;
mod receiving;
mod sending;
mod session;

use parsers::amqp10::{
    AmqpError, Begin, Channel, Close, Descriptor, FrameHeader, FrameType, Open, Performative,
    Protocol, ProtocolHeader, encode,
};

use super::frames::{Unit, unit, unit_len};
use crate::gate::Side;

pub(crate) use content::{Content, Sections};
pub(crate) use link::{Counts, Life, Link, LinkTerms};
pub(crate) use receiving::{Received, Receiving};
pub(crate) use sending::{Delivery, Sending, Sent};
pub(crate) use session::Session;

/// How a peer speaks.
#[derive(Clone, Debug)]
pub(crate) struct PeerTerms {
    pub(crate) container_id: &'static str,
    pub(crate) hostname: Option<&'static str>,
    /// The mechanism and the initial response of a client; a broker that is asked answers.
    pub(crate) sasl: Option<(&'static str, &'static [u8])>,
    pub(crate) max_frame_size: u32,
    /// Its first channel; the next session has the next.
    pub(crate) channel: u16,
    /// Its first handle in a session; the next link has the next.
    pub(crate) handle: u32,
    pub(crate) next_outgoing_id: u32,
    /// The id of its first delivery in a session.
    pub(crate) delivery_id: u32,
    /// The transfer frames that its begin allows.
    pub(crate) incoming_window: u32,
    /// What it says in an attach that answers one of the other side.
    pub(crate) initial_delivery_count: u32,
    pub(crate) max_message_size: Option<u64>,
    /// Whether it names runs of deliveries from the last to the first, as RabbitMQ 3.10 does.
    pub(crate) reverses_ranges: bool,
    /// At which frame of a delivery it advances the delivery-count.
    pub(crate) counts: Counts,
    /// Whether it gives all that it sends settled the same tag, of no octets.
    pub(crate) empty_tags: bool,
    /// Whether it answers that it sends unsettled only, unless it is asked for settled ones, as
    /// RabbitMQ 4 does.
    pub(crate) insists_on_unsettled: bool,
    /// Whether each frame of what it sends says that it is not settled, rather than nothing.
    pub(crate) says_unsettled: bool,
    /// Whether it takes credit that becomes less.
    pub(crate) credit_may_shrink: bool,
}

impl Default for PeerTerms {
    fn default() -> Self {
        Self {
            container_id: "peer",
            hostname: None,
            sasl: None,
            max_frame_size: 512,
            channel: 0,
            handle: 0,
            next_outgoing_id: 0,
            delivery_id: 0,
            incoming_window: 1_000,
            initial_delivery_count: 0,
            max_message_size: None,
            reverses_ranges: false,
            counts: Counts::AtFirst,
            empty_tags: false,
            insists_on_unsettled: false,
            says_unsettled: false,
            credit_may_shrink: false,
        }
    }
}

/// One side of a connection.
pub(crate) struct Peer {
    pub(crate) side: Side,
    pub(crate) terms: PeerTerms,
    /// Received and not yet a whole unit.
    input: Vec<u8>,
    /// To be sent.
    output: Vec<u8>,
    /// What was said on the way to the AMQP layer.
    layer: Layer,
    /// The open of the other side: container-id, hostname, max-frame-size.
    pub(crate) remote_open: Option<(String, Option<String>, u32)>,
    pub(crate) sessions: Vec<Session>,
    /// The close of the other side: condition and description, if it is for an error.
    pub(crate) closed_by_other: Option<Option<(String, String)>>,
    pub(crate) said_close: bool,
    /// Empty frames that were received.
    pub(crate) empty_frames: usize,
    /// The next delivery-tag.
    next_tag: u32,
}

/// How far the layers of a connection have come, as this peer has heard it (AMQP 1.0 §2.2, §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Start,
    Sasl,
    SaslDone,
    Amqp,
}

impl Peer {
    pub(crate) fn new(side: Side, terms: PeerTerms) -> Self {
        Self {
            side,
            terms,
            input: Vec::new(),
            output: Vec::new(),
            layer: Layer::Start,
            remote_open: None,
            sessions: Vec::new(),
            closed_by_other: None,
            said_close: false,
            empty_frames: 0,
            next_tag: match side {
                Side::Client => 0xC000_0000,
                Side::Broker => 0xB000_0000,
            },
        }
    }

    /// Takes what is to be sent.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Says the first words of a client; with SASL the rest follows when the broker has answered.
    pub(crate) fn start(&mut self) {
        if self.terms.sasl.is_some() {
            self.header(ProtocolHeader::SASL);
        } else {
            self.header(ProtocolHeader::AMQP);
            self.open();
        }
    }

    /// Begins a session, and says which one of [`Self::sessions`] it is.
    pub(crate) fn begin(&mut self) -> usize {
        let session = Session::new(&self.terms, self.sessions.len(), None);
        self.send_begin(&session);
        self.sessions.push(session);
        self.sessions.len() - 1
    }

    pub(crate) fn end(&mut self, session: usize) {
        let session = &mut self.sessions[session];
        assert!(!session.said_end, "it ended this session before");
        session.said_end = true;
        encode::end(&mut self.output, session.channel, &no_end());
    }

    pub(crate) fn close(&mut self) {
        assert!(!self.said_close, "it said close before");
        self.said_close = true;
        encode::close(&mut self.output, &Close { error: None });
    }

    pub(crate) fn heartbeat(&mut self) {
        encode::empty_frame(&mut self.output);
    }

    /// Takes octets from the other side, and checks and answers what they make whole.
    pub(crate) fn receive(&mut self, octets: &[u8]) {
        self.input.extend_from_slice(octets);
        let mut input = std::mem::take(&mut self.input);
        let mut at = 0;
        while let Some(len) = unit_len(&input[at..]) {
            self.unit(&input[at..at + len]);
            at += len;
        }
        input.drain(..at);
        self.input = input;
    }

    /// Whether all that came was whole units.
    pub(crate) fn is_between_frames(&self) -> bool {
        self.input.is_empty()
    }

    /// The largest frame that the other side takes.
    fn frame_ceiling(&self) -> usize {
        self.remote_open
            .as_ref()
            .map_or(512, |&(_, _, size)| size as usize)
    }

    fn header(&mut self, header: ProtocolHeader) {
        self.output.extend(header.octets());
    }

    fn open(&mut self) {
        let open = Open {
            container_id: self.terms.container_id,
            hostname: self.terms.hostname,
            max_frame_size: self.terms.max_frame_size,
            channel_max: Channel(u16::MAX),
            idle_time_out: None,
        };
        encode::open(&mut self.output, &open);
    }

    fn send_begin(&mut self, session: &Session) {
        let begin = Begin {
            remote_channel: session.remote_channel,
            next_outgoing_id: self.terms.next_outgoing_id,
            incoming_window: self.terms.incoming_window,
            outgoing_window: 1_000_000,
            handle_max: parsers::amqp10::Handle(u32::MAX),
        };
        encode::begin(&mut self.output, session.channel, &begin);
    }

    fn unit(&mut self, octets: &[u8]) {
        assert!(
            self.closed_by_other.is_none(),
            "{:?} got something after a close: {octets:02X?}",
            self.side
        );
        match unit(octets) {
            Unit::Header(header) => self.on_header(header),
            Unit::Empty(header) => {
                assert!(self.remote_open.is_some(), "a heartbeat before the open");
                assert_eq!(header.frame_type, FrameType::Amqp);
                self.empty_frames += 1;
            }
            Unit::Frame(frame) => self.on_frame(&frame, octets),
        }
    }

    fn on_header(&mut self, header: ProtocolHeader) {
        let is_broker = self.side == Side::Broker;
        self.layer = match (self.layer, header.protocol()) {
            (Layer::Start, Protocol::Sasl) => Layer::Sasl,
            (Layer::Start | Layer::SaslDone, Protocol::Amqp10) => Layer::Amqp,
            other => panic!("{:?} got {header:?} in {other:?}", self.side),
        };
        if is_broker {
            self.header(header);
            if self.layer == Layer::Sasl {
                let mechanism = self.terms.sasl.map_or("ANONYMOUS", |(name, _)| name);
                encode::sasl_mechanisms(&mut self.output, mechanism);
            }
        }
    }

    fn on_frame(&mut self, frame: &Performative<'_>, octets: &[u8]) {
        let FrameHeader {
            frame_type,
            channel,
            ..
        } = frame.header;
        assert!(
            octets.len() <= self.terms.max_frame_size as usize,
            "{:?} got a frame of {} octets, over its max-frame-size",
            self.side,
            octets.len()
        );
        if frame_type == FrameType::Sasl {
            return self.on_sasl(frame);
        }
        assert_eq!(frame_type, FrameType::Amqp);
        assert_eq!(self.layer, Layer::Amqp, "a frame before the header");
        assert_eq!(
            self.remote_open.is_none(),
            frame.descriptor == Descriptor::Open,
            "{:?} got {frame:?}; open is the first frame, once",
            self.side
        );
        match frame.descriptor {
            Descriptor::Open => {
                let open = frame.open().expect("an open");
                let hostname = open.hostname.map(str::to_owned);
                let container_id = open.container_id.to_owned();
                self.remote_open = Some((container_id, hostname, open.max_frame_size));
                if self.side == Side::Broker {
                    self.open();
                }
            }
            Descriptor::Begin => self.on_begin(channel, &frame.begin().expect("a begin")),
            Descriptor::Close => {
                let error = frame.close().expect("a close").error;
                self.closed_by_other = Some(error.map(error_texts));
                if !self.said_close {
                    self.close();
                }
            }
            Descriptor::End => self.on_end(channel, frame),
            _ => {
                let at = self.session_of(channel, frame);
                self.on_session_frame(at, frame, octets);
            }
        }
    }

    fn on_sasl(&mut self, frame: &Performative<'_>) {
        assert_eq!(self.layer, Layer::Sasl, "a SASL frame elsewhere");
        match (self.side, frame.descriptor) {
            (Side::Client, Descriptor::SaslMechanisms) => {
                let (mechanism, response) = self.terms.sasl.expect("it asked for SASL");
                encode::sasl_init(&mut self.output, mechanism, Some(response), None);
            }
            (Side::Client, Descriptor::SaslOutcome) => {
                assert!(frame.sasl_outcome().expect("an outcome").is_ok());
                self.layer = Layer::SaslDone;
                self.header(ProtocolHeader::AMQP);
                self.open();
            }
            (Side::Broker, Descriptor::SaslInit) => {
                encode::sasl_outcome(&mut self.output, 0);
                self.layer = Layer::SaslDone;
            }
            other => panic!("{other:?}"),
        }
    }

    fn on_begin(&mut self, channel: Channel, begin: &Begin) {
        let taken = |session: &Session| session.remote_channel == Some(channel);
        assert!(
            !self.sessions.iter().any(taken),
            "{:?}: {channel:?} is taken",
            self.side
        );
        let at = match begin.remote_channel {
            Some(ours) => {
                let answered = |session: &Session| session.channel == ours && !session.is_over();
                let at = self.sessions.iter().position(answered);
                let at = at.expect("the remote-channel of a begin is a channel of ours");
                assert_eq!(self.sessions[at].remote_channel, None, "a second answer");
                self.sessions[at].remote_channel = Some(channel);
                at
            }
            None => {
                let session = Session::new(&self.terms, self.sessions.len(), Some(channel));
                self.send_begin(&session);
                self.sessions.push(session);
                self.sessions.len() - 1
            }
        };
        self.sessions[at].begun_by_other(begin);
    }

    fn on_end(&mut self, channel: Channel, frame: &Performative<'_>) {
        let at = self.session_of(channel, frame);
        let error = frame.end().expect("an end").error;
        self.sessions[at].ended_by_other = Some(error.map(error_texts));
        if !self.sessions[at].said_end {
            self.end(at);
        }
        self.sessions[at].over();
    }

    /// The session that the other side calls by this channel.
    fn session_of(&self, channel: Channel, frame: &Performative<'_>) -> usize {
        let by_channel = |session: &Session| session.remote_channel == Some(channel);
        let at = self.sessions.iter().position(by_channel);
        at.unwrap_or_else(|| panic!("{:?} got {frame:?} outside of a session", self.side))
    }
}

/// Condition and description.
fn error_texts(error: AmqpError<'_>) -> (String, String) {
    let description = error.description.unwrap_or_default();
    (error.condition.to_owned(), description.to_owned())
}

fn no_end() -> parsers::amqp10::End<'static> {
    parsers::amqp10::End { error: None }
}
