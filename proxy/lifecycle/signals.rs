//! The signals that an operator or a supervisor sends.

use std::future::pending;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// SIGTERM and SIGINT, taken from the moment this exists.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals, so that none of them ends the process by itself any more.
    ///
    /// To be called within a runtime, and before the first port is open.
    pub fn take() -> io::Result<(Self, Hangups)> {
        let stop = Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        };
        Ok((stop, Hangups(signal(SignalKind::hangup())?)))
    }

    /// Waits to be told to stop: the first time to drain, the second time to cut.
    pub async fn stop(&mut self) {
        tokio::select! {
            Some(()) = self.terminate.recv() => info!(signal = "SIGTERM", "told to stop"),
            Some(()) = self.interrupt.recv() => info!(signal = "SIGINT", "told to stop"),
            else => pending().await,
        }
    }
}

/// SIGHUP, taken from the moment this exists: what was read is to be read again.
#[derive(Debug)]
pub struct Hangups(Signal);

impl Hangups {
    /// Waits for the next one.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            pending().await
        }
    }
}
