//! Patterns for virtual hosts, as in Qpid Dispatch: tokens between dots.

use std::sync::Arc;

use super::{Pattern, PatternError};

/// A virtual host, or a pattern of its dot-separated tokens.
///
/// `*` is exactly one token and `#` any number of them, also none; an empty name has no token, and
/// two dots in a row have an empty one between them. Dispatch takes a wildcard that is only part of
/// a token for the character itself; here such a pattern is refused, because whoever writes
/// `tenant-*` means something else and would never learn that it matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VhostPattern {
    /// The pattern as it was written; not empty, and its wildcards are tokens of their own.
    text: Arc<str>,
}

impl VhostPattern {
    /// Reads a pattern.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, PatternError> {
        let text = text.into();
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        match text
            .split('.')
            .find(|token| token.len() > 1 && token.contains(WILDCARDS))
        {
            Some(token) => Err(PatternError::PartOfToken {
                token: token.to_owned(),
            }),
            None => Ok(Self { text }),
        }
    }
}

impl Pattern for VhostPattern {
    fn text(&self) -> &str {
        &self.text
    }

    fn wildcard(&self) -> Option<usize> {
        self.text.find(WILDCARDS)
    }

    // The dot beside a wildcard is left out of head and tail: `a.#` also matches `a`.
    fn head(&self) -> &[u8] {
        let head = self
            .text
            .split_once(WILDCARDS)
            .map_or(&*self.text, |(head, _)| head);
        head.strip_suffix('.').unwrap_or(head).as_bytes()
    }

    fn tail(&self) -> &[u8] {
        let tail = self
            .text
            .rsplit_once(WILDCARDS)
            .map_or(&*self.text, |(_, tail)| tail);
        tail.strip_prefix('.').unwrap_or(tail).as_bytes()
    }

    fn matches(&self, name: &[u8]) -> bool {
        let mut pattern = tokens(self.text.as_bytes());
        let mut name = tokens(name);
        // Where to go on when what follows a `#` does not fit: behind it, and one token further.
        let mut retry = None;
        loop {
            let at = name.clone();
            match (pattern.next(), name.next()) {
                (Some(b"#"), _) => {
                    name = at.clone();
                    retry = Some((pattern.clone(), at));
                    continue;
                }
                (Some(b"*"), Some(_)) => continue,
                (Some(token), Some(other)) if token == other => continue,
                (None, None) => return true,
                _ => {}
            }
            let Some((behind, from)) = &mut retry else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            pattern = behind.clone();
            name = from.clone();
        }
    }
}

/// What stands for tokens.
const WILDCARDS: [char; 2] = ['*', '#'];

/// The tokens of a name; an empty name has none.
fn tokens(name: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let tokens = (!name.is_empty()).then(|| name.split(|&octet| octet == b'.'));
    tokens.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        VhostPattern::new(pattern).unwrap().matches(name.as_bytes())
    }

    #[test]
    fn a_star_is_one_token_and_a_hash_any_number() {
        for (pattern, name) in [
            ("a.b", "a.b"),
            ("/", "/"),
            ("*", "a"),
            ("#", "a"),
            ("#", ""),
            ("#", "a.b.c"),
            ("*.b", "a.b"),
            ("a.*", "a.b"),
            ("a.#", "a"),
            ("a.#", "a.b.c"),
            ("#.c", "c"),
            ("#.c", "a.b.c"),
            ("a.#.c", "a.c"),
            ("a.#.c", "a.c.b.c"),
            ("#.b.#", "a.b.c"),
            ("#.*", "a"),
            ("*.#.*", "a.b"),
            ("a..*", "a..b"),
            ("#.a.#.b.*", "x.a.a.b.b.c"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_token_is_matched_as_a_whole() {
        for (pattern, name) in [
            ("a.b", "A.b"),
            ("*", ""),
            ("*", "a.b"),
            ("a.*", "a"),
            ("a.*", "a.b.c"),
            ("a.#", "ab"),
            ("a.#.a", "a"),
            ("#.c", "bc"),
            ("#.*", ""),
            ("*.#.*", "a"),
            ("#.b.#", "a.c"),
            ("a", "a."),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_wildcard_beside_other_characters_is_refused() {
        for (text, token) in [("tenant-*", "tenant-*"), ("a.b#.c", "b#"), ("**", "**")] {
            let token = token.to_owned();
            assert_eq!(
                VhostPattern::new(text),
                Err(PatternError::PartOfToken { token })
            );
        }
    }
}
