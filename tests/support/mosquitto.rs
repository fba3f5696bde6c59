//! A real broker: mosquitto.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{free_port, wait_for};

/// A running mosquitto with a configuration of its own; it is killed when this is dropped.
#[derive(Debug)]
pub struct Mosquitto {
    child: Child,
    address: SocketAddr,
    /// Holds the configuration; removed with it.
    _folder: TempDir,
}

impl Mosquitto {
    /// Starts it on a free port and waits until it accepts.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// The same with further lines of configuration.
    pub fn start_with(configuration: &str) -> Self {
        let program = Self::program();
        // The port is free when it is picked, and may be gone when mosquitto asks for it.
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("mosquitto.conf");
            let port = free_port();
            let lines = format!(
                "listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n\
                 max_queued_messages 0\nqueue_qos0_messages true\nlog_dest stderr\n{configuration}\n"
            );
            std::fs::write(&file, lines).unwrap();
            let mut child = Command::new(&program)
                .arg("-c")
                .arg(&file)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let accepts = wait_for("mosquitto accepts connections", || {
                if child.try_wait().unwrap().is_some() {
                    return Some(false);
                }
                TcpStream::connect(address).is_ok().then_some(true)
            });
            if accepts {
                return Self {
                    child,
                    address,
                    _folder: folder,
                };
            }
        }
        panic!("mosquitto ended five times at its start");
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The payload octets of all that clients have published, as the broker itself counts; it says so
    /// once in its `sys_interval`. Its count of messages leaves out those of QoS 2.
    pub fn published_octets(&self) -> u64 {
        let output = Command::new("mosquitto_sub")
            .args(["-h", "127.0.0.1", "-p", &self.address.port().to_string()])
            .args(["-C", "1", "-t", "$SYS/broker/publish/bytes/received"])
            .output()
            .expect("mosquitto_sub is installed: run tests/run");
        assert!(output.status.success(), "mosquitto_sub: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.trim().parse().unwrap()
    }

    /// Where the program is.
    pub fn program() -> PathBuf {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")])
            .map(|folder| folder.join("mosquitto"))
            .find(|program| program.is_file())
            .expect("mosquitto is not installed: run tests/run, or install the package mosquitto")
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        // Failing means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
