//! Who acknowledges what a channel is delivered: its consumers, and the answers to basic.get.
//!
//! A delivery that is kept from a client is rejected in its place, but not where nothing is
//! acknowledged: a broker closes the channel of who rejects what it does not wait for. Consumers that
//! acknowledge are the rule and need no entry.

use std::collections::{BTreeSet, VecDeque};

use parsers::amqp091::{Cancel, Consume, ConsumerTag, Get};

/// What has to be known about a channel to answer for its client.
#[derive(Debug, Default)]
pub(super) struct Consumers {
    /// The consumers that do not acknowledge.
    no_ack: BTreeSet<Box<[u8]>>,
    /// The last of them that were cancelled without an answer: deliveries may still come for them. At
    /// most [`Consumers::MOST_CANCELLED`].
    cancelled: VecDeque<Box<[u8]>>,
    /// basic.consume that the broker has not answered, in order.
    consumes: VecDeque<Acknowledges>,
    /// basic.get that the broker has not answered, in order.
    gets: VecDeque<Acknowledges>,
    /// Whether a consumer that does not acknowledge was begun without a name, and without an answer
    /// that would tell it: it may be any.
    any_may_be_silent: bool,
    /// Octets of the names.
    names_len: usize,
}

/// Whether messages are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledges {
    /// They are.
    Each,
    /// They are not (no-ack).
    None,
}

impl Acknowledges {
    fn of(no_ack: bool) -> Self {
        if no_ack { Self::None } else { Self::Each }
    }
}

impl Consumers {
    const MOST_CANCELLED: usize = 32;

    /// Takes note of the client's basic.consume.
    pub(super) fn consume(&mut self, consume: &Consume<'_>) {
        let acknowledges = Acknowledges::of(consume.no_ack);
        match (consume.no_wait, consume.consumer_tag) {
            (false, _) => self.consumes.push_back(acknowledges),
            (true, []) => self.any_may_be_silent |= consume.no_ack,
            (true, tag) => self.begin(tag, acknowledges),
        }
    }

    /// Takes note of the broker's basic.consume-ok.
    pub(super) fn consume_ok(&mut self, tag: ConsumerTag<'_>) {
        if let Some(acknowledges) = self.consumes.pop_front() {
            self.begin(tag, acknowledges);
        }
    }

    /// Takes note of the client's basic.cancel, which is final if it asks for no answer.
    pub(super) fn cancel(&mut self, cancel: &Cancel<'_>) {
        if cancel.no_wait && self.cancel_ok(cancel.consumer_tag) {
            self.names_len += cancel.consumer_tag.len();
            self.cancelled.push_back(cancel.consumer_tag.into());
            if self.cancelled.len() > Self::MOST_CANCELLED {
                let oldest = self.cancelled.pop_front();
                self.names_len -= oldest.map_or(0, |tag| tag.len());
            }
        }
    }

    /// Takes note of the broker's basic.cancel-ok or basic.cancel, and says whether the consumer was
    /// one that does not acknowledge.
    pub(super) fn cancel_ok(&mut self, tag: ConsumerTag<'_>) -> bool {
        let was_there = self.no_ack.remove(tag);
        if was_there {
            self.names_len -= tag.len();
        }
        was_there
    }

    /// Takes note of the client's basic.get.
    pub(super) fn get(&mut self, get: &Get<'_>) {
        self.gets.push_back(Acknowledges::of(get.no_ack));
    }

    /// How the next answer to basic.get is acknowledged.
    pub(super) fn next_get(&self) -> Acknowledges {
        // An answer to nothing is best not rejected.
        self.gets.front().copied().unwrap_or(Acknowledges::None)
    }

    /// Takes note of an answer to basic.get.
    pub(super) fn got(&mut self) {
        self.gets.pop_front();
    }

    /// How what a consumer is delivered is acknowledged.
    pub(super) fn delivered(&self, tag: ConsumerTag<'_>) -> Acknowledges {
        let is_silent = self.no_ack.contains(tag)
            || self.cancelled.iter().any(|its| **its == *tag)
            || self.any_may_be_silent;
        Acknowledges::of(is_silent)
    }

    /// Octets of memory that grow with what the client asks for.
    pub(super) fn weight(&self) -> usize {
        let entries = self.no_ack.len() + self.cancelled.len();
        self.names_len + entries * 64 + self.consumes.len() + self.gets.len()
    }

    fn begin(&mut self, tag: ConsumerTag<'_>, acknowledges: Acknowledges) {
        if let Some(at) = self.cancelled.iter().position(|its| **its == *tag) {
            self.cancelled.remove(at);
            self.names_len -= tag.len();
        }
        match acknowledges {
            Acknowledges::None => {
                if self.no_ack.insert(tag.into()) {
                    self.names_len += tag.len();
                }
            }
            Acknowledges::Each => {
                self.cancel_ok(tag);
            }
        }
    }
}
