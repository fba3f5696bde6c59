//! One measurement: one scenario through one peer.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use super::affinity::{Processors, keep_to};
use super::process::Process;
use crate::Error;
use crate::load::{Load, Pattern, Run, Sink, Trust};
use crate::peers::{Certificate, Peer, Place};
use crate::scenario::Scenario;
use crate::stats::permille;

/// What one measurement gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Messages that went through and were counted.
    pub(crate) messages: u64,
    /// Octets of them.
    pub(crate) octets: u64,
    /// How long they took.
    pub(crate) elapsed: Duration,
    /// What the proxy spent on them; none of `direct`.
    pub(crate) cpu: Option<Duration>,
    /// Round trips in nanoseconds: what 500, 990 and 999 of 1,000 were not above.
    pub(crate) round_trip: Option<[u32; 3]>,
    /// The most memory that the proxy had in RAM, in octets.
    pub(crate) peak: Option<u64>,
    /// The memory that one idle connection cost it, in octets.
    pub(crate) idle: Option<f64>,
}

/// Measures in a thread of its own, so that it can be kept to processors with all that it starts.
pub(crate) fn measure(
    scenario: &Scenario,
    peer: &Peer,
    certificate: Option<&Certificate>,
    span: Duration,
) -> Result<Sample, Error> {
    std::thread::scope(|scope| {
        let measuring = scope.spawn(|| measure_here(scenario, peer, certificate, span));
        match measuring.join() {
            Ok(sample) => sample,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn measure_here(
    scenario: &Scenario,
    peer: &Peer,
    certificate: Option<&Certificate>,
    span: Duration,
) -> Result<Sample, Error> {
    let processors = Processors::divide(scenario.placement)?;
    keep_to(&processors.load)?;
    let sink = Sink::start(scenario.message)?;
    let folder = tempfile::tempdir().map_err(Error::io("a folder"))?;
    keep_to(&processors.proxy)?;
    let (mut process, address) = start(scenario, peer, certificate, &sink, folder.path())?;
    keep_to(&processors.load)?;
    let trust = certificate.map(|certificate| &certificate.trust);
    let sample = load(scenario, &sink, address, trust, process.as_mut(), span);
    // What became of the proxy says more than what the sink saw of it, and that more than what the
    // clients did.
    if let Some(process) = &mut process {
        process.check()?;
    }
    sink.check()?;
    sample
}

/// Starts the peer, if it is one, and says where clients connect.
fn start(
    scenario: &Scenario,
    peer: &Peer,
    certificate: Option<&Certificate>,
    sink: &Sink,
    folder: &Path,
) -> Result<(Option<Process>, SocketAddr), Error> {
    let listen = free_port()?;
    let place = Place {
        listen,
        upstream: sink.address().port(),
        folder,
        certificate,
        scenario,
    };
    let Some(command) = peer.command(&place)? else {
        return Ok((None, sink.address()));
    };
    let process = Process::start(&peer.name, command, folder.join("log"), listen)?;
    Ok((
        Some(process),
        SocketAddr::from((Ipv4Addr::LOCALHOST, listen)),
    ))
}

/// Warms up, and measures.
fn load(
    scenario: &Scenario,
    sink: &Sink,
    address: SocketAddr,
    trust: Option<&Trust>,
    process: Option<&mut Process>,
    span: Duration,
) -> Result<Sample, Error> {
    let family = process.map(|process| process.family()).transpose()?;
    let resident = || family.as_ref().map(|family| family.resident()).transpose();
    let cpu = || family.as_ref().map(|family| family.cpu()).transpose();
    let at_rest = resident()?;
    let mut load = Load::open(scenario.pattern, scenario.message, sink, address, trust)?;
    let warm_up = load.run(span / 5)?;
    let before = cpu()?;
    let run = match scenario.pattern {
        // It is done: what counts is what is left of it.
        Pattern::Idle { .. } => warm_up,
        _ => load.run(span)?,
    };
    let mut sample = Sample {
        cpu: before.zip(cpu()?).map(|(before, after)| after - before),
        peak: family.as_ref().map(|family| family.peak()).transpose()?,
        ..sampled(run)
    };
    if let Pattern::Idle { connections } = scenario.pattern {
        let grown = at_rest.zip(resident()?);
        sample.idle =
            grown.map(|(before, after)| (after as f64 - before as f64) / connections as f64);
    }
    Ok(sample)
}

/// The sample of a run, without what only the proxy can tell.
fn sampled(mut run: Run) -> Sample {
    run.round_trips.sort_unstable();
    let [p50, p99, p999] = [500, 990, 999].map(|rank| permille(&run.round_trips, rank));
    Sample {
        messages: run.messages,
        octets: run.octets,
        elapsed: run.elapsed,
        round_trip: p50
            .zip(p99)
            .zip(p999)
            .map(|((p50, p99), p999)| [p50, p99, p999]),
        ..Sample::default()
    }
}

/// A port of the loopback address on which nothing listens.
fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    Ok(address.map_err(Error::io("a free port"))?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_ranked() {
        let run = Run {
            round_trips: (1..=1_000).rev().collect(),
            ..Run::default()
        };
        assert_eq!(sampled(run).round_trip, Some([500, 990, 999]));
        assert_eq!(sampled(Run::default()).round_trip, None);
    }
}
