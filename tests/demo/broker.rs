//! A broker inside this program: one port for MQTT 3.1.1, one for MQTT 5.0.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};

use super::{DEADLINE, Outcome};

/// Where the broker listens.
pub(super) struct Addresses {
    /// For clients of MQTT 3.1.1.
    pub(super) v3: SocketAddr,
    /// For clients of MQTT 5.0.
    pub(super) v5: SocketAddr,
}

/// Starts the broker and waits until both ports are open.
pub(super) fn start() -> Outcome<Addresses> {
    // Both are held at once, so that they are two.
    let (first, second) = (free()?, free()?);
    let addresses = Addresses {
        v3: first.local_addr()?,
        v5: second.local_addr()?,
    };
    drop((first, second));
    let mut broker = Broker::new(Config {
        router: RouterConfig {
            max_connections: 100,
            max_outgoing_packet_count: 200,
            max_segment_size: 1 << 20,
            max_segment_count: 10,
            ..RouterConfig::default()
        },
        v4: Some(listener("v3", addresses.v3)),
        v5: Some(listener("v5", addresses.v5)),
        ..Config::default()
    });
    thread::spawn(move || broker.start().map_err(|error| error.to_string()));
    for address in [addresses.v3, addresses.v5] {
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            if start.elapsed() > DEADLINE {
                return Err(format!("the broker does not listen on {address}").into());
            }
            thread::yield_now();
        }
    }
    Ok(addresses)
}

fn free() -> Outcome<TcpListener> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)
}

fn listener(name: &str, listen: SocketAddr) -> HashMap<String, ServerSettings> {
    let settings = ServerSettings {
        name: name.to_owned(),
        listen,
        tls: None,
        next_connection_delay_ms: 1,
        connections: ConnectionSettings {
            connection_timeout_ms: 60_000,
            // The broker itself would take far more than sizegate lets through.
            max_payload_size: 1 << 20,
            max_inflight_count: 100,
            auth: None,
            external_auth: None,
            dynamic_filters: true,
        },
    };
    HashMap::from([(name.to_owned(), settings)])
}
