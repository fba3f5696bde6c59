//! One session as a peer sees it: channels, windows, transfer-ids, and the deliveries by their ids.

use parsers::amqp10::{Begin, Channel, Descriptor, Flow, Performative, encode};

use super::link::Life;
use super::receiving::Received;
use super::sending::Sent;
use super::{Link, Peer, PeerTerms};

/// A session. Frames are counted from its begin, so that ids may wrap.
pub(crate) struct Session {
    /// The channel of this peer's frames.
    pub(crate) channel: Channel,
    /// The channel of the other side's frames, once its begin came; none again after its end.
    pub(crate) remote_channel: Option<Channel>,
    pub(crate) said_end: bool,
    /// Condition and description of the other side's end, if it is for an error.
    pub(crate) ended_by_other: Option<Option<(String, String)>>,
    pub(crate) links: Vec<Link>,
    /// The next-outgoing-id that it began with.
    pub(crate) initial_outgoing_id: u32,
    /// Transfer frames that were sent.
    pub(crate) frames_sent: i64,
    /// How many transfer frames may have been sent in all; none before the other side's begin.
    pub(crate) may_send: i64,
    /// The deliveries that were sent; the id of the first is `first_sent_id`, each next one is 1 more.
    pub(crate) sent: Vec<Sent>,
    pub(crate) first_sent_id: u32,
    /// Deliveries whose outcome is known and that the other side waits for to be settled.
    pub(crate) to_settle: Vec<usize>,
    /// The next-outgoing-id that the other side began with.
    initial_incoming_id: Option<u32>,
    /// Transfer frames that were received.
    pub(crate) frames_received: i64,
    /// How many transfer frames the other side may have sent in all. It never shrinks.
    pub(crate) granted: i64,
    pub(crate) received: Vec<Received>,
    pub(crate) first_received_id: Option<u32>,
    /// The handle of the next link.
    pub(super) next_handle: u32,
}

impl Session {
    pub(super) fn new(terms: &PeerTerms, nth: usize, remote_channel: Option<Channel>) -> Self {
        Self {
            channel: Channel(terms.channel + nth as u16),
            remote_channel,
            said_end: false,
            ended_by_other: None,
            links: Vec::new(),
            initial_outgoing_id: terms.next_outgoing_id,
            frames_sent: 0,
            may_send: 0,
            sent: Vec::new(),
            first_sent_id: terms.delivery_id,
            to_settle: Vec::new(),
            initial_incoming_id: None,
            frames_received: 0,
            granted: i64::from(terms.incoming_window),
            received: Vec::new(),
            first_received_id: None,
            next_handle: terms.handle,
        }
    }

    pub(super) fn begun_by_other(&mut self, begin: &Begin) {
        self.initial_incoming_id = Some(begin.next_outgoing_id);
        self.may_send = i64::from(begin.incoming_window);
    }

    /// Whether both sides ended it.
    pub(crate) fn is_over(&self) -> bool {
        self.said_end && self.ended_by_other.is_some()
    }

    pub(super) fn over(&mut self) {
        self.remote_channel = None;
        for link in &mut self.links {
            link.life = Life::Over;
        }
    }

    pub(crate) fn next_outgoing_id(&self) -> u32 {
        self.initial_outgoing_id
            .wrapping_add(self.frames_sent as u32)
    }

    /// Transfer frames that the other side may still send.
    pub(crate) fn window(&self) -> u32 {
        (self.granted - self.frames_received) as u32
    }

    /// Transfer frames that may still be sent.
    pub(crate) fn remote_window(&self) -> i64 {
        self.may_send - self.frames_sent
    }

    /// The session part of a flow of this peer.
    pub(super) fn flow(&self) -> Flow {
        let received = self.frames_received as u32;
        Flow {
            next_incoming_id: self.initial_incoming_id.map(|id| id.wrapping_add(received)),
            incoming_window: self.window(),
            next_outgoing_id: self.next_outgoing_id(),
            outgoing_window: 1_000_000,
            ..Flow::default()
        }
    }

    /// Notes a transfer frame that came (AMQP 1.0 §2.5.6).
    pub(super) fn frame_came(&mut self) {
        assert!(
            self.window() > 0,
            "more transfer frames than the incoming-window allows: {}",
            self.granted
        );
        self.frames_received += 1;
    }

    /// Checks and takes the session part of a flow of the other side.
    fn flow_came(&mut self, flow: &Flow) {
        let initial = self.initial_incoming_id.expect("a begin came first");
        assert_eq!(
            flow.next_outgoing_id,
            initial.wrapping_add(self.frames_received as u32),
            "next-outgoing-id; {} transfer frames came since {initial}",
            self.frames_received
        );
        let expected = flow.next_incoming_id.unwrap_or(self.initial_outgoing_id);
        let known = self.frames_sent - i64::from(distance(expected, self.next_outgoing_id()));
        assert!(
            (0..=self.frames_sent).contains(&known),
            "next-incoming-id {expected}; {} transfer frames were sent since {}",
            self.frames_sent,
            self.initial_outgoing_id
        );
        let may_send = known + i64::from(flow.incoming_window);
        assert!(
            may_send >= self.may_send,
            "a window for {} frames shrank to {may_send}",
            self.may_send
        );
        self.may_send = may_send;
    }
}

impl Peer {
    /// Sends a flow of the session alone that lets this many transfer frames come.
    pub(crate) fn grant_window(&mut self, session: usize, frames: u32) {
        let session = &mut self.sessions[session];
        session.granted = session
            .granted
            .max(session.frames_received + i64::from(frames));
        encode::flow(&mut self.output, session.channel, &session.flow());
    }

    pub(super) fn on_session_frame(&mut self, at: usize, frame: &Performative<'_>, octets: &[u8]) {
        if self.sessions[at].said_end {
            return;
        }
        match frame.descriptor {
            Descriptor::Attach => self.on_attach(at, &frame.attach().expect("an attach")),
            Descriptor::Detach => self.on_detach(at, &frame.detach().expect("a detach")),
            Descriptor::Flow => self.on_flow(at, &frame.flow().expect("a flow")),
            Descriptor::Transfer => {
                let transfer = frame.transfer().expect("a transfer");
                self.on_transfer(at, &transfer, &octets[transfer.payload_at..]);
            }
            Descriptor::Disposition => {
                self.on_disposition(at, &frame.disposition().expect("a disposition"));
            }
            other => panic!("{:?} got {other:?}", self.side),
        }
    }

    fn on_flow(&mut self, at: usize, flow: &Flow) {
        self.sessions[at].flow_came(flow);
        match flow.handle {
            Some(handle) => self.on_link_flow(at, handle, flow),
            None if flow.echo => {
                let session = &self.sessions[at];
                encode::flow(&mut self.output, session.channel, &session.flow());
            }
            None => {}
        }
    }
}

/// How far `to` is ahead of `from`, in serial number arithmetic (RFC 1982).
pub(super) fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}
