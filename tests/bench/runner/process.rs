//! A proxy as a process: started on its processors, watched, ended.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::proc::{Family, is_listening};
use crate::Error;

/// A running proxy. It and its children are ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    name: String,
    /// Where its output goes.
    log: PathBuf,
}

impl Process {
    /// Starts a proxy and waits until it listens on this port.
    pub(crate) fn start(
        name: &str,
        mut command: Command,
        log: PathBuf,
        port: u16,
    ) -> Result<Self, Error> {
        let output = File::create(&log).map_err(Error::io("a log"))?;
        let errors = output.try_clone().map_err(Error::io("a log"))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(Error::io("starting a proxy"))?;
        let mut process = Self {
            child,
            name: name.to_owned(),
            log,
        };
        let start = Instant::now();
        while !is_listening(port)? {
            process.check()?;
            if start.elapsed() > PATIENCE {
                return Err(Error::Deaf {
                    peer: process.name.clone(),
                    port,
                    log: process.last_words(),
                });
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok(process)
    }

    /// It and its children, as they are now.
    pub(crate) fn family(&self) -> Result<Family, Error> {
        Family::of(self.child.id())
    }

    /// Fails if it has ended.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        let ended = self.child.try_wait().map_err(Error::io("waiting"))?;
        ended.map_or(Ok(()), |status| {
            Err(Error::Gone {
                peer: self.name.clone(),
                status,
                log: self.last_words(),
            })
        })
    }

    /// The end of what it wrote.
    fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(LAST_LINES).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
    }

    /// Waits for its end and says whether it came in time.
    fn has_ended(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The number of one that has ended may be another's by now.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let family = Family::of(self.child.id());
        // A master ends its workers when it is asked to end, and leaves them when it is killed.
        send(self.child.id(), Signal::TERM);
        if !self.has_ended() {
            for &pid in family.as_ref().map_or(&[][..], Family::pids) {
                send(pid, Signal::KILL);
            }
            // It has been killed.
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal; one that has ended already needs none.
fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// How long a proxy may take to start and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Leaves the processor to what is being waited for.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// How many lines of a log an error shows.
const LAST_LINES: usize = 5;
