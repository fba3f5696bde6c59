//! Patterns in which `*` is any run of characters, also none.

use std::sync::Arc;

use super::{Pattern, PatternError};

/// A name, or a pattern in which `*` is any run of characters; nothing else is special.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob {
    /// The pattern as it was written; not empty.
    text: Arc<str>,
    /// Where the first and the last `*` stand, if there is one: kept, since to look for them would
    /// be most of the work of matching.
    stars: Option<(usize, usize)>,
}

impl Glob {
    /// Reads a pattern.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, PatternError> {
        let text = text.into();
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        Ok(Self {
            stars: text.find('*').zip(text.rfind('*')),
            text,
        })
    }
}

impl Pattern for Glob {
    fn text(&self) -> &str {
        &self.text
    }

    fn wildcard(&self) -> Option<usize> {
        self.stars.map(|(first, _)| first)
    }

    fn head(&self) -> &[u8] {
        let end = self.stars.map_or(self.text.len(), |(first, _)| first);
        self.text.as_bytes().get(..end).unwrap_or_default()
    }

    fn tail(&self) -> &[u8] {
        let start = self.stars.map_or(0, |(_, last)| last + 1);
        self.text.as_bytes().get(start..).unwrap_or_default()
    }

    fn matches(&self, name: &[u8]) -> bool {
        let Some((first, last)) = self.stars else {
            return self.text.as_bytes() == name;
        };
        let inner = name
            .strip_prefix(self.head())
            .and_then(|name| name.strip_suffix(self.tail()));
        let Some(mut name) = inner else {
            return false;
        };
        // The first place for each piece leaves the most for those that follow.
        let middle = self.text.as_bytes().get(first..last).unwrap_or_default();
        let pieces = middle.split(|&octet| octet == b'*');
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            match after(name, piece) {
                Some(rest) => name = rest,
                None => return false,
            }
        }
        true
    }
}

/// What follows the first place where `piece`, not empty, stands in `name`.
fn after<'a>(name: &'a [u8], piece: &[u8]) -> Option<&'a [u8]> {
    let at = name
        .windows(piece.len())
        .position(|window| window == piece)?;
    name.get(at + piece.len()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::new(pattern).unwrap().matches(name.as_bytes())
    }

    #[test]
    fn a_star_is_any_run_of_characters_also_none() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "a/b.c"),
            ("**", ""),
            ("a*", "a"),
            ("a*", "a/b"),
            ("*a", "ba"),
            ("a*a", "aa"),
            ("a**a", "aba"),
            ("a*b*c", "abc"),
            ("a*b*c", "a-b-b-c"),
            ("*ab*", "aab"),
            ("*.log.*", "x.log.log.y"),
            ("+/#", "+/#"),
            ("größe*", "größer"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn what_stands_beside_a_star_must_be_there_once_for_each_time_it_is_written() {
        for (pattern, name) in [
            ("a", "A"),
            ("a", "aa"),
            ("a*a", "a"),
            ("ab*ba", "aba"),
            ("a*b*c", "acb"),
            ("a*b*b*c", "a-b-c"),
            ("*ab*ab*", "aba"),
            ("sensors/#", "sensors/a"),
            ("a+", "ab"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn an_empty_pattern_is_refused() {
        assert_eq!(Glob::new(""), Err(PatternError::Empty));
    }
}
