//! Looks at sizegate while it works: how much memory it has.

use std::time::{Duration, Instant};

use crate::support::Sidecar;

/// Samples of resident memory, and until when they are taken.
pub(crate) struct Watch {
    start: Instant,
    end: Instant,
    told: Instant,
    /// KiB, one after another.
    samples: Vec<u64>,
}

/// How memory went.
pub(crate) struct Memory {
    /// The median in the second fifth of the time: what comes before is for caches to fill.
    pub(crate) early_kib: u64,
    /// The median in the last fifth.
    pub(crate) late_kib: u64,
    /// The most in any sample.
    pub(crate) most_kib: u64,
}

impl Watch {
    /// Begins to look.
    pub(crate) fn start(end: Instant) -> Self {
        let now = Instant::now();
        Self {
            start: now,
            end,
            told: now,
            samples: Vec::new(),
        }
    }

    /// Whether there is nothing to look at any more.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() + BETWEEN >= self.end
    }

    /// Waits and looks, and tells once a minute what it sees.
    pub(crate) async fn look(&mut self, sidecar: &Sidecar) {
        tokio::time::sleep(BETWEEN).await;
        let now = sidecar.rss_kib();
        self.samples.push(now);
        if self.told.elapsed() >= MINUTE {
            self.told = Instant::now();
            println!(
                "{:4} s  {now} KiB, {} descriptors",
                self.start.elapsed().as_secs(),
                sidecar.descriptors()
            );
        }
    }

    /// What was seen.
    pub(crate) fn memory(&self) -> Memory {
        let fifth = self.samples.len() / 5;
        let part = |number: usize| {
            let mut part: Vec<_> = self.samples.iter().skip(number * fifth).collect();
            part.truncate(fifth.max(1));
            part.sort();
            **part.get(part.len() / 2).expect("a sample")
        };
        Memory {
            early_kib: part(1),
            late_kib: part(4),
            most_kib: self.samples.iter().copied().max().unwrap_or_default(),
        }
    }
}

const BETWEEN: Duration = Duration::from_millis(500);

const MINUTE: Duration = Duration::from_secs(60);
