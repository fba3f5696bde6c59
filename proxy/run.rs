//! Start order and stop order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::select;
use tracing::{error, info};

use crate::admin;
use crate::config::{Config, Destination, OnUnknown};
use crate::gate::HoldBudget;
use crate::lifecycle::{Certificates, Lifecycle, Outcome, Patience, Signals, drain};
use crate::listen::{self, Door, Redirect, Sharing};
use crate::protocols::amqp10::OnOpaque;
use crate::protocols::{PROTOCOLS, Settings, amqp10, mqtt};
use crate::relay::{self, Census, Shared};
use crate::telemetry::Metrics;
use crate::transport::descriptors;
use crate::upstream::{OwnConnections, Route};

/// The listening sockets of one thread, with the way to the broker behind each.
type Sockets = Vec<(std::net::TcpListener, Arc<Route>)>;

/// A sizegate whose ports are open.
#[derive(Debug)]
pub struct Sidecar {
    /// Where clients connect, in the order of the configuration.
    pub listen: Vec<SocketAddr>,
    /// Where the admin port is.
    pub admin: Option<SocketAddr>,
    /// What each thread listens on.
    threads: Vec<Sockets>,
    admin_listener: Option<std::net::TcpListener>,
    shared: Arc<Shared>,
    patience: Patience,
    certificates: Certificates,
}

impl Sidecar {
    /// Opens all ports, so that a sidecar that cannot serve says so before it says anything else.
    pub fn start(config: Config) -> Result<Self, RunError> {
        descriptors::raise_limit();
        let lifecycle = Arc::new(Lifecycle::new());
        let names: Vec<_> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
        let owned = |labels: Vec<&str>| labels.into_iter().map(Arc::from).collect::<Vec<_>>();
        let vhosts = owned(config.policy.vhost_labels());
        let groups = owned(config.policy.group_labels());
        let hold = Arc::new(HoldBudget::new(config.hold_memory.0));
        let metrics = Arc::new(Metrics::new(&names, &vhosts, &groups, &hold)?);
        let sharing = match config.threads.get() {
            1 => Sharing::Alone,
            _ => Sharing::EachThread,
        };
        let mut listen = Vec::new();
        let mut leads_on = false;
        let own = Arc::new(OwnConnections::default());
        let mut threads: Vec<Vec<_>> = (0..config.threads.get()).map(|_| Vec::new()).collect();
        for listener in config.listeners {
            leads_on |= listener.destination == Destination::Original;
            let route = Arc::new(Route {
                destination: listener.destination,
                proxy_header: config.send_proxy_protocol,
                own: Arc::clone(&own),
                tls: config.tls.upstream.clone(),
            });
            let mut address = listener.listen;
            for thread in &mut threads {
                let socket = open(address, sharing)?;
                // The threads after the first one share the port that was free for it.
                address = local(&socket, address)?;
                thread.push((socket, Arc::clone(&route)));
            }
            listen.push(address);
        }
        let admin_listener = match config.admin {
            Some(address) => Some(open(address, Sharing::Alone)?),
            None => None,
        };
        let admin = match (&admin_listener, config.admin) {
            (Some(socket), Some(address)) => Some(local(socket, address)?),
            _ => None,
        };
        let shared = Arc::new(Shared {
            settings: Arc::new(Settings {
                policy: Arc::new(config.policy),
                max_control_size: config.max_control_size,
                advertise: config.advertise,
                hold,
                amqp10: amqp10::Settings {
                    on_opaque: match config.on_unknown {
                        OnUnknown::Close => OnOpaque::Close,
                        OnUnknown::Forward => OnOpaque::Forward,
                    },
                    presettled: config.presettled,
                },
                mqtt: mqtt::Settings {
                    message_size: config.mqtt_size,
                    vhost: config.mqtt_vhost,
                },
            }),
            door: Door {
                proxies: config.proxy_protocol_from,
                redirect: leads_on.then(|| Redirect {
                    listeners: listen.clone(),
                }),
                tls: config.tls.clients.clone(),
            },
            protocol: config.protocol,
            on_unknown: config.on_unknown,
            max_connections: config.max_connections,
            handshake_timeout: config.handshake_timeout,
            connect_timeout: config.connect_timeout,
            linger: config.linger,
            metrics,
            lifecycle,
            census: Census::default(),
        });
        Ok(Self {
            listen,
            admin,
            threads,
            admin_listener,
            shared,
            patience: Patience {
                stay: config.drain_timeout,
                linger: config.linger,
            },
            certificates: Certificates {
                clients: config.tls.clients,
                upstream: config.tls.upstream.map(|tls| tls.certificates),
                interval: config.tls.reload_interval,
            },
        })
    }

    /// Serves clients until the process is told to stop and all connections have ended.
    pub fn run(mut self) -> Result<Outcome, RunError> {
        let first = self.threads.pop().unwrap_or_default();
        for sockets in std::mem::take(&mut self.threads) {
            let shared = Arc::clone(&self.shared);
            let runtime = runtime()?;
            thread::Builder::new()
                .name("relay".into())
                .spawn(move || {
                    if let Err(error) = runtime.block_on(serve(sockets, &shared)) {
                        error!(%error, "a thread cannot serve");
                    }
                })
                .map_err(RunError::Thread)?;
        }
        runtime()?.block_on(self.run_first(first))
    }

    /// The first thread also has the admin port and the signals.
    async fn run_first(self, sockets: Sockets) -> Result<Outcome, RunError> {
        let shared = &self.shared;
        let (mut signals, hangups) = Signals::take().map_err(RunError::Signals)?;
        tokio::spawn(self.certificates.keep(hangups, Arc::clone(&shared.metrics)));
        if let Some(socket) = self.admin_listener {
            let listener = TcpListener::from_std(socket).map_err(RunError::Runtime)?;
            tokio::spawn(admin::serve(
                listener,
                Arc::clone(&shared.metrics),
                Arc::clone(&shared.lifecycle),
            ));
        }
        info!(
            listen = join(&self.listen),
            admin = self.admin.map_or("off".into(), |admin| admin.to_string()),
            version = env!("CARGO_PKG_VERSION"),
            "listening"
        );
        select! {
            served = serve(sockets, shared) => served?,
            () = signals.stop() => {}
        }
        let hurry = signals.stop();
        let outcome = drain(&shared.lifecycle, &shared.metrics, self.patience, hurry).await;
        info!(outcome = outcome.as_str(), "stopped");
        Ok(outcome)
    }
}

/// Accepts on all sockets of a thread until no more is to be accepted, then waits for its clients.
async fn serve(sockets: Sockets, shared: &Arc<Shared>) -> Result<(), RunError> {
    let lifecycle = &shared.lifecycle;
    for (socket, route) in sockets {
        let listener = TcpListener::from_std(socket).map_err(RunError::Runtime)?;
        let (shared, stop) = (Arc::clone(shared), lifecycle.accepting.clone());
        tokio::spawn(listen::accept(listener, stop, move |client, peer| {
            relay::serve(&shared, &route, client, peer);
        }));
    }
    lifecycle.accepting.cancelled().await;
    lifecycle.connections.wait().await;
    Ok(())
}

fn open(address: SocketAddr, sharing: Sharing) -> Result<std::net::TcpListener, RunError> {
    listen::bind(address, sharing).map_err(|source| RunError::Listen { address, source })
}

fn local(socket: &std::net::TcpListener, address: SocketAddr) -> Result<SocketAddr, RunError> {
    socket
        .local_addr()
        .map_err(|source| RunError::Listen { address, source })
}

fn runtime() -> Result<Runtime, RunError> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Runtime)
}

fn join(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<_> = addresses.iter().map(SocketAddr::to_string).collect();
    addresses.join(",")
}

/// Why sizegate could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A port could not be opened.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The metrics contradict each other.
    #[error("cannot set up metrics")]
    Metrics(#[from] prometheus::Error),
    /// The log could not be set up.
    #[error("cannot set up the log")]
    Log(#[from] tracing_subscriber::util::TryInitError),
    /// Signals could not be taken.
    #[error("cannot take signals")]
    Signals(#[source] io::Error),
    /// The runtime could not be made.
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}
