//! Redirected clients and addresses of clients, on hosts of their own: a real packet filter, real
//! brokers and real clients, none of which knows of sizegate.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};
use support::network::{BROKER, BROKER_V6, CLIENT, CLIENT_V6, Host, Network};
use support::{Output, RabbitMq, Sidecar, field, program, python, wait_for};
use tempfile::tempdir;

/// Leads clients where they meant to go, and holds them to a limit that they are not told of.
const LEADS_ON: [&str; 4] = [
    "--original-destination",
    "--max-message-size",
    "1000",
    "--no-advertise",
];

/// Sends all that comes in for a broker's port to sizegate's.
const REDIRECT: &str = "PREROUTING -p tcp --dport 1883 -j REDIRECT --to-ports 1884";

#[test]
fn a_redirect_needs_no_change_in_client_or_broker() {
    for listen in ["0.0.0.0:1884", "[::]:1884"] {
        let network = Network::new();
        let folder = tempdir().unwrap();
        let _broker = network.broker.mosquitto(folder.path(), 1883);
        let mut families = vec![(BROKER, CLIENT)];
        network.broker.redirect(REDIRECT);
        if listen.starts_with('[') {
            network.broker.redirect_v6(REDIRECT);
            families.push((BROKER_V6, CLIENT_V6));
        }
        let sidecar = sizegate(&network.broker, listen, &LEADS_ON);
        for (count, (broker, client)) in (1..).zip(families) {
            subscribe_for_later(&network.client, broker);
            publish(&network.client, broker, "t/before", &"x".repeat(500));
            let output = publish(&network.client, broker, "t/large", &"x".repeat(5000));
            assert!(output.errors.contains("Quota exceeded"), "{output:?}");
            publish(&network.client, broker, "t/after", "small");
            let received = take(&network.client, broker, 2);
            assert_eq!(received, ["t/before 500", "t/after 5"]);
            // The refusal names the client by its own address.
            sidecar.log_line(|line| {
                let peer: Option<SocketAddr> = field(line, "peer").parse().ok();
                field(line, "address") == "t/large" && peer.is_some_and(|it| it.ip() == client)
            });
            let denied = [("verdict", "denied")];
            let metrics = metrics(&network.broker, &sidecar);
            let value = metrics.value("sizegate_messages_total", &denied);
            assert!((value - f64::from(count)).abs() < 0.5, "{value} denied");
        }
    }
}

#[test]
fn a_broker_sees_the_addresses_of_redirected_clients() {
    let network = Network::new();
    let broker = RabbitMq::start_behind_proxy(&network.broker);
    let [amqp, mqtt] =
        [broker.address(), broker.mqtt()].map(|it| SocketAddr::new(BROKER, it.port()));
    for port in [amqp.port(), mqtt.port()] {
        network.broker.redirect(&format!(
            "PREROUTING -p tcp --dport {port} -j REDIRECT --to-ports 1884"
        ));
    }
    let flags = [&LEADS_ON[..], &["--send-proxy-protocol", "v2"]].concat();
    let sidecar = sizegate(&network.broker, "0.0.0.0:1884", &flags);
    let observed = proton(&network.client, amqp, &[100, 5000, 900]);
    let outcomes = &observed["links"][0]["outcomes"];
    assert_eq!(outcomes[0], "accepted", "{observed}");
    assert_eq!(outcomes[1][0], "rejected", "{observed}");
    assert_eq!(outcomes[2], "accepted", "{observed}");
    // It knows no newer version of MQTT.
    let words = ["-V", "mqttv311", "-t", "t", "-m", "small"];
    let output = mosquitto(&network.client, "mosquitto_pub", mqtt, &words);
    assert_eq!(output.code, Some(0), "{output:?}");
    for (protocol, to) in [("AMQP", amqp), ("MQTT", mqtt)] {
        let peer = ended(&sidecar, protocol);
        assert_eq!(peer.ip(), CLIENT);
        let words = format!("{peer} -> {to}");
        wait_for(&format!("{protocol}: the broker logs {words}"), || {
            let log = broker.log();
            let mut lines = log.lines().filter(|line| line.contains(&words));
            lines.any(|line| line.contains(protocol)).then_some(())
        });
    }
}

#[test]
fn a_connection_of_sizegate_that_is_redirected_back_is_closed() {
    for threads in ["1", "2"] {
        let network = Network::new();
        let folder = tempdir().unwrap();
        let _broker = network.broker.mosquitto(folder.path(), 1883);
        network.broker.redirect(REDIRECT);
        // And nobody is excepted.
        network
            .broker
            .redirect("OUTPUT -p tcp --dport 1883 -j REDIRECT --to-ports 1884");
        let flags = [&LEADS_ON[..], &["--threads", threads, "--linger", "0s"]].concat();
        let sidecar = sizegate(&network.broker, "0.0.0.0:1884", &flags);
        let before = sidecar.descriptors();
        for count in 1..=5 {
            let output = publish(&network.client, BROKER, "t", "small");
            assert_ne!(output.code, Some(0), "{output:?}");
            assert!(output.errors.contains("Server unavailable"), "{output:?}");
            wait_for("both ends of the loop are closed", || {
                let metrics = metrics(&network.broker, &sidecar);
                let closed = metrics.value("sizegate_connections_closed_total", &[]);
                (closed > 2.0 * f64::from(count) - 0.5).then_some(())
            });
            // The client's connection and the one that came back, and no more.
            let metrics = metrics(&network.broker, &sidecar);
            for (name, labels, expected) in [
                ("sizegate_connections_closed_total", &[][..], 2 * count),
                (
                    "sizegate_upstream_connect_errors_total",
                    &[("reason", "loop")],
                    count,
                ),
                ("sizegate_connections_active", &[], 0),
            ] {
                let value = metrics.value(name, labels);
                assert!((value - f64::from(expected)).abs() < 0.5, "{name}: {value}");
            }
        }
        let line = sidecar.log_line(|line| field(line, "reason") == "loop");
        assert!(field(&line, "error").starts_with("loop: "), "{line}");
        assert!(
            sidecar.descriptors() <= before + 2,
            "{} descriptors, {before} before",
            sidecar.descriptors()
        );
    }
}

#[test]
fn a_redirect_that_excepts_the_user_of_sizegate_holds_for_clients_on_the_same_host() {
    let network = Network::new();
    let folder = tempdir().unwrap();
    let _broker = network.broker.mosquitto(folder.path(), 1883);
    network.broker.redirect(
        "OUTPUT -p tcp --dport 1883 -m owner ! --uid-owner 0 -j REDIRECT --to-ports 1884",
    );
    let sidecar = sizegate(&network.broker, "0.0.0.0:1884", &LEADS_ON);
    let user = ["--reuid", "65532", "--regid", "65532", "--clear-groups"];
    let large = "x".repeat(5000);
    let address = BROKER.to_string();
    let words = [
        "mosquitto_pub",
        "-V",
        "mqttv5",
        "-h",
        &address,
        "-q",
        "1",
        "-t",
        "t",
        "-m",
    ];
    let publish = |payload| {
        let words = [&user[..], &words, &[payload]].concat();
        network.broker.start("setpriv", &words).finish()
    };
    assert!(publish(&large).errors.contains("Quota exceeded"));
    let output = publish("small");
    assert_eq!((output.code, &*output.errors), (Some(0), ""));
    sidecar.log_line(|line| field(line, "message") == "message refused");
}

#[test]
fn where_nothing_is_redirected_a_connection_is_closed() {
    let network = Network::new();
    let sidecar = sizegate(&network.broker, "[::]:1884", &LEADS_ON);
    for (count, address) in (1..).zip([BROKER, BROKER_V6]) {
        let to = SocketAddr::new(address, 1884);
        assert_eq!(network.client.says(to, HELLO, 4), "");
        let is_from = |line: &Value| field(line, "connection") == count.to_string();
        let line = sidecar.log_line(|line| is_from(line) && !field(line, "error").is_empty());
        assert_eq!(field(&line, "message"), "client not let in");
        let error = field(&line, "error");
        assert!(error.starts_with("it was not redirected here: "), "{line}");
        let end = sidecar.log_line(|line| is_from(line) && !field(line, "reason").is_empty());
        let how = (field(&end, "reason"), field(&end, "side"));
        assert_eq!(how, ("not-redirected".to_owned(), "sizegate".to_owned()));
    }
}

#[test]
fn a_connection_that_is_meant_for_sizegate_is_closed() {
    let network = Network::new();
    let second: IpAddr = "198.18.0.3".parse().unwrap();
    network.broker.add_address(second);
    network.broker.redirect(REDIRECT);
    network.broker.redirect_v6(REDIRECT);
    // To the listener's own port: the second address becomes the first one.
    network.broker.redirect(&format!(
        "PREROUTING -d {second} -p tcp --dport 1884 -j REDIRECT --to-ports 1884"
    ));
    let sidecar = sizegate(&network.broker, "[::]:1884", &LEADS_ON);
    for (count, meant_for) in (1..).zip([BROKER, BROKER_V6, second]) {
        let to = SocketAddr::new(meant_for, 1884);
        assert_eq!(network.client.says(to, HELLO, 4), "");
        let line = sidecar.log_line(|line| field(line, "error").contains(&format!(" {to}, ")));
        assert_eq!(field(&line, "message"), "client not let in");
        // It was known at once, and not when it had come back.
        assert_eq!(field(&line, "connection"), count.to_string());
        let metrics = metrics(&network.broker, &sidecar);
        let labels = [("reason", "not-redirected"), ("side", "sizegate")];
        let closed = metrics.value("sizegate_connections_closed_total", &labels);
        assert!((closed - f64::from(count)).abs() < 0.5, "{closed}");
    }
    // The same port on a host that is another's is not sizegate's own, though nobody is there.
    network
        .broker
        .redirect("PREROUTING -d 198.18.0.9 -p tcp -j REDIRECT --to-ports 1884");
    network.client.run(
        "ip",
        &["route", "add", "198.18.0.9/32", "via", "198.18.0.2"],
    );
    let to = "198.18.0.9:1884".parse().unwrap();
    assert_eq!(network.client.says(to, HELLO, 4), "20 02 00 03");
    sidecar.log_line(|line| field(line, "message") == "no broker");
}

#[test]
fn a_client_behind_a_proxy_is_led_to_where_the_proxy_was_redirected_from() {
    let network = Network::new();
    let folder = tempdir().unwrap();
    let _broker = network.broker.mosquitto(folder.path(), 1883);
    network.broker.redirect(REDIRECT);
    let trusted = format!("{CLIENT}/32");
    let flags = [&LEADS_ON[..], &["--proxy-protocol-from", &trusted]].concat();
    let sidecar = sizegate(&network.broker, "0.0.0.0:1884", &flags);
    // The header's destination is the proxy's own address, where no broker is.
    let header = "PROXY TCP4 203.0.113.7 203.0.113.9 4711 1883\\r\\n";
    let connect = "\\x10\\x0D\\0\\x04MQTT\\x04\\x02\\0\\0\\0\\x01c";
    let to = SocketAddr::new(BROKER, 1883);
    let answer = network.client.says(to, &format!("{header}{connect}"), 4);
    assert_eq!(answer, "20 02 00 00", "CONNACK of the broker");
    let end = sidecar.log_line(|line| field(line, "message") == "connection closed");
    assert_eq!(field(&end, "peer"), "203.0.113.7:4711");
    assert_eq!(field(&end, "client"), "c");
}

/// Starts sizegate on a host.
fn sizegate(host: &Host, listen: &str, flags: &[&str]) -> Sidecar {
    let program = program();
    let command = host.command(program.get_program().to_str().unwrap());
    Sidecar::start_by(command, &[&["--listen", listen], flags].concat())
}

/// What the admin port says, which is only to be reached on the same host.
fn metrics(host: &Host, sidecar: &Sidecar) -> support::Metrics {
    support::Metrics::parse(&host.get(sidecar.admin(), "/metrics"))
}

/// Where the client was whose connection with this protocol was the first to end.
fn ended(sidecar: &Sidecar, protocol: &str) -> SocketAddr {
    let line = sidecar.log_line(|line: &Value| {
        let spoken = field(line, "protocol").to_uppercase();
        field(line, "message") == "connection closed" && spoken.starts_with(protocol)
    });
    field(&line, "peer").parse().unwrap()
}

/// Publishes with MQTT 5.0 and QoS 1.
fn publish(from: &Host, broker: IpAddr, topic: &str, payload: &str) -> Output {
    let to = SocketAddr::new(broker, 1883);
    let words = ["-q", "1", "-t", topic, "-m", payload];
    mosquitto(from, "mosquitto_pub", to, &words)
}

/// Opens a session that keeps what is published from now on for [`take`].
fn subscribe_for_later(from: &Host, broker: IpAddr) {
    let to = SocketAddr::new(broker, 1883);
    let output = mosquitto(from, "mosquitto_sub", to, &[&SESSION[..], &["-E"]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
}

/// Takes so many messages out of the session: their topics and sizes.
fn take(from: &Host, broker: IpAddr, count: usize) -> Vec<String> {
    let (to, count) = (SocketAddr::new(broker, 1883), count.to_string());
    let flags = ["-C", &count, "-W", "30", "-F", "%t %l"];
    let output = mosquitto(from, "mosquitto_sub", to, &[&SESSION[..], &flags].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    output.lines
}

fn mosquitto(from: &Host, client: &str, to: SocketAddr, words: &[&str]) -> Output {
    let (host, port) = (to.ip().to_string(), to.port().to_string());
    let place = ["-h", &host, "-p", &port, "-V", "mqttv5"];
    from.start(client, &[&place[..], words].concat()).finish()
}

/// Sends messages of these sizes with qpid-proton to a queue, and returns what it observed.
fn proton(from: &Host, to: SocketAddr, sizes: &[usize]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/proton_amqp.py");
    let links = json!([{ "address": "/queue/network", "settled": false, "sizes": sizes }]);
    let plan = json!({ "frame": 4096, "links": links, "failing": 0, "last": 64 }).to_string();
    let (host, port) = (to.ip().to_string(), to.port().to_string());
    let words = ["-B", script, "send", &host, &port, &plan];
    let lines = from.run(&python(), &words);
    serde_json::from_str(&lines.join("\n")).expect("JSON of the client")
}

/// A CONNECT of MQTT 3.1.1, as the printf of a shell has it.
const HELLO: &str = "\\x10\\x0C\\0\\x04MQTT\\x04\\x02\\0\\0\\0\\0";

/// A session that outlives its connection.
const SESSION: [&str; 9] = ["-i", "later", "-c", "-x", "600", "-q", "1", "-t", "t/#"];
