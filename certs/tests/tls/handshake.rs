//! Two ends of TLS that hand each other octets, without a socket.

use std::io::{Read, Write};
use std::sync::Arc;

use certs::{Client, Server, subject};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, Error, HandshakeKind, RootCertStore,
    ServerConfig, ServerConnection, SupportedProtocolVersion,
};

use crate::folder::Folder;

/// A connection after its handshake.
pub(crate) struct Connection {
    pub(crate) client: ClientConnection,
    pub(crate) server: ServerConnection,
}

/// Who found something wrong, and what.
#[derive(Debug)]
pub(crate) enum Refused {
    ByClient(Error),
    ByServer(Error),
}

/// A handshake of the two as they are now, for `localhost`.
pub(crate) fn connect(client: &Client, server: &Server) -> Result<Connection, Refused> {
    connect_as("localhost", client.current(), server.current())
}

pub(crate) fn connect_as(
    name: &'static str,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
) -> Result<Connection, Refused> {
    let mut connection = Connection {
        client: ClientConnection::new(client, name.try_into().unwrap()).unwrap(),
        server: ServerConnection::new(server).unwrap(),
    };
    connection.pass_all()?;
    assert!(!connection.client.is_handshaking() && !connection.server.is_handshaking());
    Ok(connection)
}

impl Connection {
    /// Passes octets to and fro until nobody has any left, tickets included.
    fn pass_all(&mut self) -> Result<(), Refused> {
        while self.client.wants_write() || self.server.wants_write() {
            pass(&mut self.client, &mut self.server).map_err(Refused::ByServer)?;
            pass(&mut self.server, &mut self.client).map_err(Refused::ByClient)?;
        }
        Ok(())
    }

    /// Whether a word gets through in either direction.
    pub(crate) fn carries_data(&mut self) -> bool {
        let mut heard = [0; 4];
        self.client.writer().write_all(b"ping").unwrap();
        self.pass_all().unwrap();
        self.server.reader().read_exact(&mut heard).unwrap();
        let there = heard == *b"ping";
        self.server.writer().write_all(b"pong").unwrap();
        self.pass_all().unwrap();
        self.client.reader().read_exact(&mut heard).unwrap();
        there && heard == *b"pong"
    }

    /// The certificate that the client was shown, in DER.
    pub(crate) fn server_certificate(&self) -> CertificateDer<'static> {
        self.client.peer_certificates().unwrap()[0].clone()
    }

    /// Whom the server takes the client for.
    pub(crate) fn client_subject(&self) -> String {
        subject(&self.server.peer_certificates().unwrap()[0]).unwrap()
    }

    pub(crate) fn was_resumed(&self) -> bool {
        self.server.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}

fn pass<A, B>(
    from: &mut impl std::ops::DerefMut<Target = ConnectionCommon<A>>,
    to: &mut impl std::ops::DerefMut<Target = ConnectionCommon<B>>,
) -> Result<(), Error> {
    let mut octets = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut octets).unwrap();
    }
    let mut octets = &octets[..];
    while !octets.is_empty() {
        to.read_tls(&mut octets).unwrap();
        to.process_new_packets()?;
    }
    Ok(())
}

/// A client that is not ours: it resumes sessions even where it shows a certificate.
pub(crate) fn foreign_client(
    folder: &Folder,
    version: &'static SupportedProtocolVersion,
    identity: Option<&str>,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(chain(folder, "ca"));
    let builder = ClientConfig::builder_with_provider(default_provider().into())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(match identity {
        None => builder.with_no_client_auth(),
        Some(name) => builder
            .with_client_auth_cert(chain(folder, name), key(folder, name))
            .unwrap(),
    })
}

/// A server that is not ours: it lets sessions be resumed.
pub(crate) fn foreign_server(
    folder: &Folder,
    version: &'static SupportedProtocolVersion,
) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(default_provider().into())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain(folder, "server"), key(folder, "server"));
    Arc::new(config.unwrap())
}

fn chain(folder: &Folder, name: &str) -> Vec<CertificateDer<'static>> {
    let file = folder.file(&format!("{name}.crt"));
    let certificates = CertificateDer::pem_file_iter(file).unwrap();
    certificates.collect::<Result<_, _>>().unwrap()
}

fn key(folder: &Folder, name: &str) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_file(folder.file(&format!("{name}.key"))).unwrap()
}
