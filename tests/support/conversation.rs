//! A sidecar between a scripted client and a scripted broker.

use super::mqtt::{Connect, PINGREQ, PINGRESP, Version};
use super::{FakeBroker, Raw, Sidecar};

/// A running sizegate and the fake broker behind it.
#[derive(Debug)]
pub struct Conversation {
    /// The program under test.
    pub sidecar: Sidecar,
    /// What it stands in front of.
    pub broker: FakeBroker,
}

impl Conversation {
    /// Starts both, the sidecar with these flags; neither is told about limits.
    pub fn start(flags: &[&str]) -> Self {
        Self::advertising(&[flags, &["--no-advertise"]].concat())
    }

    /// The same, and both are told about limits.
    pub fn advertising(flags: &[&str]) -> Self {
        let broker = FakeBroker::start();
        let sidecar = Sidecar::start(broker.address(), flags);
        Self { sidecar, broker }
    }

    /// A new connection that has not said anything.
    pub fn connect(&self) -> Raw {
        Raw::connect(self.sidecar.listen())
    }

    /// A client that this broker has accepted, and the broker's end of its connection.
    pub fn client(&self, version: Version, id: &str) -> (Raw, Raw) {
        self.client_with(&Connect::new(version, id))
    }

    /// The same with a CONNECT of the test's own.
    pub fn client_with(&self, connect: &Connect) -> (Raw, Raw) {
        self.client_answered(connect, &connect.version.connack())
    }

    /// The same with a CONNACK of the test's own.
    pub fn client_answered(&self, connect: &Connect, connack: &[u8]) -> (Raw, Raw) {
        let (mut client, mut broker) = self.client_waiting(connect);
        broker.send(connack);
        client.expect(connack, "the broker's CONNACK");
        (client, broker)
    }

    /// A client whose CONNECT has reached the broker, which has not answered it.
    pub fn client_waiting(&self, connect: &Connect) -> (Raw, Raw) {
        let mut client = self.connect();
        client.send(connect.encode());
        let mut broker = self.broker.accept();
        broker.expect(connect.encode(), "CONNECT, octet for octet");
        (client, broker)
    }

    /// Proves that no connection has reached the broker that the test has not accepted: the next
    /// one it sees is that of a client that connects now.
    pub fn expect_no_other_connection(&self) {
        self.client(Version::V311, "the-next-one");
    }
}

/// Proves that nothing is on its way in either direction: what is sent now comes next at both ends.
pub fn expect_quiet(client: &mut Raw, broker: &mut Raw) {
    client.send(PINGREQ);
    broker.expect(PINGREQ, "PINGREQ and nothing before it");
    broker.send(PINGRESP);
    client.expect(PINGRESP, "PINGRESP and nothing before it");
}
