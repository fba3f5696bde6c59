//! Ten thousand clients that do nothing, or as many as there can be.

use crate::expect_nothing_left;
use crate::support::mqtt::{Connect, PINGREQ, PINGRESP, Version};
use crate::support::{Mosquitto, Raw, Sidecar, raise_descriptor_limit};

/// As many clients as come where they may.
const CROWD: usize = 9_900;
/// A crowd that is none any more.
const LEAST: usize = 400;
/// Descriptors that sizegate needs besides two for each client.
const OWN: usize = 200;
/// Descriptors that the tests beside this one need, in the process of them all: those of
/// [`crate::announced`] are 2,004.
const OTHERS: usize = 2_300;
/// Clients that are on their way in together.
const TOGETHER: usize = 100;
/// What an idle connection may cost.
const EACH_KIB: u64 = 4;
/// What may stay of the buffers that clients on their way in are lent, one of 256 KiB each.
const LENT_KIB: u64 = TOGETHER as u64 * 256;

#[test]
fn a_crowd_of_idle_clients_gets_through_and_costs_little() {
    let crowd = crowd(raise_descriptor_limit());
    let mosquitto = Mosquitto::start();
    let mut sidecar = Sidecar::start(mosquitto.address(), &["--handshake-timeout", "60s"]);
    // What is needed once is there before it is counted.
    drop(connect(&sidecar, 0, TOGETHER));
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    let (descriptors, rss) = (sidecar.descriptors(), sidecar.rss_kib());

    let mut grown = Vec::new();
    for _ in 0..2 {
        let mut clients = Vec::new();
        while clients.len() < crowd {
            clients.extend(connect(&sidecar, clients.len(), TOGETHER));
        }
        sidecar.metric_becomes("sizegate_connections_active", &[], crowd as f64);
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
    let each = grown[0] * 1024 / crowd as u64;
    eprintln!("{crowd} idle connections: {grown:?} KiB, {each} octets each");
    // Memory that was given back is used again, whether or not the system has it back.
    let most = crowd as u64 * EACH_KIB + LENT_KIB;
    assert!(grown.iter().all(|&kib| kib < most), "{grown:?} KiB");
}

/// The clients that there can be where a process may have so many descriptors.
fn crowd(limit: usize) -> usize {
    let crowd = (limit.saturating_sub(OWN) / 2).min(limit.saturating_sub(OTHERS));
    let crowd = crowd.min(CROWD) / TOGETHER * TOGETHER;
    assert!(crowd >= LEAST, "{limit} descriptors are {crowd} clients");
    crowd
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
