//! What can go wrong in a measurement, so that it is an error and not a figure.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A call of the operating system failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What it failed with.
        source: io::Error,
    },
    /// Messages that were sent did not arrive.
    #[error("{sent} messages were sent and {counted} arrived")]
    Lost {
        /// Messages that were sent.
        sent: u64,
        /// Messages that the sink counted.
        counted: u64,
    },
    /// A connection ended before the last message.
    #[error("{side}: the connection ended after {after} messages")]
    Ended {
        /// Which end saw it.
        side: &'static str,
        /// Messages until then.
        after: u64,
    },
    /// An end was sent what its protocol does not have at that place.
    #[error("{protocol}: {what}")]
    Unexpected {
        /// The protocol.
        protocol: &'static str,
        /// What was seen.
        what: &'static str,
    },
    /// A proxy did not start to listen.
    #[error("{peer} does not listen on port {port}; it says: {log}")]
    Deaf {
        /// The proxy.
        peer: String,
        /// Where it should listen.
        port: u16,
        /// The end of what it wrote.
        log: String,
    },
    /// A proxy ended by itself.
    #[error("{peer} ended with {status}; it says: {log}")]
    Gone {
        /// The proxy.
        peer: String,
        /// How.
        status: ExitStatus,
        /// The end of what it wrote.
        log: String,
    },
    /// Something in `/proc` is not as it should be.
    #[error("{} can't be read", path.display())]
    Proc {
        /// The file.
        path: PathBuf,
    },
    /// A name on the command line that is none.
    #[error("there is no {what} `{name}`; there are: {known}")]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A peer that was asked for and is not there.
    #[error("{name} is missing: {remedy}")]
    Missing {
        /// The peer.
        name: String,
        /// What brings it.
        remedy: &'static str,
    },
    /// A value on the command line that is not of the form it should have.
    #[error("`{value}` is not {expected}")]
    Value {
        /// The value.
        value: String,
        /// The form.
        expected: &'static str,
    },
    /// A program that is needed failed.
    #[error("`{program}` failed with {status}")]
    Program {
        /// Its command line.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// TLS could not be set up or failed.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// A certificate could not be made.
    #[error("certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A gate did something else than to let a message through.
    #[error("{case}: the gate answered {step} at message {at}")]
    Refused {
        /// The case.
        case: &'static str,
        /// What it answered.
        step: String,
        /// How many messages had passed.
        at: usize,
    },
    /// Something that a program printed is not understood.
    #[error("`{program}` printed no {what}")]
    Unread {
        /// The program.
        program: &'static str,
        /// What was looked for.
        what: &'static str,
    },
}

impl Error {
    /// Makes the error of a call that failed while this was being done.
    pub(crate) fn io<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Io {
            what,
            source: source.into(),
        }
    }
}
