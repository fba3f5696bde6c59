//! The network that measurements run in: a namespace of its own where that can be had.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use crate::Error;

/// Tells this program that it is within its namespace.
const INSIDE: &str = "SIZEGATE_BENCH_INSIDE";

/// The congestion control of the namespace. BBR costs all relays the same sum for each octet, which
/// hides what they do differently.
const CONGESTION: &str = "reno";

const CONGESTION_FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// What the network is like.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    /// The congestion control in effect.
    pub(crate) congestion: String,
    /// Why it is the machine's own network, where it is.
    pub(crate) is_shared: Option<&'static str>,
}

/// Whether this process has been started within its namespace already.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Starts this program again in a namespace of its own, and returns only where that can't be had:
/// with the reason.
pub(crate) fn enter() -> Result<&'static str, Error> {
    if !getuid().is_root() {
        return Ok("not root");
    }
    let mut probe = Command::new("unshare");
    let probe = probe.args(["--net", "ip", "link", "set", "lo", "up"]);
    let probe = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        return Ok("`unshare --net ip link set lo up` does not work here");
    }
    let own = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let error = Command::new("unshare")
        .arg("--net")
        .arg(own)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .exec();
    Err(Error::io("unshare")(error))
}

/// Makes the network ready; `is_shared` is why it is the machine's own, where it is.
pub(crate) fn prepare(is_shared: Option<&'static str>) -> Result<Network, Error> {
    if is_shared.is_none() {
        let up = Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status();
        up.map_err(Error::io("ip link set lo up"))?;
        set(CONGESTION_FILE, CONGESTION)?;
        // Connections that are opened one after the other leave their ports behind for a while.
        set("/proc/sys/net/ipv4/ip_local_port_range", "1024 65535")?;
    }
    raise_files()?;
    let congestion = fs::read_to_string(CONGESTION_FILE);
    let congestion = congestion.map_err(Error::io("the congestion control"))?;
    Ok(Network {
        congestion: congestion.trim().to_owned(),
        is_shared,
    })
}

/// Lets this process, and what it starts, have as many files open as it may. Scenarios with few
/// connections can be run with fewer than 5,000 connections take.
fn raise_files() -> Result<(), Error> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).map_err(Error::io("the limit of open files"))
}

fn set(path: &str, value: &str) -> Result<(), Error> {
    fs::write(Path::new(path), value).map_err(Error::io("a setting of the network"))
}
