//! What is printed: a table for each scenario, one of all, and the facts of the machine.

mod figure;
mod table;

pub(crate) use figure::Figure;

use self::table::{Style, Table};
use crate::error::Error;
use crate::options::Options;
use crate::peers::{DIRECT, HAPROXY, Missing, Peer};
use crate::runner::{Machine, Network, Sample};
use crate::scenario::Scenario;
use crate::stats::Spread;

/// What one peer gave in one scenario.
#[derive(Debug)]
pub(crate) struct Row {
    peer: String,
    /// What was measured, in rounds.
    pub(crate) samples: Vec<Sample>,
    /// Why it was not measured to the end.
    pub(crate) error: Option<Error>,
}

impl Row {
    /// A peer that has not been measured.
    pub(crate) fn new(peer: &str) -> Self {
        Self {
            peer: peer.to_owned(),
            samples: Vec::new(),
            error: None,
        }
    }

    /// A figure of all rounds; none of a peer that failed.
    fn spread(&self, figure: Figure) -> Option<Spread> {
        if self.error.is_some() {
            return None;
        }
        let figures: Option<Vec<f64>> = self.samples.iter().map(|it| figure.of(it)).collect();
        Spread::of(figures?)
    }
}

/// What all peers gave in one scenario.
#[derive(Debug)]
pub(crate) struct Results {
    /// The scenario.
    pub(crate) scenario: &'static Scenario,
    /// The peers.
    pub(crate) rows: Vec<Row>,
}

impl Results {
    fn median(&self, peer: &str, figure: Figure) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.peer == peer)?;
        Some(row.spread(figure)?.median)
    }

    /// How a figure compares to that of another peer; none where there is nothing to compare.
    fn ratio(&self, row: &Row, figure: Figure, other: &str) -> Option<f64> {
        let other = self.median(other, figure).filter(|other| *other > 0.0)?;
        Some(row.spread(figure)?.median / other)
    }

    fn table(&self) -> Table {
        let figures = self.scenario.figures;
        let heads = figures.iter().map(|figure| figure.title());
        let mut table = Table::new(["peer"].into_iter().chain(heads));
        for row in &self.rows {
            let cells = figures.iter().map(|&figure| self.cell(row, figure));
            table.row([row.peer.clone()].into_iter().chain(cells));
        }
        table
    }

    /// Median, range, and the ratios to HAProxy and to no proxy at all.
    fn cell(&self, row: &Row, figure: Figure) -> String {
        let Some(spread) = row.spread(figure) else {
            return String::from(if row.error.is_some() { "failed" } else { "-" });
        };
        let Spread {
            median,
            least,
            greatest,
        } = spread;
        let [median, least, greatest] = [median, least, greatest].map(figure::significant);
        let mut cell = format!("{median} ({least}–{greatest})");
        for (other, mark) in [(HAPROXY, "h"), (DIRECT, "d")] {
            if row.peer != other
                && let Some(ratio) = self.ratio(row, figure, other)
            {
                cell += &format!(" ×{ratio:.2}{mark}");
            }
        }
        cell
    }
}

/// All that is printed, as it comes.
#[derive(Debug)]
pub(crate) struct Report {
    style: Style,
    /// What stands before all tables.
    facts: Vec<String>,
    peers: Vec<String>,
    results: Vec<Results>,
}

impl Report {
    /// A report of nothing yet.
    pub(crate) fn new(
        options: &Options,
        machine: &Machine,
        network: &Network,
        peers: &[Peer],
        missing: &[Missing],
    ) -> Self {
        Self {
            style: if options.markdown {
                Style::Markdown
            } else {
                Style::Plain
            },
            facts: facts(options, machine, network, peers, missing),
            peers: peers.iter().map(|peer| peer.name.clone()).collect(),
            results: Vec::new(),
        }
    }

    /// Prints what stands before all tables.
    pub(crate) fn begin(&self) {
        for fact in &self.facts {
            println!("- {fact}");
        }
    }

    /// Prints a scenario.
    pub(crate) fn add(&mut self, results: Results) {
        let Scenario {
            name,
            title,
            placement,
            ..
        } = results.scenario;
        print!(
            "\n### {name}: {title}; {}\n\n{}",
            placement.as_str(),
            results.table().text(self.style)
        );
        for row in &results.rows {
            if let Some(error) = &row.error {
                println!("\n{}: FAILED: {error}", row.peer);
            }
        }
        self.results.push(results);
    }

    /// Prints one table of the first figure of all scenarios.
    pub(crate) fn end(&self) {
        print!(
            "\n### CPU of the proxy, and its ratio to HAProxy\n\n{}",
            self.summary().text(self.style)
        );
    }

    /// Whether something was not measured to the end.
    pub(crate) fn has_failures(&self) -> bool {
        let mut rows = self.results.iter().flat_map(|results| &results.rows);
        rows.any(|row| row.error.is_some())
    }

    fn summary(&self) -> Table {
        let figure = |results: &Results| results.scenario.figures.first().copied();
        let heads = self.results.iter().map(|results| {
            let unit = figure(results).map_or("", Figure::unit);
            format!("{} {unit}", results.scenario.name)
        });
        let mut table = Table::new([String::from("peer")].into_iter().chain(heads));
        for peer in &self.peers {
            let cells = self.results.iter().map(|results| {
                let row = results.rows.iter().find(|row| row.peer == *peer);
                let found = row.zip(figure(results));
                found.map_or(String::from("-"), |(row, figure)| {
                    brief(results, row, figure)
                })
            });
            table.row([peer.clone()].into_iter().chain(cells));
        }
        table
    }
}

/// A median and its ratio to HAProxy.
fn brief(results: &Results, row: &Row, figure: Figure) -> String {
    let Some(spread) = row.spread(figure) else {
        return String::from(if row.error.is_some() { "failed" } else { "-" });
    };
    let median = figure::significant(spread.median);
    match results.ratio(row, figure, HAPROXY) {
        Some(ratio) => format!("{median} (×{ratio:.2})"),
        None => median,
    }
}

fn facts(
    options: &Options,
    machine: &Machine,
    network: &Network,
    peers: &[Peer],
    missing: &[Missing],
) -> Vec<String> {
    let mut facts = vec![
        format!("Linux {}, {}", machine.kernel, machine.processor),
        format!(
            "{} processors, load average {:.2}",
            machine.processors, machine.load
        ),
        format!("congestion control {}", network.congestion),
        format!(
            "medians (and ranges) of {} rounds of {} s in which peers take turns",
            options.repeat, options.seconds
        ),
        String::from("×h is the ratio to HAProxy, ×d that to no proxy at all"),
    ];
    if let Some(why) = network.is_shared {
        facts.push(format!("NOT in a network namespace of its own: {why}"));
    }
    if machine.was_busy() {
        facts.push(String::from(
            "the machine was NOT quiet: only ratios mean anything",
        ));
    }
    if options.tls {
        facts.push(String::from(
            "clients speak TLS 1.3; peers that can't are left out",
        ));
    }
    let versions = peers
        .iter()
        .filter_map(|peer| Some(format!("{} {}", peer.name, peer.version()?)));
    facts.push(versions.collect::<Vec<_>>().join(", "));
    // Who asks for some peers does not ask for the others.
    for Missing { name, remedy } in missing.iter().filter(|_| options.peer.is_empty()) {
        facts.push(format!("{name} is MISSING: {remedy}"));
    }
    facts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::scenario::named;

    fn row(peer: &str, micros: &[u64]) -> Row {
        let sample = |&micros| Sample {
            messages: 1_000,
            octets: 64_000,
            elapsed: Duration::from_millis(10),
            cpu: Some(Duration::from_micros(micros * 1_000)),
            peak: Some(3 << 20),
            ..Sample::default()
        };
        Row {
            peer: peer.to_owned(),
            samples: micros.iter().map(sample).collect(),
            error: None,
        }
    }

    fn results() -> Results {
        let mut direct = row(DIRECT, &[0]);
        direct.samples[0].cpu = None;
        direct.samples[0].peak = None;
        let mut failed = row("failing", &[1]);
        failed.error = Some(Error::Lost {
            sent: 5,
            counted: 4,
        });
        Results {
            scenario: named("mqtt").unwrap(),
            rows: vec![direct, row(HAPROXY, &[4]), row("x", &[3, 1, 2]), failed],
        }
    }

    #[test]
    fn a_cell_has_median_range_and_ratios() {
        let results = results();
        let cell = |at: usize, figure| results.cell(&results.rows[at], figure);
        assert_eq!(cell(2, Figure::CpuMicros), "2 (1–3) ×0.50h");
        assert_eq!(
            cell(2, Figure::Rate),
            "100,000 (100,000–100,000) ×1.00h ×1.00d"
        );
        assert_eq!(cell(1, Figure::CpuMicros), "4 (4–4)");
    }

    #[test]
    fn what_was_lost_is_no_figure() {
        let results = results();
        let cell = |at: usize, figure| results.cell(&results.rows[at], figure);
        assert_eq!(cell(3, Figure::Rate), "failed");
        assert_eq!(cell(0, Figure::CpuMicros), "-");
        assert_eq!(brief(&results, &results.rows[3], Figure::Rate), "failed");
        assert_eq!(
            brief(&results, &results.rows[2], Figure::CpuMicros),
            "2 (×0.50)"
        );
    }
}
