//! Certificates while sizegate runs: they are read again as their files change, and whoever has to
//! replace them is told when they expire.
//!
//! Who replaces a file says nothing, so the files are looked at from time to time, and at SIGHUP. A
//! connection keeps what it began with; a file that is of no use leaves in force what was so.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use certs::{Client, Lifetime, Phase, Reload, Server};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{info, warn};

use super::Hangups;
use crate::telemetry::Metrics;

/// The certificates that are in force.
#[derive(Debug)]
pub struct Certificates {
    /// Those for clients.
    pub clients: Option<Arc<Server>>,
    /// Those for the broker.
    pub upstream: Option<Arc<Client>>,
    /// How often their files are looked at; none is at SIGHUP only.
    pub interval: Option<Duration>,
}

/// Who wants the files looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    /// The clock.
    Timer,
    /// Somebody, who gets an answer.
    Hangup,
}

impl Certificates {
    /// Keeps what is in force in step with the files, for ever.
    pub async fn keep(self, mut hangups: Hangups, metrics: Arc<Metrics>) {
        self.tell_lifetimes(&metrics);
        let has_any = self.clients.is_some() || self.upstream.is_some();
        let interval = self.interval.filter(|_| has_any);
        loop {
            let trigger = tokio::select! {
                () = hangups.next() => Trigger::Hangup,
                () = tick(interval) => Trigger::Timer,
            };
            let (clients, upstream) = (self.clients.clone(), self.upstream.clone());
            // A disk may be slow, and clients are served on this thread.
            let reading = spawn_blocking(move || {
                let clients = clients.map(|certificates| certificates.reload());
                let upstream = upstream.map(|certificates| certificates.reload());
                [clients, upstream]
            });
            if let Ok(reloads) = reading.await {
                self.tell(&reloads, trigger, &metrics);
            }
        }
    }

    /// Says what came of looking at the files.
    fn tell(&self, reloads: &[Option<Reload>; 2], trigger: Trigger, metrics: &Metrics) {
        let reloads = || reloads.iter().flatten();
        for reload in reloads() {
            match reload {
                Reload::Unchanged => {}
                Reload::Renewed => metrics.certificate_reload(true),
                Reload::Kept(error) => {
                    metrics.certificate_reload(false);
                    warn!(%error, "certificates not renewed");
                }
                Reload::StillKept(error) if trigger == Trigger::Hangup => {
                    warn!(%error, "certificates not renewed");
                }
                Reload::StillKept(_) => {}
            }
        }
        if reloads().any(|reload| *reload == Reload::Renewed) {
            info!("certificates renewed");
            self.tell_lifetimes(metrics);
        } else if trigger == Trigger::Hangup && reloads().all(|it| *it == Reload::Unchanged) {
            info!(signal = "SIGHUP", "nothing to read again");
        }
    }

    /// Says how long what is in force lasts.
    fn tell_lifetimes(&self, metrics: &Metrics) {
        let clients = self.clients.iter().flat_map(|it| it.lifetimes());
        let upstream = self.upstream.iter().flat_map(|it| it.lifetimes());
        for lifetime in clients.chain(upstream) {
            metrics.certificate_expiry(lifetime.role.as_str(), lifetime.not_after);
            tell_lifetime(&lifetime);
        }
    }
}

fn tell_lifetime(lifetime: &Lifetime) {
    let role = lifetime.role.as_str();
    let file = lifetime.file.display();
    let [not_before, not_after] =
        [lifetime.not_before, lifetime.not_after].map(humantime::format_rfc3339_seconds);
    match lifetime.at(SystemTime::now()) {
        Phase::Valid => info!(role, %file, %not_after, "certificate in force"),
        Phase::Expired => warn!(role, %file, %not_after, "certificate expired"),
        Phase::NotYetValid => warn!(role, %file, %not_before, "certificate not yet valid"),
    }
}

/// Waits for the next time to look.
async fn tick(interval: Option<Duration>) {
    match interval {
        Some(interval) => sleep(interval).await,
        None => pending().await,
    }
}
