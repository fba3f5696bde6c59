//! The numbers of one direction of a session, which the two sides count differently once a delivery
//! was kept back.
//!
//! Delivery-ids are given anew when the first frame of a delivery is forwarded, so that the receiver
//! sees them without gaps (AMQP 1.0 §2.6.12; several receivers demand it). Transfer-ids are implicit:
//! each frame is one (§2.5.6). As long as nothing was kept back, all of it is the identity and nothing
//! is remembered for a delivery.

use std::collections::BTreeMap;

/// How the sender's delivery-ids become the receiver's.
#[derive(Debug)]
pub(super) struct Translator {
    /// The first id that is not the same on both sides; those before it are.
    base: u64,
    /// The sender's latest id, which tells how often its 32 bits have wrapped.
    latest: u64,
    /// The id of the next delivery that is forwarded.
    next: u64,
    /// Forwarded and not yet settled: the sender's id, the receiver's, and the place of the link while
    /// it has one.
    to_receiver: BTreeMap<u64, (u64, Option<usize>)>,
    /// The ids the other way round.
    to_sender: BTreeMap<u64, u64>,
    /// Whether some delivery has another id at the receiver, or none any more.
    differs: bool,
}

/// Whose delivery-ids a disposition speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It comes from the sender of the deliveries.
    Sender,
    /// It comes from their receiver.
    Receiver,
}

/// Delivery-ids from first to last.
pub(super) type Run = (u32, u32);

impl Translator {
    /// Deliveries that may be forwarded and not settled at once; far above what windows allow.
    pub(super) const CEILING: usize = 1 << 20;

    /// Begins with the first delivery that the sides do not number alike.
    pub(super) fn new(first: u32) -> Self {
        // One round in, so that ids from before it have a number too.
        let base = (1 << 32) + u64::from(first);
        Self {
            base,
            latest: base,
            next: base,
            to_receiver: BTreeMap::new(),
            to_sender: BTreeMap::new(),
            differs: false,
        }
    }

    /// Whether some delivery has another id at the receiver, or none. If not, what is said of
    /// deliveries can pass as it is.
    pub(super) fn differs(&self) -> bool {
        self.differs
    }

    /// Gives the sender's delivery on a link its id at the receiver; `None` if there are too many.
    pub(super) fn forward(&mut self, id: u32, link: usize) -> Option<u32> {
        let sent = self.sent(id);
        if sent < self.base {
            return Some(id);
        }
        if let Some(&(known, _)) = self.to_receiver.get(&sent) {
            return Some(known as u32);
        }
        if self.to_receiver.len() >= Self::CEILING {
            return None;
        }
        let received = self.next;
        self.next += 1;
        self.differs |= sent != received;
        self.to_receiver.insert(sent, (received, Some(link)));
        self.to_sender.insert(received, sent);
        Some(received as u32)
    }

    /// Notes that the two sides settle a forwarded delivery each on its own: what one says of it is
    /// not for the other.
    pub(super) fn part(&mut self, id: u32) {
        self.differs = true;
        if let Some((received, _)) = self.to_receiver.get(&self.sent(id)) {
            self.to_sender.remove(received);
        }
    }

    /// The id at the receiver of a delivery that has been forwarded and not been forgotten.
    pub(super) fn received(&self, id: u32) -> Option<u32> {
        let known = self.to_receiver.get(&self.sent(id));
        known.map(|&(received, _)| received as u32)
    }

    /// Notes an id of the sender's, so that its wrapping is followed.
    pub(super) fn note(&mut self, id: u32) {
        self.latest = self.latest.max(self.sent(id));
    }

    /// Notes a delivery that the receiver never sees, or not all of.
    pub(super) fn skip(&mut self, id: u32) {
        self.note(id);
        self.differs = true;
    }

    /// Forgets a delivery that needs no disposition any more.
    pub(super) fn forget(&mut self, id: u32) {
        if let Some((received, _)) = self.to_receiver.remove(&self.sent(id)) {
            self.to_sender.remove(&received);
        }
    }

    /// Forgets the deliveries of a link that has been closed: nothing more is said of them.
    pub(super) fn forget_link(&mut self, link: usize) {
        let to_sender = &mut self.to_sender;
        self.to_receiver.retain(|_, &mut (received, of)| {
            if of == Some(link) {
                to_sender.remove(&received);
            }
            of != Some(link)
        });
    }

    /// Keeps the deliveries of a link that may be resumed, though its place is given to another.
    pub(super) fn suspend_link(&mut self, link: usize) {
        for (_, of) in self.to_receiver.values_mut() {
            of.take_if(|of| *of == link);
        }
    }

    /// How many deliveries have been forwarded and not been settled.
    pub(super) fn unsettled(&self) -> usize {
        self.to_receiver.len()
    }

    /// The other side's ids for a range of one side's, in runs; those that were never forwarded or
    /// have been settled are left out. Settled ones are forgotten.
    ///
    /// The work is bounded by the deliveries that are remembered, not by the range.
    pub(super) fn disposition(
        &mut self,
        origin: Origin,
        (first, last): Run,
        settled: bool,
    ) -> Vec<Run> {
        // RabbitMQ 3 has been seen to write the range backwards.
        let (first, last) = if (last.wrapping_sub(first) as i32) < 0 {
            (last, first)
        } else {
            (first, last)
        };
        let unwrap = |id| match origin {
            Origin::Sender => self.sent(id),
            Origin::Receiver => near(self.next, id),
        };
        let (first, last) = (unwrap(first), unwrap(last));
        let mut runs = Vec::new();
        if first < self.base {
            runs.push((first, last.min(self.base - 1)));
        }
        let from = first.max(self.base);
        let known: Vec<(u64, u64)> = match origin {
            _ if from > last => Vec::new(),
            Origin::Sender => {
                let known = self.to_receiver.range(from..=last);
                let known = known.map(|(&sent, &(received, _))| (sent, received));
                known
                    .filter(|(_, received)| self.to_sender.contains_key(received))
                    .collect()
            }
            Origin::Receiver => {
                let known = self.to_sender.range(from..=last);
                known.map(|(&received, &sent)| (received, sent)).collect()
            }
        };
        for &(_, there) in &known {
            match runs.last_mut() {
                Some((_, end)) if *end + 1 == there => *end = there,
                _ => runs.push((there, there)),
            }
        }
        if settled {
            for (here, there) in known {
                let (sent, received) = match origin {
                    Origin::Sender => (here, there),
                    Origin::Receiver => (there, here),
                };
                self.to_receiver.remove(&sent);
                self.to_sender.remove(&received);
            }
        }
        let ids = runs.into_iter();
        ids.map(|(first, last)| (first as u32, last as u32))
            .collect()
    }

    /// The full number of one of the sender's ids.
    fn sent(&self, id: u32) -> u64 {
        near(self.latest, id)
    }
}

/// The number nearest to `around` whose lower 32 bits are `id` (RFC 1982 serial numbers).
pub(super) fn near(around: u64, id: u32) -> u64 {
    let distance = id.wrapping_sub(around as u32) as i32;
    around.saturating_add_signed(i64::from(distance))
}

/// The frames of one direction of a session, as the two sides count them.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Transfer frames that the sender has sent, whatever became of them; wraps.
    pub(super) received: u32,
    /// Those that the receiver has been sent; wraps.
    pub(super) forwarded: u32,
    /// Those that it never will be; wraps. The rest of what was received is held.
    pub(super) swallowed: u32,
}

impl Frames {
    /// By how many frames the receiver is behind: what was swallowed and what is held.
    pub(super) fn behind(&self) -> u32 {
        self.received.wrapping_sub(self.forwarded)
    }

    /// Frames that are held.
    pub(super) fn held(&self) -> u32 {
        self.behind().wrapping_sub(self.swallowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_given_in_the_order_of_forwarding_and_without_gaps() {
        for base in [0, 7, u32::MAX - 1] {
            let id = |n: u32| base.wrapping_add(n);
            let mut translator = Translator::new(base);
            // 0 is swallowed, 2 overtakes 1, which is forwarded over several frames.
            for (sent, received) in [(2, 0), (1, 1), (1, 1), (3, 2)] {
                translator.note(id(sent));
                assert_eq!(
                    translator.forward(id(sent), 0),
                    Some(id(received)),
                    "{base}"
                );
            }
        }
    }

    #[test]
    fn a_disposition_is_split_where_ids_do_not_follow_each_other() {
        for base in [10, u32::MAX - 2] {
            let id = |n: u32| base.wrapping_add(n);
            let mut translator = Translator::new(base);
            for sent in [1, 0, 3, 4] {
                translator.note(id(sent));
                translator.forward(id(sent), 0);
            }
            // The receiver's 0, 1, 2, 3 are the sender's 1, 0, 3, 4; 2 was swallowed.
            let all = (id(0), id(3));
            let runs = [(id(1), id(1)), (id(0), id(0)), (id(3), id(4))];
            assert_eq!(translator.disposition(Origin::Receiver, all, false), runs);
            let backwards = (id(3), id(0));
            assert_eq!(
                translator.disposition(Origin::Receiver, backwards, false),
                runs
            );
            let runs = [(id(1), id(1)), (id(0), id(0)), (id(2), id(3))];
            let all = (id(0), id(4));
            assert_eq!(translator.disposition(Origin::Sender, all, true), runs);
            assert_eq!(translator.unsettled(), 0);
            assert_eq!(translator.disposition(Origin::Sender, all, true), []);
        }
    }

    #[test]
    fn ids_from_before_the_first_difference_stay_as_they_are() {
        let mut translator = Translator::new(100);
        translator.note(101);
        translator.forward(101, 0);
        assert_eq!(translator.forward(99, 0), Some(99));
        let runs = translator.disposition(Origin::Receiver, (90, 100), true);
        assert_eq!(runs, [(90, 99), (101, 101)]);
    }

    #[test]
    fn deliveries_of_a_closed_link_are_forgotten_and_no_others() {
        let mut translator = Translator::new(0);
        for id in 0..4 {
            translator.note(id);
            translator.forward(id, (id % 2) as usize);
        }
        translator.forget_link(1);
        assert_eq!(translator.unsettled(), 2);
        let runs = translator.disposition(Origin::Receiver, (0, 3), true);
        assert_eq!(runs, [(0, 0), (2, 2)]);
        assert_eq!(translator.unsettled(), 0);
    }

    #[test]
    fn the_whole_range_of_ids_costs_no_more_than_what_is_remembered() {
        let mut translator = Translator::new(0);
        translator.note(1);
        translator.forward(1, 0);
        let all = (0, i32::MAX as u32);
        assert_eq!(
            translator.disposition(Origin::Receiver, all, false),
            [(1, 1)]
        );
    }
}
