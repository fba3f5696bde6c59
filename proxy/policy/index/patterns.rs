//! Values by pattern: which of many patterns match a name.

use std::collections::HashMap;

use super::prefixes::{Prefixes, Reading};
use super::probe;
use crate::policy::pattern::Pattern;

/// A value for each of many patterns of one kind.
///
/// Names are hashed. Patterns are kept by their literal beginning, and under each of those by their
/// literal end; only where both fit is a pattern tried.
#[derive(Debug)]
pub(crate) struct Patterns<P, V> {
    /// The patterns without a wildcard.
    names: HashMap<Box<[u8]>, V>,
    /// The length of the longest of them, so that an endless name is not even hashed.
    longest: usize,
    /// The others: by head, then by tail read backwards, then as they were given.
    wild: Prefixes<Prefixes<Vec<(P, V)>>>,
}

impl<P: Pattern, V> Patterns<P, V> {
    /// The value of the pattern that is this very name.
    pub(crate) fn named(&self, name: &[u8]) -> Option<&V> {
        if name.len() > self.longest {
            return None;
        }
        probe();
        self.names.get(name)
    }

    /// The values of all patterns with a wildcard that match `name`, the longest head first.
    pub(crate) fn wild<'a>(
        &'a self,
        name: &'a [u8],
    ) -> impl Iterator<Item = &'a V> + use<'a, P, V> {
        let by_tail = self.wild.of(Reading::Forwards(name));
        let candidates = by_tail
            .flat_map(|tails| tails.of(Reading::Backwards(name)))
            .flatten();
        candidates
            .filter(|(pattern, _)| matches(pattern, name))
            .map(|(_, value)| value)
    }

    /// The values of all patterns that match `name`.
    pub(crate) fn all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a V> + use<'a, P, V> {
        self.named(name).into_iter().chain(self.wild(name))
    }
}

impl<P: Pattern, V> FromIterator<(P, V)> for Patterns<P, V> {
    /// Each pattern is expected once.
    fn from_iter<I: IntoIterator<Item = (P, V)>>(patterns: I) -> Self {
        let mut names: HashMap<Box<[u8]>, V> = HashMap::new();
        let mut wild: HashMap<Box<[u8]>, Vec<(P, V)>> = HashMap::new();
        for (pattern, value) in patterns {
            if pattern.wildcard().is_none() {
                names.insert(pattern.text().as_bytes().into(), value);
            } else {
                let alike = wild.entry(pattern.head().into()).or_default();
                alike.push((pattern, value));
            }
        }
        Self {
            longest: names.keys().map(|name| name.len()).max().unwrap_or(0),
            names,
            wild: wild
                .into_iter()
                .map(|(head, alike)| (head, by_tail(alike)))
                .collect(),
        }
    }
}

/// Puts patterns under their tails, which are read backwards.
fn by_tail<P: Pattern, V>(patterns: Vec<(P, V)>) -> Prefixes<Vec<(P, V)>> {
    let mut tails: HashMap<Box<[u8]>, Vec<(P, V)>> = HashMap::new();
    for (pattern, value) in patterns {
        let tail = pattern.tail().iter().rev().copied().collect();
        tails.entry(tail).or_default().push((pattern, value));
    }
    tails.into_iter().collect()
}

/// Tries one pattern.
fn matches(pattern: &impl Pattern, name: &[u8]) -> bool {
    probe();
    pattern.matches(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::pattern::Glob;

    fn patterns(texts: &[&'static str]) -> Patterns<Glob, &'static str> {
        texts
            .iter()
            .map(|&text| (Glob::new(text).unwrap(), text))
            .collect()
    }

    #[test]
    fn a_name_finds_every_pattern_that_matches_it() {
        let patterns = patterns(&[
            "ab", "a*", "*b", "a*b", "ab*", "*", "*a*", "b*", "ab*b", "a",
        ]);
        let mut found: Vec<_> = patterns.all(b"ab").copied().collect();
        found.sort_unstable();
        assert_eq!(found, ["*", "*a*", "*b", "a*", "a*b", "ab", "ab*"]);
    }

    #[test]
    fn a_name_longer_than_every_name_is_not_looked_up() {
        let patterns = patterns(&["ab"]);
        assert_eq!(
            super::super::probes::taken_by(|| assert!(patterns.named(b"abc").is_none())),
            0
        );
    }
}
