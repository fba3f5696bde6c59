//! What a gate is made with.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use sizegate::gate::{Gate, HoldBudget};
use sizegate::policy::{
    AddressPattern, ByteSize, Glob, Limit, Mode, OnOversize, Policy, PolicySpec, Rule, Selector,
    VhostPattern,
};
use sizegate::protocols::amqp10::{self, OnOpaque, Presettled};
use sizegate::protocols::mqtt::{self, MessageSize, VhostSource};
use sizegate::protocols::{Advertise, Opening, PROTOCOLS, Settings};

use super::Script;

/// The configuration, as far as it is chosen.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    spec: PolicySpec,
    pub(super) max_control_size: u64,
    advertise: Advertise,
    pub(super) hold_memory: u64,
    pub(super) presettled: Presettled,
    on_opaque: OnOpaque,
    mqtt: mqtt::Settings,
}

impl Terms {
    /// Makes a choice of terms out of three octets.
    pub(super) fn choose(script: &mut Script<'_>) -> Self {
        let (how, sizes, protocol) = (script.octet(), script.octet(), script.octet());
        let size = |shift: u8| ByteSize(SIZES[usize::from(sizes >> shift & 3)]);
        let limit = |is_set: bool, size, rule: &str| {
            Limit::new(if is_set { size } else { ByteSize(0) }, rule)
        };
        let mut spec = PolicySpec::new(
            limit(how & 1 != 0, size(0), "--max-message-size"),
            limit(how & 2 != 0, size(2), "--max-receive-size"),
        );
        spec.on_oversize = ON_OVERSIZE[usize::from(how >> 2 & 3)];
        if how & 0x10 != 0 {
            spec.mode = Mode::DryRun;
        }
        if how & 0x60 == 0x60 {
            spec.send_rules = rules(size(4));
            spec.receive_rules = rules(size(6));
        }
        Self {
            spec,
            max_control_size: match how & 0x60 {
                0x40 => 200,
                _ => 128 << 10,
            },
            advertise: match how & 0x80 {
                0 => Advertise::Nothing,
                _ => Advertise::Largest,
            },
            hold_memory: match sizes >> 4 {
                0 => 0,
                1..4 => 150,
                _ => 1 << 20,
            },
            presettled: match protocol & 1 {
                0 => Presettled::Forward,
                _ => Presettled::Unsettled,
            },
            on_opaque: match protocol & 2 {
                0 => OnOpaque::Close,
                _ => OnOpaque::Forward,
            },
            mqtt: mqtt::Settings {
                message_size: MESSAGE_SIZES[usize::from(protocol >> 2 & 3)],
                vhost: VHOSTS[usize::from(protocol >> 4 & 3)],
            },
        }
    }

    /// Whether what is allowed by the protocol has to pass octet for octet.
    pub(super) fn change_nothing(&self, protocol: &str) -> bool {
        let spec = &self.spec;
        let limits = [&spec.send, &spec.receive].map(|limit| limit.size.0);
        let is_free = limits == [0, 0] && spec.send_rules.is_empty();
        // Whoever may be closed on has his deliveries counted, and those that are numbered wrongly
        // numbered anew.
        let is_counted = protocol == "amqp10" && spec.on_oversize == OnOversize::Close;
        let is_passive = is_free && self.presettled == Presettled::Forward && !is_counted;
        (spec.mode == Mode::DryRun || is_passive) && self.max_control_size > LONGEST_CONVERSATION
    }

    /// A gate of the protocol of this name that holds messages in this memory.
    pub(super) fn gate(&self, protocol: &str, hold: &Arc<HoldBudget>) -> Box<dyn Gate> {
        let settings = Arc::new(Settings {
            max_control_size: ByteSize(self.max_control_size),
            advertise: self.advertise,
            hold: Arc::clone(hold),
            amqp10: amqp10::Settings {
                on_opaque: self.on_opaque,
                presettled: self.presettled,
            },
            mqtt: self.mqtt,
            ..Settings::new(Policy::compile(&self.spec))
        });
        let protocol = PROTOCOLS.iter().find(|known| known.name == protocol);
        (protocol.expect("a protocol that is spoken").open)(&Opening {
            settings: &settings,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_name: Some("prod.example"),
            subject: None,
        })
    }
}

/// Rules for what conversations name, and their limit.
fn rules(size: ByteSize) -> Vec<Rule> {
    let selectors = [
        AddressPattern::new("a/#").map(Selector::Address),
        AddressPattern::new("a*").map(Selector::Address),
        Glob::new("alice").map(Selector::User),
        Glob::new("c*").map(Selector::Client),
        VhostPattern::new("prod").map(Selector::Vhost),
    ];
    let rule = |selector| {
        let mut rule = Rule::new(size, "--limit");
        rule.narrow(selector).expect("the first selector");
        rule
    };
    selectors.into_iter().flatten().map(rule).collect()
}

/// Octets of the longest conversation.
pub(super) const LONGEST_CONVERSATION: u64 = 64 << 10;
const SIZES: [u64; 4] = [100, 16, 40, 400];
const ON_OVERSIZE: [OnOversize; 4] = [
    OnOversize::Reject,
    OnOversize::Detach,
    OnOversize::Close,
    OnOversize::Reject,
];
const MESSAGE_SIZES: [MessageSize; 4] = [
    MessageSize::Packet,
    MessageSize::RemainingLength,
    MessageSize::Payload,
    MessageSize::Packet,
];
const VHOSTS: [VhostSource; 4] = [
    VhostSource::ServerName,
    VhostSource::UserName,
    VhostSource::Nowhere,
    VhostSource::ServerName,
];
