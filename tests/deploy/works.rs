//! Pods as they stand in the manifests, on a host of their own: the broker with its configuration,
//! the rules, sizegate with its arguments as its user, and clients on another host.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::flags::with_secrets;
use super::manifest::{containers, pod, read, sizegate};
use super::support::network::{BROKER, Host, Network};
use super::support::{Metrics, Mosquitto, Output, Running, Sidecar, program};

#[test]
fn mosquitto_behind_its_native_sidecar_gets_all_that_is_allowed() {
    expect_works("mosquitto-sidecar.yaml", Around::Nowhere);
}

#[test]
fn mosquitto_behind_its_classic_sidecar_gets_all_that_is_allowed() {
    expect_works("mosquitto-classic-sidecar.yaml", Around::Nowhere);
}

#[test]
fn mosquitto_behind_tls_gets_all_that_is_allowed() {
    expect_works("mosquitto-tls.yaml", Around::Nowhere);
}

#[test]
fn mosquitto_behind_the_redirect_gets_all_that_is_allowed() {
    expect_works("mosquitto-redirect.yaml", Around::OnlyFromSizegate);
}

/// Which way leads around sizegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    /// The broker has a port that is reached from its own pod alone.
    Nowhere,
    /// The broker has the port of the clients, and the rules hand over what comes there.
    OnlyFromSizegate,
}

fn expect_works(file: &str, around: Around) {
    let network = Network::new();
    let folder = tempfile::tempdir().unwrap();
    // Programs that are not root look into it.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let documents = read(file, &[]);
    let kind = |kind| {
        documents
            .iter()
            .map(|(it, _)| it)
            .find(|it| it["kind"] == kind)
    };
    let configuration = &kind("ConfigMap").unwrap()["data"];
    let (broker, broker_port) = start_broker(&network.broker, folder.path(), configuration);
    if let Some(rules) = configuration["rules.v4"].as_str() {
        let place = folder.path().join("rules.v4");
        fs::write(&place, rules).unwrap();
        let words = ["--noflush", place.to_str().unwrap()];
        network.broker.run("iptables-nft-restore", &words);
    }
    let (_, pod) = pod(file);
    let (arguments, secrets) = with_secrets(&pod);
    let sidecar = start_sizegate(&network.broker, folder.path(), &pod, &arguments);
    let tls = secrets.first().map(|secret| tls(secret.path()));
    let tls = tls.unwrap_or_default();
    let port = kind("Service").unwrap()["spec"]["ports"][0]["port"]
        .as_u64()
        .unwrap();
    let to = SocketAddr::new(BROKER, u16::try_from(port).unwrap());
    let client = |program: &str, words: &[&str]| {
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        mosquitto(&network.client, program, to, &[words, &tls].concat())
    };

    let large = folder.path().join("large");
    fs::write(&large, vec![b'x'; 300 << 10]).unwrap();
    let large = large.to_str().unwrap();
    // An old client is not told of the limit, so that it sends what is too large.
    for (topic, payload) in [
        ("t/large", ["-f", large]),
        ("firmware/camera", ["-f", large]),
        ("t/small", ["-m", "small"]),
    ] {
        let words = ["-V", "mqttv311", "-q", "1", "-r", "-t", topic];
        let output = client("mosquitto_pub", &[&words[..], &payload].concat());
        assert_eq!(output.code, Some(0), "{file}: {topic}: {output:?}");
    }
    // What the broker has kept is what it has got.
    let words = ["-t", "#", "-C", "2", "-W", "30", "-F", "%t %l"];
    let mut got = client("mosquitto_sub", &words).lines;
    got.sort_unstable();
    assert_eq!(got, ["firmware/camera 307200", "t/small 5"], "{file}");

    let admin = SocketAddr::new(BROKER, sidecar.admin().port());
    assert_eq!(
        network.client.get(admin, "/readyz").trim(),
        "ready",
        "{file}"
    );
    let metrics = Metrics::parse(&network.client.get(admin, "/metrics"));
    let denied = metrics.value("sizegate_messages_denied_total", &[]);
    assert!((denied - 1.0).abs() < 0.5, "{file}: {denied} were refused");

    // A CONNECT that the broker would answer.
    let hello = "\\x10\\x0C\\0\\x04MQTT\\x04\\x02\\0\\0\\0\\0";
    let connections = |metrics: &Metrics| metrics.value("sizegate_connections_total", &[]);
    let before = connections(&metrics);
    let answer = network
        .client
        .says(SocketAddr::new(BROKER, broker_port), hello, 4);
    let metrics = Metrics::parse(&network.client.get(admin, "/metrics"));
    let through = connections(&metrics) - before;
    match around {
        Around::Nowhere => assert_eq!(answer, "", "{file}"),
        Around::OnlyFromSizegate => {
            assert_eq!(answer, "20 02 00 00", "{file}");
            assert!(
                (through - 1.0).abs() < 0.5,
                "{file}: {through} went through"
            );
        }
    }

    for container in containers(&pod) {
        let probe = &container["readinessProbe"]["exec"]["command"];
        if let Ok(command) = serde_json::from_value::<Vec<String>>(probe.clone()) {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let answer = network.broker.run(words[0], &words[1..]);
            assert_eq!(answer.len(), 1, "{file}: {answer:?}");
        }
    }
    drop((sidecar, broker));
}

/// Starts mosquitto with the configuration of a pod; its port is the one that it listens on.
fn start_broker(host: &Host, folder: &Path, configuration: &Value) -> (Running, u16) {
    let configuration = configuration["mosquitto.conf"].as_str().unwrap();
    let listener = configuration
        .lines()
        .find_map(|line| line.strip_prefix("listener "));
    let port = listener
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let place = format!("{}/", folder.display());
    let lines = configuration
        .replace("/mosquitto/data/", &place)
        // On standard output it would not log a line before there are many.
        .replace("log_dest stdout", "log_dest stderr\nuser root");
    assert!(
        lines.contains(&place) && lines.contains("user root"),
        "{lines}"
    );
    let file = folder.join("mosquitto.conf");
    fs::write(&file, lines).unwrap();
    let program = Mosquitto::program();
    let words = [program.to_str().unwrap(), file.to_str().unwrap()];
    let script = "exec \"$0\" -c \"$1\" 2>&1";
    let mut broker = host.start("bash", &[&["-c", script][..], &words].concat());
    broker.line_that(|line| line.ends_with(" running"));
    (broker, port)
}

/// Starts the sizegate of a pod with its arguments and as its user.
fn start_sizegate(host: &Host, folder: &Path, pod: &Value, arguments: &[String]) -> Sidecar {
    // Where it was built, not everybody may look.
    let copy = folder.join("sizegate");
    fs::copy(program().get_program(), &copy).unwrap();
    let security = &sizegate(pod)["securityContext"];
    let mut command = host.command("setpriv");
    command
        .arg(format!("--reuid={}", security["runAsUser"]))
        .arg(format!("--regid={}", security["runAsGroup"]))
        .args(["--clear-groups", "--no-new-privs"])
        .arg(copy);
    let words: Vec<&str> = arguments
        .iter()
        .flat_map(|argument| argument.splitn(2, '='))
        .collect();
    Sidecar::start_by(command, &words)
}

/// The words that have a client of mosquitto speak TLS and show a certificate.
fn tls(secret: &Path) -> Vec<String> {
    [
        ("--cafile", "ca.crt"),
        ("--cert", "client.crt"),
        ("--key", "client.key"),
    ]
    .map(|(flag, file)| [flag.to_owned(), secret.join(file).display().to_string()])
    .concat()
}

fn mosquitto(from: &Host, client: &str, to: SocketAddr, words: &[&str]) -> Output {
    let (host, port) = (to.ip().to_string(), to.port().to_string());
    let place = ["-h", &host, "-p", &port];
    from.start(client, &[&place[..], words].concat()).finish()
}
