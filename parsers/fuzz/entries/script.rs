//! Octets as a list of choices.
//!
//! A fuzzer knows octets alone. Whatever they are they make a script, and a small change of them is
//! mostly a small change of it. Where they end, everything left to choose is 0.

/// Choices that have not been made yet.
#[derive(Clone, Debug)]
pub(super) struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    pub(super) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// Any octet.
    pub(super) fn octet(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((&octet, rest)) => {
                self.rest = rest;
                octet
            }
            None => 0,
        }
    }

    /// Any two octets as a number.
    pub(super) fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }

    /// Whether something is so.
    pub(super) fn is(&mut self) -> bool {
        self.octet() & 1 == 1
    }

    /// One of these, of which there is at least one.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = usize::from(self.octet()) % choices.len();
        *choices.get(at).expect("a choice")
    }

    /// A number of few that may well be chosen again, or of those at which numbers end.
    pub(super) fn number(&mut self) -> u32 {
        match self.octet() {
            octet @ 0..0xF0 => u32::from(octet % 16),
            0xF0..0xF4 => u32::from(self.short()),
            octet @ 0xF4..0xF8 => u32::MAX - u32::from(octet - 0xF4),
            octet @ 0xF8..0xFC => (1 << 31) - 2 + u32::from(octet - 0xF8),
            octet => u32::from(u16::MAX) - 1 + u32::from(octet - 0xFC),
        }
    }

    /// Perhaps such a number.
    pub(super) fn perhaps(&mut self) -> Option<u32> {
        self.is().then(|| self.number())
    }

    /// Up to this many of the octets that follow.
    pub(super) fn octets(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(most.min(self.rest.len()));
        self.rest = rest;
        taken
    }
}
