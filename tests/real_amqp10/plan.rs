//! What a client is to do, what has to come of it, and the clients that do it.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::fe2o3;
use crate::support::{Running, node_modules, python};

/// What a client does on one connection.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The largest frame that the client says it takes. RabbitMQ 3 then says the same, so that it
    /// is also what the client may send.
    pub(crate) frame: u32,
    /// What it does on each link.
    pub(crate) links: Vec<Link>,
    /// How many links are to fail, before the last message is sent on those that did not.
    pub(crate) failing: usize,
    /// Deliveries that a receiver lets come at once.
    pub(crate) credit: u32,
}

/// What a client does on one link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The queue's address.
    pub(crate) address: String,
    /// Whether its deliveries are pre-settled.
    pub(crate) settled: bool,
    /// The sizes of the messages of a sender, which are numbered by their place.
    pub(crate) sizes: Vec<usize>,
    /// The number of the message after which a receiver stops.
    pub(crate) until: usize,
}

/// A client library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// python-qpid-proton, over Apache Qpid Proton.
    Proton,
    /// rhea, of Node.
    Rhea,
    /// fe2o3-amqp, of Rust.
    Fe2o3,
}

impl Library {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Proton, Self::Rhea, Self::Fe2o3];

    /// Sends as planned, and returns what it observed.
    pub(crate) fn send(self, to: SocketAddr, plan: &Plan) -> Value {
        self.play("send", to, plan)
    }

    /// Receives as planned, and returns what it observed.
    pub(crate) fn receive(self, from: SocketAddr, plan: &Plan) -> Value {
        self.play("receive", from, plan)
    }

    fn play(self, what: &str, address: SocketAddr, plan: &Plan) -> Value {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
        let (program, script) = match self {
            Self::Proton => (python(), "proton_amqp.py"),
            Self::Rhea => ("node".to_owned(), "rhea_amqp.js"),
            Self::Fe2o3 => return fe2o3::play(what, address, plan),
        };
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let script = format!("{folder}/{script}");
        let plan = plan.json().to_string();
        let arguments = [&*script, what, &host, &port, &plan];
        let modules = node_modules();
        let variables = [("NODE_PATH", &*modules), ("PYTHONDONTWRITEBYTECODE", "1")];
        let output = Running::start_with(&program, &arguments, &variables).finish();
        assert_eq!(output.code, Some(0), "{self:?}: {}", output.errors);
        serde_json::from_str(&output.lines.join("\n")).expect("JSON of the client")
    }
}

impl Plan {
    /// A plan for these links, with frames that make most messages need more than one.
    pub(crate) fn new(links: Vec<Link>) -> Self {
        Self {
            frame: 4_096,
            links,
            failing: 0,
            credit: 50,
        }
    }

    /// The plan of a receiver that takes, in order, what this sender sent and a broker kept.
    pub(crate) fn receiver(&self, settled: bool) -> Self {
        let mut plan = self.clone();
        plan.failing = 0;
        for link in &mut plan.links {
            link.until = link.sizes.len();
            link.settled = settled;
        }
        plan
    }

    /// What a sender observes for each message of a link, when `limit` is the limit.
    pub(crate) fn outcomes(&self, link: usize, limit: usize) -> Value {
        let Link { settled, sizes, .. } = &self.links[link];
        let outcomes = sizes.iter().chain([&LAST]).map(|size| match size {
            _ if *settled => json!("settled"),
            size if *size <= limit => json!("accepted"),
            size => json!(["rejected", TOO_LARGE, refusal(*size, limit)]),
        });
        outcomes.collect()
    }

    /// What a receiver gets of what the sender of this plan sent on a link, up to its last message.
    pub(crate) fn received(&self, link: usize, limit: usize) -> Value {
        let sizes = self.links[link].sizes.iter().chain([&LAST]).enumerate();
        let kept = sizes.filter(|(_, size)| **size <= limit);
        kept.map(|(number, size)| json!([number, body(*size)]))
            .collect()
    }

    /// How many of the planned messages are allowed, the last of each link included.
    pub(crate) fn allowed(&self, limit: usize) -> usize {
        let sizes = self.links.iter().flat_map(|link| &link.sizes);
        sizes.filter(|size| **size <= limit).count() + self.links.len()
    }

    /// How many of the planned messages are not allowed, of those that are pre-settled or of those
    /// that are not.
    pub(crate) fn denied(&self, limit: usize, settled: bool) -> usize {
        let links = self.links.iter().filter(|link| link.settled == settled);
        let sizes = links.flat_map(|link| &link.sizes);
        sizes.filter(|size| **size > limit).count()
    }

    fn json(&self) -> Value {
        let links = self.links.iter().map(|link| {
            json!({
                "address": link.address,
                "settled": link.settled,
                "sizes": link.sizes,
                "until": link.until,
            })
        });
        json!({
            "frame": self.frame,
            "links": links.collect::<Vec<_>>(),
            "failing": self.failing,
            "credit": self.credit,
            "last": LAST,
        })
    }
}

impl Link {
    /// A sender's link with so many messages, of which each fifth is over the limit. Some are just
    /// as large as `within`, some just as large as `over`, and some are far from both.
    pub(crate) fn mixed(
        address: String,
        settled: bool,
        count: usize,
        within: usize,
        over: usize,
    ) -> Self {
        let sizes = (0..count).map(|number| match (number % 5, number % 3) {
            (3, 0) => over,
            (3, 1) => 2 * over + number,
            (3, _) => 5 * over - number,
            (1, 0) => within,
            _ => 300 + number * 7919 % (within - 300),
        });
        Self::with_sizes(address, settled, sizes.collect())
    }

    /// A sender's link with messages of these sizes.
    pub(crate) fn with_sizes(address: String, settled: bool, sizes: Vec<usize>) -> Self {
        Self {
            address,
            settled,
            sizes,
            until: 0,
        }
    }
}

/// The octets of the body of a message of so many octets: one data section with a long length.
pub(crate) fn body(size: usize) -> usize {
    if size <= 260 { size - 5 } else { size - 8 }
}

/// The description of a refusal.
pub(crate) fn refusal(size: usize, limit: usize) -> String {
    format!("Message size exceeded: {size} octets, limit {limit}, set by --max-message-size")
}

/// The condition of a refusal.
pub(crate) const TOO_LARGE: &str = "amqp:link:message-size-exceeded";

/// The size of the last message on each link.
pub(crate) const LAST: usize = 50;
