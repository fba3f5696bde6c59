//! A reason to end before anything was started: what to say, where, and the exit code.

use std::io::{self, Write};
use std::process::ExitCode;

/// The exit code of a run that failed, or whose drain was cut short.
pub const FAILED: u8 = 1;

/// Why the program ends without having started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Where the text belongs.
    pub stream: Stream,
    /// Whole lines without the last line feed.
    pub text: String,
    /// The exit code.
    pub code: u8,
}

/// A standard stream to write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output: what was asked for.
    Out,
    /// Standard error: what is wrong.
    Err,
}

impl Stop {
    /// What was asked for has been done; this is the answer.
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            stream: Stream::Out,
            text: text.into(),
            code: 0,
        }
    }

    /// The command line is not understood; `what` is one line and names the flag.
    pub fn usage(what: impl AsRef<str>) -> Self {
        Self::error([what.as_ref()], USAGE)
    }

    /// The configuration is understood and can't be run; a line for each problem.
    pub fn configuration(problems: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self::error(problems, CONFIGURATION)
    }

    /// The program was to run and could not; `what` is one line.
    pub fn failed(what: impl AsRef<str>) -> Self {
        Self::error([what.as_ref()], FAILED)
    }

    /// Says it and gives the exit code. A stream that nobody reads any more is no reason to fail.
    pub fn say(&self) -> ExitCode {
        let text = format!("{}\n", self.text);
        // Nobody is left to be told of an error here.
        let _ = match self.stream {
            Stream::Out => io::stdout().write_all(text.as_bytes()),
            Stream::Err => io::stderr().write_all(text.as_bytes()),
        };
        ExitCode::from(self.code)
    }

    fn error(lines: impl IntoIterator<Item = impl AsRef<str>>, code: u8) -> Self {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|line| format!("sizegate: {}", line.as_ref()))
            .collect();
        Self {
            stream: Stream::Err,
            text: lines.join("\n"),
            code,
        }
    }
}

/// EX_USAGE of sysexits.h: the command line is not understood.
const USAGE: u8 = 64;
/// EX_CONFIG of sysexits.h: it is understood, and can't be run.
const CONFIGURATION: u8 = 78;
