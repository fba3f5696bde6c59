//! The rules of the AMQP 0-9-1 gate: one by one, and over random schedules between strict peers.

mod cases;
mod conversation;
mod cuts;
mod peer;
mod peer_rules;
mod schedule;
mod words;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::gate::Side;
use crate::gate::harness::Harness;
use crate::policy::{ByteSize, Limit, Mode, OnOversize, Policy};
use crate::protocols::{Opening, Settings};

/// What a gate is made with.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// The limit of the send direction.
    limit: u64,
    receive_limit: u64,
    on_oversize: OnOversize,
    mode: Mode,
    max_control_size: u64,
    /// The subject of the client's certificate.
    subject: Option<&'static str>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            limit: LIMIT,
            receive_limit: LIMIT,
            on_oversize: OnOversize::Reject,
            mode: Mode::Enforce,
            max_control_size: 128 * 1024,
            subject: None,
        }
    }
}

impl Terms {
    /// A gate whose client has said nothing yet.
    fn open(self) -> Harness {
        self.open_with(self.policy())
    }

    fn policy(self) -> Policy {
        let limit = |size, rule: &str| Limit::new(ByteSize(size), rule);
        Policy::new(
            limit(self.limit, "--max-message-size"),
            limit(self.receive_limit, "--max-receive-size"),
            self.on_oversize,
            self.mode,
        )
    }

    /// A gate with this policy in place of the one that these terms make.
    fn open_with(self, policy: Policy) -> Harness {
        let settings = Arc::new(Settings {
            max_control_size: ByteSize(self.max_control_size),
            ..Settings::new(policy)
        });
        Harness::new(super::open(&Opening {
            settings: &settings,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_name: Some("elsewhere.example"),
            subject: self.subject,
        }))
    }

    fn with(on_oversize: OnOversize) -> Self {
        Self {
            on_oversize,
            ..Self::default()
        }
    }
}

/// The limit of both directions, unless a test has another.
const LIMIT: u64 = 100;

const SIDES: [Side; 2] = [Side::Client, Side::Broker];
