//! A set of packet identifiers.

/// Packet identifiers, as a bit for each of the 65,536; holds nothing until the first is put in.
#[derive(Debug, Default)]
pub(super) struct PacketIds(Option<Box<[u64; WORDS]>>);

impl PacketIds {
    /// Puts one in.
    pub(super) fn insert(&mut self, id: u16) {
        let words = self.0.get_or_insert_with(|| Box::new([0; WORDS]));
        if let Some(word) = words.get_mut(word_of(id)) {
            *word |= bit_of(id);
        }
    }

    /// Says whether one is there.
    #[inline]
    pub(super) fn contains(&self, id: u16) -> bool {
        let word = self.0.as_ref().and_then(|words| words.get(word_of(id)));
        word.is_some_and(|word| word & bit_of(id) != 0)
    }

    /// Takes one out and says whether it was there.
    #[inline]
    pub(super) fn remove(&mut self, id: u16) -> bool {
        let Some(word) = self.0.as_mut().and_then(|words| words.get_mut(word_of(id))) else {
            return false;
        };
        let was_there = *word & bit_of(id) != 0;
        *word &= !bit_of(id);
        was_there
    }
}

fn word_of(id: u16) -> usize {
    usize::from(id) / 64
}

fn bit_of(id: u16) -> u64 {
    1 << (id % 64)
}

const WORDS: usize = 65_536 / 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_there_until_it_is_taken_out() {
        let mut ids = PacketIds::default();
        assert!(!ids.remove(1));
        for id in [1, 63, 64, u16::MAX] {
            ids.insert(id);
        }
        for id in [1, 63, 64, u16::MAX] {
            assert!(ids.remove(id), "{id}");
            assert!(!ids.remove(id), "{id}");
        }
        assert!(!ids.remove(2));
    }
}
