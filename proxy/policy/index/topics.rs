//! Values by topic filter: which of many filters match a topic.

use std::collections::HashMap;

use super::probe;
use crate::policy::pattern::TopicFilter;

/// A value for each of many topic filters, of which the least that matches a topic is asked for.
///
/// Filters without a wildcard are hashed as a whole. The others form a tree of levels, so that a
/// topic visits only the branches that it fits; the walk is as deep as the longest filter at most,
/// whatever the topic.
#[derive(Debug)]
pub(crate) struct Topics<V> {
    /// The filters without a wildcard.
    names: HashMap<Box<[u8]>, V>,
    /// The length of the longest of them, so that an endless topic is not even hashed.
    longest: usize,
    /// The tree of the others.
    root: Level<V>,
}

/// What follows the levels that lead here.
#[derive(Debug)]
struct Level<V> {
    /// The next level by name.
    children: HashMap<Box<[u8]>, Level<V>>,
    /// The next level whatever its name: `+`.
    any: Option<Box<Level<V>>>,
    /// The value of the filter that ends here.
    here: Option<V>,
    /// The value of the filter that goes on with `#`, which also matches what ends here
    /// (MQTT 5.0 §4.7.1.2).
    below: Option<V>,
}

impl<V: Copy + Ord> Topics<V> {
    /// The value of the filter that is this very topic.
    pub(crate) fn named(&self, topic: &[u8]) -> Option<V> {
        if topic.len() > self.longest {
            return None;
        }
        probe();
        self.names.get(topic).copied()
    }

    /// The least value of all filters with a wildcard that match `topic`.
    pub(crate) fn wild(&self, topic: &[u8]) -> Option<V> {
        if !topic.starts_with(b"$") {
            return self.root.least(Some(topic));
        }
        // A wildcard in front does not match such a topic (MQTT 5.0 §4.7.2).
        let (level, rest) = split(topic);
        self.root.children.get(level)?.least(rest)
    }
}

impl<V: Copy + Ord> Level<V> {
    /// The least value for the levels that are left; `None` is the end of the topic.
    fn least(&self, topic: Option<&[u8]>) -> Option<V> {
        probe();
        let Some(topic) = topic else {
            return least(self.here, self.below);
        };
        let (level, rest) = split(topic);
        let named = self.children.get(level).and_then(|next| next.least(rest));
        let any = self.any.as_ref().and_then(|next| next.least(rest));
        least(self.below, least(named, any))
    }

    /// Enters a filter by the levels that are left of it.
    fn insert<'a>(&mut self, mut levels: impl Iterator<Item = &'a [u8]>, value: V) {
        match levels.next() {
            None => self.here = Some(value),
            Some(b"#") => self.below = Some(value),
            Some(b"+") => self.any.get_or_insert_default().insert(levels, value),
            Some(level) => {
                let child = self.children.entry(level.into()).or_default();
                child.insert(levels, value);
            }
        }
    }
}

impl<V> Default for Level<V> {
    fn default() -> Self {
        Self {
            children: HashMap::new(),
            any: None,
            here: None,
            below: None,
        }
    }
}

impl<V: Copy + Ord> FromIterator<(TopicFilter, V)> for Topics<V> {
    /// Each filter is expected once.
    fn from_iter<I: IntoIterator<Item = (TopicFilter, V)>>(filters: I) -> Self {
        let mut names: HashMap<Box<[u8]>, V> = HashMap::new();
        let mut root = Level::default();
        for (filter, value) in filters {
            let text = filter.text().as_bytes();
            if filter.wildcard().is_none() {
                names.insert(text.into(), value);
            } else {
                root.insert(text.split(|&octet| octet == b'/'), value);
            }
        }
        Self {
            longest: names.keys().map(|name| name.len()).max().unwrap_or(0),
            names,
            root,
        }
    }
}

/// The first level of a topic, and what follows its slash.
fn split(topic: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = topic.splitn(2, |&octet| octet == b'/');
    (parts.next().unwrap_or_default(), parts.next())
}

/// The lesser of two values, where there are any.
fn least<V: Ord>(one: Option<V>, other: Option<V>) -> Option<V> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::AddressPattern;

    fn matches(filter: &str, topic: &str) -> bool {
        let filter = AddressPattern::new(filter).unwrap().filter().unwrap();
        let topics: Topics<u32> = [(filter, 0)].into_iter().collect();
        topics
            .named(topic.as_bytes())
            .or_else(|| topics.wild(topic.as_bytes()))
            .is_some()
    }

    #[test]
    fn the_examples_of_the_specification_match() {
        for (filter, topic) in [
            // §4.7.1.2
            ("sport/tennis/player1/#", "sport/tennis/player1"),
            ("sport/tennis/player1/#", "sport/tennis/player1/ranking"),
            (
                "sport/tennis/player1/#",
                "sport/tennis/player1/score/wimbledon",
            ),
            ("sport/#", "sport"),
            ("#", "sport/tennis"),
            // §4.7.1.3
            ("sport/tennis/+", "sport/tennis/player1"),
            ("sport/+", "sport/"),
            ("+", "sport"),
            ("+/tennis/#", "sport/tennis/player1"),
            ("+/+", "/finance"),
            ("/+", "/finance"),
            // §4.7.2
            ("$SYS/#", "$SYS/monitor/Clients"),
            ("$SYS/monitor/+", "$SYS/monitor/Clients"),
            // §4.7.3
            ("/", "/"),
            ("ACCOUNTS", "ACCOUNTS"),
            ("Accounts payable", "Accounts payable"),
        ] {
            assert!(matches(filter, topic), "{filter} {topic}");
        }
    }

    #[test]
    fn the_counterexamples_of_the_specification_do_not_match() {
        for (filter, topic) in [
            ("sport/tennis/+", "sport/tennis/player1/ranking"),
            ("sport/+", "sport"),
            ("+", "/finance"),
            ("#", "$SYS/monitor/Clients"),
            ("+/monitor/Clients", "$SYS/monitor/Clients"),
            ("+/#", "$SYS"),
            ("ACCOUNTS", "Accounts"),
            ("/finance", "finance"),
            ("sport/tennis/#", "sport/tennisball"),
            ("sport/*", "sport/tennis"),
        ] {
            assert!(!matches(filter, topic), "{filter} {topic}");
        }
    }
}
