//! TLS on both sides of the program, with peers of which a test says every octet.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod beginnings;
mod broker;
#[path = "../support/certificates.rs"]
mod certificates;
mod check;
mod clients;
mod flow;
#[path = "../../certs/examples/generate/mod.rs"]
mod generate;
mod reload;
#[path = "../support/secure.rs"]
mod secure;
#[path = "../support/mod.rs"]
mod support;

use certificates::Certificates;
use secure::Secure;
use serde_json::Value;
use support::mqtt::{PINGREQ, PINGRESP};
use support::{FakeBroker, Raw, Sidecar, field, wait_for};

/// A sidecar that speaks TLS with clients, and a plain broker behind it.
struct Stage {
    certificates: Certificates,
    broker: FakeBroker,
    sidecar: Sidecar,
}

impl Stage {
    /// Starts them, the sidecar with these further flags; see [`placed`].
    fn start(flags: &[&str]) -> Self {
        let certificates = Certificates::new();
        let broker = FakeBroker::start();
        let mut all = certificates.server_flags().to_vec();
        all.extend(placed(&certificates, flags));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let sidecar = Sidecar::start(broker.address(), &all);
        Self {
            certificates,
            broker,
            sidecar,
        }
    }

    /// A connection of a client that has said nothing.
    fn connect(&self) -> Raw {
        Raw::connect(self.sidecar.listen())
    }
}

/// Flags in which the names of certificates stand for files: `@alice.crt`.
fn placed(certificates: &Certificates, flags: &[&str]) -> Vec<String> {
    let place = |flag: &&str| match flag.strip_prefix('@') {
        Some(name) => certificates.file(name),
        None => (*flag).to_owned(),
    };
    flags.iter().map(place).collect()
}

/// Proves that octets go both ways.
fn expect_through(client: &mut Secure, broker: &mut Raw) {
    client.send(PINGREQ);
    broker.expect(PINGREQ, "PINGREQ");
    broker.send(PINGRESP);
    client.expect(PINGRESP, "PINGRESP");
}

/// Waits for the log line with this message that is the `count`th of its kind.
fn nth_line(sidecar: &Sidecar, message: &str, count: usize) -> Value {
    wait_for(&format!("{count} lines {message}"), || {
        let lines = sidecar.log_lines().into_iter();
        let mut lines = lines.filter(|line| field(line, "message") == message);
        lines.nth(count - 1)
    })
}
