//! What stands on the machine: two brokers, and the sizegate in front of them.

use std::net::SocketAddr;

use crate::support::{Mosquitto, RabbitMq, Release, Sidecar};

/// Both brokers and sizegate.
pub(crate) struct Stage {
    /// sizegate, with limits in both directions.
    pub(crate) sidecar: Sidecar,
    /// The broker of MQTT.
    pub(crate) mosquitto: Mosquitto,
    /// The broker of both AMQP.
    pub(crate) rabbitmq: RabbitMq,
}

/// What clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// MQTT 3.1.1, whose clients can't be told of a refusal.
    Mqtt3,
    /// MQTT 5.0.
    Mqtt5,
    /// AMQP 1.0.
    Amqp10,
    /// AMQP 0-9-1.
    Amqp091,
}

impl Protocol {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Mqtt3, Self::Mqtt5, Self::Amqp10, Self::Amqp091];

    /// Whether nobody learns that this message was refused: MQTT 3.1.1 has no word for it, and a
    /// message of QoS 0 no answer.
    pub(crate) fn is_silent(self, number: usize) -> bool {
        match self {
            Self::Mqtt3 => true,
            Self::Mqtt5 => number.is_multiple_of(3),
            Self::Amqp10 | Self::Amqp091 => false,
        }
    }

    /// What it is called in metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Mqtt3 | Self::Mqtt5 => "mqtt",
            Self::Amqp10 => "amqp10",
            Self::Amqp091 => "amqp091",
        }
    }
}

impl Stage {
    /// Starts everything. Limits are told to nobody, because these libraries would then send
    /// nothing that is too large.
    pub(crate) fn start() -> Self {
        let mosquitto = Mosquitto::start_with("sys_interval 1\n");
        let rabbitmq = RabbitMq::start(Release::V4);
        let amqp = rabbitmq.address().to_string();
        let flags = [
            ["--listen", "127.0.0.1:0"],
            ["--listen", "127.0.0.1:0"],
            ["--upstream", &amqp],
            ["--max-message-size", "64Ki"],
            ["--max-receive-size", "32Ki"],
        ];
        let flags = [&flags.concat()[..], &["--no-advertise"]].concat();
        Self {
            sidecar: Sidecar::start(mosquitto.address(), &flags),
            mosquitto,
            rabbitmq,
        }
    }

    /// Where clients connect.
    pub(crate) fn listener(&self, protocol: Protocol) -> SocketAddr {
        let [mqtt, amqp] = self.sidecar.listeners() else {
            panic!("sizegate has two listeners");
        };
        match protocol {
            Protocol::Mqtt3 | Protocol::Mqtt5 => *mqtt,
            Protocol::Amqp10 | Protocol::Amqp091 => *amqp,
        }
    }

    /// Where guests knock: at each protocol's door.
    pub(crate) fn guests(&self) -> Vec<(Protocol, SocketAddr)> {
        let doors = Protocol::ALL.map(|protocol| (protocol, self.listener(protocol)));
        doors.to_vec()
    }
}
