//! The client's end of a TCP connection, in plain or in TLS.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::Error;

/// Whom a client trusts to be the proxy.
#[derive(Clone, Debug)]
pub(crate) struct Trust(Arc<ClientConfig>);

impl Trust {
    /// Trust in this certificate alone, with one cipher suite, so that all peers do the same work.
    pub(crate) fn new(certificate: CertificateDer<'static>) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate)?;
        let provider = CryptoProvider {
            cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384],
            ..aws_lc_rs::default_provider()
        };
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Link {
    /// TCP alone.
    Plain(TcpStream),
    /// TLS over it.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Link {
    /// Connects; the handshake of TLS is done with the first write.
    pub(crate) fn connect(address: SocketAddr, trust: Option<&Trust>) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).map_err(Error::io("connecting"))?;
        stream.set_nodelay(true).map_err(Error::io("TCP_NODELAY"))?;
        for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            set(&stream, Some(PATIENCE)).map_err(Error::io("a timeout"))?;
        }
        let Some(Trust(config)) = trust else {
            return Ok(Self::Plain(stream));
        };
        let name = ServerName::from(IpAddr::from([127, 0, 0, 1]));
        let session = ClientConnection::new(Arc::clone(config), name)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(session, stream))))
    }

    /// Writes all of these octets.
    pub(crate) fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.write_all(octets),
            Self::Tls(stream) => {
                stream.write_all(octets)?;
                stream.flush()
            }
        }
    }

    /// Waits for octets and reads them; 0 is the end.
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }

    /// The same without waiting.
    pub(crate) fn receive_now(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.stream().set_nonblocking(true)?;
        let received = self.receive(into);
        self.stream().set_nonblocking(false)?;
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            received => received.map(Some),
        }
    }

    /// Says that nothing more will be sent.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if let Self::Tls(stream) = self {
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        Ok(())
    }

    fn stream(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

/// How long a proxy may take before it is said to be stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
