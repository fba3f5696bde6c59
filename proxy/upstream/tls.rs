//! TLS with the broker.

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::config::{UpstreamTls, server_name};
use crate::transport::{HandshakeError, Tls};

/// Begins TLS with the broker that a connection leads to; `host` is how it is called, if it is called
/// anything but its address.
pub(super) async fn secure(
    tls: &UpstreamTls,
    broker: TcpStream,
    host: Option<&str>,
) -> Result<Tls<TcpStream>, HandshakeError> {
    let name = match (&tls.name, host.and_then(server_name)) {
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name,
        (None, None) => ServerName::from(broker.peer_addr()?.ip()),
    };
    let connector = TlsConnector::from(tls.certificates.current());
    // The handshake is much larger than what is kept of it, and most connections have none.
    let stream = Box::pin(connector.connect(name, broker)).await?;
    Ok(Tls::client(stream))
}
