//! The rules of the MQTT gate, one by one and over random streams.

mod accepting;
mod advertise;
mod aliases;
mod closing;
mod corners;
mod malformed;
mod model;
mod property;
mod receive;
mod receive_aliases;
mod receive_order;
mod refusals;
mod rules;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::{MessageSize, VhostSource};
use crate::gate::harness::Harness;
use crate::gate::{Report, Side};
use crate::policy::{ByteSize, Limit, Mode, OnOversize, Policy};
use crate::protocols::{Advertise, Opening, Settings};

/// What a gate is made with.
#[derive(Clone, Copy, Debug)]
struct Terms {
    limit: u64,
    receive_limit: u64,
    on_oversize: OnOversize,
    mode: Mode,
    message_size: MessageSize,
    max_control_size: u64,
    advertise: Advertise,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            limit: 100,
            receive_limit: 0,
            on_oversize: OnOversize::Reject,
            mode: Mode::Enforce,
            message_size: MessageSize::Packet,
            max_control_size: 1024,
            advertise: Advertise::Nothing,
        }
    }
}

impl Terms {
    /// What all connections are held to.
    fn settings(self) -> Arc<Settings> {
        let limit = |size, rule: &str| Limit::new(ByteSize(size), rule);
        let policy = Policy::new(
            limit(self.limit, "--max-message-size"),
            limit(self.receive_limit, "--max-receive-size"),
            self.on_oversize,
            self.mode,
        );
        Arc::new(Settings {
            max_control_size: ByteSize(self.max_control_size),
            mqtt: super::Settings {
                message_size: self.message_size,
                vhost: VhostSource::Nowhere,
            },
            advertise: self.advertise,
            ..Settings::new(policy)
        })
    }

    /// A gate whose client has said nothing yet.
    fn open(self) -> Harness {
        Harness::new(super::open(&Opening {
            settings: &self.settings(),
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_name: None,
            subject: None,
        }))
    }

    /// The same, with these properties of CONNECT and this Session Present.
    fn connected_with(self, level: u8, properties: &[u8], session_present: u8) -> Harness {
        let mut gate = self.open();
        gate.feed(Side::Client, &connect_with(level, properties, 0, &[]));
        gate.feed(Side::Broker, &connack_resuming(level, session_present, 0));
        gate.sent_to(Side::Broker);
        gate.sent_to(Side::Client);
        gate
    }

    /// A gate whose client the broker has accepted; what they said is taken away.
    fn connected(self, level: u8) -> Harness {
        let mut gate = self.open();
        gate.feed(Side::Client, &connect(level, &[]));
        gate.feed(Side::Broker, &connack(level, 0));
        assert_eq!(gate.sent_to(Side::Broker), connect(level, &[]));
        assert_eq!(gate.sent_to(Side::Client), connack(level, 0));
        gate
    }
}

/// A limit of 100 octets for what the client is sent, and none for what it sends.
const RECEIVE: Terms = Terms {
    limit: 0,
    receive_limit: 100,
    on_oversize: OnOversize::Reject,
    mode: Mode::Enforce,
    message_size: MessageSize::Packet,
    max_control_size: 1024,
    advertise: Advertise::Nothing,
};

/// What a side is sent when it is sent nothing.
const NOTHING: [u8; 0] = [];

/// The protocol level of MQTT 5.0, 3.1.1 and 3.1.
const V5: u8 = 5;
const V311: u8 = 4;
const V31: u8 = 3;
const LEVELS: [u8; 3] = [V31, V311, V5];

/// A fixed header and what follows it.
fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![first];
    let mut left = body.len();
    while left > 127 {
        octets.push((left % 128) as u8 | 0x80);
        left /= 128;
    }
    octets.push(left as u8);
    octets.extend_from_slice(body);
    octets
}

fn string(text: &str) -> Vec<u8> {
    let mut octets = (text.len() as u16).to_be_bytes().to_vec();
    octets.extend_from_slice(text.as_bytes());
    octets
}

/// A CONNECT with client id "c", no flags but those needed, and these properties (MQTT 5.0 only).
fn connect(level: u8, properties: &[u8]) -> Vec<u8> {
    connect_with(level, properties, 0x02, &[])
}

/// A CONNECT with client id "c", these connect flags, and this behind the client id.
fn connect_with(level: u8, properties: &[u8], flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut body = string(if level == V31 { "MQIsdp" } else { "MQTT" });
    body.extend_from_slice(&[level, flags, 0, 60]);
    if level == V5 {
        body.push(properties.len() as u8);
        body.extend_from_slice(properties);
    }
    body.extend(string("c"));
    body.extend_from_slice(payload);
    packet(0x10, &body)
}

fn connack(level: u8, code: u8) -> Vec<u8> {
    connack_resuming(level, 0, code)
}

fn connack_resuming(level: u8, flags: u8, code: u8) -> Vec<u8> {
    match level {
        V5 => packet(0x20, &[flags, code, 0]),
        _ => packet(0x20, &[flags, code]),
    }
}

/// A PUBLISH to "t/x" whose whole packet has `len` octets.
fn publish(level: u8, qos: u8, id: u16, len: usize) -> Vec<u8> {
    publish_flagged(level, qos << 1, id, len)
}

fn publish_flagged(level: u8, flags: u8, id: u16, len: usize) -> Vec<u8> {
    let mut head = string("t/x");
    if flags & 0b110 != 0 {
        head.extend_from_slice(&id.to_be_bytes());
    }
    if level == V5 {
        head.push(0);
    }
    for payload in (0..=len).rev() {
        let mut body = head.clone();
        body.resize(head.len() + payload, b'p');
        let packet = packet(0x30 | flags, &body);
        if packet.len() <= len {
            assert_eq!(packet.len(), len, "no packet has this length");
            return packet;
        }
    }
    panic!("no PUBLISH is so short");
}

/// PUBACK, PUBREC, PUBREL or PUBCOMP in their short form.
fn ack(first: u8, id: u16) -> Vec<u8> {
    packet(first, &id.to_be_bytes())
}

/// The same with a reason code, which MQTT 5.0 alone has, and nothing else.
fn ack_code(level: u8, first: u8, id: u16, code: u8) -> Vec<u8> {
    match level {
        V5 => packet(first, &[&id.to_be_bytes()[..], &[code]].concat()),
        _ => ack(first, id),
    }
}

/// PUBACK or PUBREC of MQTT 5.0 with a reason code and a reason string.
fn ack_with(first: u8, id: u16, code: u8, text: &str) -> Vec<u8> {
    let mut body = id.to_be_bytes().to_vec();
    body.push(code);
    let mut property = vec![0x1F];
    property.extend(string(text));
    body.push(property.len() as u8);
    body.extend(property);
    packet(first, &body)
}

/// DISCONNECT or CONNACK of MQTT 5.0 with a reason string.
fn last_word(head: &[u8], text: &str) -> Vec<u8> {
    let mut property = vec![0x1F];
    property.extend(string(text));
    let (first, flags) = head.split_at(1);
    let mut body = flags.to_vec();
    body.push(property.len() as u8);
    body.extend(property);
    packet(first[0], &body)
}

fn text(size: usize, limit: u64) -> String {
    format!("Message size exceeded: {size} octets, limit {limit}, set by --max-message-size")
}

/// What was refused so far, by size.
fn refused(gate: &Harness) -> Vec<u64> {
    let reports = gate.meter.reports.iter();
    reports
        .filter_map(|report| match report {
            Report::Refused(refusal) => Some(refusal.size),
            _ => None,
        })
        .collect()
}
