//! Real brokers: RabbitMQ 3 with its plugins for AMQP 1.0 and MQTT, and RabbitMQ 4.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

use super::network::Host;
use super::{DEADLINE, free_ports, wait_for};

/// A running RabbitMQ with a node, a name service and folders of its own.
///
/// It ends with the process that started it, however that ends: a shell watches over it, and kills
/// all of it when its standard input is closed.
#[derive(Debug)]
pub struct RabbitMq {
    release: Release,
    watch: Child,
    address: SocketAddr,
    mqtt: SocketAddr,
    /// As the broker sees it, with what `rabbitmqctl` needs.
    environment: Vec<(&'static str, String)>,
    node: String,
    folder: TempDir,
}

/// Which RabbitMQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Debian 12's: AMQP 1.0 is a plugin over the older protocol.
    V3,
    /// Debian 13's, in a tree of its own: AMQP 1.0 is native.
    V4,
}

impl RabbitMq {
    /// The largest frame that RabbitMQ 4 says it takes. RabbitMQ 3 says what its client says.
    pub const FRAME_MAX: usize = 8_192;

    /// The broker of this release that all tests of a process share.
    pub fn shared(release: Release) -> &'static Self {
        static V3: LazyLock<RabbitMq> = LazyLock::new(|| RabbitMq::start(Release::V3));
        static V4: LazyLock<RabbitMq> = LazyLock::new(|| RabbitMq::start(Release::V4));
        match release {
            Release::V3 => &V3,
            Release::V4 => &V4,
        }
    }

    /// Starts one on free ports and waits until it accepts connections.
    pub fn start(release: Release) -> Self {
        Self::start_with(release, "")
    }

    /// Starts a RabbitMQ 3 with these further lines of configuration, which may speak of TLS and of
    /// users by their certificates.
    pub fn start_in_tls(configuration: &str) -> Self {
        Self::start_with(Release::V3, configuration)
    }

    fn start_with(release: Release, configuration: &str) -> Self {
        let root = release.root();
        let place = root.join("tmp");
        for _ in 0..3 {
            let folder = tempfile::tempdir_in(&place).unwrap();
            let mut broker = Self::spawn(release, &root, folder, None, configuration);
            if broker.accepts() {
                return broker;
            }
        }
        panic!("RabbitMQ ended three times at its start");
    }

    /// Starts a RabbitMQ 3 on another host, where it listens on all addresses and its clients must
    /// send PROXY headers, and waits until it has started.
    pub fn start_behind_proxy(host: &Host) -> Self {
        let root = Release::V3.root();
        let folder = tempfile::tempdir_in(root.join("tmp")).unwrap();
        let mut broker = Self::spawn(Release::V3, &root, folder, Some(host), "");
        wait_for("RabbitMQ has started", || {
            let ended = broker.watch.try_wait().unwrap();
            assert!(ended.is_none(), "RabbitMQ ended: {}", broker.log());
            broker
                .log()
                .contains("Server startup complete")
                .then_some(())
        });
        broker
    }

    /// Kills it, and comes back when it is gone.
    pub fn kill(&mut self) {
        let pid = fs::read_to_string(self.folder.path().join("pid")).unwrap();
        let killed = Command::new("kill")
            .args(["-s", "KILL", pid.trim()])
            .status()
            .expect("kill is a program");
        assert!(killed.success(), "RabbitMQ, {pid}, was not killed");
        // To wait for the shell would tell it to remove the folder.
        let watch = &mut self.watch;
        wait_for("the end of RabbitMQ", || watch.try_wait().unwrap());
    }

    /// Starts it again where it was, and waits until it accepts connections.
    pub fn start_again(&mut self) {
        let root = self.release.root();
        self.watch = watch(&root, self.folder.path(), None, &self.environment);
        assert!(self.accepts(), "RabbitMQ ended at its second start");
    }

    /// What it has logged since its last start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("output")).unwrap_or_default()
    }

    /// Where it listens for AMQP.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where RabbitMQ 3 listens for MQTT.
    pub fn mqtt(&self) -> SocketAddr {
        self.mqtt
    }

    /// Waits until this queue holds nothing, be it ready or not yet acknowledged.
    pub fn queue_becomes_empty(&self, queue: &str) {
        wait_for(&format!("{queue} is empty"), || {
            (self.queues().get(queue) == Some(&0)).then_some(())
        });
    }

    /// Lets this queue hold so many messages, and refuse those that come when it is full.
    pub fn bound(&self, queue: &str, messages: u64) {
        let pattern = format!("^{queue}$");
        let definition = format!(r#"{{"max-length": {messages}, "overflow": "reject-publish"}}"#);
        let policy = [
            "set_policy",
            "--apply-to",
            "queues",
            queue,
            &pattern,
            &definition,
        ];
        self.control(&policy);
    }

    /// How many messages there are in each queue.
    pub fn queues(&self) -> BTreeMap<String, u64> {
        let list = ["list_queues", "name", "messages", "--no-table-headers"];
        let text = self.control(&list);
        text.lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(name, count)| (name.to_owned(), count.trim().parse().unwrap()))
            .collect()
    }

    /// How many messages clients have published with `amqp10` or `amqp091`, as the broker itself
    /// counts.
    pub fn published(&self, protocol: &str) -> u64 {
        let counters = format!(
            "maps:get(messages_received_total, \
             maps:get([{{protocol, {protocol}}}], rabbit_global_counters:overview()))."
        );
        self.control(&["eval", &counters]).trim().parse().unwrap()
    }

    /// What `rabbitmqctl` says when it is told this.
    fn control(&self, arguments: &[&str]) -> String {
        let output = self
            .release
            .command("rabbitmqctl")
            .env_clear()
            .envs(self.environment.iter().cloned())
            .args(["-q", "-n", &self.node])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "rabbitmqctl: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn spawn(
        release: Release,
        root: &Path,
        folder: TempDir,
        host: Option<&Host>,
        configuration: &str,
    ) -> Self {
        let ports = free_ports();
        let [port, mqtt, names, distribution] = ports.map(|port| port.to_string());
        let path = folder.path();
        for name in ["home", "log", "mnesia"] {
            fs::create_dir(path.join(name)).unwrap();
        }
        let (plugins, more) = match release {
            Release::V3 => (
                "[rabbitmq_amqp1_0,rabbitmq_mqtt,rabbitmq_auth_mechanism_ssl].\n",
                format!("mqtt.listeners.tcp.1 = 127.0.0.1:{mqtt}\nmqtt.allow_anonymous = true\n"),
            ),
            Release::V4 => ("[].\n", String::new()),
        };
        fs::write(path.join("enabled_plugins"), plugins).unwrap();
        // Small frames, as for the clients: most messages shall need several.
        let mut lines = format!(
            "listeners.tcp.default = 127.0.0.1:{port}\nframe_max = {}\n{more}{configuration}",
            Self::FRAME_MAX
        );
        if host.is_some() {
            lines = lines.replace("= 127.0.0.1:", "= ");
            // The default user may come from other hosts as well.
            lines += "proxy_protocol = true\nmqtt.proxy_protocol = true\nloopback_users = none\n";
        }
        fs::write(path.join("rabbitmq.conf"), lines).unwrap();
        let within = Path::new("/").join(path.strip_prefix(root).unwrap());
        let at = |name: &str| within.join(name).to_str().unwrap().to_owned();
        let node = format!("test{port}@localhost");
        let environment = vec![
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("HOME", at("home")),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
            ("ERL_EPMD_PORT", names),
            ("RABBITMQ_NODENAME", node.clone()),
            ("RABBITMQ_DIST_PORT", distribution),
            // Without the extension, which it adds.
            ("RABBITMQ_CONFIG_FILE", at("rabbitmq")),
            ("RABBITMQ_ADVANCED_CONFIG_FILE", at("advanced.config")),
            ("RABBITMQ_CONF_ENV_FILE", at("rabbitmq-env.conf")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", at("enabled_plugins")),
            ("RABBITMQ_MNESIA_BASE", at("mnesia")),
            ("RABBITMQ_LOG_BASE", at("log")),
            ("RABBITMQ_LOGS", "-".to_owned()),
            ("RABBITMQ_PID_FILE", at("pid")),
            // It replaces its script instead of staying below it.
            ("RUNNING_UNDER_SYSTEMD", "true".to_owned()),
        ];
        let watch = watch(root, path, host, &environment);
        Self {
            release,
            watch,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, ports[0])),
            mqtt: SocketAddr::from((Ipv4Addr::LOCALHOST, ports[1])),
            environment,
            node,
            folder,
        }
    }

    /// Waits until it does; says no when it has ended.
    fn accepts(&mut self) -> bool {
        let (release, watch) = (self.release, &mut self.watch);
        let (address, mqtt) = (self.address, self.mqtt);
        let started = wait_for("RabbitMQ accepts connections", || {
            if watch.try_wait().unwrap().is_some() {
                return Some(false);
            }
            let all =
                answers(address) && (release == Release::V4 || TcpStream::connect(mqtt).is_ok());
            all.then_some(true)
        });
        if !started {
            eprintln!("{}", self.log());
        }
        started
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}

impl Release {
    /// The root of the file system that it is installed in.
    fn root(self) -> PathBuf {
        let root = match self {
            Self::V3 => PathBuf::from("/"),
            Self::V4 => std::env::var_os("SIZEGATE_TEST_RABBITMQ4").map_or_else(
                || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/rabbitmq4"),
                PathBuf::from,
            ),
        };
        let program = root.join(&PROGRAMS[1..]).join("rabbitmq-server");
        assert!(
            program.exists(),
            "{} does not exist: run tests/run once, which installs what is needed",
            program.display()
        );
        root
    }

    /// One of its programs. The scripts that are in the path would change the user.
    fn command(self, program: &str) -> Command {
        let path = Path::new(PROGRAMS).join(program);
        match self {
            Self::V3 => Command::new(path),
            Self::V4 => {
                let mut command = Command::new("/usr/sbin/chroot");
                command.arg(self.root()).arg(path);
                command
            }
        }
    }
}

/// Starts the broker of a folder under a shell that watches over it.
fn watch(
    root: &Path,
    folder: &Path,
    host: Option<&Host>,
    environment: &[(&'static str, String)],
) -> Child {
    let log = fs::File::create(folder.join("output")).unwrap();
    let server = Path::new(PROGRAMS).join("rabbitmq-server");
    let shell = "/bin/sh";
    host.map_or_else(|| Command::new(shell), |host| host.command(shell))
        .args(["-c", WATCH, "sh"])
        .args([folder, root, &server])
        .env_clear()
        .envs(environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .process_group(0)
        .spawn()
        .expect("a shell")
}

/// Whether somebody there answers the protocol header of SASL in AMQP 1.0 with the same.
fn answers(address: SocketAddr) -> bool {
    const HEADER: &[u8; 8] = b"AMQP\x03\x01\x00\x00";
    let mut answer = [0; HEADER.len()];
    let mut exchange = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        stream.write_all(HEADER)?;
        stream.read_exact(&mut answer)
    };
    exchange().is_ok() && answer == *HEADER
}

/// Where its programs are.
const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";

/// Runs the name service and the broker until standard input ends, or until the broker does.
/// Words: the folder to remove, the root of the file system, and the broker's program.
const WATCH: &str = r#"
exec 3<&0 0</dev/null
folder=$1 root=$2
run() {
    exec 3<&-
    if [ "$root" = / ]; then exec "$@"; else exec /usr/sbin/chroot "$root" "$@"; fi
}
run /usr/bin/epmd & names=$!
run "$3" & broker=$!
trap 'kill -KILL $names $broker; wait; rm -rf "$folder"; exit 0' USR1
{ read -r _ <&3; kill -USR1 $$; } & reader=$!
exec 3<&-
wait $broker
kill -KILL $names $reader
exit 1
"#;
