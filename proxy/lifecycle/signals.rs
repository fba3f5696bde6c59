//! The signals that an operator or a supervisor sends.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

/// SIGTERM, SIGINT and SIGHUP, taken from the moment this exists.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Takes the signals, so that none of them ends the process by itself any more.
    ///
    /// To be called within a runtime, and before the first port is open.
    pub fn take() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits to be told to stop: the first time to drain, the second time to cut.
    pub async fn stop(&mut self) {
        loop {
            tokio::select! {
                Some(()) = self.terminate.recv() => {
                    info!(signal = "SIGTERM", "told to stop");
                    return;
                }
                Some(()) = self.interrupt.recv() => {
                    info!(signal = "SIGINT", "told to stop");
                    return;
                }
                Some(()) = self.hangup.recv() => {
                    info!(signal = "SIGHUP", "nothing to read again");
                }
                else => std::future::pending().await,
            }
        }
    }
}
