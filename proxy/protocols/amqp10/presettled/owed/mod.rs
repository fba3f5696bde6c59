//! Pre-settled deliveries that the broker has not settled, as runs of its delivery-ids.
//!
//! A client that sends on one link makes one run, however much of it is under way. Runs are split by
//! what the broker says, and by deliveries of other links between them; their number is bounded.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::translate::{Run, near};
use super::Rewrite;
use crate::gate::Outcome;

/// Pre-settled deliveries of a client that went to the broker unsettled and are so still.
#[derive(Debug, Default)]
pub(in super::super::super) struct Owed {
    /// By the first id; they do not overlap. At most [`Owed::MOST_RUNS`], and those of frames that
    /// were held when there were as many.
    runs: BTreeMap<u64, Stretch>,
    /// The latest id, which tells how often its 32 bits have wrapped.
    latest: u64,
    /// Deliveries in all runs.
    deliveries: u64,
}

/// Deliveries whose ids follow each other and of which the same is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    /// The last id.
    last: u64,
    /// The place of the link.
    link: usize,
    /// Where they are sent to, if they say so themselves.
    address: Option<Arc<str>>,
    /// Whether the broker waits for them to be settled once it has said what becomes of them.
    second: bool,
    /// What the broker has said, though it has not settled them.
    told: Option<Outcome>,
}

/// Deliveries of a link that are settled now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super::super) struct Settled {
    /// The place of the link.
    pub(in super::super::super) link: usize,
    /// Where they are sent to, if they say so themselves.
    pub(in super::super::super) address: Option<Arc<str>>,
    /// What became of them.
    pub(in super::super::super) outcome: Outcome,
    /// How many there are.
    pub(in super::super::super) deliveries: u64,
}

/// What a disposition of the broker brings about.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super::super) struct Answer {
    /// What is settled now, by link and outcome.
    pub(in super::super::super) settled: Vec<Settled>,
    /// Ids that the broker waits for to be settled.
    pub(in super::super::super) to_settle: Vec<Run>,
}

impl Owed {
    /// Runs that are kept track of; with as many, what is sent pre-settled stays so.
    pub(in super::super::super) const MOST_RUNS: usize = 1 << 14;

    /// How many deliveries there are.
    pub(in super::super::super) fn len(&self) -> u64 {
        self.deliveries
    }

    /// How many deliveries of a link there are.
    pub(in super::super::super) fn of_link(&self, link: usize) -> u64 {
        let runs = self.runs.iter().filter(|(_, run)| run.link == link);
        runs.map(|(first, run)| run.last - first + 1).sum()
    }

    /// Whether no more runs are kept track of.
    pub(in super::super::super) fn is_full(&self) -> bool {
        self.runs.len() >= Self::MOST_RUNS
    }

    /// Adds a delivery of a link, by the id that the broker knows it by.
    pub(in super::super::super) fn add(&mut self, id: u32, link: usize, rewrite: &Rewrite) {
        let id = if self.latest == 0 {
            // One round in, so that ids from before it have a number too.
            (1 << 32) + u64::from(id)
        } else {
            near(self.latest, id)
        };
        self.latest = self.latest.max(id);
        self.deliveries += 1;
        self.put(
            id,
            Stretch {
                last: id,
                link,
                address: rewrite.address.clone(),
                second: rewrite.second,
                told: None,
            },
        );
    }

    /// Takes out a delivery that its sender broke off, or that was refused, and gives its link's
    /// place; none if the broker has settled it.
    pub(in super::super::super) fn remove(&mut self, id: u32) -> Option<usize> {
        let id = near(self.latest, id);
        self.take(id, id).first().map(|(_, run)| run.link)
    }

    /// Takes out the deliveries of a link that is gone, which are lost.
    pub(in super::super::super) fn remove_link(&mut self, link: usize) -> Vec<Settled> {
        let mut answer = Answer::default();
        self.runs.retain(|from, run| {
            if run.link == link {
                self.deliveries -= run.last - from + 1;
                answer.add(run, Outcome::Lost, run.last - from + 1);
            }
            run.link != link
        });
        answer.settled
    }

    /// Takes a disposition of the broker for those of its ids that are in here.
    ///
    /// The work is bounded by the runs, not by the range.
    pub(in super::super::super) fn disposition(
        &mut self,
        (first, last): Run,
        settled: bool,
        outcome: Option<Outcome>,
    ) -> Answer {
        let mut answer = Answer::default();
        if self.runs.is_empty() || !settled && outcome.is_none() {
            return answer;
        }
        // RabbitMQ 3 has been seen to write the range backwards.
        let (first, last) = if (last.wrapping_sub(first) as i32) < 0 {
            (last, first)
        } else {
            (first, last)
        };
        let (first, last) = (near(self.latest, first), near(self.latest, last));
        for (from, mut run) in self.take(first, last) {
            if !settled && !run.second {
                run.told = outcome;
                self.deliveries += run.last - from + 1;
                self.put(from, run);
                continue;
            }
            if !settled {
                match answer.to_settle.last_mut() {
                    Some((_, end)) if end.wrapping_add(1) == from as u32 => *end = run.last as u32,
                    _ => answer.to_settle.push((from as u32, run.last as u32)),
                }
            }
            let outcome = outcome.or(run.told).unwrap_or(Outcome::Lost);
            answer.add(&run, outcome, run.last - from + 1);
        }
        answer
    }

    /// Takes all deliveries from first to last out, and gives the runs of them.
    fn take(&mut self, first: u64, last: u64) -> Vec<(u64, Stretch)> {
        if first > last {
            return Vec::new();
        }
        let before = self.runs.range(..first).next_back();
        let before = before.filter(|(_, run)| run.last >= first);
        let from = before.map_or(first, |(&from, _)| from);
        let touched: Vec<u64> = self
            .runs
            .range(from..=last)
            .map(|(&from, _)| from)
            .collect();
        let mut taken = Vec::with_capacity(touched.len());
        for from in touched {
            let Some(run) = self.runs.remove(&from) else {
                continue;
            };
            let (begin, end) = (from.max(first), run.last.min(last));
            if from < begin {
                let last = begin - 1;
                self.runs.insert(
                    from,
                    Stretch {
                        last,
                        ..run.clone()
                    },
                );
            }
            if end < run.last {
                self.runs.insert(end + 1, run.clone());
            }
            self.deliveries -= end - begin + 1;
            taken.push((begin, Stretch { last: end, ..run }));
        }
        taken
    }

    /// Puts a run in its place, and makes one of it and its neighbours if the same is known of them.
    fn put(&mut self, mut from: u64, mut run: Stretch) {
        let continues = |one: &Stretch, other: &Stretch| {
            (one.link, one.second, one.told, &one.address)
                == (other.link, other.second, other.told, &other.address)
        };
        let before = self.runs.range(..from).next_back();
        if let Some((&first, before)) = before
            && before.last + 1 == from
            && continues(before, &run)
        {
            from = first;
        }
        let behind = self.runs.get(&(run.last + 1));
        if let Some(last) = behind.filter(|it| continues(&run, it)).map(|it| it.last) {
            self.runs.remove(&(run.last + 1));
            run.last = last;
        }
        self.runs.insert(from, run);
    }
}

impl Answer {
    /// Adds deliveries of which a part of a run was, to those before them if they are alike.
    fn add(&mut self, run: &Stretch, outcome: Outcome, deliveries: u64) {
        let same = |it: &&mut Settled| {
            (it.link, it.outcome, &it.address) == (run.link, outcome, &run.address)
        };
        match self.settled.iter_mut().rev().take(FEW).find(same) {
            Some(settled) => settled.deliveries += deliveries,
            None => self.settled.push(Settled {
                link: run.link,
                address: run.address.clone(),
                outcome,
                deliveries,
            }),
        }
    }
}

/// How many of the latest are looked at for one that is alike: the links of a session that send in
/// turn are few, and addresses may be as many as deliveries.
const FEW: usize = 4;
