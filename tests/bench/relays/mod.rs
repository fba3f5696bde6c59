//! Relays to compare with: what a relay costs that looks at nothing.
//!
//! Each runs in a process of its own, so that it is measured as all others are: this program starts
//! itself with [`COMMAND`] as its first argument.

mod copy;
mod engine;
mod splice;
mod tokio_copy;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, ExitCode};

use crate::Error;

/// The first argument of a process that is a relay; kind and the two ports follow.
pub const COMMAND: &str = "relay";

/// How a relay moves octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `tokio::io::copy_bidirectional` on one thread.
    Tokio,
    /// epoll, read and write, without a runtime.
    Copy,
    /// epoll and splice, without a runtime.
    Splice,
}

impl Kind {
    /// Every kind.
    pub(crate) const ALL: [Self; 3] = [Self::Tokio, Self::Copy, Self::Splice];

    /// The name of the peer.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tokio => "tokio-copy",
            Self::Copy => "epoll-copy",
            Self::Splice => "epoll-splice",
        }
    }

    /// How it is started in front of a port.
    pub(crate) fn command(self, listen: u16, upstream: u16) -> Result<Command, Error> {
        let own = std::env::current_exe().map_err(Error::io("finding this program"))?;
        let mut command = Command::new(own);
        command
            .args([COMMAND, self.as_str()])
            .args([listen, upstream].map(|port| port.to_string()));
        Ok(command)
    }
}

/// Is a relay until it is killed.
pub fn main(mut arguments: impl Iterator<Item = String>) -> Result<ExitCode, Error> {
    let name = arguments.next().unwrap_or_default();
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.as_str() == name) else {
        let known = Kind::ALL.map(Kind::as_str).join(", ");
        return Err(Error::Unknown {
            what: "relay",
            name,
            known,
        });
    };
    let mut port = || {
        let value = arguments.next().unwrap_or_default();
        let port = value.parse::<u16>();
        port.map_err(|_| Error::Value {
            value,
            expected: "a port",
        })
    };
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (listen, upstream) = (local(port()?), local(port()?));
    let listener = TcpListener::bind(listen).map_err(Error::io("listening"))?;
    let relayed = match kind {
        Kind::Tokio => tokio_copy::run(listener, upstream),
        Kind::Copy => engine::run::<copy::Copier>(listener, upstream),
        Kind::Splice => engine::run::<splice::Splicer>(listener, upstream),
    };
    relayed.map_err(Error::io("relaying"))?;
    Ok(ExitCode::SUCCESS)
}
