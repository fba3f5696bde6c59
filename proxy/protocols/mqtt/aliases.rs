//! Topic aliases of one direction, as far as they have to be known.
//!
//! An alias is set by the receiver's processing of a PUBLISH, so one that is kept from the receiver
//! leaves a later PUBLISH without a topic there, or with an old one (MQTT 5.0 §3.3.2.3.4). And a
//! limit for a topic holds for those who call it by an alias, too.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// The topics that aliases stand for; a bounded number of octets.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    topics: BTreeMap<NonZeroU16, Alias>,
    /// What all topics take; at most [`Aliases::CEILING`].
    octets: usize,
}

#[derive(Debug)]
struct Alias {
    topic: Box<[u8]>,
    receiver: Receiver,
}

/// Whether the receiver has seen what an alias stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receiver {
    /// It has.
    Knows,
    /// It has not: the PUBLISH that said so was kept from it.
    IsUnaware,
}

/// More topics than are remembered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Aliases {
    /// Octets of topics, each with what it takes to keep it, that are remembered at most.
    pub(super) const CEILING: usize = 256 * 1024;

    pub(super) fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// What an alias stands for.
    pub(super) fn topic(&self, alias: NonZeroU16) -> Option<&[u8]> {
        self.topics.get(&alias).map(|alias| &*alias.topic)
    }

    /// Whether an alias stands for something that the receiver is unaware of.
    pub(super) fn is_unknown_to_receiver(&self, alias: NonZeroU16) -> bool {
        let alias = self.topics.get(&alias);
        alias.is_some_and(|alias| alias.receiver == Receiver::IsUnaware)
    }

    /// Has an alias stand for a topic from here on.
    pub(super) fn set(
        &mut self,
        alias: NonZeroU16,
        topic: &[u8],
        receiver: Receiver,
    ) -> Result<(), TooMany> {
        match self.topics.get_mut(&alias) {
            // Senders tend to name the same topic again; that costs nothing.
            Some(known) if *known.topic == *topic => known.receiver = receiver,
            _ => {
                self.forget(alias);
                let octets = self.octets + topic.len() + EACH;
                if octets > Self::CEILING {
                    return Err(TooMany);
                }
                self.octets = octets;
                let topic = topic.into();
                self.topics.insert(alias, Alias { topic, receiver });
            }
        }
        Ok(())
    }

    /// Notes that the receiver has been told.
    pub(super) fn receiver_knows(&mut self, alias: NonZeroU16) {
        if let Some(alias) = self.topics.get_mut(&alias) {
            alias.receiver = Receiver::Knows;
        }
    }

    /// Forgets what an alias stands for.
    pub(super) fn forget(&mut self, alias: NonZeroU16) {
        if let Some(alias) = self.topics.remove(&alias) {
            self.octets -= alias.topic.len() + EACH;
        }
    }
}

/// Octets that it takes to keep a topic.
const EACH: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn alias(number: u16) -> NonZeroU16 {
        NonZeroU16::new(number).unwrap()
    }

    #[test]
    fn an_alias_stands_for_the_last_topic_it_was_given() {
        let mut aliases = Aliases::default();
        aliases.set(alias(1), b"a", Receiver::Knows).unwrap();
        aliases.set(alias(1), b"b", Receiver::IsUnaware).unwrap();
        assert_eq!(aliases.topic(alias(1)), Some(&b"b"[..]));
        assert!(aliases.is_unknown_to_receiver(alias(1)));
        aliases.receiver_knows(alias(1));
        assert!(!aliases.is_unknown_to_receiver(alias(1)));
        aliases.forget(alias(1));
        assert!(aliases.is_empty());
        assert_eq!(aliases.octets, 0);
    }

    #[test]
    fn topics_are_remembered_up_to_a_ceiling() {
        let mut aliases = Aliases::default();
        let topic = [b't'; 60_000];
        for number in 1..=4 {
            aliases.set(alias(number), &topic, Receiver::Knows).unwrap();
        }
        assert_eq!(aliases.set(alias(5), &topic, Receiver::Knows), Err(TooMany));
        assert_eq!(aliases.topic(alias(5)), None);
        aliases.forget(alias(1));
        aliases.set(alias(5), &topic, Receiver::Knows).unwrap();
    }
}
