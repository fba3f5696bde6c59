//! Messages that are written together, and the numbers in them that change from write to write.

use super::{Message, Protocol, amqp10, amqp091, mqtt};

/// One message as octets.
#[derive(Debug)]
pub(super) struct Template {
    /// All of them.
    pub(super) octets: Vec<u8>,
    /// Where the number of the message stands, and in how many octets.
    pub(super) number_at: Option<(usize, usize)>,
}

/// Messages that go out in one write.
#[derive(Debug)]
pub(crate) struct Batch {
    octets: Vec<u8>,
    /// Where their numbers stand.
    places: Vec<usize>,
    /// In how many octets.
    width: usize,
    /// How many they are.
    count: u64,
    /// The number of the next message.
    next: u32,
}

impl Batch {
    /// So many messages, numbered from the first that its protocol allows.
    pub(crate) fn new(message: &Message, count: usize) -> Self {
        let template = match message.protocol {
            Protocol::Mqtt | Protocol::Mqtt5 => mqtt::publish(message),
            Protocol::Amqp10 => amqp10::delivery(message.size),
            Protocol::Amqp091 => amqp091::content(message.size),
        };
        let starts = (0..count).map(|at| at * template.octets.len());
        let (places, width) = match template.number_at {
            Some((at, width)) => (starts.map(|start| start + at).collect(), width),
            None => (Vec::new(), 0),
        };
        Self {
            octets: template.octets.repeat(count),
            places,
            width,
            count: count as u64,
            next: 0,
        }
    }

    /// How many messages they are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The octets of the next write.
    pub(crate) fn next(&mut self) -> &[u8] {
        for &at in &self.places {
            let number = match self.width {
                // A packet identifier is not 0 (MQTT 5.0 §2.2.1).
                2 => self.next % 0xffff + 1,
                _ => self.next,
            };
            let octets = number.to_be_bytes();
            let octets = octets.get(octets.len() - self.width..).unwrap_or_default();
            if let Some(place) = self.octets.get_mut(at..at + self.width) {
                place.copy_from_slice(octets);
            }
            self.next = self.next.wrapping_add(1);
        }
        &self.octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_identifiers_go_round_without_zero() {
        let message = Message {
            protocol: Protocol::Mqtt,
            size: 64,
            is_acknowledged: true,
        };
        let mut batch = Batch::new(&message, 1);
        let mut id = || mqtt::unit(batch.next()).unwrap().unwrap().number;
        assert_eq!(id(), 1);
        assert_eq!(id(), 2);
        for _ in 2..0xffff {
            assert_ne!(id(), 0);
        }
        assert_eq!(id(), 1);
    }

    #[test]
    fn delivery_ids_go_up_through_all_writes() {
        let message = Message {
            protocol: Protocol::Amqp10,
            size: 100,
            is_acknowledged: false,
        };
        let mut batch = Batch::new(&message, 3);
        assert_eq!(batch.count(), 3);
        let len = batch.next().len() / 3;
        let second = batch.next().to_vec();
        let ids: Vec<u64> = (0..3)
            .map(|at| amqp10::unit(&second[at * len..]).unwrap().unwrap().number)
            .collect();
        assert_eq!(ids, [3, 4, 5]);
    }
}
