//! TLS with the broker: whom it is believed, and what a client is told when it is not.

use std::sync::Arc;

use rustls::ServerConfig;
use tokio_rustls::rustls;

use crate::certificates::{Certificates, as_server};
use crate::generate::Valid;
use crate::secure::Secure;
use crate::support::amqp10::{self, CLOSE, HEADER, OPEN, SASL_HEADER};
use crate::support::mqtt::{Answer, Connect, PINGREQ, PINGRESP, Version};
use crate::support::{FakeBroker, Raw, Sidecar, field};
use crate::{nth_line, placed};

/// A sidecar that speaks TLS with its broker, and with its clients plain TCP.
struct Stage {
    certificates: Certificates,
    broker: FakeBroker,
    sidecar: Sidecar,
}

impl Stage {
    /// Starts them, the sidecar with these further flags.
    fn start(flags: &[&str]) -> Self {
        Self::start_with(Certificates::new(), flags)
    }

    fn start_with(certificates: Certificates, flags: &[&str]) -> Self {
        let broker = FakeBroker::start();
        let mut all = vec!["--upstream-tls".to_owned()];
        all.extend(placed(&certificates, flags));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let sidecar = Sidecar::start(broker.address(), &all);
        Self {
            certificates,
            broker,
            sidecar,
        }
    }

    /// What a broker with this certificate begins TLS with.
    fn showing(&self, name: &str, client_ca: Option<&str>) -> Arc<ServerConfig> {
        let [cert, key] =
            ["crt", "key"].map(|kind| self.certificates.file(&format!("{name}.{kind}")));
        let client_ca = client_ca.map(|file| self.certificates.file(file));
        as_server(&cert, &key, client_ca.as_deref())
    }

    /// A client whose CONNECT is on its way.
    fn client(&self) -> Raw {
        let mut client = Raw::connect(self.sidecar.listen());
        client.send(Connect::new(Version::V5, "c").encode());
        client
    }

    /// Begins TLS as the broker, with this certificate.
    fn accept(&self, name: &str, client_ca: Option<&str>) -> Result<Secure, String> {
        let broker = self.broker.accept();
        let config = self.showing(name, client_ca);
        Secure::accept(&broker, config).map_err(|error| error.to_string())
    }

    /// The client is told that there is no broker, and so is the operator, for the `count`th time.
    fn expect_no_broker(&self, mut client: Raw, count: usize, reason: &str, error: &str) {
        let answer = client.read_packet();
        let answer = Answer::parse(&answer);
        assert_eq!(
            (answer.first, answer.code),
            (0x20, 0x88),
            "Server unavailable"
        );
        client.expect_eof("the end");
        let labels = [("reason", reason)];
        let sidecar = &self.sidecar;
        sidecar.metric_becomes(
            "sizegate_upstream_connect_errors_total",
            &labels,
            count as f64,
        );
        sidecar.metric_becomes("sizegate_upstream_up", &[], 0.0);
        let line = nth_line(sidecar, "no broker", count);
        assert_eq!(field(&line, "reason"), reason);
        let told = field(&line, "error");
        assert!(told.contains(error), "{told}, not {error}");
    }

    /// Client and broker greet each other and hear each other.
    fn expect_through(&self, mut client: Raw, mut broker: Secure) {
        broker.expect(Connect::new(Version::V5, "c").encode(), "CONNECT");
        broker.send(Version::V5.connack());
        client.expect(Version::V5.connack(), "CONNACK");
        client.send(PINGREQ);
        broker.expect(PINGREQ, "PINGREQ");
        broker.send(PINGRESP);
        client.expect(PINGRESP, "PINGRESP");
        self.sidecar
            .metric_becomes("sizegate_upstream_up", &[], 1.0);
    }
}

#[test]
fn a_broker_is_believed_that_has_the_right_certificate() {
    // By its address, and by the name that is given.
    for (flags, names) in [
        (&["--upstream-tls-ca", "@ca.crt"][..], &["127.0.0.1"][..]),
        (
            &[
                "--upstream-tls-ca",
                "@ca.crt",
                "--upstream-tls-name",
                "broker.example",
            ],
            &["broker.example"],
        ),
    ] {
        let stage = Stage::start(flags);
        stage.certificates.server("broker", names, Valid::Now);
        let client = stage.client();
        let broker = stage.accept("broker", None).unwrap();
        stage.expect_through(client, broker);
    }
}

#[test]
fn a_broker_that_is_called_by_its_name_must_have_a_certificate_for_it() {
    let certificates = Certificates::new();
    certificates.server("broker", &["localhost"], Valid::Now);
    certificates.server("other", &["127.0.0.1"], Valid::Now);
    let broker = FakeBroker::start();
    let ca = certificates.file("ca.crt");
    let flags = ["--upstream-tls", "--upstream-tls-ca", &ca];
    let upstream = format!("localhost:{}", broker.address().port());
    let sidecar = Sidecar::start_before(&upstream, &flags);
    let stage = Stage {
        certificates,
        broker,
        sidecar,
    };
    let client = stage.client();
    let broker = stage.accept("broker", None).unwrap();
    stage.expect_through(client, broker);
    let client = stage.client();
    stage.accept("other", None).err().unwrap();
    stage.expect_no_broker(client, 1, "tls", "certificate not valid for name");
}

#[test]
fn a_broker_is_not_believed_that_has_a_wrong_certificate() {
    let stage = Stage::start(&["--upstream-tls-ca", "@ca.crt"]);
    let certificates = &stage.certificates;
    certificates.server("elsewhere", &["elsewhere.example"], Valid::Now);
    certificates.server("late", &["127.0.0.1"], Valid::Past);
    certificates.server("early", &["127.0.0.1"], Valid::Future);
    for (count, (name, logged)) in [
        ("stranger-server", "UnknownIssuer"),
        ("elsewhere", "not valid for name"),
        ("late", "expired"),
        ("early", "not valid yet"),
        ("alice", "invalid peer certificate: "),
    ]
    .into_iter()
    .enumerate()
    {
        let client = stage.client();
        let told = stage
            .accept(name, None)
            .err()
            .expect("a broker that is told");
        assert!(told.starts_with("received fatal alert: "), "{told}");
        stage.expect_no_broker(client, count + 1, "tls", logged);
    }
}

#[test]
fn a_broker_that_speaks_no_tls_is_named() {
    let stage = Stage::start(&["--upstream-tls-ca", "@ca.crt", "--connect-timeout", "20s"]);
    for (count, (answer, logged)) in [
        (
            &b"\x20\x02\x00\x00 and more octets than a record has in its head"[..],
            "does not speak TLS",
        ),
        (b"AMQP\x00\x01\x00\x00", "does not speak TLS"),
        (b"", "left during the handshake"),
    ]
    .into_iter()
    .enumerate()
    {
        let client = stage.client();
        let mut broker = stage.broker.accept();
        // The head of a ClientHello, and no octet of the client.
        assert_eq!(broker.read(1), [0x16]);
        broker.send(answer);
        broker.shut_write();
        stage.expect_no_broker(client, count + 1, "tls", logged);
    }
}

#[test]
fn a_broker_that_stops_in_the_handshake_is_given_up() {
    let stage = Stage::start(&["--upstream-tls-ca", "@ca.crt", "--connect-timeout", "300ms"]);
    let client = stage.client();
    let mut broker = stage.broker.accept();
    assert_eq!(broker.read(1), [0x16]);
    stage.expect_no_broker(client, 1, "timeout", "the broker does not answer");
}

#[test]
fn a_broker_that_asks_for_a_certificate_is_shown_one() {
    let flags = [
        "--upstream-tls-ca",
        "@ca.crt",
        "--upstream-tls-cert",
        "@alice.crt",
        "--upstream-tls-key",
        "@alice.key",
    ];
    let stage = Stage::start(&flags);
    let client = stage.client();
    let broker = stage.accept("server", Some("ca.crt")).unwrap();
    let shown = broker.certificate.clone();
    let alice = stage.certificates.file("alice.crt");
    assert_eq!(
        shown.unwrap(),
        crate::certificates::chain(alice.as_ref())[0].to_vec()
    );
    stage.expect_through(client, broker);
}

#[test]
fn a_broker_that_does_not_take_our_certificate_counts_as_not_reached() {
    let flags = [
        "--upstream-tls-ca",
        "@ca.crt",
        "--upstream-tls-cert",
        "@late.crt",
        "--upstream-tls-key",
        "@late.key",
    ];
    for flags in [&flags[..2], &flags] {
        let certificates = Certificates::new();
        certificates.client("late", "CN=late", Valid::Past);
        let stage = Stage::start_with(certificates, flags);
        let client = stage.client();
        stage.accept("server", Some("ca.crt")).err().unwrap();
        stage.expect_no_broker(client, 1, "tls", "received fatal alert: ");
    }
}

#[test]
fn an_amqp_client_is_told_in_its_own_words_that_tls_with_the_broker_failed() {
    let stage = Stage::start(&["--upstream-tls-ca", "@ca.crt"]);
    for has_sasl in [false, true] {
        let mut client = Raw::connect(stage.sidecar.listen());
        client.send(if has_sasl { SASL_HEADER } else { HEADER });
        stage.accept("stranger-server", None).err().unwrap();
        if has_sasl {
            client.expect(SASL_HEADER, "the header of SASL");
            assert_eq!(
                amqp10::read_frame(&mut client).code,
                Some(amqp10::SASL_MECHANISMS)
            );
            client.send([&amqp10::sasl_init()[..], HEADER].concat());
            assert_eq!(
                amqp10::read_frame(&mut client).code,
                Some(amqp10::SASL_OUTCOME)
            );
        }
        client.send(amqp10::open("c", 4_096));
        client.expect(HEADER, "the header of AMQP");
        amqp10::read_frame(&mut client).expect(OPEN, &[]);
        let close = amqp10::read_frame(&mut client);
        close.expect(
            CLOSE,
            &["amqp:connection:forced", "the broker cannot be reached"],
        );
        client.send(amqp10::close());
        client.expect_eof("the end");
    }
    let reason = [("reason", "tls")];
    let errors = "sizegate_upstream_connect_errors_total";
    stage.sidecar.metric_becomes(errors, &reason, 2.0);
}

#[test]
fn ends_of_the_broker_are_told_in_tls() {
    let stage = Stage::start(&["--upstream-tls-ca", "@ca.crt"]);
    let greeted = || {
        let mut client = stage.client();
        let mut broker = stage.accept("server", None).unwrap();
        broker.expect(Connect::new(Version::V5, "c").encode(), "CONNECT");
        broker.send(Version::V5.connack());
        client.expect(Version::V5.connack(), "CONNACK");
        (client, broker)
    };
    let (client, mut broker) = greeted();
    drop(client);
    broker.expect_eof("the end of the client");

    let (mut client, mut broker) = greeted();
    broker.say_goodbye();
    client.expect_eof("the end of the broker's stream");
    client.send(PINGREQ);
    broker.expect(PINGREQ, "what the client still had to say");

    let (mut client, broker) = greeted();
    std::io::Write::write_all(&mut broker.socket(), &[0; 32]).unwrap();
    client.expect_eof("the end of a broker that left TLS");
    let line = stage
        .sidecar
        .log_line(|line| field(line, "message") == "TLS broke");
    assert_eq!(field(&line, "side"), "broker");
    let labels = [("side", "broker"), ("reason", "tls")];
    stage
        .sidecar
        .metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
}
