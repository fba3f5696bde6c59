//! TLS with real clients and real brokers: OpenSSL, paho-mqtt, qpid-proton, rhea, mosquitto and
//! RabbitMQ 3.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

#[path = "../support/certificates.rs"]
mod certificates;
#[path = "../../certs/examples/generate/mod.rs"]
mod generate;
#[path = "../support/mod.rs"]
mod support;

use std::net::{SocketAddr, TcpStream};

use certificates::Certificates;
use serde_json::{Value, json};
use support::{
    Mosquitto, Output, RabbitMq, Release, Running, Sidecar, field, free_port, node_modules, python,
    wait_for,
};

/// The limit of these tests, and the size of messages over it.
const LIMIT: [&str; 2] = ["--max-message-size", "40000"];
const LARGE: usize = 60_000;

#[test]
fn openssl_comes_in_in_both_versions_and_checks_the_certificate() {
    let certificates = Certificates::new();
    let broker = Mosquitto::start();
    let sidecar = start(broker.address(), &certificates, &[]);
    for version in ["-tls1_2", "-tls1_3"] {
        let output = openssl(&sidecar, &certificates, &[version]);
        assert_eq!(output.code, Some(0), "{}", output.errors);
        let said = output.lines.join("\n") + &output.errors;
        assert!(said.contains("Verification: OK"), "{said}");
        assert!(said.contains("Peer certificate: CN = localhost"), "{said}");
    }
    let output = openssl(&sidecar, &certificates, &["-tls1_1"]);
    assert_ne!(output.code, Some(0));
}

#[test]
fn openssl_needs_a_certificate_where_one_is_asked_for() {
    let certificates = Certificates::new();
    let broker = Mosquitto::start();
    let ca = certificates.file("ca.crt");
    let sidecar = start(broker.address(), &certificates, &["--tls-client-ca", &ca]);
    let output = openssl(&sidecar, &certificates, &["-tls1_2"]);
    assert_ne!(output.code, Some(0));
    assert!(
        output.errors.contains("alert certificate required"),
        "{}",
        output.errors
    );
    let line = sidecar.log_line(|line| field(line, "message") == "client not let in");
    assert_eq!(
        field(&line, "error"),
        "TLS failed: peer sent no certificates"
    );
    let [cert, key] = ["alice.crt", "alice.key"].map(|name| certificates.file(name));
    let output = openssl(
        &sidecar,
        &certificates,
        &["-tls1_2", "-cert", &cert, "-key", &key],
    );
    assert_eq!(output.code, Some(0), "{}", output.errors);
}

#[test]
fn openssl_may_ask_for_a_renegotiation_and_gets_none() {
    // The answer to it is all that is sent: neither other octets nor an end push it out.
    let certificates = Certificates::new();
    let broker = Mosquitto::start();
    let flags = ["--handshake-timeout", "1h"];
    let sidecar = start(broker.address(), &certificates, &flags);
    let to = sidecar.listen().to_string();
    let ca = certificates.file("ca.crt");
    let script =
        format!("(echo R; cat) | openssl s_client -tls1_2 -CAfile {ca} -connect {to} 2>&1");
    let output = Running::start("sh", &["-c", &script]).finish();
    let said = output.lines.join("\n") + &output.errors;
    assert!(said.contains("no renegotiation"), "{said}");
}

#[test]
fn paho_speaks_tls_with_a_mosquitto_that_does_not() {
    let certificates = Certificates::new();
    let broker = Mosquitto::start();
    let sidecar = start(broker.address(), &certificates, &[]);
    paho_everywhere(&sidecar, &certificates, None);
}

#[test]
fn paho_shows_its_certificate_and_mosquitto_ours() {
    let certificates = Certificates::new();
    let [ca, cert, key] =
        ["ca.crt", "server.crt", "server.key"].map(|name| certificates.file(name));
    // Its first listener stays plain: whether it accepts connections is asked there. Another user
    // could not read the key.
    let port = free_port();
    let broker = Mosquitto::start_with(&format!(
        "listener {port} 127.0.0.1\ncafile {ca}\ncertfile {cert}\nkeyfile {key}\n\
         require_certificate true\nuser root"
    ));
    certificates.client("sidecar", "CN=sidecar", generate::Valid::Now);
    let [our_cert, our_key] = ["sidecar.crt", "sidecar.key"].map(|name| certificates.file(name));
    let flags = [
        "--tls-client-ca",
        &ca,
        "--upstream-tls",
        "--upstream-tls-ca",
        &ca,
        "--upstream-tls-cert",
        &our_cert,
        "--upstream-tls-key",
        &our_key,
    ];
    let upstream = SocketAddr::new(broker.address().ip(), port);
    wait_for("mosquitto listens for TLS", || {
        TcpStream::connect(upstream).ok()
    });
    let sidecar = start(upstream, &certificates, &flags);
    paho_everywhere(&sidecar, &certificates, Some("alice"));
    // Without ours the broker closes the door, and the client is told.
    let bare = start(upstream, &certificates, &flags[2..5]);
    let output = run_paho(&bare, &certificates, "5", None);
    assert_eq!(output.errors, "refused: Server unavailable\n");
    bare.metric_becomes(
        "sizegate_upstream_connect_errors_total",
        &[("reason", "tls")],
        1.0,
    );
}

#[test]
fn amqp_clients_speak_tls_with_a_rabbitmq_that_does_not() {
    let certificates = Certificates::new();
    let broker = RabbitMq::shared(Release::V3);
    let sidecar = start(broker.address(), &certificates, &[]);
    let ca = certificates.file("ca.crt");
    let strict = start(broker.address(), &certificates, &["--tls-client-ca", &ca]);
    for (sidecar, shown) in [(&sidecar, None), (&strict, Some("alice"))] {
        let queue = format!("/queue/tls-{}", shown.unwrap_or("nobody"));
        for who in [Amqp::Proton("ANONYMOUS"), Amqp::Rhea] {
            let observed = who.run(sidecar, &certificates, &queue, shown);
            expect_refusals(&observed);
        }
    }
}

#[test]
fn both_sides_speak_tls_with_rabbitmq_and_external_names_the_certificate() {
    let certificates = Certificates::new();
    let [ca, cert, key] =
        ["ca.crt", "server.crt", "server.key"].map(|name| certificates.file(name));
    certificates.client("sidecar", "CN=sidecar", generate::Valid::Now);
    let port = free_port();
    let broker = RabbitMq::start_in_tls(&format!(
        "listeners.ssl.default = 127.0.0.1:{port}\nssl_options.cacertfile = {ca}\n\
         ssl_options.certfile = {cert}\nssl_options.keyfile = {key}\n\
         ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n\
         auth_mechanisms.1 = EXTERNAL\nssl_cert_login_from = common_name\n\
         default_user = sidecar\ndefault_pass = unused\n"
    ));
    let [our_cert, our_key] = ["sidecar.crt", "sidecar.key"].map(|name| certificates.file(name));
    let flags = [
        "--tls-client-ca",
        &ca,
        "--upstream-tls",
        "--upstream-tls-ca",
        &ca,
        "--upstream-tls-cert",
        &our_cert,
        "--upstream-tls-key",
        &our_key,
        "--limit",
        "user:CN=alice*=40000",
    ];
    let upstream = SocketAddr::new(broker.address().ip(), port);
    let sidecar = Sidecar::start(upstream, &with_tls(&certificates, &flags));
    let proton = Amqp::Proton("EXTERNAL");
    expect_refusals(&proton.run(&sidecar, &certificates, "/queue/external", Some("alice")));
    let line = sidecar.log_line(|line| field(line, "message") == "message refused");
    assert_eq!(field(&line, "user"), "CN=alice,O=Acme");
    assert_eq!(field(&line, "rule"), "--limit user:CN=alice*=40000");
}

/// An AMQP client library in TLS.
enum Amqp {
    /// python-qpid-proton, with this SASL mechanism.
    Proton(&'static str),
    /// rhea, of Node.
    Rhea,
}

impl Amqp {
    /// Sends messages of [`SIZES`] to a queue and receives those that were accepted.
    fn run(
        &self,
        to: &Sidecar,
        certificates: &Certificates,
        queue: &str,
        shows: Option<&str>,
    ) -> Value {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
        let port = to.listen().port().to_string();
        let (program, script, mechanism) = match self {
            Self::Proton(mechanism) => (python(), "proton_tls.py", Some(*mechanism)),
            Self::Rhea => ("node".to_owned(), "rhea_tls.js", None),
        };
        let script = format!("{folder}/{script}");
        let mut arguments = vec![script, "localhost".to_owned(), port, queue.to_owned()];
        arguments.extend(mechanism.map(str::to_owned));
        arguments.extend([json!(SIZES).to_string(), certificates.file("ca.crt")]);
        arguments.extend(pair(certificates, shows));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let modules = node_modules();
        let variables = [("NODE_PATH", &*modules), ("PYTHONDONTWRITEBYTECODE", "1")];
        let output = Running::start_with(&program, &arguments, &variables).finish();
        assert_eq!(output.code, Some(0), "{}", output.errors);
        serde_json::from_str(&output.lines.join("\n")).expect("JSON of the client")
    }
}

/// Sizes of the bodies that AMQP clients send.
const SIZES: [usize; 6] = [10, LARGE, 30_000, LARGE, 3_000, 1];

/// What is too large was rejected, and everything else accepted and received.
fn expect_refusals(observed: &Value) {
    let too_large = "amqp:link:message-size-exceeded";
    let outcomes = SIZES.map(|size| if size == LARGE { too_large } else { "accepted" });
    assert_eq!(observed["outcomes"], json!(outcomes));
    assert_eq!(observed["received"], json!([10, 30_000, 3_000, 1]));
}

/// What paho observes of messages within and over the limit, in each version of MQTT.
fn paho_everywhere(sidecar: &Sidecar, certificates: &Certificates, shows: Option<&str>) {
    for version in ["3.1", "3.1.1", "5"] {
        let output = run_paho(sidecar, certificates, version, shows);
        assert_eq!(output.code, Some(0), "{}", output.errors);
        let observed: Value = serde_json::from_str(&output.lines.join("\n")).unwrap();
        assert_eq!(observed["connects"], 1);
        assert_eq!(observed["disconnects-before-the-end"], 0);
        // Two of each four are too large.
        let mut expected: Vec<_> = (0..20)
            .flat_map(|number| [(number, 0, 10), (number, 2, 1_000 * number)])
            .map(|(number, qos, size)| json!([format!("t/{number}/{qos}/{size}"), size]))
            .collect();
        expected.push(json!(["t/end", 0]));
        expected.sort_by_key(|message| message[0].as_str().unwrap().to_owned());
        assert_eq!(observed["messages"], json!(expected), "{version}");
        // paho tells its user of a PUBACK that says no, and of no PUBREC that does.
        let refusals = observed["reasons"].as_array().unwrap();
        let refusals = refusals.iter().filter(|reason| **reason == 0x97).count();
        assert_eq!(refusals, if version == "5" { 20 } else { 0 });
    }
    let denied = [("verdict", "denied"), ("protocol", "mqtt")];
    sidecar.metric_becomes("sizegate_messages_total", &denied, 120.0);
}

fn run_paho(
    sidecar: &Sidecar,
    certificates: &Certificates,
    version: &str,
    shows: Option<&str>,
) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/paho_tls.py");
    let port = sidecar.listen().port().to_string();
    let (large, ca) = (LARGE.to_string(), certificates.file("ca.crt"));
    let pair = pair(certificates, shows);
    let mut arguments = vec!["-B", script, "localhost", &port, version, &large, &ca];
    arguments.extend(pair.iter().map(String::as_str));
    Running::start(&python(), &arguments).finish()
}

/// Goes through a handshake and leaves.
fn openssl(sidecar: &Sidecar, certificates: &Certificates, flags: &[&str]) -> Output {
    let (to, ca) = (sidecar.listen().to_string(), certificates.file("ca.crt"));
    let mut arguments = vec!["s_client", "-brief", "-verify_return_error", "-CAfile", &ca];
    arguments.extend(["-servername", "localhost", "-verify_hostname", "localhost"]);
    arguments.extend(["-connect", &to]);
    arguments.extend(flags);
    Running::start("openssl", &arguments).finish()
}

/// A sidecar that speaks TLS with clients, with the limit of these tests.
fn start(upstream: SocketAddr, certificates: &Certificates, flags: &[&str]) -> Sidecar {
    Sidecar::start(
        upstream,
        &with_tls(certificates, &[flags, &LIMIT, &["--no-advertise"]].concat()),
    )
}

/// The flags of TLS with clients, and these; they live as long as the test.
fn with_tls<'a>(certificates: &Certificates, flags: &[&'a str]) -> Vec<&'a str> {
    let own = certificates.server_flags().map(|flag| &*flag.leak());
    own.into_iter().chain(flags.iter().copied()).collect()
}

/// The files of what a client shows.
fn pair(certificates: &Certificates, shows: Option<&str>) -> Vec<String> {
    let kinds = shows
        .into_iter()
        .flat_map(|name| ["crt", "key"].map(|kind| format!("{name}.{kind}")));
    kinds.map(|file| certificates.file(&file)).collect()
}
