//! Ten thousand clients that do nothing.

use crate::expect_nothing_left;
use crate::support::mqtt::{Connect, PINGREQ, PINGRESP, Version};
use crate::support::{Mosquitto, Raw, Sidecar};

/// As many clients as a limit of 20,000 descriptors allows, with two for each.
const CROWD: usize = 9_900;
/// Clients that are on their way in together.
const TOGETHER: usize = 100;
/// What an idle connection may cost.
const MOST_KIB: u64 = 7;

#[test]
fn ten_thousand_idle_clients_get_through_and_cost_little() {
    let mosquitto = Mosquitto::start();
    let mut sidecar = Sidecar::start(mosquitto.address(), &["--handshake-timeout", "60s"]);
    // What is needed once is there before it is counted.
    drop(connect(&sidecar, 0, TOGETHER));
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    let (descriptors, rss) = (sidecar.descriptors(), sidecar.rss_kib());

    let mut grown = Vec::new();
    for _ in 0..2 {
        let mut clients = Vec::new();
        while clients.len() < CROWD {
            clients.extend(connect(&sidecar, clients.len(), TOGETHER));
        }
        sidecar.metric_becomes("sizegate_connections_active", &[], CROWD as f64);
        grown.push(sidecar.rss_kib().saturating_sub(rss));
        // They are served, each of them.
        for client in &mut clients {
            client.send(PINGREQ);
        }
        for client in &mut clients {
            client.expect(PINGRESP, "the broker's answer");
        }
        drop(clients);
        expect_nothing_left(&mut sidecar, descriptors);
    }
    let each = grown[0] * 1024 / CROWD as u64;
    eprintln!("{CROWD} idle connections: {grown:?} KiB, {each} octets each");
    assert!(grown[0] < CROWD as u64 * MOST_KIB, "{grown:?} KiB");
    // Memory that was given back is used again, whether or not the system has it back.
    assert!(grown[1] < grown[0] + grown[0] / 10, "{grown:?} KiB");
}

/// Lets so many clients in, who are numbered from `first` on.
fn connect(sidecar: &Sidecar, first: usize, count: usize) -> Vec<Raw> {
    let mut clients: Vec<_> = (first..first + count)
        .map(|number| {
            let mut client = Raw::connect(sidecar.listen());
            let mut connect = Connect::new(Version::V5, &format!("idle-{number}")).encode();
            // No keep alive: the broker is not to end what is idle.
            let at = connect
                .windows(6)
                .position(|it| it == [b'M', b'Q', b'T', b'T', 5, 2]);
            connect[at.unwrap() + 7] = 0;
            client.send(connect);
            client
        })
        .collect();
    for client in &mut clients {
        let connack = client.read_packet();
        assert_eq!((connack[0], connack[3]), (0x20, 0), "it is accepted");
    }
    clients
}
