//! Certificates that are replaced while clients are served.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use tokio_rustls::rustls;

use crate::certificates::{AsClient, Certificates, HERE, ONLY_12, as_server, chain};
use crate::generate::{Issued, Valid};
use crate::secure::Secure;
use crate::support::amqp10::{self, Link};
use crate::support::mqtt::{Connect, Publish, Version};
use crate::support::{Conversation, DEADLINE, FakeBroker, Raw, Sidecar, field, wait_for};
use crate::{Stage, expect_through, nth_line};

const RELOADS: &str = "sizegate_certificate_reloads_total";
const EXPIRY: &str = "sizegate_certificate_expiry_timestamp_seconds";
const SUCCESS: [(&str, &str); 1] = [("result", "success")];
const FAILURE: [(&str, &str); 1] = [("result", "failure")];

/// A folder as kubelet fills it from a secret: the files are links into `..data`, which is a link to
/// the folder in force and is replaced as one.
struct Secret {
    certificates: Certificates,
    /// How often it has been filled.
    filled: usize,
}

impl Secret {
    fn new() -> Self {
        let mut secret = Self {
            certificates: Certificates::new(),
            filled: 0,
        };
        fs::create_dir(secret.path("")).unwrap();
        secret.fill(&secret.certificates.issue_server(&HERE, Valid::Now));
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), secret.path(name)).unwrap();
        }
        secret
    }

    fn path(&self, name: &str) -> String {
        self.certificates.file(&format!("secret/{name}"))
    }

    /// Replaces what is in it.
    fn fill(&mut self, issued: &Issued) {
        self.filled += 1;
        let version = format!("..version_{}", self.filled);
        let folder = self.path(&version);
        fs::create_dir(&folder).unwrap();
        issued.write(Path::new(&folder), "tls").unwrap();
        let next = self.path("..data_tmp");
        symlink(&version, &next).unwrap();
        fs::rename(&next, self.path("..data")).unwrap();
        if self.filled > 1 {
            let old = self.path(&format!("..version_{}", self.filled - 1));
            fs::remove_dir_all(old).unwrap();
        }
    }

    /// The certificate that is in it.
    fn certificate(&self) -> Vec<u8> {
        chain(self.path("tls.crt").as_ref())[0].to_vec()
    }

    /// A sidecar that shows it, and a broker.
    fn start(&self, interval: &str) -> (Sidecar, FakeBroker) {
        let broker = FakeBroker::start();
        let [cert, key] = ["tls.crt", "tls.key"].map(|name| self.path(name));
        let flags = [
            "--tls-cert",
            &cert,
            "--tls-key",
            &key,
            "--tls-reload-interval",
            interval,
        ];
        let sidecar = Sidecar::start(broker.address(), &flags);
        (sidecar, broker)
    }

    /// The certificate that a client is shown that connects now.
    fn shown(&self, sidecar: &Sidecar) -> Vec<u8> {
        let raw = Raw::connect(sidecar.listen());
        let client = Secure::connect(&raw, AsClient::of(&self.certificates).config(), "localhost");
        client.unwrap().certificate.unwrap()
    }
}

#[test]
fn certificates_are_replaced_under_load_and_no_connection_notices() {
    let mut secret = Secret::new();
    let (sidecar, broker) = secret.start("100ms");
    let config = AsClient::of(&secret.certificates).config();
    let connect = || {
        let raw = Raw::connect(sidecar.listen());
        Secure::connect(&raw, config.clone(), "localhost").unwrap()
    };
    let (mut mqtt, mut mqtt_broker) = {
        let mut client = connect();
        client.send(Connect::new(Version::V5, "loaded").encode());
        (client, broker.accept())
    };
    mqtt_broker.expect(Connect::new(Version::V5, "loaded").encode(), "CONNECT");
    mqtt_broker.send(Version::V5.connack());
    mqtt.expect(Version::V5.connack(), "CONNACK");
    let (mut amqp, mut amqp_broker) = {
        let mut client = connect();
        client.send(amqp10::HEADER);
        (client, broker.accept())
    };
    attach(&mut amqp, &mut amqp_broker);

    let is_over = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let mqtt = scope.spawn(|| exchange_mqtt(&mut mqtt, &mut mqtt_broker, &is_over));
        let amqp = scope.spawn(|| exchange_amqp(&mut amqp, &mut amqp_broker, &is_over));
        let mut newcomers = 0;
        for round in 1..=3 {
            let old = secret.certificate();
            assert_eq!(secret.shown(&sidecar), old);
            secret.fill(&secret.certificates.issue_server(&HERE, Valid::Now));
            let new = secret.certificate();
            assert_ne!(old, new);
            // Each newcomer is shown one or the other, and from some time on the new one.
            wait_for("the new certificate", || {
                newcomers += 1;
                let shown = secret.shown(&sidecar);
                assert!(shown == old || shown == new);
                (shown == new).then_some(())
            });
            sidecar.metric_becomes(RELOADS, &SUCCESS, f64::from(round));
        }
        is_over.store(true, Relaxed);
        (mqtt.join().unwrap(), amqp.join().unwrap(), newcomers)
    });
    assert!(sent.0 > 10 && sent.1 > 10 && sent.2 >= 3, "{sent:?}");
    sidecar.metric_becomes(RELOADS, &FAILURE, 0.0);
    expect_through(&mut mqtt, &mut mqtt_broker);
    let active = |protocol| [("protocol", protocol)];
    sidecar.metric_becomes("sizegate_connections_active", &active("mqtt"), 1.0);
    sidecar.metric_becomes("sizegate_connections_active", &active("amqp10"), 1.0);
}

/// Sends messages of QoS 1 and awaits their acknowledgements until it is over; says how many.
fn exchange_mqtt(client: &mut Secure, broker: &mut Raw, is_over: &AtomicBool) -> usize {
    let publish = Publish::new(Version::V5, 1, "t")
        .id(7)
        .payload_len(30_000)
        .encode();
    let mut sent = 0;
    while !is_over.load(Relaxed) {
        client.send(&publish);
        broker.expect(&publish, "a message");
        broker.send([0x40, 2, 0, 7]);
        client.expect([0x40, 2, 0, 7], "its acknowledgement");
        sent += 1;
    }
    sent
}

/// Sends unsettled deliveries and awaits their outcomes until it is over; says how many.
fn exchange_amqp(client: &mut Secure, broker: &mut Raw, is_over: &AtomicBool) -> usize {
    let mut sent = 0;
    while !is_over.load(Relaxed) {
        let transfer = amqp10::transfer(LINK, sent, false, &amqp10::message(3_000));
        client.send(&transfer);
        broker.expect(&transfer, "a delivery");
        let accepted = amqp10::accepted(sent);
        broker.send(&accepted);
        client.expect(&accepted, "its outcome");
        sent += 1;
    }
    sent as usize
}

/// Opens a link of AMQP 1.0 with credit for all that is sent.
fn attach(client: &mut Secure, broker: &mut Raw) {
    broker.expect(amqp10::HEADER, "the header");
    let open = amqp10::open("loaded", 8_192);
    let begin = amqp10::begin(None);
    let beginnings = [&open[..], &begin, &amqp10::attach_sender(LINK)].concat();
    client.send(&beginnings);
    broker.expect(&beginnings, "open, begin and attach");
    let begin = amqp10::begin(Some(0));
    let [attach, flow] = [amqp10::attach_receiver(LINK), amqp10::flow(LINK, 1 << 20)];
    let answers = [amqp10::HEADER, &open, &begin, &attach, &flow].concat();
    broker.send(&answers);
    client.expect(&answers, "the broker's");
}

const LINK: Link = Link {
    handle: 0,
    address: "queue",
};

#[test]
fn what_is_of_no_use_leaves_in_force_what_was_so_and_is_told_once() {
    let mut secret = Secret::new();
    let (sidecar, _broker) = secret.start("100ms");
    let first = secret.certificate();
    let mut bad = secret.certificates.issue_server(&HERE, Valid::Now);
    bad.key = secret.certificates.issue_server(&HERE, Valid::Now).key;
    secret.fill(&bad);
    sidecar.metric_becomes(RELOADS, &FAILURE, 1.0);
    let line = nth_line(&sidecar, "certificates not renewed", 1);
    let fault = "tls.key: the private key does not fit the first certificate in ";
    assert!(field(&line, "error").contains(fault), "{line}");
    assert_eq!(secret.shown(&sidecar), first);
    // The clock has come round some times when it has found the next one.
    let good = secret.certificates.issue_server(&HERE, Valid::Now);
    let start = Instant::now();
    wait_for("some rounds of the clock", || {
        (start.elapsed() > ROUNDS).then_some(())
    });
    sidecar.metric_becomes(RELOADS, &FAILURE, 1.0);
    secret.fill(&good);
    sidecar.metric_becomes(RELOADS, &SUCCESS, 1.0);
    assert_eq!(secret.shown(&sidecar), secret.certificate());
    sidecar.metric_becomes(RELOADS, &FAILURE, 1.0);
}

#[test]
fn sighup_has_the_files_read_and_is_always_answered() {
    let mut secret = Secret::new();
    let (sidecar, _broker) = secret.start("0s");
    let first = secret.certificate();
    sidecar.signal("HUP");
    nth_line(&sidecar, "nothing to read again", 1);
    secret.fill(&secret.certificates.issue_server(&HERE, Valid::Now));
    assert_eq!(secret.shown(&sidecar), first);
    sidecar.signal("HUP");
    nth_line(&sidecar, "certificates renewed", 1);
    assert_eq!(secret.shown(&sidecar), secret.certificate());
    let mut bad = secret.certificates.issue_server(&HERE, Valid::Now);
    bad.cert = "no certificate".to_owned();
    secret.fill(&bad);
    for count in 1..=2 {
        sidecar.signal("HUP");
        nth_line(&sidecar, "certificates not renewed", count);
    }
    sidecar.metric_becomes(RELOADS, &SUCCESS, 1.0);
    sidecar.metric_becomes(RELOADS, &FAILURE, 1.0);
}

#[test]
fn a_hangup_without_tls_is_answered() {
    let conversation = Conversation::start(&[]);
    conversation.sidecar.signal("HUP");
    nth_line(&conversation.sidecar, "nothing to read again", 1);
}

#[test]
fn whoever_replaces_certificates_is_told_when_they_expire() {
    let flags = [
        "--tls-client-ca",
        "@ca.crt",
        "--upstream-tls",
        "--upstream-tls-ca",
        "@ca.crt",
        "--upstream-tls-cert",
        "@alice.crt",
        "--upstream-tls-key",
        "@alice.key",
        "--tls-reload-interval",
        "0s",
    ];
    let stage = Stage::start(&flags);
    let expires = |role| stage.sidecar.metrics().value(EXPIRY, &[("role", role)]);
    let (_, now) = Valid::Now.period();
    for role in ["server", "client-ca", "upstream-ca", "upstream-client"] {
        // They were made some time ago, if not long.
        let ago = now.as_secs_f64() - expires(role);
        assert!(
            (0.0..DEADLINE.as_secs_f64()).contains(&ago),
            "{role}: {ago}"
        );
    }
    let certificates = &stage.certificates;
    certificates.server("server", &HERE, Valid::Past);
    certificates.client("alice", "CN=alice", Valid::Future);
    stage.sidecar.signal("HUP");
    let line = nth_line(&stage.sidecar, "certificate expired", 1);
    assert_eq!(field(&line, "level"), "WARN");
    assert_eq!(field(&line, "role"), "server");
    assert_eq!(field(&line, "file"), certificates.file("server.crt"));
    assert_eq!(field(&line, "not_after"), "2001-09-09T01:46:40Z");
    let line = nth_line(&stage.sidecar, "certificate not yet valid", 1);
    assert_eq!(field(&line, "role"), "upstream-client");
    let seconds = |valid: Valid| valid.period().1.as_secs_f64();
    stage
        .sidecar
        .metric_becomes(EXPIRY, &[("role", "server")], seconds(Valid::Past));
    let client = [("role", "upstream-client")];
    stage
        .sidecar
        .metric_becomes(EXPIRY, &client, seconds(Valid::Future));
}

#[test]
fn an_expired_certificate_is_told_at_the_start_and_none_has_no_metric() {
    let certificates = Certificates::new();
    certificates.server("server", &HERE, Valid::Past);
    let broker = FakeBroker::start();
    let flags = certificates.server_flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let sidecar = Sidecar::start(broker.address(), &flags);
    nth_line(&sidecar, "certificate expired", 1);
    assert_eq!(
        sidecar.metrics().sum(EXPIRY, &[("role", "upstream-ca")]),
        None
    );
    let sidecar = Sidecar::start(broker.address(), &[]);
    assert_eq!(sidecar.metrics().sum(EXPIRY, &[]), None);
    assert_eq!(sidecar.metrics().sum(RELOADS, &[]), Some(0.0));
}

#[test]
fn the_cas_of_clients_and_what_is_for_the_broker_are_read_again_too() {
    let stage = Stage::start(&[
        "--tls-client-ca",
        "@ca.crt",
        "--upstream-tls",
        "--upstream-tls-ca",
        "@ca.crt",
        "--tls-reload-interval",
        "100ms",
    ]);
    let certificates = &stage.certificates;
    // Clients of TLS 1.2, since those of TLS 1.3 learn that they are refused when they read.
    let mut client = AsClient::of(certificates).speaking(ONLY_12);
    client.trust = certificates.file("kept-ca.crt").into();
    fs::copy(certificates.file("ca.crt"), &client.trust).unwrap();
    let clients = ["alice", "stranger"].map(|name| client.clone().showing(certificates, name));
    let brokers = ["server", "stranger-server"].map(|name| {
        let file = |kind| certificates.file(&format!("{name}.{kind}"));
        as_server(&file("crt"), &file("key"), None)
    });
    let is_believed = |client: &AsClient, broker: &Arc<ServerConfig>| {
        let raw = stage.connect();
        let mut client = Secure::connect(&raw, client.config(), "localhost").unwrap();
        client.send(Connect::new(Version::V311, "c").encode());
        Secure::accept(&stage.broker.accept(), Arc::clone(broker)).is_ok()
    };
    let comes_in =
        |client: &AsClient| Secure::connect(&stage.connect(), client.config(), "localhost").is_ok();
    assert_eq!(clients.each_ref().map(comes_in), [true, false]);
    let believed = |client| brokers.each_ref().map(|broker| is_believed(client, broker));
    assert_eq!(believed(&clients[0]), [true, false]);
    let next = certificates.file("next.crt");
    fs::copy(certificates.file("stranger-ca.crt"), &next).unwrap();
    fs::rename(&next, certificates.file("ca.crt")).unwrap();
    // The files for clients and those for the broker.
    stage.sidecar.metric_becomes(RELOADS, &SUCCESS, 2.0);
    assert_eq!(clients.each_ref().map(comes_in), [false, true]);
    assert_eq!(believed(&clients[1]), [false, true]);
}

/// So long that a clock of 100 ms has come round.
const ROUNDS: Duration = Duration::from_millis(500);
