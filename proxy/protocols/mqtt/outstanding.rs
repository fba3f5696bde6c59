//! PUBLISHes that the broker waits to see acknowledged, in the order in which it sent them.

use std::collections::VecDeque;

use super::packet_ids::PacketIds;

/// A queue of packet identifiers. Each is there once, so it has 65,535 entries at most.
///
/// Clients acknowledge in order, so what they take out stands at the front. Where many are
/// outstanding, an index spares those that do not a search for what is not there.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    queue: VecDeque<Entry>,
    /// The identifiers in the queue, while it is longer than [`SHORT`].
    index: Option<PacketIds>,
}

/// A PUBLISH that has not been acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its packet identifier.
    pub(super) id: u16,
    /// Who acknowledges it.
    pub(super) whose: Whose,
}

/// Who acknowledges a PUBLISH of the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The client that was sent it.
    Client,
    /// sizegate, which kept it from the client.
    Ours,
    /// The same, and the broker had sent it before (DUP).
    OursRepeated,
}

impl Outstanding {
    /// Puts one at the end, unless it is there already: then one acknowledgement is for both.
    pub(super) fn push(&mut self, id: u16, whose: Whose) {
        if self.contains(id) {
            return;
        }
        self.queue.push_back(Entry { id, whose });
        match &mut self.index {
            Some(index) => index.insert(id),
            None if self.queue.len() > SHORT => {
                let mut index = PacketIds::default();
                self.queue.iter().for_each(|entry| index.insert(entry.id));
                self.index = Some(index);
            }
            None => {}
        }
    }

    /// Takes out what the client has acknowledged.
    pub(super) fn acknowledged(&mut self, id: u16) {
        if self.queue.front().is_some_and(|entry| entry.id == id) {
            self.pop();
        } else if self.contains(id)
            && let Some(at) = self.queue.iter().position(|entry| entry.id == id)
        {
            self.queue.remove(at);
            self.took_out(id);
        }
    }

    /// Whether the first is to be acknowledged by sizegate: whatever was sent before it has been.
    pub(super) fn is_due(&self) -> bool {
        let first = self.queue.front();
        first.is_some_and(|entry| entry.whose != Whose::Client)
    }

    /// Takes out the first, if it is to be acknowledged by sizegate.
    pub(super) fn pop_due(&mut self) -> Option<Entry> {
        if self.is_due() { self.pop() } else { None }
    }

    fn pop(&mut self) -> Option<Entry> {
        let entry = self.queue.pop_front()?;
        self.took_out(entry.id);
        Some(entry)
    }

    fn took_out(&mut self, id: u16) {
        if let Some(index) = &mut self.index {
            index.remove(id);
            if self.queue.is_empty() {
                *self = Self::default();
            }
        }
    }

    fn contains(&self, id: u16) -> bool {
        match &self.index {
            Some(index) => index.contains(id),
            None => self.queue.iter().any(|entry| entry.id == id),
        }
    }
}

/// How many identifiers are searched one by one.
const SHORT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn due(outstanding: &mut Outstanding) -> Vec<u16> {
        std::iter::from_fn(|| outstanding.pop_due().map(|entry| entry.id)).collect()
    }

    #[test]
    fn ours_are_due_when_all_before_them_are_acknowledged_in_whatever_order() {
        let mut outstanding = Outstanding::default();
        for (id, whose) in [
            (1, Whose::Client),
            (2, Whose::Client),
            (3, Whose::Ours),
            (4, Whose::Client),
            (5, Whose::Ours),
        ] {
            outstanding.push(id, whose);
        }
        outstanding.acknowledged(2);
        assert!(!outstanding.is_due());
        outstanding.acknowledged(9);
        outstanding.acknowledged(1);
        assert_eq!(due(&mut outstanding), [3]);
        outstanding.acknowledged(4);
        assert_eq!(due(&mut outstanding), [5]);
    }

    #[test]
    fn an_identifier_is_there_once_however_many_there_are() {
        let mut outstanding = Outstanding::default();
        for _ in 0..2 {
            (1..=u16::MAX).for_each(|id| outstanding.push(id, Whose::Client));
        }
        assert_eq!(outstanding.queue.len(), usize::from(u16::MAX));
        // What comes last is acknowledged first, and then twice.
        for id in (u16::MAX - 100..=u16::MAX).rev().chain(1..=u16::MAX) {
            outstanding.acknowledged(id);
        }
        assert!(outstanding.queue.is_empty());
        assert_eq!(outstanding.queue.capacity(), 0, "nothing is kept");
    }
}
