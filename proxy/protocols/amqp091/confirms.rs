//! Confirms: the numbers that publishes have for the client and for the broker.
//!
//! Both count from confirm.select on. The client counts all its publishes and the broker those that
//! reach it, so once one was refused, what the broker confirms is given the client's number. Until
//! then the two are the same, and nothing is kept but two counts.

use std::collections::VecDeque;

/// The publishes of a channel in confirm mode.
#[derive(Debug, Default)]
pub(super) struct Confirms {
    /// Publishes of the client: the number of the last one.
    published: u64,
    /// Those that went on to the broker: the broker's number of the last one. At most `published`.
    forwarded: u64,
    /// How the numbers differ; none until a publish was refused.
    renumbering: Option<Box<Renumbering>>,
}

impl Confirms {
    /// Notes a publish that goes on to the broker.
    #[inline]
    pub(super) fn forward(&mut self) {
        self.published += 1;
        self.forwarded += 1;
    }

    /// Notes a publish that is refused, and answers with its number.
    pub(super) fn refuse(&mut self) -> u64 {
        self.published += 1;
        let offset = self.published - self.forwarded;
        let forwarded = self.forwarded;
        let renumbering = self
            .renumbering
            .get_or_insert_with(|| Box::new(Renumbering::from(forwarded)));
        renumbering.begin(forwarded, offset);
        self.published
    }

    /// Notes that the broker has confirmed a publish, or with `multiple` all up to it, and answers with
    /// the client's number of it.
    #[inline]
    pub(super) fn confirm(&mut self, tag: u64, multiple: bool) -> u64 {
        match &mut self.renumbering {
            // All that is outstanding has no number.
            Some(renumbering) if tag > 0 => renumbering.confirm(tag, multiple),
            _ => tag,
        }
    }

    /// Octets of memory that grow with the publishes that are not confirmed.
    pub(super) fn weight(&self) -> usize {
        self.renumbering.as_ref().map_or(0, |it| it.weight())
    }
}

/// How the broker's numbers become the client's.
#[derive(Debug)]
struct Renumbering {
    /// Where numbers begin to differ by how much, in rising order of both; the last one holds for
    /// whatever is published next.
    steps: VecDeque<Offset>,
    /// The difference for numbers up to the first of the steps.
    below: u64,
    /// How many steps at the front are kept whatever is confirmed one by one: what they are
    /// for is not kept track of.
    pinned: usize,
    /// What has been confirmed, as far as it tells which steps are done with.
    confirmed: Confirmed,
}

/// From where on the numbers differ by how much.
#[derive(Clone, Copy, Debug)]
struct Offset {
    /// The broker's number up to which it does not hold.
    after: u64,
    /// What is added to the broker's number.
    offset: u64,
}

impl Renumbering {
    /// Numbers up to this one are the same on both sides; which of them are confirmed is not known.
    fn from(same: u64) -> Self {
        let none = Offset {
            after: 0,
            offset: 0,
        };
        Self {
            steps: VecDeque::from([none]),
            below: 0,
            pinned: 1,
            confirmed: Confirmed::after(same),
        }
    }

    /// From here on the numbers differ by `offset`.
    fn begin(&mut self, after: u64, offset: u64) {
        match self.steps.back_mut() {
            // Nothing went on between two refusals.
            Some(last) if last.after == after => last.offset = offset,
            _ => self.steps.push_back(Offset { after, offset }),
        }
    }

    fn confirm(&mut self, tag: u64, multiple: bool) -> u64 {
        let before = self.steps.partition_point(|step| step.after < tag);
        let last = before.checked_sub(1).and_then(|last| self.steps.get(last));
        let offset = last.map_or(self.below, |step| step.offset);
        if multiple && tag > self.confirmed.all_up_to {
            self.pinned = 0;
        }
        if self.confirmed.note(tag, multiple) == Noted::Anew {
            self.pinned = before;
        }
        // The step before one whose numbers begin below what is confirmed is of no use any more.
        while let Some(next) = self.steps.get(self.pinned + 1)
            && next.after <= self.confirmed.all_up_to
        {
            let done = self.steps.remove(self.pinned);
            if self.pinned == 0 {
                self.below = done.map_or(0, |step| step.offset);
            }
        }
        tag.saturating_add(offset)
    }

    fn weight(&self) -> usize {
        self.steps.len() * size_of::<Offset>() + self.confirmed.beyond.len() * size_of::<u64>()
    }
}

/// Which numbers have been confirmed: all up to one, and some beyond it.
#[derive(Debug)]
struct Confirmed {
    /// All numbers up to this one are, or are not looked at.
    all_up_to: u64,
    /// A bit for each number behind `base`, set if it is: the lowest bit of the first word is for
    /// `base + 1`. At most [`Confirmed::MOST_WORDS`].
    beyond: VecDeque<u64>,
    /// The number before that of the first bit; a multiple of 64, and less than 64 below `all_up_to`.
    base: u64,
}

/// How a number was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noted {
    /// In its place.
    InPlace,
    /// So far behind one that is not confirmed that it is the first of a new account.
    Anew,
}

impl Confirmed {
    /// Words of bits: 32,768 numbers.
    const MOST_WORDS: u64 = 512;

    /// Numbers up to this one are of no interest.
    fn after(tag: u64) -> Self {
        let mut confirmed = Self {
            all_up_to: 0,
            beyond: VecDeque::new(),
            base: 0,
        };
        confirmed.skip_to(tag);
        confirmed
    }

    fn note(&mut self, tag: u64, multiple: bool) -> Noted {
        if tag <= self.all_up_to {
            return Noted::InPlace;
        }
        let is_far = (tag - self.base - 1) / 64 >= Self::MOST_WORDS;
        let noted = if is_far && !multiple {
            *self = Self::after(tag - 1);
            Noted::Anew
        } else {
            Noted::InPlace
        };
        if multiple {
            self.skip_to(tag);
        } else {
            let at = tag - self.base - 1;
            let word = (at / 64) as usize;
            if self.beyond.len() <= word {
                self.beyond.resize(word + 1, 0);
            }
            if let Some(bits) = self.beyond.get_mut(word) {
                *bits |= 1 << (at % 64);
            }
        }
        self.advance();
        noted
    }

    /// All numbers up to this one are confirmed.
    fn skip_to(&mut self, tag: u64) {
        let words = (tag - self.base) / 64;
        let known = usize::try_from(words).unwrap_or(usize::MAX);
        self.beyond.drain(..known.min(self.beyond.len()));
        self.base += words * 64;
        let low = (1 << (tag - self.base)) - 1;
        match self.beyond.front_mut() {
            Some(bits) => *bits |= low,
            None if low > 0 => self.beyond.push_back(low),
            None => {}
        }
        self.all_up_to = tag;
    }

    /// Lets `all_up_to` follow the bits.
    fn advance(&mut self) {
        while self.beyond.front() == Some(&u64::MAX) {
            self.beyond.pop_front();
            self.base += 64;
        }
        let ones = self.beyond.front().map_or(0, |bits| bits.trailing_ones());
        self.all_up_to = self.base + u64::from(ones);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_the_same_until_a_publish_is_refused() {
        let mut confirms = Confirms::default();
        for tag in 1..=1_000 {
            confirms.forward();
            assert_eq!(confirms.confirm(tag, tag % 3 == 0), tag);
        }
        assert_eq!(confirms.weight(), 0);
    }

    #[test]
    fn numbers_differ_by_what_was_refused_before() {
        let mut confirms = Confirms::default();
        confirms.forward();
        assert_eq!(confirms.refuse(), 2);
        confirms.forward();
        assert_eq!([confirms.refuse(), confirms.refuse()], [4, 5]);
        confirms.forward();
        assert_eq!(confirms.confirm(3, false), 6);
        assert_eq!(confirms.confirm(1, false), 1);
        assert_eq!(confirms.confirm(2, false), 3);
        assert_eq!(confirms.confirm(0, true), 0, "all of them");
    }

    #[test]
    fn what_is_confirmed_is_not_kept() {
        let mut confirms = Confirms::default();
        for round in 0..10_000 {
            confirms.refuse();
            confirms.forward();
            confirms.forward();
            let last = 2 * round + 2;
            assert_eq!(confirms.confirm(last, false), 3 * round + 3);
            assert_eq!(confirms.confirm(last - 1, false), 3 * round + 2);
            assert!(confirms.weight() <= 64, "{}", confirms.weight());
        }
    }

    #[test]
    fn a_publish_that_is_stuck_costs_little_for_those_after_it() {
        let mut confirms = Confirms::default();
        confirms.refuse();
        confirms.forward();
        for tag in 2..=500_000 {
            confirms.forward();
            assert_eq!(confirms.confirm(tag, false), tag + 1);
        }
        assert!(confirms.weight() <= 8 * 1_024, "{}", confirms.weight());
        for tag in 500_001..=1_000_000 {
            let refused = confirms.refuse();
            confirms.forward();
            assert_eq!(confirms.confirm(tag, false), refused + 1);
        }
        assert!(confirms.weight() <= 600 * 1_024, "{}", confirms.weight());
        assert_eq!(confirms.confirm(1, false), 2);
        confirms.forward();
        assert_eq!(confirms.confirm(1_000_001, true), 1_500_002);
        assert!(confirms.weight() <= 64, "{}", confirms.weight());
    }

    /// What happens on a channel: so many publishes that are forwarded, one that is refused, and
    /// which of the outstanding ones is confirmed then, and whether with all before it.
    #[derive(Clone, Debug)]
    struct Event {
        forwarded: u64,
        is_refused: bool,
        confirmed: Option<(prop::sample::Index, bool)>,
    }

    fn events(most: u64, len: usize) -> impl Strategy<Value = Vec<Event>> {
        let confirmed = any::<Option<(prop::sample::Index, bool)>>();
        let event = (0..=most, any::<bool>(), confirmed);
        let event = event.prop_map(|(forwarded, is_refused, confirmed)| Event {
            forwarded,
            is_refused,
            confirmed,
        });
        vec(event, 0..len)
    }

    fn play(events: Vec<Event>) {
        let mut confirms = Confirms::default();
        let (mut published, mut forwarded) = (0, 0);
        let mut outstanding = BTreeMap::new();
        for event in events {
            for _ in 0..event.forwarded {
                confirms.forward();
                published += 1;
                forwarded += 1;
                outstanding.insert(forwarded, published);
            }
            if event.is_refused {
                published += 1;
                assert_eq!(confirms.refuse(), published);
            }
            if let Some((which, multiple)) = event.confirmed
                && !outstanding.is_empty()
            {
                let which = which.index(outstanding.len());
                let (&tag, &number) = outstanding.iter().nth(which).expect("one of them");
                assert_eq!(confirms.confirm(tag, multiple), number);
                if multiple {
                    outstanding = outstanding.split_off(&(tag + 1));
                } else {
                    outstanding.remove(&tag);
                }
            }
        }
        while let Some((tag, number)) = outstanding.pop_last() {
            assert_eq!(confirms.confirm(tag, false), number);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn each_confirm_is_given_the_number_of_its_publish(events in events(3, 200)) {
            play(events);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn confirms_far_out_of_order_are_given_their_numbers_too(events in events(20_000, 20)) {
            play(events);
        }
    }
}
