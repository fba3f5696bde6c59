//! The rules that values must keep, alone and together.
//!
//! Each rule is a function that says what breaks it. They cover what would otherwise come out as a
//! sidecar that starts and does not do what was meant: a limit that no message meets, a proxy that
//! connects to itself, a client that has no time to say who it is.

use std::net::{IpAddr, SocketAddr};

use super::setting::Upstream;
use super::{Problem, listeners};
use crate::cli::{Admin, Args};
use crate::policy::ByteSize;

/// Everything in `args` that breaks a rule.
pub(super) fn broken(args: &Args) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(upstream_count(args));
    problems.extend(upstream_ports(args));
    problems.extend(listeners_apart(args));
    problems.extend(no_loop(args));
    problems.extend(admin_apart(args));
    problems.extend(limit_floor("--max-message-size", args.max_message_size));
    problems.extend(limit_floor("--max-receive-size", args.max_receive_size));
    problems.extend(control_floor(args.max_control_size));
    problems.extend(timeouts(args));
    problems.extend(threads(args.threads));
    problems
}

fn upstream_count(args: &Args) -> Option<Problem> {
    let (listeners, upstreams) = (args.listen.len(), args.upstream.len());
    let typed: Vec<String> = args.upstream.iter().map(Upstream::to_string).collect();
    if args.original_destination {
        return (upstreams > 0).then(|| Problem::Setting {
            flag: "--upstream",
            value: typed.join(" "),
            expected: "none, since --original-destination leads clients where they meant to go"
                .to_owned(),
        });
    }
    (upstreams != 1 && upstreams != listeners).then(|| Problem::Setting {
        flag: "--upstream",
        value: typed.join(" "),
        expected: if listeners == 1 {
            format!("one, since --listen is given once, and not {upstreams}")
        } else {
            format!("one for all, or one for each of the {listeners} --listen, not {upstreams}")
        },
    })
}

fn upstream_ports(args: &Args) -> impl Iterator<Item = Problem> {
    args.upstream
        .iter()
        .filter(|upstream| upstream.port == 0)
        .map(|upstream| Problem::Setting {
            flag: "--upstream",
            value: upstream.to_string(),
            expected: "a port from 1 to 65535, such as 1883".to_owned(),
        })
}

fn listeners_apart(args: &Args) -> impl Iterator<Item = Problem> {
    args.listen.iter().enumerate().filter_map(|(at, &listen)| {
        let mut before = args.listen.iter().take(at);
        let other = before.find(|&&other| overlap(listen, other))?;
        Some(Problem::Setting {
            flag: "--listen",
            value: listen.to_string(),
            expected: format!("an address that --listen {other} does not take already"),
        })
    })
}

fn no_loop(args: &Args) -> impl Iterator<Item = Problem> {
    listeners(args).into_iter().filter_map(|listener| {
        let listen = listener.listen;
        let upstream = listener.destination.upstream()?;
        leads_to(upstream, listen).then(|| Problem::Setting {
            flag: "--upstream",
            value: upstream.to_string(),
            expected: format!("the broker and not sizegate itself, which is at --listen {listen}"),
        })
    })
}

fn admin_apart(args: &Args) -> Vec<Problem> {
    let Admin::At(admin) = args.admin else {
        return Vec::new();
    };
    let listen = args.listen.iter().find(|&&listen| overlap(admin, listen));
    let upstream = args.upstream.iter().find(|it| leads_to(it, admin));
    let taken = [
        listen.map(|listen| format!("--listen {listen} does not take already")),
        upstream.map(|upstream| format!("is not --upstream {upstream}")),
    ];
    taken
        .into_iter()
        .flatten()
        .map(|taken| Problem::Setting {
            flag: "--admin",
            value: admin.to_string(),
            expected: format!("off, or an address that {taken}"),
        })
        .collect()
}

/// A limit below the smallest sensible message would refuse everything, which is never meant.
fn limit_floor(flag: &'static str, limit: ByteSize) -> Option<Problem> {
    (1..ByteSize::LEAST_LIMIT.0)
        .contains(&limit.0)
        .then(|| Problem::Setting {
            flag,
            value: limit.to_string(),
            expected: format!(
                "0 (no limit), or {} octets and more, such as 1Mi",
                ByteSize::LEAST_LIMIT
            ),
        })
}

fn control_floor(size: ByteSize) -> Option<Problem> {
    (size.0 < SMALLEST_CONTROL).then(|| Problem::Setting {
        flag: "--max-control-size",
        value: size.to_string(),
        expected: format!("{SMALLEST_CONTROL} octets and more, such as 128Ki"),
    })
}

/// A timeout of nothing would end every connection; a wait of nothing is a choice.
fn timeouts(args: &Args) -> impl Iterator<Item = Problem> {
    [
        ("--handshake-timeout", args.handshake_timeout),
        ("--connect-timeout", args.connect_timeout),
    ]
    .into_iter()
    .filter(|(_, timeout)| timeout.is_zero())
    .map(|(flag, _)| Problem::Setting {
        flag,
        value: "0s".to_owned(),
        expected: "more than 0s, such as 10s".to_owned(),
    })
}

fn threads(threads: usize) -> Option<Problem> {
    (!(1..=MOST_THREADS).contains(&threads)).then(|| Problem::Setting {
        flag: "--threads",
        value: threads.to_string(),
        expected: format!("1 to {MOST_THREADS}"),
    })
}

/// Whether two listeners can't both be had: a wildcard address takes all of its family.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let same_ip = one.ip() == other.ip()
        || (one.is_ipv4() == other.is_ipv4()
            && (one.ip().is_unspecified() || other.ip().is_unspecified()));
    one.port() == other.port() && one.port() != 0 && same_ip
}

/// Whether connecting to `upstream` surely ends at `listen`, as far as can be told without asking
/// for names or for this machine's addresses.
fn leads_to(upstream: &Upstream, listen: SocketAddr) -> bool {
    let here = match upstream.host.parse::<IpAddr>() {
        // To connect to the wildcard address is to connect to this machine.
        Ok(ip) if ip.is_unspecified() || ip.is_loopback() => {
            listen.ip() == ip
                || listen.ip().is_unspecified()
                || (ip.is_unspecified() && listen.ip().is_loopback())
        }
        Ok(ip) => listen.ip() == ip,
        Err(_) => {
            upstream.host.eq_ignore_ascii_case("localhost")
                && (listen.ip().is_loopback() || listen.ip().is_unspecified())
        }
    };
    here && upstream.port == listen.port()
}

/// Room for a plain CONNECT with client id, user name and password.
const SMALLEST_CONTROL: u64 = 512;
/// Above any machine; a thread more than it has is of no use.
const MOST_THREADS: usize = 1024;
