//! Patterns for addresses, and the topic filters that they may be.

use std::sync::Arc;

use super::{Glob, Pattern, PatternError};

/// A pattern for addresses; what it matches depends on how the connection's addresses are read.
///
/// Where they are names it is a [`Glob`], and `+` and `#` are characters like any other. Where they
/// are topics it is a topic filter, and `*` is a character; a text with a wildcard where MQTT has
/// none (`sport#`, `a/#/b`) then matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddressPattern {
    /// The pattern as a glob, which every text that is not empty can be.
    glob: Glob,
}

impl AddressPattern {
    /// Reads a pattern.
    ///
    /// `$share/NAME/FILTER` is refused: a message does not say through which subscription it came,
    /// and to take the filter alone would limit more than was asked for.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, PatternError> {
        let text = text.into();
        let shared = text
            .strip_prefix("$share/")
            .and_then(|rest| rest.split_once('/'));
        match shared {
            Some((_, filter)) if !filter.is_empty() => Err(PatternError::SharedSubscription {
                filter: filter.to_owned(),
            }),
            _ => Glob::new(text).map(|glob| Self { glob }),
        }
    }

    /// The pattern where addresses are names.
    pub(crate) fn glob(&self) -> &Glob {
        &self.glob
    }

    /// The pattern where addresses are topics; none if it is no topic filter.
    pub(crate) fn filter(&self) -> Option<TopicFilter> {
        TopicFilter::new(self.text())
    }

    /// The pattern as it was written.
    pub(crate) fn text(&self) -> &str {
        self.glob.text()
    }
}

/// A topic filter: `+` is one level, `#` at the end any number of them (MQTT 5.0 §4.7.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TopicFilter {
    /// The filter as it was written; each wildcard is a level of its own, and `#` the last one.
    text: Arc<str>,
}

impl TopicFilter {
    /// Reads a filter; none if a wildcard stands where it may not.
    fn new(text: &str) -> Option<Self> {
        let whole = |level: &str| level.len() == 1 || !level.contains(['+', '#']);
        let ends = text.find('#').is_none_or(|at| at + 1 == text.len());
        (ends && text.split('/').all(whole)).then(|| Self { text: text.into() })
    }

    /// The filter as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the first wildcard stands, in octets; none if the filter is a topic.
    pub(crate) fn wildcard(&self) -> Option<usize> {
        self.text.find(['+', '#'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_filter(text: &str) -> bool {
        AddressPattern::new(text).unwrap().filter().is_some()
    }

    #[test]
    fn wildcards_of_a_filter_are_levels_of_their_own_and_a_hash_is_the_last() {
        for text in [
            "#",
            "+",
            "+/+",
            "sport/#",
            "sport/tennis/+/#",
            "/+",
            "+/tennis/#",
            "a*",
            "/",
        ] {
            assert!(is_filter(text), "{text}");
        }
        for text in [
            "sport/tennis#",
            "sport/tennis/#/ranking",
            "sport+",
            "#/",
            "##",
            "+a/b",
            "a/#b",
        ] {
            assert!(!is_filter(text), "{text}");
        }
    }

    #[test]
    fn a_shared_subscription_is_refused_and_its_filter_named() {
        let filter = "sport/#".to_owned();
        assert_eq!(
            AddressPattern::new("$share/consumers/sport/#"),
            Err(PatternError::SharedSubscription { filter })
        );
        assert!(AddressPattern::new("$share/consumers").is_ok());
        assert!(AddressPattern::new("$SYS/#").is_ok());
    }
}
