//! A real broker: RabbitMQ with its MQTT plugin.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::free_port;

/// A running RabbitMQ with a node, a port mapper and folders of its own; all of it ends when this
/// is dropped.
#[derive(Debug)]
pub struct RabbitMq {
    node: Child,
    port_mapper: Child,
    mqtt: SocketAddr,
    /// Holds configuration, database and log; removed with it.
    _folder: TempDir,
}

impl RabbitMq {
    /// Starts it on free ports and waits until it accepts MQTT clients.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [mqtt, amqp, distribution, mapper] = [(); 4].map(|()| free_port());
        let port_mapper = Command::new("epmd")
            .args(["-address", "127.0.0.1", "-port", &mapper.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("epmd does not start: {error}; {INSTALL}"));
        let path = |name: &str| folder.path().join(name);
        let configuration = format!(
            "listeners.tcp.1 = 127.0.0.1:{amqp}\nmqtt.listeners.tcp.1 = 127.0.0.1:{mqtt}\n\
             mqtt.allow_anonymous = true\n"
        );
        std::fs::write(path("rabbitmq.conf"), configuration).unwrap();
        std::fs::write(path("enabled_plugins"), "[rabbitmq_mqtt].").unwrap();
        std::fs::create_dir(path("home")).unwrap();
        let output = path("output");
        let log = std::fs::File::create(&output).unwrap();
        let node = Command::new(program())
            .env("HOME", path("home"))
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_CONFIG_FILE", path("rabbitmq.conf"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", path("enabled_plugins"))
            .env("RABBITMQ_MNESIA_BASE", path("database"))
            .env("RABBITMQ_LOG_BASE", path("log"))
            .env("RABBITMQ_PID_FILE", path("pid"))
            .env("RABBITMQ_NODENAME", format!("sizegate-{mqtt}@localhost"))
            .env("RABBITMQ_DIST_PORT", distribution.to_string())
            .env("ERL_EPMD_PORT", mapper.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("RabbitMQ does not start: {error}; {INSTALL}"));
        let mut broker = Self {
            node,
            port_mapper,
            mqtt: SocketAddr::from((Ipv4Addr::LOCALHOST, mqtt)),
            _folder: folder,
        };
        broker.wait(&output);
        broker
    }

    /// Where MQTT clients connect.
    pub fn address(&self) -> SocketAddr {
        self.mqtt
    }

    fn wait(&mut self, output: &Path) {
        let start = Instant::now();
        while TcpStream::connect(self.mqtt).is_err() {
            let ended = self.node.try_wait().unwrap();
            if ended.is_some() || start.elapsed() > PATIENCE {
                let output = std::fs::read_to_string(output).unwrap_or_default();
                panic!("RabbitMQ does not accept clients ({ended:?}): {output}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        // The node is a process of the script that starts it. Failing means that it has ended.
        let group = format!("-{}", self.node.id());
        let _ = Command::new("kill")
            .args(["-s", "KILL", "--", &group])
            .status();
        let _ = self.node.wait();
        let _ = self.port_mapper.kill();
        let _ = self.port_mapper.wait();
    }
}

/// The script without the wrapper of the package, which would change the user.
fn program() -> PathBuf {
    let program = PathBuf::from("/usr/lib/rabbitmq/bin/rabbitmq-server");
    assert!(program.exists(), "RabbitMQ is not installed: {INSTALL}");
    program
}

const INSTALL: &str = "run tests/run, or install the package rabbitmq-server";

/// How long it may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
