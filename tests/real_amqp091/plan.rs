//! What a client is to do, what has to come of it, and the clients that do it.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::lapin;
use crate::support::{Running, node_modules, python};

/// What a client does on one connection.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What it does on each channel.
    pub(crate) channels: Vec<Channel>,
    /// How many channels are to fail, before the last message is sent on those that did not.
    pub(crate) failing: usize,
    /// Deliveries that a receiver lets come at once.
    pub(crate) prefetch: u16,
}

/// What a client does on one channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// The queue.
    pub(crate) queue: String,
    /// What its publishes are part of.
    pub(crate) mode: Mode,
    /// Whether they ask to be returned.
    pub(crate) mandatory: bool,
    /// The sizes of the messages of a sender, which are numbered by their place.
    pub(crate) sizes: Vec<usize>,
    /// Whether a receiver acknowledges nothing.
    pub(crate) no_ack: bool,
    /// The number of the message after which a receiver stops.
    pub(crate) until: usize,
}

/// What the publishes of a channel are part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing.
    Plain,
    /// Each is confirmed.
    Confirm,
    /// All are one transaction.
    Tx,
}

/// A client library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// pika, of Python.
    Pika,
    /// aio-pika, of Python, over aiormq.
    AioPika,
    /// amqplib, of Node.
    Amqplib,
    /// lapin, of Rust.
    Lapin,
}

impl Library {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Pika, Self::AioPika, Self::Amqplib, Self::Lapin];

    /// Sends as planned, and returns what it observed.
    pub(crate) fn send(self, to: SocketAddr, plan: &Plan) -> Value {
        self.play("send", to, plan)
    }

    /// Receives as planned, and returns what it observed.
    pub(crate) fn receive(self, from: SocketAddr, plan: &Plan) -> Value {
        self.play("receive", from, plan)
    }

    /// Gets one message after the other as planned, and returns what it observed.
    pub(crate) fn get(self, from: SocketAddr, plan: &Plan) -> Value {
        self.play("get", from, plan)
    }

    /// Connects, and returns what it observed at the end of its connection. `open` is called once it is
    /// open, if it becomes so.
    pub(crate) fn idle(self, at: SocketAddr, open: impl FnOnce()) -> Value {
        let plan = Plan::new(Vec::new());
        if self == Self::Lapin {
            return lapin::idle(at, open);
        }
        let mut running = self.start("idle", at, &plan);
        let mut line = running.line();
        if line == "open" {
            open();
            line = running.line();
        }
        assert_eq!(running.finish().code, Some(0), "{self:?}");
        serde_json::from_str::<Value>(&line).expect("JSON of the client")["closed"].take()
    }

    fn play(self, what: &str, address: SocketAddr, plan: &Plan) -> Value {
        if self == Self::Lapin {
            return lapin::play(what, address, plan);
        }
        let output = self.start(what, address, plan).finish();
        assert_eq!(output.code, Some(0), "{self:?}: {}", output.errors);
        let line = output
            .lines
            .last()
            .unwrap_or_else(|| panic!("{}", output.errors));
        serde_json::from_str(line).expect("JSON of the client")
    }

    fn start(self, what: &str, address: SocketAddr, plan: &Plan) -> Running {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
        let (program, script) = match self {
            Self::Pika => (python(), "pika_amqp091.py"),
            Self::AioPika => (python(), "aio_pika_amqp091.py"),
            _ => ("node".to_owned(), "amqplib_amqp091.js"),
        };
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let script = format!("{folder}/{script}");
        let plan = plan.json().to_string();
        let arguments = [&*script, what, &host, &port, &plan];
        let modules = node_modules();
        let variables = [("NODE_PATH", &*modules), ("PYTHONDONTWRITEBYTECODE", "1")];
        Running::start_with(&program, &arguments, &variables)
    }
}

impl Plan {
    /// A plan for these channels.
    pub(crate) fn new(channels: Vec<Channel>) -> Self {
        Self {
            channels,
            failing: 0,
            prefetch: 50,
        }
    }

    /// The plan of a receiver that takes, in order, what this sender sent and a broker kept.
    pub(crate) fn receiver(&self, no_ack: bool) -> Self {
        let mut plan = self.clone();
        plan.failing = 0;
        for channel in &mut plan.channels {
            channel.until = channel.sizes.len();
            channel.no_ack = no_ack;
        }
        plan
    }

    /// What the client observes for each message of a channel, when `limit` is the limit.
    pub(crate) fn outcomes(&self, channel: usize, limit: usize) -> Value {
        let Channel { mode, sizes, .. } = &self.channels[channel];
        let outcomes = sizes.iter().chain([&LAST]).map(|size| match mode {
            Mode::Confirm if *size <= limit => json!("ack"),
            Mode::Confirm => json!("nack"),
            Mode::Plain | Mode::Tx => Value::Null,
        });
        outcomes.collect()
    }

    /// Which messages of a channel come back, and why.
    pub(crate) fn returned(&self, channel: usize, limit: usize) -> Value {
        let Channel {
            mode,
            sizes,
            mandatory,
            ..
        } = &self.channels[channel];
        let comes_back = *mandatory || *mode == Mode::Plain;
        let over = sizes
            .iter()
            .enumerate()
            .filter(|(_, size)| comes_back && **size > limit);
        over.map(|(number, size)| json!([number, 311, refusal(*size, limit)]))
            .collect()
    }

    /// What a receiver gets of what the sender of this plan sent on a channel, up to its last message.
    pub(crate) fn received(&self, channel: usize, limit: usize) -> Value {
        let sizes = self.channels[channel]
            .sizes
            .iter()
            .chain([&LAST])
            .enumerate();
        let kept = sizes.filter(|(_, size)| **size <= limit);
        kept.map(|(number, size)| json!([number, size])).collect()
    }

    /// How many of the planned messages are allowed, the last of each channel included.
    pub(crate) fn allowed(&self, limit: usize) -> usize {
        let sizes = self.channels.iter().flat_map(|channel| &channel.sizes);
        sizes.filter(|size| **size <= limit).count() + self.channels.len()
    }

    /// How many of the planned messages are not allowed.
    pub(crate) fn denied(&self, limit: usize) -> usize {
        let sizes = self.channels.iter().flat_map(|channel| &channel.sizes);
        sizes.filter(|size| **size > limit).count()
    }

    fn json(&self) -> Value {
        let channels = self.channels.iter().map(|channel| {
            json!({
                "queue": channel.queue,
                "mode": match channel.mode {
                    Mode::Plain => "plain",
                    Mode::Confirm => "confirm",
                    Mode::Tx => "tx",
                },
                "mandatory": channel.mandatory,
                "sizes": channel.sizes,
                "no_ack": channel.no_ack,
                "until": channel.until,
            })
        });
        json!({
            "channels": channels.collect::<Vec<_>>(),
            "failing": self.failing,
            "prefetch": self.prefetch,
            "heartbeat": HEARTBEAT,
            "last": LAST,
        })
    }
}

impl Channel {
    /// A sender's channel with so many messages, of which each fifth is over the limit. Some are just
    /// as large as it, some one octet larger, and some are far from it.
    pub(crate) fn mixed(queue: String, mode: Mode, count: usize, limit: usize) -> Self {
        let sizes = (0..count).map(|number| match (number % 5, number % 3) {
            (3, 0) => limit + 1,
            (3, 1) => 2 * limit + number,
            (3, _) => 5 * limit - number,
            (1, 0) => limit,
            _ => 8 + number * 7919 % (limit - 8),
        });
        Self::with_sizes(queue, mode, sizes.collect())
    }

    /// A sender's channel with messages of these sizes.
    pub(crate) fn with_sizes(queue: String, mode: Mode, sizes: Vec<usize>) -> Self {
        Self {
            queue,
            mode,
            mandatory: false,
            sizes,
            no_ack: false,
            until: 0,
        }
    }

    /// The same whose publishes ask to be returned.
    pub(crate) fn mandatory(mut self) -> Self {
        self.mandatory = true;
        self
    }
}

/// The text of a refusal.
pub(crate) fn refusal(size: usize, limit: usize) -> String {
    format!("Message size exceeded: {size} octets, limit {limit}, set by --max-message-size")
}

/// The size of the last message on each channel.
pub(crate) const LAST: usize = 50;

/// Seconds between two heartbeats.
pub(crate) const HEARTBEAT: u16 = 10;
