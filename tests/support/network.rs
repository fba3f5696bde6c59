//! Two hosts on one wire: network namespaces, each with addresses and a packet filter of its own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Mosquitto, Running};

/// A host for clients and one for the broker. Both are gone when this is dropped.
///
/// Their names have the number of this process in them, and nothing else is outside of them: tests
/// that run at once do not meet.
#[derive(Debug)]
pub struct Network {
    /// Where clients are: [`CLIENT`] and [`CLIENT_V6`].
    pub client: Host,
    /// Where the broker is: [`BROKER`] and [`BROKER_V6`].
    pub broker: Host,
}

/// One of them.
#[derive(Debug)]
pub struct Host {
    namespace: String,
}

/// The addresses of both hosts: of those for benchmarks (RFC 2544), and unique local ones.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
pub const BROKER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));
pub const CLIENT_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xFD00, 0, 0, 0x5126, 0, 0, 0, 1));
pub const BROKER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xFD00, 0, 0, 0x5126, 0, 0, 0, 2));

impl Network {
    /// Makes both hosts and the wire between them.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        remove_those_left_behind();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let host = |name: &str| {
            let namespace = format!("{PREFIX}{}-{count}-{name}", std::process::id());
            ip(&["netns", "add", &namespace]);
            Host { namespace }
        };
        let (client, broker) = (host("client"), host("broker"));
        let wire = ["type", "veth", "peer", "name", WIRE, "netns"];
        client.ip(&[&["link", "add", WIRE][..], &wire, &[&broker.namespace]].concat());
        for (host, addresses) in [
            (&client, [CLIENT, CLIENT_V6]),
            (&broker, [BROKER, BROKER_V6]),
        ] {
            for address in addresses {
                host.add_address(address);
            }
            for device in ["lo", WIRE] {
                host.ip(&["link", "set", device, "up"]);
            }
        }
        Self { client, broker }
    }
}

impl Host {
    /// A command that runs a program on this host.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, program]);
        command
    }

    /// Starts a program on this host.
    pub fn start(&self, program: &str, arguments: &[&str]) -> Running {
        let words = ["netns", "exec", &self.namespace, program];
        Running::start("ip", &[&words, arguments].concat())
    }

    /// Runs a program on this host that has to succeed, and returns the lines that it printed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Vec<String> {
        let output = self.start(program, arguments).finish();
        let errors = &output.errors;
        assert_eq!(output.code, Some(0), "{program} {arguments:?}: {errors}");
        output.lines
    }

    /// Gives it one more address.
    pub fn add_address(&self, address: IpAddr) {
        let (length, more) = match address {
            IpAddr::V4(_) => (24, &[][..]),
            // Nobody else can have it, so nobody is asked.
            IpAddr::V6(_) => (64, &["nodad"][..]),
        };
        let network = format!("{address}/{length}");
        self.ip(&[&["address", "add", &network, "dev", WIRE], more].concat());
    }

    /// Appends a rule to a chain that changes destinations.
    pub fn redirect(&self, rule: &str) {
        self.filter("iptables", rule);
    }

    /// The same for IPv6.
    pub fn redirect_v6(&self, rule: &str) {
        self.filter("ip6tables", rule);
    }

    /// Starts a mosquitto on this host, on all of its addresses and with these further lines of
    /// configuration, and waits until it listens.
    pub fn mosquitto(&self, folder: &Path, port: u16) -> Running {
        let file = folder.join("mosquitto.conf");
        let lines = format!("listener {port}\nallow_anonymous true\nlog_dest stderr\n");
        std::fs::write(&file, lines).unwrap();
        let program = Mosquitto::program();
        let words = [program.to_str().unwrap(), file.to_str().unwrap()];
        // On standard output it would not log a line before there are many.
        let script = "exec \"$0\" -c \"$1\" 2>&1";
        let mut broker = self.start("bash", &[&["-c", script][..], &words].concat());
        broker.line_that(|line| line.ends_with(" running"));
        broker
    }

    /// Connects from this host, says something as the printf of a shell has it, and returns so many
    /// octets of what is answered in hexadecimal, or fewer if the other end closes.
    pub fn says(&self, to: SocketAddr, octets: &str, count: usize) -> String {
        let script = "exec 3<>\"/dev/tcp/$0/$1\" && printf \"$2\" >&3 && od -An -tx1 -N\"$3\" <&3";
        let [ip, port] = [to.ip().to_string(), to.port().to_string()];
        let output = self
            .start(
                "bash",
                &["-c", script, &ip, &port, octets, &count.to_string()],
            )
            .finish();
        // A connection that is reset while it is read has ended too.
        output.lines.concat().trim().to_owned()
    }

    /// The body of what is answered to GET.
    pub fn get(&self, from: SocketAddr, path: &str) -> String {
        let script =
            "exec 3<>\"/dev/tcp/$0/$1\" && printf \"GET $2 HTTP/1.0\\r\\n\\r\\n\" >&3 && cat <&3";
        let (ip, port) = (from.ip().to_string(), from.port().to_string());
        let lines = self.run("bash", &["-c", script, &ip, &port, path]);
        let body = lines.iter().skip_while(|line| !line.is_empty());
        body.map(|line| format!("{line}\n")).collect()
    }

    fn filter(&self, program: &str, rule: &str) {
        let words: Vec<&str> = rule.split(' ').collect();
        // Those of other processes are waited for.
        self.run(program, &[&["-w", "-t", "nat", "-A"], &words[..]].concat());
    }

    fn ip(&self, arguments: &[&str]) {
        ip(&[&["-n", &self.namespace], arguments].concat());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["netns", "delete", &self.namespace])
            .stderr(Stdio::null())
            .status();
    }
}

/// Removes the hosts of processes that ended before they could.
fn remove_those_left_behind() {
    let Ok(folder) = std::fs::read_dir("/run/netns") else {
        return;
    };
    for name in folder
        .flatten()
        .filter_map(|it| it.file_name().into_string().ok())
    {
        let process = name
            .strip_prefix(PREFIX)
            .and_then(|it| it.split('-').next());
        if process.is_some_and(|it| !Path::new("/proc").join(it).exists()) {
            drop(Host { namespace: name });
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("ip does not start: {error}; run tests/run"));
    let errors = String::from_utf8_lossy(&output.stderr);
    let hint = "network namespaces need root";
    assert!(
        output.status.success(),
        "ip {arguments:?}: {errors} ({hint})"
    );
}

/// How the names of all namespaces of these tests begin.
const PREFIX: &str = "sizegate-test-";
/// The name of the wire's end on both hosts.
const WIRE: &str = "wire0";
