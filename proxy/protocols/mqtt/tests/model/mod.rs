//! Both ends of a connection as strict models, random schedules between them.
//!
//! The models hold sizegate to packet identifiers, quotas, the order of acknowledgements, alias
//! tables and what each end takes; each message is delivered once or refused, and nothing is left
//! on its way.

mod peer;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use self::peer::{Peer, Sent};
use super::*;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A side publishes.
    Publish {
        from: Side,
        qos: u8,
        topic: usize,
        alias: Option<u16>,
        payload_len: usize,
    },
    /// A side answers one of the things that it was sent.
    Answer {
        from: Side,
        kind: usize,
        pick: usize,
    },
    /// So many octets of what a side has said arrive.
    Carry { from: Side, octets: usize },
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Client), Just(Side::Broker)]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let alias = prop_oneof![Just(None), (1..4_u16).prop_map(Some)];
    let payload_len = prop_oneof![0..60_usize, 80..300_usize];
    let publish = (side(), 0..3_u8, 0..4_usize, alias, payload_len);
    let event = prop_oneof![
        3 => publish.prop_map(|(from, qos, topic, alias, payload_len)| Event::Publish {
            from, qos, topic, alias, payload_len,
        }),
        3 => (side(), 0..4_usize, 0..8_usize)
            .prop_map(|(from, kind, pick)| Event::Answer { from, kind, pick }),
        4 => (side(), 1..200_usize).prop_map(|(from, octets)| Event::Carry { from, octets }),
    ];
    vec(event, 0..150)
}

/// A client, a broker, and what is between them.
struct World {
    gate: Harness,
    client: Peer,
    broker: Peer,
    /// The messages of the client and of the broker, by number.
    sent: [BTreeMap<u32, Sent>; 2],
}

impl World {
    fn new(terms: Terms, level: u8, own: Option<u8>, quota: usize, is_stubborn: bool) -> Self {
        let mut properties = vec![0x22, 0, 10];
        properties.extend(own.into_iter().flat_map(|most| [0x27, 0, 0, 0, most]));
        let most = own.map_or(usize::MAX, usize::from);
        Self {
            gate: terms.connected_with(level, &properties, 0),
            client: Peer::new(Side::Client, level, most, quota, is_stubborn),
            broker: Peer::new(Side::Broker, level, usize::MAX, quota, false),
            sent: Default::default(),
        }
    }

    fn peer(&mut self, side: Side) -> &mut Peer {
        match side {
            Side::Client => &mut self.client,
            Side::Broker => &mut self.broker,
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Publish {
                from,
                qos,
                topic,
                alias,
                payload_len,
            } => {
                let topic = ["a", "b/c", "longer/topic", "d/e/f"][topic];
                let sent = &self.sent[from as usize];
                let number = u32::try_from(sent.len()).unwrap();
                let peer = self.peer(from);
                if let Some(message) = peer.publish(number, qos, topic, alias, payload_len) {
                    self.sent[from as usize].insert(number, message);
                }
            }
            Event::Answer { from, kind, pick } => {
                self.peer(from).answer(kind, pick);
            }
            Event::Carry { from, octets } => self.carry(from, octets),
        }
    }

    fn carry(&mut self, from: Side, octets: usize) {
        let output = &mut self.peer(from).output;
        let len = octets.min(output.len());
        let octets: Vec<u8> = output.drain(..len).collect();
        self.gate.feed(from, &octets);
        for side in [Side::Client, Side::Broker] {
            let octets = self.gate.sent_to(side);
            self.peer(side).receive(&octets);
        }
    }

    /// Lets everything arrive and be answered.
    fn come_to_rest(&mut self) {
        loop {
            let mut moved = false;
            for from in [Side::Client, Side::Broker] {
                moved |= !self.peer(from).output.is_empty();
                self.carry(from, usize::MAX);
                moved |= self.peer(from).answer(0, 0);
            }
            if !moved {
                break;
            }
        }
        for side in [Side::Client, Side::Broker] {
            assert_eq!(self.gate.ending(side), None);
            assert!(self.peer(side).is_at_rest(), "{:?}", self.peer(side));
        }
    }

    /// Each message was delivered once, under its topic, or refused.
    fn judge(&mut self, from: Side, limit: usize, most: usize) {
        let sent = std::mem::take(&mut self.sent[from as usize]);
        let told = self.peer(from).told.clone();
        let mut delivered = BTreeMap::new();
        for (number, topic) in self.peer(from.other()).delivered.drain(..) {
            assert!(delivered.insert(number, topic).is_none(), "{number} twice");
        }
        let v5 = self.client.is_v5();
        for (number, message) in sent {
            let topic = delivered.remove(&number);
            let refused = topic.is_none();
            if message.len > limit || message.len > most {
                assert!(refused, "{from:?} {number}: {message:?}");
            } else if message.len_with_topic <= most {
                assert!(!refused, "{from:?} {number}: {message:?}");
            }
            if let Some(topic) = topic {
                assert_eq!(topic, message.topic.as_bytes(), "{from:?} {number}");
            }
            let expected = match message.qos {
                0 => None,
                // A broker hears no error in a PUBREC.
                2 if from == Side::Broker => Some(0),
                _ if refused && v5 => Some(0x97),
                _ => Some(0),
            };
            assert_eq!(told.get(&number).copied(), expected, "{from:?} {number}");
        }
        assert!(delivered.is_empty(), "out of nowhere: {delivered:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn two_strict_ends_are_served_to_the_last_packet(
        level in prop_oneof![1 => Just(V311), 2 => Just(V5)],
        own in prop_oneof![Just(None), (60..140_u8).prop_map(Some)],
        quota in prop_oneof![Just(1), 2..10_usize],
        is_stubborn in any::<bool>(),
        events in events(),
    ) {
        let terms = Terms { limit: 100, ..RECEIVE };
        let own = own.filter(|_| level == V5);
        let mut world = World::new(terms, level, own, quota, is_stubborn && level == V5);
        for event in events {
            world.happens(event);
        }
        world.come_to_rest();
        world.judge(Side::Client, 100, usize::MAX);
        world.judge(Side::Broker, 100, own.map_or(usize::MAX, usize::from));
    }
}
