//! One end of a connection, as strict as the specification lets it be.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use parsers::Parsed;
use parsers::mqtt::{PacketType, QoS, Version, fixed_header, publish};

use super::super::*;

/// One end: what it has sent and not seen answered, and what it has been sent.
#[derive(Debug)]
pub(super) struct Peer {
    side: Side,
    level: u8,
    /// The largest packet that it takes.
    most: usize,
    /// Whether it releases (PUBREL) what was refused all the same.
    is_stubborn: bool,
    /// PUBLISHes of QoS 1 and 2 that may be on their way at once.
    quota: usize,
    /// What it has said and nobody has carried yet.
    pub(super) output: VecDeque<u8>,
    /// What it was sent, to the last whole packet.
    input: Vec<u8>,
    in_flight: BTreeMap<u16, Flight>,
    /// The order in which a client has to acknowledge: QoS 1 and QoS 2.
    order: [VecDeque<u16>; 2],
    next_id: u16,
    /// What it has to answer: PUBACK, PUBREC, PUBREL, PUBCOMP.
    owed: [VecDeque<Vec<u8>>; 4],
    aliases_out: BTreeMap<u16, String>,
    aliases_in: BTreeMap<u16, Vec<u8>>,
    /// Identifiers of QoS 2 that were received and not released.
    unreleased: BTreeSet<u16>,
    /// What it was sent: the number and the topic of each message.
    pub(super) delivered: Vec<(u32, Vec<u8>)>,
    /// What it was told of its own messages, by number: the reason code.
    pub(super) told: BTreeMap<u32, u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flight {
    message: u32,
    awaits: PacketType,
}

/// A message that a peer has sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) qos: u8,
    pub(super) topic: String,
    /// The octets of its packet, and of the one with the topic in the place of an alias.
    pub(super) len: usize,
    pub(super) len_with_topic: usize,
}

impl Peer {
    pub(super) fn new(side: Side, level: u8, most: usize, quota: usize, is_stubborn: bool) -> Self {
        Self {
            side,
            level,
            most,
            is_stubborn,
            quota,
            output: VecDeque::new(),
            input: Vec::new(),
            in_flight: BTreeMap::new(),
            order: Default::default(),
            next_id: 1,
            owed: Default::default(),
            aliases_out: BTreeMap::new(),
            aliases_in: BTreeMap::new(),
            unreleased: BTreeSet::new(),
            delivered: Vec::new(),
            told: BTreeMap::new(),
        }
    }

    pub(super) fn is_v5(&self) -> bool {
        self.level == V5
    }

    /// Sends a message, unless its quota is used up (MQTT 5.0 §4.9).
    pub(super) fn publish(
        &mut self,
        message: u32,
        qos: u8,
        topic: &str,
        alias: Option<u16>,
        payload_len: usize,
    ) -> Option<Sent> {
        if qos > 0 && self.in_flight.len() >= self.quota {
            return None;
        }
        let alias = alias.filter(|_| self.level == V5);
        let known = alias
            .and_then(|alias| self.aliases_out.get(&alias))
            .cloned();
        let named = known.clone().unwrap_or_else(|| topic.to_owned());
        let id = (qos > 0).then(|| self.free_id());
        let body = |topic: &str| {
            let mut body = string(topic);
            body.extend(id.into_iter().flat_map(u16::to_be_bytes));
            match alias {
                Some(alias) => body.extend([&[3, 0x23][..], &alias.to_be_bytes()].concat()),
                None if self.level == V5 => body.push(0),
                None => {}
            }
            body.extend(message.to_be_bytes());
            body.resize(body.len() + payload_len, b'p');
            packet(0x30 | qos << 1, &body)
        };
        let octets = body(if known.is_some() { "" } else { topic });
        let len_with_topic = body(&named).len();
        if let Some(alias) = alias {
            self.aliases_out.insert(alias, named.clone());
        }
        if let Some(id) = id {
            let awaits = [PacketType::Puback, PacketType::Pubrec][usize::from(qos) - 1];
            self.in_flight.insert(id, Flight { message, awaits });
            self.order[usize::from(qos) - 1].push_back(id);
        }
        self.output.extend(&octets);
        Some(Sent {
            qos,
            topic: named,
            len: octets.len(),
            len_with_topic,
        })
    }

    /// Says one of the things that it owes, if it owes any; a client in order, a broker in any.
    pub(super) fn answer(&mut self, kind: usize, pick: usize) -> bool {
        let kinds = (0..4).map(|at| (kind + at) % 4);
        let Some(kind) = kinds.into_iter().find(|&kind| !self.owed[kind].is_empty()) else {
            return false;
        };
        // PUBRELs are in the order of the PUBRECs for both (MQTT 5.0 §4.6).
        let at = match self.side {
            Side::Broker if kind != 2 => pick % self.owed[kind].len(),
            _ => 0,
        };
        let answer = self.owed[kind].remove(at).expect("one of them");
        self.output.extend(answer);
        true
    }

    /// Takes what it is sent.
    pub(super) fn receive(&mut self, octets: &[u8]) {
        self.input.extend_from_slice(octets);
        loop {
            let input = std::mem::take(&mut self.input);
            let len = match fixed_header(&input) {
                Ok(Parsed::Value(header)) if input.len() >= header.packet_len() => {
                    header.packet_len()
                }
                Ok(_) => {
                    self.input = input;
                    return;
                }
                Err(fault) => panic!("{:?} is sent {input:02X?}: {fault}", self.side),
            };
            let (packet, rest) = input.split_at(len);
            assert!(len <= self.most, "{:?} takes no {len} octets", self.side);
            self.take(packet);
            self.input = rest.to_vec();
        }
    }

    /// Whether nothing is on its way any more.
    pub(super) fn is_at_rest(&self) -> bool {
        self.in_flight.is_empty()
            && self.input.is_empty()
            && self.order.iter().all(VecDeque::is_empty)
            && self.owed.iter().all(VecDeque::is_empty)
            && self.unreleased.is_empty()
    }

    fn free_id(&mut self) -> u16 {
        // Few identifiers, so that each is used again soon.
        loop {
            self.next_id = 1 + self.next_id % 12;
            if !self.in_flight.contains_key(&self.next_id) {
                return self.next_id;
            }
        }
    }

    fn take(&mut self, packet: &[u8]) {
        let Ok(Parsed::Value(header)) = fixed_header(packet) else {
            panic!("not a packet: {packet:02X?}");
        };
        if header.packet_type == PacketType::Publish {
            return self.take_publish(packet);
        }
        let id = u16::from_be_bytes([packet[header.len], packet[header.len + 1]]);
        let code = packet.get(header.len + 2).copied().unwrap_or(0);
        assert!(code == 0 || self.level == V5, "a code in {packet:02X?}");
        let code_is_legal = match header.packet_type {
            PacketType::Puback | PacketType::Pubrec => matches!(code, 0 | 0x97),
            _ => matches!(code, 0 | 0x92),
        };
        assert!(code_is_legal, "{packet:02X?}");
        if header.packet_type == PacketType::Pubrel {
            assert!(self.unreleased.remove(&id), "{:?}: PUBREL {id}", self.side);
            self.owed[3].push_back(ack(0x70, id));
            return;
        }
        let flight = self.in_flight.get(&id).copied();
        let Some(Flight { message, awaits }) = flight else {
            panic!("{:?} is sent {packet:02X?} for nothing", self.side);
        };
        assert_eq!(awaits, header.packet_type, "{:?}: {id}", self.side);
        let qos = match header.packet_type {
            PacketType::Puback => 0,
            PacketType::Pubrec => 1,
            _ => {
                self.in_flight.remove(&id);
                return;
            }
        };
        // Order is demanded of a client alone.
        let order = &mut self.order[qos];
        let at = order.iter().position(|&it| it == id).expect("in order");
        assert!(
            self.side == Side::Client || at == 0,
            "{id} before {order:?}"
        );
        order.remove(at);
        self.told.insert(message, code);
        if header.packet_type == PacketType::Pubrec && (code == 0 || self.is_stubborn) {
            let awaits = PacketType::Pubcomp;
            self.in_flight.insert(id, Flight { message, awaits });
            self.owed[2].push_back(ack(0x62, id));
        } else {
            self.in_flight.remove(&id);
        }
    }

    fn take_publish(&mut self, packet: &[u8]) {
        let version = if self.level == V5 {
            Version::V5
        } else {
            Version::V311
        };
        let Ok(Parsed::Value(header)) = fixed_header(packet) else {
            panic!("not a packet: {packet:02X?}");
        };
        let Ok(Parsed::Value(publish)) = publish(&header, version, packet) else {
            panic!("not a PUBLISH: {packet:02X?}");
        };
        let Ok(Parsed::Value(alias)) = publish.topic_alias(&header, packet) else {
            panic!("no properties: {packet:02X?}");
        };
        let topic = match (publish.topic, alias) {
            (&[], Some(alias)) => self.aliases_in[&alias.get()].clone(),
            (topic, alias) => {
                if let Some(alias) = alias {
                    self.aliases_in.insert(alias.get(), topic.to_vec());
                }
                topic.to_vec()
            }
        };
        let payload = &packet[publish.head_len(&header)..];
        let message = u32::from_be_bytes(payload[..4].try_into().expect("four octets"));
        self.delivered.push((message, topic));
        match publish.qos {
            QoS::AtMostOnce => {}
            QoS::AtLeastOnce(id) => self.owed[0].push_back(ack(0x40, id.get())),
            QoS::ExactlyOnce(id) => {
                // The model never sends one twice, so one that is there is an identifier in use.
                assert!(self.unreleased.insert(id.get()), "{id} is in use");
                self.owed[1].push_back(ack(0x50, id.get()));
            }
        }
    }
}
