//! The architecture as a test: who may import whom.
//!
//! A room is a folder of `proxy/`. It names other rooms as `crate::room`, or by what a `use`
//! brought in; both are followed. What is compiled for tests only is free.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

#[path = "support/source.rs"]
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use source::{root, rust_files};

/// What one room may name.
struct Room {
    /// Where it is.
    path: &'static str,
    /// Places in this crate that it may import besides itself; nothing means all.
    rooms: Option<&'static [&'static str]>,
    /// Crates that it may import besides std; nothing means all.
    crates: Option<&'static [&'static str]>,
    /// What it never imports, even where the two above allow it.
    never: &'static [&'static str],
}

/// The table. Each room knows as little as it can: that is what lets it be tested without a socket
/// and changed without its neighbours.
const ROOMS: [Room; 13] = [
    // Decides by plain values; networks are values too.
    Room {
        path: "policy",
        rooms: Some(&[]),
        crates: Some(&["ipnet", "thiserror"]),
        never: IO,
    },
    Room {
        path: "gate",
        rooms: Some(&["policy"]),
        crates: Some(&["thiserror"]),
        never: IO,
    },
    // The list: it may know what is in it.
    Room {
        path: "protocols",
        rooms: Some(&["gate", "policy"]),
        crates: Some(&["parsers", "thiserror"]),
        never: IO,
    },
    Room {
        path: "protocols/mqtt",
        rooms: Some(&["gate", "policy", "protocols"]),
        crates: Some(&["parsers", "thiserror"]),
        never: IO,
    },
    Room {
        path: "protocols/amqp10",
        rooms: Some(&["gate", "policy", "protocols"]),
        crates: Some(&["parsers", "thiserror"]),
        never: IO,
    },
    Room {
        path: "protocols/amqp091",
        rooms: Some(&["gate", "policy", "protocols"]),
        crates: Some(&["parsers", "thiserror"]),
        never: IO,
    },
    // Beyond the table: the policy's words stand in the gate's contract, the lifecycle says when to
    // hang up, and config holds the terms of a connection.
    Room {
        path: "relay",
        rooms: Some(&[
            "gate",
            "policy",
            "protocols",
            "listen",
            "upstream",
            "telemetry",
            "lifecycle",
            "config",
            "transport",
        ]),
        crates: None,
        never: &["parsers", "certs"],
    },
    Room {
        path: "listen",
        rooms: Some(&["config", "transport"]),
        crates: None,
        never: &[],
    },
    Room {
        path: "upstream",
        rooms: Some(&["config", "transport"]),
        crates: None,
        never: &[],
    },
    // Octets and addresses, whatever they are for.
    Room {
        path: "transport",
        rooms: Some(&[]),
        crates: None,
        never: &["parsers", "certs"],
    },
    Room {
        path: "admin",
        rooms: Some(&["lifecycle", "telemetry"]),
        crates: None,
        never: &[],
    },
    // Below it nobody sees a flag, nor what runs.
    Room {
        path: "telemetry",
        rooms: Some(&["gate", "policy", "protocols", "config"]),
        crates: None,
        never: &["parsers", "certs"],
    },
    Room {
        path: "lifecycle",
        rooms: Some(&["config", "telemetry"]),
        crates: None,
        never: &["parsers"],
    },
];

/// Sockets, clocks and tasks. Addresses are values and allowed, see [`VALUES`].
const IO: &[&str] = &[
    "tokio",
    "std::net",
    "std::time::Instant::now",
    "std::thread",
    "std::fs",
];

/// Exceptions from what is never imported.
const VALUES: [&str; 4] = [
    "std::net::IpAddr",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::SocketAddr",
];

/// Who sees what the user typed.
const SEES_FLAGS: [&str; 4] = ["cli", "config", "run.rs", "main.rs"];

#[test]
fn rooms_import_only_what_the_architecture_allows() {
    let mut wrong = Vec::new();
    let mut read = 0;
    for file in rust_files(&root().join("proxy")) {
        let text = fs::read_to_string(&file).unwrap();
        let name = relative(&file, "proxy");
        wrong.extend(forbidden(&name, &text));
        read += 1;
    }
    assert!(read > 20, "only {read} files were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_forbidden_import_is_caught_wherever_it_stands() {
    for (file, text) in [
        ("policy/mod.rs", "use crate::gate::Gate;"),
        ("policy/mod.rs", "use std::{fmt, net::{IpAddr, TcpStream}};"),
        ("policy/limit.rs", "fn f() { parsers::mqtt::publish(); }"),
        ("gate/mod.rs", "use tokio as runtime;"),
        ("gate/step.rs", "use super::super::protocols::PROTOCOLS;"),
        (
            "protocols/mqtt/session.rs",
            "use crate::protocols::amqp10::Link;",
        ),
        (
            "protocols/mqtt/session.rs",
            "use crate::protocols::{Opening, amqp10};",
        ),
        (
            "protocols/mqtt/session.rs",
            "use super::super::amqp091::Channel;",
        ),
        ("protocols/mqtt/session.rs", "use parsers::amqp10::Frame;"),
        ("protocols/mqtt/session.rs", "use parsers::proxy_protocol;"),
        (
            "protocols/mqtt/mod.rs",
            "use std::time; fn f() { time::Instant::now(); }",
        ),
        (
            "protocols/mqtt/mod.rs",
            "use std::time::Instant as Now; fn f() { Now::now(); }",
        ),
        (
            "protocols/mqtt/mod.rs",
            "fn f() { std::thread::yield_now() }",
        ),
        (
            "relay/pump.rs",
            "use crate::{gate::Step, protocols::mqtt::session::Session};",
        ),
        ("relay/pump.rs", "fn f(c: &crate::admin::Page) {}"),
        ("relay/mod.rs", "pub use parsers::mqtt::Version;"),
        ("relay/detect.rs", "use parsers::proxy_protocol::announces;"),
        ("listen/mod.rs", "use crate::protocols::PROTOCOLS;"),
        ("upstream/mod.rs", "use crate::gate::Side;"),
        ("upstream/mod.rs", "use parsers::mqtt::Version;"),
        (
            "admin/mod.rs",
            "#[cfg(test)]\nmod tests {}\nuse crate::relay::Relay;",
        ),
        (
            "relay/mod.rs",
            "const QUOTE: char = '\"'; use crate::cli::Args; // \"",
        ),
        ("telemetry/mod.rs", "use crate::relay::Relay;"),
    ] {
        assert_eq!(forbidden(file, text).len(), 1, "{file}: {text}");
    }
}

#[test]
fn an_allowed_import_is_not_caught() {
    for (file, text) in [
        (
            "policy/mod.rs",
            "use std::net::{IpAddr, SocketAddr}; use self::limit::Limit;",
        ),
        ("policy/limit.rs", "use super::ByteSize; use ipnet::IpNet;"),
        (
            "gate/mod.rs",
            "pub use crate::policy::Direction; pub use step::{Step, Side};",
        ),
        (
            "gate/mod.rs",
            "/// As [`crate::relay`] does.\n// use tokio::net;\nfn f() {}",
        ),
        (
            "gate/mod.rs",
            "const A: &str = \"use tokio::net;\"; const B: &str = r#\"use tokio\"#;",
        ),
        (
            "gate/mod.rs",
            "#[cfg(test)]\nmod tests { use crate::relay::Relay; fn f() { {} } }",
        ),
        (
            "gate/mod.rs",
            "#[cfg(test)]\nuse tokio::time;\nuse std::fmt;",
        ),
        (
            "protocols/mod.rs",
            "pub mod mqtt; use crate::protocols::mqtt::open;",
        ),
        (
            "protocols/mqtt/mod.rs",
            "use crate::protocols::{Opening, mqtt::session::Session};",
        ),
        (
            "protocols/mqtt/mod.rs",
            "use parsers::{Parsed, mqtt::Version}; use std::time::Duration;",
        ),
        (
            "relay/mod.rs",
            "use crate::protocols::{PROTOCOLS, Protocol}; use tokio::net::TcpStream;",
        ),
        (
            "listen/mod.rs",
            "use crate::config::Listener; use parsers::proxy_protocol::Header;",
        ),
        (
            "upstream/proxy_header.rs",
            "use parsers::proxy_protocol::encode; use crate::transport::Origin;",
        ),
        ("run.rs", "use crate::{cli, relay};"),
    ] {
        let found = forbidden(file, text);
        assert!(found.is_empty(), "{file}: {text}: {found:?}");
    }
}

/// What a file of `proxy/` imports against the table, in words.
fn forbidden(file: &str, text: &str) -> Vec<String> {
    if file.ends_with("tests.rs") || file.contains("/tests/") {
        return Vec::new();
    }
    let code = source::code(text);
    let module = module(file);
    let room = ROOMS
        .iter()
        .filter(|room| Path::new(file).starts_with(room.path))
        .max_by_key(|room| room.path.len());
    let mut reasons = Vec::new();
    for path in source::paths(&code, &module) {
        let sees_flags = SEES_FLAGS
            .iter()
            .any(|place| Path::new(file).starts_with(place));
        if (within(&path, "crate::cli") && !sees_flags)
            || room.is_some_and(|room| !allows(room, &path))
        {
            reasons.push(format!("proxy/{file} imports {path}"));
        }
    }
    reasons
}

fn allows(room: &Room, path: &str) -> bool {
    let here = format!("crate::{}", room.path.replace('/', "::"));
    if within(path, &here) {
        return true;
    }
    let never = room.never.iter().any(|never| within(path, never));
    if never && !VALUES.iter().any(|value| within(path, value)) {
        return false;
    }
    // What is behind the list of protocols is for the list alone, and of a crate of parsers each
    // protocol takes its own.
    let protocols = ["mqtt", "amqp10", "amqp091"];
    let (protocol, in_parsers) = protocols.iter().fold((None, None), |found, name| {
        let behind = within(path, &format!("crate::protocols::{name}"));
        let parser = within(path, &format!("parsers::{name}"));
        (
            found.0.or(behind.then_some(name)),
            found.1.or(parser.then_some(name)),
        )
    });
    if protocol.is_some() {
        return false;
    }
    if let Some(name) = in_parsers {
        return room.path == format!("protocols/{name}");
    }
    if within(path, "parsers::proxy_protocol") {
        return ["listen", "upstream"].contains(&room.path);
    }
    if let Some(place) = path.strip_prefix("crate::") {
        return room
            .rooms
            .is_none_or(|rooms| rooms.iter().any(|room| within(place, room)));
    }
    let first = path.split("::").next().unwrap_or_default();
    let foreign = dependencies().contains(first);
    !foreign || room.crates.is_none_or(|crates| crates.contains(&first))
}

/// Whether a path is this one or below it.
fn within(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The module that a file of `proxy/` is.
fn module(file: &str) -> String {
    let file = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let place = file.replace('/', "::");
    match place.as_str() {
        "lib" | "main" => "crate".to_owned(),
        _ => format!("crate::{place}"),
    }
}

/// The names under which the manifest brings in other crates.
fn dependencies() -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap();
    let section = section.split("\n[").next().unwrap();
    section
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.replace('-', "_"))
        .collect()
}

fn relative(file: &Path, folder: &str) -> String {
    let file = file.strip_prefix(root().join(folder)).unwrap();
    file.to_str().unwrap().to_owned()
}
