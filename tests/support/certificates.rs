//! Certificates in a folder of their own, and TLS configurations for the peers of a test, which owe
//! nothing to the product's.

#![allow(dead_code, reason = "each user uses its part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio_rustls::rustls;

use crate::generate::{Authority, Issued, Valid};

/// A folder with certificates, and the authority that issues more of them.
pub(crate) struct Certificates {
    folder: TempDir,
    authority: Authority,
}

impl Certificates {
    /// `ca.crt`, `server.crt` for this machine, and `alice.crt` for `CN=alice,O=Acme`; keys beside
    /// them. `stranger.crt` and `stranger-server.crt` come from an authority that is not trusted.
    pub(crate) fn new() -> Self {
        let certificates = Self {
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::new("test CA").unwrap(),
        };
        let folder = certificates.folder.path();
        certificates.authority.own().write(folder, "ca").unwrap();
        certificates.server("server", &HERE, Valid::Now);
        certificates.client("alice", "CN=alice,O=Acme", Valid::Now);
        let stranger = Authority::new("another CA").unwrap();
        stranger.own().write(folder, "stranger-ca").unwrap();
        let issued = stranger.client("CN=alice,O=Acme", Valid::Now).unwrap();
        issued.write(folder, "stranger").unwrap();
        let issued = stranger.server(&HERE, Valid::Now).unwrap();
        issued.write(folder, "stranger-server").unwrap();
        certificates
    }

    /// Writes a certificate for a server of these names.
    pub(crate) fn server(&self, name: &str, names: &[&str], valid: Valid) {
        self.issue_server(names, valid)
            .write(self.folder.path(), name)
            .unwrap();
    }

    /// The same, not written.
    pub(crate) fn issue_server(&self, names: &[&str], valid: Valid) -> Issued {
        self.authority.server(names, valid).unwrap()
    }

    /// Writes a certificate for a client with this subject.
    pub(crate) fn client(&self, name: &str, subject: &str, valid: Valid) {
        let issued = self.authority.client(subject, valid).unwrap();
        issued.write(self.folder.path(), name).unwrap();
    }

    /// Where they are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file of the folder.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The flags for TLS with clients, who are shown `server.crt`.
    pub(crate) fn server_flags(&self) -> [String; 4] {
        let [cert, key] = ["server.crt", "server.key"].map(|name| self.file(name));
        ["--tls-cert".to_owned(), cert, "--tls-key".to_owned(), key]
    }
}

/// How a client of a test speaks TLS.
#[derive(Clone, Debug)]
pub(crate) struct AsClient {
    /// The CAs that it trusts.
    pub(crate) trust: PathBuf,
    /// Certificate and key that it shows.
    pub(crate) identity: Option<[PathBuf; 2]>,
    /// The versions that it speaks.
    pub(crate) versions: &'static [&'static SupportedProtocolVersion],
}

impl AsClient {
    /// Trusts the authority of these certificates, shows none and speaks all versions.
    pub(crate) fn of(certificates: &Certificates) -> Self {
        Self {
            trust: certificates.file("ca.crt").into(),
            identity: None,
            versions: BOTH,
        }
    }

    /// The same and shows this certificate.
    pub(crate) fn showing(mut self, certificates: &Certificates, name: &str) -> Self {
        let files = [format!("{name}.crt"), format!("{name}.key")];
        self.identity = Some(files.map(|file| certificates.file(&file).into()));
        self
    }

    /// The same and speaks these versions.
    pub(crate) fn speaking(
        mut self,
        versions: &'static [&'static SupportedProtocolVersion],
    ) -> Self {
        self.versions = versions;
        self
    }

    /// For rustls.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(self.versions)
            .unwrap()
            .with_root_certificates(roots(&self.trust));
        Arc::new(match &self.identity {
            None => builder.with_no_client_auth(),
            Some([cert, key]) => builder
                .with_client_auth_cert(chain(cert), own_key(key))
                .unwrap(),
        })
    }
}

/// How a broker of a test speaks TLS: it shows this certificate, and asks for one of this CA if there
/// is one.
pub(crate) fn as_server(cert: &str, key: &str, client_ca: Option<&str>) -> Arc<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(BOTH)
        .unwrap();
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let roots = Arc::new(roots(Path::new(file)));
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let (cert, key) = (chain(Path::new(cert)), own_key(Path::new(key)));
    Arc::new(builder.with_single_cert(cert, key).unwrap())
}

/// The certificates of a file.
pub(crate) fn chain(file: &Path) -> Vec<CertificateDer<'static>> {
    let certificates = CertificateDer::pem_file_iter(file).unwrap();
    certificates.map(Result::unwrap).collect()
}

fn own_key(file: &Path) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_file(file).unwrap()
}

fn roots(file: &Path) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for certificate in chain(file) {
        roots.add(certificate).unwrap();
    }
    roots
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

/// This machine, as its certificate names it.
pub(crate) const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Versions of TLS.
pub(crate) const BOTH: &[&SupportedProtocolVersion] = &[&TLS12, &TLS13];
/// See [`BOTH`].
pub(crate) const ONLY_12: &[&SupportedProtocolVersion] = &[&TLS12];
/// See [`BOTH`].
pub(crate) const ONLY_13: &[&SupportedProtocolVersion] = &[&TLS13];
