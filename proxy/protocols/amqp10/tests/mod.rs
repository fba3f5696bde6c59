//! The rules of the AMQP 1.0 gate: one by one, and over random schedules between strict peers.

mod cases;
mod conversation;
mod frames;
mod peer;
mod peer_rules;
mod schedule;
mod transcript;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::{OnOpaque, Presettled};
use crate::gate::harness::Harness;
use crate::gate::{HoldBudget, Side};
use crate::policy::{ByteSize, Limit, Mode, OnOversize, Policy};
use crate::protocols::{Advertise, Opening, Settings};

/// What a gate is made with.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// The limit of the send direction.
    limit: u64,
    receive_limit: u64,
    on_oversize: OnOversize,
    mode: Mode,
    advertise: Advertise,
    max_control_size: u64,
    hold_memory: u64,
    presettled: Presettled,
}

impl Default for Terms {
    fn default() -> Self {
        Self::USUAL
    }
}

impl Terms {
    const USUAL: Self = Self {
        limit: LIMIT,
        receive_limit: LIMIT,
        on_oversize: OnOversize::Reject,
        mode: Mode::Enforce,
        advertise: Advertise::Nothing,
        max_control_size: 128 * 1024,
        hold_memory: 1 << 20,
        presettled: Presettled::Forward,
    };

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
        self.open_within(&Arc::new(HoldBudget::new(self.hold_memory)), policy)
    }

    /// A gate that holds messages in this memory.
    fn open_within(self, hold: &Arc<HoldBudget>, policy: Policy) -> Harness {
        let settings = Arc::new(Settings {
            policy: Arc::new(policy),
            max_control_size: ByteSize(self.max_control_size),
            mqtt: Default::default(),
            advertise: self.advertise,
            amqp10: super::Settings {
                on_opaque: OnOpaque::Close,
                presettled: self.presettled,
            },
            hold: Arc::clone(hold),
        });
        Harness::new(super::open(&Opening {
            settings: &settings,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_name: None,
            subject: None,
        }))
    }

    fn with(on_oversize: OnOversize) -> Self {
        Self {
            on_oversize,
            ..Self::default()
        }
    }

    /// The limit of what a side sends.
    fn limit_from(self, side: Side) -> u64 {
        match side {
            Side::Client => self.limit,
            Side::Broker => self.receive_limit,
        }
    }
}

/// The limit of both directions, unless a test has another.
const LIMIT: u64 = 100;

const SIDES: [Side; 2] = [Side::Client, Side::Broker];
