//! The proxies that are compared: how each is found, configured and started.
//!
//! Each is configured to do what sizegate does by default: one thread, TCP_NODELAY, no access log.
//! The configuration stands in a folder of the measurement, and goes with it.

mod certificate;
mod command;
mod envoy;
mod haproxy;
mod nginx;
mod sizegate;

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use certificate::Certificate;
pub(crate) use sizegate::build;

use crate::error::Error;
use crate::options::{Named, Options};
use crate::relays::Kind as Relay;
use crate::scenario::Scenario;

/// Something that can stand between a client and a broker.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its name on the command line and in tables.
    pub(crate) name: String,
    program: Program,
}

/// What runs.
#[derive(Clone, Debug)]
enum Program {
    /// Nothing: the client is connected to the sink.
    Direct,
    /// A build of sizegate.
    Sizegate(PathBuf),
    /// HAProxy in TCP mode, with or without splice in both directions.
    Haproxy { splices: bool },
    /// nginx with its stream module.
    Nginx,
    /// Envoy with its TCP proxy filter.
    Envoy(PathBuf),
    /// A relay of this crate.
    Relay(Relay),
    /// A command line of the user's.
    Command(String),
}

/// Where a proxy is put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The port that it listens on.
    pub(crate) listen: u16,
    /// The port of the sink.
    pub(crate) upstream: u16,
    /// Where its configuration may stand.
    pub(crate) folder: &'a Path,
    /// What it shows to TLS clients, if it has any.
    pub(crate) certificate: Option<&'a Certificate>,
    /// What will be measured.
    pub(crate) scenario: &'a Scenario,
}

/// The peer that others are compared to.
pub(crate) const HAPROXY: &str = "haproxy";

/// The peer that is none.
pub(crate) const DIRECT: &str = "direct";

/// The build of this tree.
const OWN: &str = "sizegate";

/// A peer that is not there, and where it is to be had.
#[derive(Debug)]
pub(crate) struct Missing {
    /// Its name.
    pub(crate) name: String,
    /// What brings it.
    pub(crate) remedy: &'static str,
}

/// All peers that there are, and those that are missing.
pub(crate) fn all(options: &Options) -> Result<(Vec<Peer>, Vec<Missing>), Error> {
    let mut peers = vec![
        peer(DIRECT, Program::Direct),
        peer(OWN, Program::Sizegate(sizegate::place()?)),
    ];
    for Named { name, value } in &options.sizegate {
        peers.push(peer(name, Program::Sizegate(value.into())));
    }
    let mut missing = Vec::new();
    let mut foreign = |name: &str, program: Option<Program>, remedy| match program {
        Some(program) => peers.push(peer(name, program)),
        None => missing.push(Missing {
            name: name.to_owned(),
            remedy,
        }),
    };
    for (name, splices) in [(HAPROXY, false), ("haproxy-splice", true)] {
        let program = haproxy::is_there().then_some(Program::Haproxy { splices });
        foreign(name, program, haproxy::REMEDY);
    }
    foreign(
        "nginx",
        nginx::is_there().then_some(Program::Nginx),
        nginx::REMEDY,
    );
    foreign("envoy", envoy::find().map(Program::Envoy), envoy::REMEDY);
    for relay in Relay::ALL {
        peers.push(peer(relay.as_str(), Program::Relay(relay)));
    }
    for Named { name, value } in &options.proxy {
        peers.push(peer(name, Program::Command(value.clone())));
    }
    Ok((peers, missing))
}

fn peer(name: &str, program: Program) -> Peer {
    Peer {
        name: name.to_owned(),
        program,
    }
}

impl Peer {
    /// Whether it is the build of this tree.
    pub(crate) fn is_own(&self) -> bool {
        self.name == OWN
    }

    /// Whether it can be what TLS clients connect to.
    pub(crate) fn speaks_tls(&self) -> bool {
        !matches!(self.program, Program::Direct | Program::Relay(_))
    }

    /// Writes its configuration and says how it is started; nothing is started for `direct`.
    pub(crate) fn command(&self, place: &Place<'_>) -> Result<Option<Command>, Error> {
        Ok(Some(match &self.program {
            Program::Direct => return Ok(None),
            Program::Sizegate(program) => sizegate::command(program, place),
            Program::Haproxy { splices } => haproxy::command(*splices, place)?,
            Program::Nginx => nginx::command(place)?,
            Program::Envoy(program) => envoy::command(program, place)?,
            Program::Relay(relay) => relay.command(place.listen, place.upstream)?,
            Program::Command(line) => command::command(line, place)?,
        }))
    }

    /// The version that it says it is.
    pub(crate) fn version(&self) -> Option<String> {
        let line = match &self.program {
            Program::Direct | Program::Command(_) | Program::Relay(_) => None,
            Program::Sizegate(program) => first_line(Command::new(program).arg("--version")),
            Program::Haproxy { .. } => first_line(haproxy::program().arg("-v")),
            Program::Nginx => first_line(nginx::program().arg("-v")),
            Program::Envoy(program) => first_line(Command::new(program).arg("--version")),
        };
        line.as_deref().and_then(version).map(str::to_owned)
    }
}

/// The first word that looks like a version.
fn version(line: &str) -> Option<&str> {
    let mut words = line.split([' ', '/']);
    words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'))
}

/// The first line that a program prints, on whichever output.
fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.to_owned())
}

/// Writes a file of a configuration and returns where it stands.
fn write(place: &Place<'_>, name: &str, text: &str) -> Result<PathBuf, Error> {
    let path = place.folder.join(name);
    std::fs::write(&path, text).map_err(Error::io("a configuration"))?;
    Ok(path)
}

/// A program of Debian's, which may stand where only root looks.
fn debian(name: &str) -> Command {
    let path = Path::new("/usr/sbin").join(name);
    if path.exists() {
        Command::new(path)
    } else {
        Command::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_say_of_themselves() {
        for (line, expected) in [
            ("sizegate 0.1.0", "0.1.0"),
            (
                "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/",
                "2.6.12-1+deb12u4",
            ),
            ("nginx version: nginx/1.22.1", "1.22.1"),
            (
                "/bin/envoy  version: 9e55/1.40.0/Clean/RELEASE/BoringSSL",
                "1.40.0",
            ),
        ] {
            assert_eq!(version(line), Some(expected));
        }
        assert_eq!(version("nothing"), None);
    }
}
