//! What is measured: the loads, and what sizegate is told besides.

use crate::load::Pattern;
use crate::load::wire::{Message, Protocol};
use crate::report::Figure;

/// One scenario.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it is, in words.
    pub(crate) title: &'static str,
    /// The messages.
    pub(crate) message: Message,
    /// How they are sent.
    pub(crate) pattern: Pattern,
    /// Where the programs run.
    pub(crate) placement: Placement,
    /// Flags of sizegate that it needs.
    pub(crate) flags: &'static [&'static str],
    /// What is told of it, the most telling first.
    pub(crate) figures: &'static [Figure],
}

/// On which processors the proxy and the load run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// All on one: where one waits for the other, the scheduler's choice of processors would
    /// otherwise be measured.
    Together,
    /// The proxy on one and the load on the others: a load on the processor of the proxy would
    /// write many messages before the proxy could read one.
    Apart,
    /// Wherever the scheduler puts them.
    Free,
}

impl Placement {
    /// In words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Together => "all on one processor",
            Self::Apart => "the proxy on a processor of its own",
            Self::Free => "on all processors",
        }
    }
}

/// The scenario of this name.
pub(crate) fn named(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

const SMALL: &[Figure] = &[Figure::CpuMicros, Figure::Rate, Figure::Peak];
const BULK: &[Figure] = &[Figure::CpuPerGb, Figure::Bandwidth, Figure::Peak];

const QOS_0: Message = Message {
    protocol: Protocol::Mqtt,
    size: 64,
    is_acknowledged: false,
};

const SETTLED: Message = Message {
    protocol: Protocol::Amqp10,
    size: 100,
    is_acknowledged: false,
};

const CONFIRMED: Message = Message {
    protocol: Protocol::Amqp091,
    size: 100,
    is_acknowledged: true,
};

/// 1 MiB.
const LARGE: usize = 1 << 20;

const fn flood(connections: usize, batch: usize) -> Pattern {
    Pattern::Flood { connections, batch }
}

/// All of them, in the order in which they run.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "mqtt",
        title: "MQTT QoS 0, 64 octets, one connection, one message a write",
        message: QOS_0,
        pattern: flood(1, 1),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "mqtt-batch",
        title: "MQTT QoS 0, 64 octets, one connection, 100 messages a write",
        message: QOS_0,
        pattern: flood(1, 100),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "mqtt-50",
        title: "MQTT QoS 0, 64 octets, 50 connections, one message a write",
        message: QOS_0,
        pattern: flood(50, 1),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "mqtt-50-batch",
        title: "MQTT QoS 0, 64 octets, 50 connections, 100 messages a write",
        message: QOS_0,
        pattern: flood(50, 100),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "mqtt-paced",
        title: "MQTT QoS 0, 64 octets, 20,000 a second over 50 connections",
        message: QOS_0,
        pattern: Pattern::Paced {
            connections: 50,
            rate: 20_000,
        },
        placement: Placement::Together,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "mqtt-ping",
        title: "MQTT QoS 1, 1 KiB, one in flight",
        message: Message {
            size: 1 << 10,
            is_acknowledged: true,
            ..QOS_0
        },
        pattern: Pattern::PingPong,
        placement: Placement::Together,
        flags: &[],
        figures: &[
            Figure::CpuMicros,
            Figure::Rate,
            Figure::P50,
            Figure::P99,
            Figure::P999,
            Figure::Peak,
        ],
    },
    Scenario {
        name: "mqtt-bulk",
        title: "MQTT QoS 0, 1 MiB",
        message: Message {
            size: LARGE,
            ..QOS_0
        },
        pattern: flood(1, 1),
        placement: Placement::Free,
        flags: &[],
        figures: BULK,
    },
    Scenario {
        name: "amqp10",
        title: "AMQP 1.0 pre-settled, 100 octets, one message a write",
        message: SETTLED,
        pattern: flood(1, 1),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "amqp10-batch",
        title: "AMQP 1.0 pre-settled, 100 octets, 100 messages a write",
        message: SETTLED,
        pattern: flood(1, 100),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "amqp10-streamed",
        title: "AMQP 1.0 pre-settled, 1 MiB in frames of 64 KiB; sizegate streams (`detach`)",
        message: Message {
            size: LARGE,
            ..SETTLED
        },
        pattern: flood(1, 1),
        placement: Placement::Free,
        flags: &["--on-oversize", "detach"],
        figures: BULK,
    },
    Scenario {
        name: "amqp10-held",
        title: "AMQP 1.0 pre-settled, 1 MiB in frames of 64 KiB; sizegate holds (`reject`)",
        message: Message {
            size: LARGE,
            ..SETTLED
        },
        pattern: flood(1, 1),
        placement: Placement::Free,
        flags: &["--on-oversize", "reject"],
        figures: BULK,
    },
    Scenario {
        name: "amqp091",
        title: "AMQP 0-9-1 with confirms, 100 octets, one message a write",
        message: CONFIRMED,
        pattern: flood(1, 1),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "amqp091-batch",
        title: "AMQP 0-9-1 with confirms, 100 octets, 100 messages a write",
        message: CONFIRMED,
        pattern: flood(1, 100),
        placement: Placement::Apart,
        flags: &[],
        figures: SMALL,
    },
    Scenario {
        name: "idle",
        title: "5,000 idle connections after one MQTT message of 1 KiB each",
        message: Message {
            size: 1 << 10,
            is_acknowledged: true,
            ..QOS_0
        },
        pattern: Pattern::Idle { connections: 5_000 },
        placement: Placement::Free,
        flags: &[],
        figures: &[Figure::Idle, Figure::Peak],
    },
    Scenario {
        name: "churn",
        title: "a connection for each MQTT message: connect, greet, QoS 1, disconnect",
        message: Message {
            is_acknowledged: true,
            ..QOS_0
        },
        pattern: Pattern::Churn,
        placement: Placement::Together,
        flags: &[],
        figures: SMALL,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for scenario in SCENARIOS {
            assert_eq!(named(scenario.name).unwrap().title, scenario.title);
        }
        assert!(named("nothing").is_none());
    }
}
