//! Runs scenarios: peers take turns, round after round, and a table is printed for each scenario.

mod affinity;
mod machine;
mod measure;
mod network;
mod proc;
mod process;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub(crate) use machine::Machine;
pub(crate) use measure::Sample;
pub(crate) use network::Network;

use self::measure::measure;
use crate::error::Error;
use crate::options::Options;
use crate::peers::{self, Certificate, Missing, Peer};
use crate::report::{Report, Results, Row};
use crate::scenario::{self, SCENARIOS, Scenario};

/// Measures what the options say. Fails if there is a peer of which not everything arrived.
pub fn main(options: &Options) -> Result<ExitCode, Error> {
    let scenarios = scenarios(&options.scenario)?;
    let (all, missing) = peers::all(options)?;
    if options.list {
        list(&all, &missing);
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(all, &missing, options)?;
    let is_inside = network::is_inside();
    // Cargo may want the network that is left behind.
    if !is_inside && chosen.iter().any(Peer::is_own) {
        peers::build()?;
    }
    let is_shared = if is_inside {
        None
    } else {
        Some(network::enter()?)
    };
    let network = network::prepare(is_shared)?;
    let folder = tempfile::tempdir().map_err(Error::io("a folder"))?;
    let certificate = certificate(options, folder.path())?;
    let span = Duration::try_from_secs_f64(options.seconds);
    let span = span.map_err(|_| Error::Value {
        value: options.seconds.to_string(),
        expected: "a number of seconds",
    })?;
    let mut report = Report::new(options, &Machine::look(), &network, &chosen, &missing);
    report.begin();
    for scenario in scenarios {
        let rows = run(
            scenario,
            &chosen,
            certificate.as_ref(),
            span,
            options.repeat,
        );
        report.add(Results { scenario, rows });
    }
    report.end();
    Ok(if report.has_failures() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Measures all peers in turn. One that fails is not measured again.
fn run(
    scenario: &Scenario,
    peers: &[Peer],
    certificate: Option<&Certificate>,
    span: Duration,
    repeat: usize,
) -> Vec<Row> {
    let mut rows: Vec<Row> = peers.iter().map(|peer| Row::new(&peer.name)).collect();
    for round in 0..repeat {
        // Each has each place in a round at some time.
        for turn in 0..peers.len() {
            let at = (turn + round) % peers.len();
            let (Some(peer), Some(row)) = (peers.get(at), rows.get_mut(at)) else {
                continue;
            };
            if row.error.is_some() {
                continue;
            }
            eprintln!(
                "{}: {} ({} of {repeat})",
                scenario.name,
                peer.name,
                round + 1
            );
            match measure(scenario, peer, certificate, span) {
                Ok(sample) => row.samples.push(sample),
                Err(error) => row.error = Some(error),
            }
        }
    }
    rows
}

fn scenarios(names: &[String]) -> Result<Vec<&'static Scenario>, Error> {
    if names.is_empty() {
        return Ok(SCENARIOS.iter().collect());
    }
    let found = names.iter().map(|name| {
        scenario::named(name).ok_or_else(|| Error::Unknown {
            what: "scenario",
            name: name.clone(),
            known: joined(SCENARIOS.iter().map(|scenario| scenario.name)),
        })
    });
    found.collect()
}

/// The peers that were asked for, in the order in which they are known.
fn choose(all: Vec<Peer>, missing: &[Missing], options: &Options) -> Result<Vec<Peer>, Error> {
    let mut names = BTreeSet::new();
    if let Some(twice) = all.iter().find(|peer| !names.insert(&peer.name[..])) {
        return Err(Error::Value {
            value: twice.name.clone(),
            expected: "a name that no other peer has",
        });
    }
    for name in &options.peer {
        if let Some(Missing { remedy, .. }) = missing.iter().find(|peer| peer.name == *name) {
            return Err(Error::Missing {
                name: name.clone(),
                remedy,
            });
        }
        if all.iter().all(|peer| peer.name != *name) {
            return Err(Error::Unknown {
                what: "peer",
                name: name.clone(),
                known: joined(all.iter().map(|peer| &peer.name[..])),
            });
        }
    }
    let wanted = |peer: &Peer| options.peer.is_empty() || options.peer.contains(&peer.name);
    let possible = |peer: &Peer| !options.tls || peer.speaks_tls();
    let chosen = all.into_iter().filter(wanted).filter(possible);
    Ok(chosen.collect())
}

fn certificate(options: &Options, folder: &Path) -> Result<Option<Certificate>, Error> {
    options.tls.then(|| Certificate::make(folder)).transpose()
}

fn list(peers: &[Peer], missing: &[Missing]) {
    for scenario in SCENARIOS {
        println!("scenario {:16} {}", scenario.name, scenario.title);
    }
    for peer in peers {
        println!("peer     {}", peer.name);
    }
    for Missing { name, remedy } in missing {
        println!("missing  {name}: {remedy}");
    }
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use argh::FromArgs;

    use super::*;

    /// The peers that these arguments choose, of all but one that is missing.
    fn chosen(arguments: &[&str]) -> Result<Vec<String>, Error> {
        let options = Options::from_args(&["bench"], arguments).unwrap();
        let missing = [Missing {
            name: "absent".to_owned(),
            remedy: "a remedy",
        }];
        let (all, _) = peers::all(&options).unwrap();
        let chosen = choose(all, &missing, &options)?;
        Ok(chosen.into_iter().map(|peer| peer.name).collect())
    }

    #[test]
    fn peers_are_chosen_by_name_or_all() {
        let all = chosen(&[]).unwrap();
        assert!(all.starts_with(&["direct".to_owned(), "sizegate".to_owned()]));
        let two = ["--peer", "epoll-copy", "--peer", "direct"];
        assert_eq!(chosen(&two).unwrap(), ["direct", "epoll-copy"]);
        let builds = chosen(&["--sizegate", "old=/x", "--proxy", "p=true"]).unwrap();
        assert!(builds.contains(&"old".to_owned()) && builds.contains(&"p".to_owned()));
    }

    #[test]
    fn no_two_peers_have_the_same_name() {
        let twice = chosen(&["--sizegate", "sizegate=/x"]);
        assert!(matches!(twice, Err(Error::Value { .. })), "{twice:?}");
    }

    #[test]
    fn a_peer_that_is_missing_is_told_with_its_remedy() {
        let missing = chosen(&["--peer", "absent"]).unwrap_err().to_string();
        assert_eq!(missing, "absent is missing: a remedy");
        assert!(matches!(
            chosen(&["--peer", "x"]),
            Err(Error::Unknown { .. })
        ));
    }

    #[test]
    fn a_relay_without_tls_is_no_peer_for_tls_clients() {
        let all = chosen(&["--tls"]).unwrap();
        assert!(all.contains(&"sizegate".to_owned()));
        assert!(!all.contains(&"direct".to_owned()) && !all.contains(&"tokio-copy".to_owned()));
    }
}
