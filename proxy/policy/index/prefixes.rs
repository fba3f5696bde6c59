//! Which of many texts a name begins with.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter;

use super::probe;

/// A value for each of many prefixes.
///
/// The prefixes are sorted, and each knows the longest other one that it begins with. All prefixes
/// of a name are then one chain, whose start a binary search finds: the greatest entry that does not
/// sort after the name begins with every prefix that the name begins with.
#[derive(Debug)]
pub(crate) struct Prefixes<V> {
    /// In ascending order of the prefix, each once.
    entries: Box<[Entry<V>]>,
}

#[derive(Debug)]
struct Entry<V> {
    /// The prefix.
    prefix: Box<[u8]>,
    /// Where the longest entry is that this one begins with: always before this one.
    parent: Option<usize>,
    /// What belongs to the prefix.
    value: V,
}

/// A name, and the end from which it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading<'n> {
    /// From its first octet.
    Forwards(&'n [u8]),
    /// From its last octet, so that its ends are found as its beginnings are.
    Backwards(&'n [u8]),
}

impl<V> Prefixes<V> {
    /// The values of all prefixes of a name as it is read, the longest first.
    pub(crate) fn of<'a>(&'a self, name: Reading<'a>) -> impl Iterator<Item = &'a V> {
        let sorted = |entry: &Entry<V>| name.order(&entry.prefix) != Ordering::Less;
        let after = self.entries.partition_point(sorted);
        let last = after.checked_sub(1).and_then(|at| self.entries.get(at));
        let parent = |entry: &&'a Entry<V>| entry.parent.and_then(|at| self.entries.get(at));
        iter::successors(last, parent)
            .skip_while(move |entry| name.order(&entry.prefix) != Ordering::Equal)
            .map(|entry| &entry.value)
    }
}

impl Reading<'_> {
    /// Whether it sorts before or after a prefix; equal is that it begins with it.
    fn order(self, prefix: &[u8]) -> Ordering {
        probe();
        match self {
            Self::Forwards(name) => order(name.iter(), prefix),
            Self::Backwards(name) => order(name.iter().rev(), prefix),
        }
    }
}

/// The order of octets and a prefix. Octet by octet, because prefixes are too short for a call to
/// `memcmp` to pay.
#[inline]
fn order<'n>(mut name: impl Iterator<Item = &'n u8>, prefix: &[u8]) -> Ordering {
    for other in prefix {
        match name.next() {
            None => return Ordering::Less,
            Some(own) if own != other => return own.cmp(other),
            Some(_) => {}
        }
    }
    Ordering::Equal
}

impl<V> FromIterator<(Box<[u8]>, V)> for Prefixes<V> {
    fn from_iter<I: IntoIterator<Item = (Box<[u8]>, V)>>(prefixes: I) -> Self {
        let sorted: BTreeMap<_, _> = prefixes.into_iter().collect();
        let mut entries: Vec<Entry<V>> = Vec::with_capacity(sorted.len());
        for (prefix, value) in sorted {
            let mut parent = entries.len().checked_sub(1);
            while let Some(entry) = parent.and_then(|at| entries.get(at)) {
                if prefix.starts_with(&entry.prefix) {
                    break;
                }
                parent = entry.parent;
            }
            entries.push(Entry {
                prefix,
                parent,
                value,
            });
        }
        Self {
            entries: entries.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(prefixes: &[&'static str], name: &str) -> Vec<&'static str> {
        let entries = prefixes
            .iter()
            .map(|&prefix| (prefix.as_bytes().into(), prefix));
        let prefixes: Prefixes<&str> = entries.collect();
        let forwards: Vec<_> = prefixes.of(Reading::Forwards(name.as_bytes())).collect();
        let reversed: Vec<u8> = name.bytes().rev().collect();
        let backwards: Vec<_> = prefixes.of(Reading::Backwards(&reversed)).collect();
        assert_eq!(forwards, backwards);
        forwards.into_iter().copied().collect()
    }

    #[test]
    fn a_name_finds_all_its_prefixes_from_the_longest_to_the_shortest() {
        let prefixes = ["", "a", "ab", "abd", "abda", "abc", "abcd", "b"];
        assert_eq!(of(&prefixes, "abcc"), ["abc", "ab", "a", ""]);
        assert_eq!(of(&prefixes, "abda"), ["abda", "abd", "ab", "a", ""]);
        assert_eq!(of(&prefixes, "az"), ["a", ""]);
        assert_eq!(of(&prefixes, ""), [""]);
        assert_eq!(of(&["b"], "a"), Vec::<&str>::new());
        assert_eq!(of(&[], "a"), Vec::<&str>::new());
    }
}
