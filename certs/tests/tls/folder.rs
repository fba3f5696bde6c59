//! A folder with the files of a server and of a client, as an operator lays them out.

use std::fs;
use std::path::{Path, PathBuf};

use certs::{Client, ClientFiles, Identity, MinVersion, Server, ServerFiles, Trust};
use tempfile::TempDir;

use crate::generate::{Authority, Issued, Valid};

/// Files that end with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// `authority` as `ca`, and a `server` and a `client` of it.
    pub(crate) fn of(authority: &Authority) -> Self {
        let folder = Self::new();
        folder.put("ca", &authority.own());
        folder.put("server", &server(authority));
        folder.put("client", &client(authority));
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, issued: &Issued) {
        issued.write(self.path(), name).unwrap();
    }

    pub(crate) fn write(&self, name: &str, octets: impl AsRef<[u8]>) {
        fs::write(self.file(name), octets).unwrap();
    }

    pub(crate) fn identity(&self, name: &str) -> Identity {
        Identity {
            cert: self.file(&format!("{name}.crt")),
            key: self.file(&format!("{name}.key")),
        }
    }

    /// A server that asks clients for nothing.
    pub(crate) fn server_files(&self) -> ServerFiles {
        ServerFiles {
            identity: self.identity("server"),
            client_ca: None,
            min_version: MinVersion::Tls12,
        }
    }

    /// A server that asks clients for a certificate of `ca`.
    pub(crate) fn mutual_files(&self) -> ServerFiles {
        ServerFiles {
            client_ca: Some(self.file("ca.crt")),
            ..self.server_files()
        }
    }

    /// A client that trusts `ca` and shows nothing.
    pub(crate) fn client_files(&self) -> ClientFiles {
        ClientFiles {
            trust: Trust::File(self.file("ca.crt")),
            identity: None,
            min_version: MinVersion::Tls12,
        }
    }

    pub(crate) fn server(&self) -> Server {
        Server::load(self.server_files()).unwrap()
    }

    pub(crate) fn mutual_server(&self) -> Server {
        Server::load(self.mutual_files()).unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        Client::load(self.client_files()).unwrap()
    }

    /// A client that shows the certificate of this name.
    pub(crate) fn client_with(&self, name: &str) -> Client {
        let files = ClientFiles {
            identity: Some(self.identity(name)),
            ..self.client_files()
        };
        Client::load(files).unwrap()
    }
}

pub(crate) fn authority(name: &str) -> Authority {
    Authority::new(name).unwrap()
}

/// A certificate for the name that the tests' clients ask for.
pub(crate) fn server(authority: &Authority) -> Issued {
    authority.server(&["localhost"], Valid::Now).unwrap()
}

pub(crate) fn client(authority: &Authority) -> Issued {
    authority.client("CN=alice,O=Acme", Valid::Now).unwrap()
}
