//! One rule each, byte for byte.

mod advertising;
mod beginnings;
mod claims;
mod closing;
mod detaching;
mod dispositions;
mod exemptions;
mod holding;
mod presettled;
mod receiving;
mod refusals;
mod windows;
mod words;

use parsers::amqp10::{
    Attach, Channel, Detach, Disposition, Flow, FrameHeader, FrameType, Handle, Open,
    ProtocolHeader, ReceiverSettleMode, Role, Terminus, Transfer, encode,
};

use super::frames::{Fate, frame, units};
use super::schedule::{assert_refusal, assert_texts};
use super::{SIDES, Terms};
use crate::gate::harness::Harness;
use crate::gate::{Report, Side};
use crate::policy::OnOversize;
use words::*;

/// A gate between two sides that say what a test writes down.
///
/// The client's session is its channel 3 and the broker's 7. The client sends on link `out`, its
/// handle 1 and the broker's 11, and receives on link `in`, its handle 2 and the broker's 12.
struct Raw {
    gate: Harness,
}

const CLIENT: Channel = Channel(3);
const BROKER: Channel = Channel(7);
const OUT: Handle = Handle(1);
const OUT_AT_BROKER: Handle = Handle(11);
const IN: Handle = Handle(2);
const IN_AT_BROKER: Handle = Handle(12);

/// What a side hears when it hears nothing.
const NOTHING: [u8; 0] = [];

/// How two sides begin.
#[derive(Clone, Copy)]
struct Start {
    terms: Terms,
    /// Frames that each side takes at once.
    client_window: u32,
    broker_window: u32,
    /// The transfer-id of the client's first frame, and the delivery-count that it begins with.
    client_id: u32,
    client_count: u32,
    rcv_settle_mode: ReceiverSettleMode,
    max_frame_size: u32,
    /// Milliseconds without a frame after which the broker gives up.
    broker_idle_time_out: Option<u32>,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            terms: Terms::default(),
            client_window: 100,
            broker_window: 100,
            client_id: 0,
            client_count: 0,
            rcv_settle_mode: ReceiverSettleMode::First,
            max_frame_size: 512,
            broker_idle_time_out: None,
        }
    }
}

impl From<Terms> for Start {
    fn from(terms: Terms) -> Self {
        Self {
            terms,
            ..Self::default()
        }
    }
}

impl From<OnOversize> for Start {
    fn from(on_oversize: OnOversize) -> Self {
        Terms::with(on_oversize).into()
    }
}

impl Raw {
    /// A gate whose two sides have said nothing.
    fn new(terms: Terms) -> Self {
        Self { gate: terms.open() }
    }

    /// A gate whose two sides have opened and begun.
    fn begun(gate: Harness, hostname: Option<&str>) -> Self {
        let mut raw = Self { gate };
        let mut client = ProtocolHeader::AMQP.octets().to_vec();
        let mut broker = client.clone();
        encode::open(&mut broker, &open(512));
        encode::open(
            &mut client,
            &Open {
                hostname,
                ..open(512)
            },
        );
        client.extend(begin(CLIENT, None, 0, 100));
        broker.extend(begin(BROKER, Some(CLIENT), 0, 100));
        raw.passes(Side::Client, &client);
        raw.passes(Side::Broker, &broker);
        raw
    }

    /// A gate whose two sides have opened, begun and attached, and granted 10 credits on each link.
    fn start(start: impl Into<Start>) -> Self {
        let start: Start = start.into();
        let mut raw = Self::new(start.terms);
        let mut client = ProtocolHeader::AMQP.octets().to_vec();
        let mut broker = client.clone();
        encode::open(&mut client, &open(start.max_frame_size));
        encode::open(
            &mut broker,
            &Open {
                idle_time_out: start.broker_idle_time_out,
                ..open(start.max_frame_size)
            },
        );
        let window = start.client_window;
        client.extend(begin(CLIENT, None, start.client_id, window));
        client.extend(attach(
            CLIENT,
            &Attach {
                initial_delivery_count: Some(start.client_count),
                rcv_settle_mode: start.rcv_settle_mode,
                ..link("out", OUT, Role::Sender)
            },
        ));
        client.extend(attach(CLIENT, &link("in", IN, Role::Receiver)));
        broker.extend(begin(BROKER, Some(CLIENT), 0, start.broker_window));
        broker.extend(attach(
            BROKER,
            &Attach {
                rcv_settle_mode: start.rcv_settle_mode,
                ..link("out", OUT_AT_BROKER, Role::Receiver)
            },
        ));
        broker.extend(attach(
            BROKER,
            &Attach {
                initial_delivery_count: Some(0),
                ..link("in", IN_AT_BROKER, Role::Sender)
            },
        ));
        raw.passes(Side::Client, &client);
        raw.passes(Side::Broker, &broker);
        raw.passes(Side::Broker, &flow(BROKER, start.grant()));
        raw.passes(
            Side::Client,
            &flow(
                CLIENT,
                Flow {
                    next_incoming_id: Some(0),
                    incoming_window: start.client_window,
                    next_outgoing_id: start.client_id,
                    outgoing_window: 1_000,
                    handle: Some(IN),
                    delivery_count: Some(0),
                    link_credit: Some(10),
                    ..Flow::default()
                },
            ),
        );
        raw
    }

    fn says(&mut self, side: Side, octets: &[u8]) {
        self.gate.feed(side, octets);
    }

    fn hears(&mut self, side: Side) -> Vec<u8> {
        self.gate.sent_to(side)
    }

    /// A side says something, and the other one hears just that.
    fn passes(&mut self, side: Side, octets: &[u8]) {
        self.says(side, octets);
        let heard = self.hears(side.other());
        assert!(heard == octets, "{}", difference(&heard, octets));
    }

    /// A side says something, and the other one hears nothing of it.
    fn is_kept(&mut self, side: Side, octets: &[u8]) {
        self.becomes(side, octets, &[]);
    }

    /// A side says something, and the other one hears something else.
    fn becomes(&mut self, side: Side, octets: &[u8], others: &[u8]) {
        self.says(side, octets);
        let heard = self.hears(side.other());
        assert!(heard == others, "{}", difference(&heard, others));
    }

    /// The client is told that its delivery was rejected, and hears nothing before that.
    fn assert_rejected(&mut self, id: u32, size: usize) {
        let heard = self.hears(Side::Client);
        let units = units(&heard);
        assert_is_rejected(units[0], BROKER, id, size, true);
        assert!(units.len() <= 2, "{units:02X?}");
        for flow in &units[1..] {
            frame(flow).flow().expect("what gives the credit back");
        }
    }

    /// Sizes of the messages that were refused so far.
    fn refused(&self) -> Vec<u64> {
        let reports = self.gate.meter.reports.iter();
        reports
            .filter_map(|report| match report {
                Report::Refused(refusal) => Some(refusal.size),
                _ => None,
            })
            .collect()
    }
}

impl Start {
    /// The broker's flow for link `out`: 10 credits.
    fn grant(self) -> Flow {
        Flow {
            next_incoming_id: Some(self.client_id),
            incoming_window: self.broker_window,
            next_outgoing_id: 0,
            outgoing_window: 1_000,
            handle: Some(OUT_AT_BROKER),
            delivery_count: Some(self.client_count),
            link_credit: Some(10),
            ..Flow::default()
        }
    }
}

fn difference(heard: &[u8], due: &[u8]) -> String {
    let lines = |octets: &[u8]| -> Vec<String> {
        units(octets)
            .into_iter()
            .map(super::transcript::line)
            .collect()
    };
    format!("heard {:#?}\ninstead of {:#?}", lines(heard), lines(due))
}

/// Checks that a frame says one thing only: the delivery was rejected for its size.
fn assert_is_rejected(octets: &[u8], channel: Channel, id: u32, size: usize, settles: bool) {
    let state = frame(octets).disposition().expect("a disposition").state;
    let fate = Fate::read(state);
    let sender = if channel == BROKER {
        Side::Client
    } else {
        Side::Broker
    };
    assert_refusal(&fate, size, super::LIMIT as usize, sender);
    let state = fate.octets();
    let due = disposition(
        channel,
        Disposition {
            settled: settles,
            state: state.as_deref(),
            ..settled(Role::Receiver, id, None)
        },
    );
    assert!(octets == due, "{}", difference(octets, &due));
}

/// Checks that a frame detaches a link for good because of a message of at least so many octets.
fn assert_is_detached(octets: &[u8], channel: Channel, handle: Handle, sender: Side) {
    let error = frame(octets)
        .detach()
        .expect("a detach")
        .error
        .expect("a reason");
    let text = error.description.unwrap_or_default();
    assert_texts(error.condition, text, None, super::LIMIT as usize, sender);
    let detach = Detach {
        handle,
        closed: true,
        error: Some(error),
    };
    assert_eq!(octets, written(|out| encode::detach(out, channel, &detach)));
}
