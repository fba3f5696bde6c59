//! What most relays in Rust are: `copy_bidirectional`, here on one thread.

use std::io;
use std::net::{SocketAddr, TcpListener};

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;

/// Relays for all who come.
pub(super) fn run(listener: TcpListener, upstream: SocketAddr) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (client, _) = listener.accept().await?;
            tokio::spawn(async move {
                // A connection that breaks is its clients' affair.
                let _ = relay(client, upstream).await;
            });
        }
    })
}

async fn relay(mut client: TcpStream, upstream: SocketAddr) -> io::Result<()> {
    let mut broker = TcpStream::connect(upstream).await?;
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut broker).await?;
    Ok(())
}
