//! Runs of deliveries against deliveries by themselves, and how many runs there may be.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::How;
use super::*;

fn of(second: bool, address: Option<&str>) -> Rewrite {
    Rewrite {
        how: How::Unsettled,
        second,
        edit: None,
        address: address.map(Into::into),
    }
}

/// Runs of a link whose deliveries have these ids.
fn owed(first: u32, count: u32) -> Owed {
    let mut owed = Owed::default();
    for nth in 0..count {
        owed.add(first.wrapping_add(nth), 0, &of(false, None));
    }
    owed
}

fn accepted(deliveries: u64) -> Answer {
    Answer {
        settled: vec![Settled {
            link: 0,
            address: None,
            outcome: Outcome::Accepted,
            deliveries,
        }],
        to_settle: Vec::new(),
    }
}

#[test]
fn however_many_deliveries_of_one_link_follow_each_other_they_are_one_run() {
    let mut owed = owed(u32::MAX - 10, 1_000_000);
    assert_eq!((owed.len(), owed.runs.len()), (1_000_000, 1));
    // Settled from both ends, they still are.
    let some = Some(Outcome::Accepted);
    let answer = owed.disposition((u32::MAX - 10, 5), true, some);
    assert_eq!(answer, accepted(17));
    let answer = owed.disposition((900_000, 2_000_000), true, some);
    assert_eq!(answer, accepted(99_989));
    assert_eq!((owed.len(), owed.runs.len()), (899_994, 1));
}

#[test]
fn what_comes_between_deliveries_of_a_link_makes_more_runs_of_them_up_to_a_ceiling() {
    let mut owed = Owed::default();
    for id in 0..Owed::MOST_RUNS as u32 {
        assert!(!owed.is_full());
        owed.add(id, (id % 2) as usize, &of(false, None));
    }
    assert!(owed.is_full());
    assert_eq!(owed.of_link(1), Owed::MOST_RUNS as u64 / 2);
    let lost = owed.remove_link(0);
    let [lost] = &lost[..] else {
        panic!("{lost:?}");
    };
    let due = (Outcome::Lost, Owed::MOST_RUNS as u64 / 2);
    assert_eq!((lost.outcome, lost.deliveries), due);
    assert!(!owed.is_full());
    assert_eq!(owed.len(), Owed::MOST_RUNS as u64 / 2);
}

#[test]
fn the_whole_range_of_ids_costs_no_more_than_the_runs() {
    let mut owed = owed(7, 3);
    let all = (0, i32::MAX as u32);
    let answer = owed.disposition(all, true, Some(Outcome::Accepted));
    assert_eq!(answer, accepted(3));
}

#[test]
fn what_is_put_back_together_is_one_run_again() {
    let mut owed = owed(0, 10);
    let some = Some(Outcome::Released);
    for nth in [3, 5, 4, 9, 0] {
        owed.disposition((nth, nth), false, some);
    }
    assert_eq!(owed.runs.len(), 5);
    owed.disposition((0, 9), false, some);
    assert_eq!(owed.runs.len(), 1);
    assert_eq!(owed.remove(4), Some(0));
    assert_eq!(owed.remove(4), None);
    assert_eq!((owed.len(), owed.runs.len()), (9, 2));
}

#[test]
fn what_each_delivery_says_of_its_address_is_told_with_its_outcome() {
    let mut owed = Owed::default();
    for (id, address) in (0..).zip(["a", "a", "b", "a", "c"]) {
        owed.add(id, 0, &of(false, Some(address)));
    }
    assert_eq!(owed.runs.len(), 4);
    let answer = owed.disposition((0, 3), true, Some(Outcome::Rejected));
    let told = answer
        .settled
        .iter()
        .map(|it| (it.address.as_deref(), it.deliveries));
    assert_eq!(told.collect::<Vec<_>>(), [(Some("a"), 3), (Some("b"), 1)]);
    let lost = owed.remove_link(0);
    assert_eq!((lost.len(), lost[0].address.as_deref()), (1, Some("c")));
}

/// The same without runs: each delivery by itself.
#[derive(Default)]
struct Naive(Vec<(u32, usize, bool, Option<Outcome>)>);

impl Naive {
    fn disposition(
        &mut self,
        (first, last): Run,
        settled: bool,
        outcome: Option<Outcome>,
    ) -> (Vec<(usize, Outcome)>, Vec<u32>) {
        let (mut done, mut to_settle) = (Vec::new(), Vec::new());
        let first_and_last = if (last.wrapping_sub(first) as i32) < 0 {
            (last, first)
        } else {
            (first, last)
        };
        self.0.retain_mut(|(id, link, second, told)| {
            let is_in = id.wrapping_sub(first_and_last.0)
                <= first_and_last.1.wrapping_sub(first_and_last.0);
            match (is_in, settled, outcome) {
                (false, _, _) | (_, false, None) => return true,
                (_, false, Some(_)) if !*second => {
                    *told = outcome;
                    return true;
                }
                (_, false, Some(_)) => to_settle.push(*id),
                (_, true, _) => {}
            }
            done.push((*link, outcome.or(*told).unwrap_or(Outcome::Lost)));
            false
        });
        (done, to_settle)
    }
}

proptest! {
    #[test]
    fn runs_are_as_good_as_single_deliveries(
        base in prop_oneof![Just(0_u32), Just(u32::MAX - 20), any::<u32>()],
        ops in vec((0..6_u8, 0..40_u32, 0..40_u32, 0..3_usize, any::<bool>()), 1..60),
    ) {
        let (mut owed, mut naive, mut next) = (Owed::default(), Naive::default(), 0);
        for (kind, one, other, link, flag) in ops {
            let id = |n: u32| base.wrapping_add(n);
            match kind {
                0..3 => {
                    for _ in 0..=one % 4 {
                        owed.add(id(next), link, &of(flag, None));
                        naive.0.push((id(next), link, flag, None));
                        // Some ids are those of other deliveries.
                        next += 1 + other % 3 / 2;
                    }
                }
                3 => {
                    let place = naive.0.iter().position(|it| it.0 == id(one));
                    let link = place.map(|at| naive.0.remove(at).1);
                    if owed.latest > 0 {
                        prop_assert_eq!(owed.remove(id(one)), link);
                    }
                }
                _ => {
                    let range = (id(one), id(other));
                    let outcome = [None, Some(Outcome::Accepted), Some(Outcome::Rejected)][link];
                    let answer = owed.disposition(range, flag, outcome);
                    let (done, to_settle) = naive.disposition(range, flag, outcome);
                    let told: u64 = answer.settled.iter().map(|it| it.deliveries).sum();
                    prop_assert_eq!(told, done.len() as u64);
                    for settled in &answer.settled {
                        let kind = (settled.link, settled.outcome);
                        let alike = answer.settled.iter().filter(|it| (it.link, it.outcome) == kind);
                        let told: u64 = alike.map(|it| it.deliveries).sum();
                        let due = done.iter().filter(|it| **it == kind).count();
                        prop_assert_eq!(told, due as u64);
                    }
                    let ids = answer.to_settle.iter().flat_map(|&(first, last)| {
                        (0..=last.wrapping_sub(first)).map(move |n| first.wrapping_add(n))
                    });
                    prop_assert_eq!(ids.collect::<Vec<_>>(), to_settle);
                }
            }
            prop_assert_eq!(owed.len(), naive.0.len() as u64);
            for link in 0..3 {
                let of_link = naive.0.iter().filter(|it| it.1 == link).count();
                prop_assert_eq!(owed.of_link(link), of_link as u64);
            }
        }
    }
}
