//! An AMQP 1.0 peer inside this program, with a port of its own.
//!
//! It lets everybody in, accepts every delivery that it gets, and counts them. It sends nothing: a
//! link on which it would have to is closed.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use fe2o3_amqp::Receiver;
use fe2o3_amqp::acceptor::{
    ConnectionAcceptor, LinkAcceptor, LinkEndpoint, ListenerSessionHandle, SaslAnonymousMechanism,
    SessionAcceptor,
};
use fe2o3_amqp::types::messaging::Body;
use fe2o3_amqp::types::primitives::Value;
use tokio::net::TcpStream;
use tokio::runtime::Builder;

use super::Outcome;

/// The peer, as far as the demonstration sees it.
pub(super) struct Peer {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// How many deliveries it has got; each is counted before it is accepted.
    received: Received,
}

impl Peer {
    /// Starts the peer; its port is open when this returns.
    pub(super) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let received = Received::default();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let serving = serve(listener, Arc::clone(&received));
        thread::spawn(move || runtime.block_on(serving).map_err(|error| error.to_string()));
        Ok(Self { address, received })
    }

    /// How many deliveries it has got so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }
}

type Received = Arc<AtomicU64>;

async fn serve(listener: TcpListener, received: Received) -> Outcome<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve_connection(stream, Arc::clone(&received)));
    }
}

/// Takes the sessions of a connection until it is closed, by whomever.
async fn serve_connection(stream: TcpStream, received: Received) {
    let acceptor = ConnectionAcceptor::builder()
        .container_id("peer")
        .sasl_acceptor(SaslAnonymousMechanism::new())
        .build();
    let Ok(mut connection) = acceptor.accept(stream).await else {
        return;
    };
    while let Ok(session) = SessionAcceptor::new().accept(&mut connection).await {
        tokio::spawn(serve_session(session, Arc::clone(&received)));
    }
}

async fn serve_session(mut session: ListenerSessionHandle, received: Received) {
    while let Ok(link) = LinkAcceptor::new().accept(&mut session).await {
        match link {
            LinkEndpoint::Receiver(receiver) => {
                tokio::spawn(serve_link(receiver, Arc::clone(&received)));
            }
            LinkEndpoint::Sender(sender) => {
                tokio::spawn(
                    async move { sender.close().await.map_err(|error| error.to_string()) },
                );
            }
        }
    }
}

async fn serve_link(mut receiver: Receiver, received: Received) {
    while let Ok(delivery) = receiver.recv::<Body<Value>>().await {
        received.fetch_add(1, Ordering::SeqCst);
        if receiver.accept(&delivery).await.is_err() {
            break;
        }
    }
    // The client's detach wants an answer; when all of the connection has ended, there is nobody
    // left to get it.
    let _ = receiver.close().await;
}
