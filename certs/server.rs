//! TLS towards clients.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};

use crate::error::Error;
use crate::identity::{Identity, IdentityFiles};
use crate::lifetime::{Lifetime, Role};
use crate::pem_file::{PemFile, State};
use crate::provider::{provider, ticketer, versions};
use crate::reload::{InForce, Reload, Renewable, Source};
use crate::{MinVersion, trust};

/// What TLS towards clients is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// What clients are shown.
    pub identity: Identity,
    /// If there is one, a client must show a certificate of a CA in this file.
    pub client_ca: Option<PathBuf>,
    /// The oldest version that a client may speak.
    pub min_version: MinVersion,
}

/// TLS towards clients, kept in step with its files.
///
/// A client resumes a session only if it was not asked for a certificate: who must show one shows it
/// at each connection, so a CA that was removed and a certificate that has expired let nobody in.
/// Tickets are good for 12 hours at most, and no longer than the files are unchanged.
#[derive(Debug)]
pub struct Server(Renewable<ServerFiles>);

impl Server {
    /// Reads the files for the first time.
    pub fn load(files: ServerFiles) -> Result<Self, Error> {
        Renewable::load(files).map(Self)
    }

    /// What a new connection uses.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.in_force().config)
    }

    /// Reads the files again. It waits for the disk, and nothing else waits for it.
    pub fn reload(&self) -> Reload {
        self.0.reload()
    }

    /// How long the certificates in force last: those of [`Role::Server`] and [`Role::ClientCa`].
    pub fn lifetimes(&self) -> Vec<Lifetime> {
        self.0.in_force().lifetimes.clone()
    }
}

impl Source for ServerFiles {
    type Reading = (IdentityFiles, Option<PemFile>);
    type Config = ServerConfig;

    fn read(&self) -> Self::Reading {
        let client_ca = self.client_ca.as_deref().map(PemFile::read);
        (self.identity.read(), client_ca)
    }

    fn states(&self, (identity, client_ca): &Self::Reading) -> Vec<State> {
        let mut states = identity.states().to_vec();
        states.extend(client_ca.as_ref().map(PemFile::state));
        states
    }

    fn make(&self, (identity, client_ca): &Self::Reading) -> Result<InForce<ServerConfig>, Error> {
        let (pair, lifetime) = identity.load(Role::Server)?;
        let mut lifetimes = vec![lifetime];
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(versions(self.min_version))
            .expect("the provider has cipher suites for each version");
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let (roots, lifetime) = trust::from_file(file, Role::ClientCa)?;
                lifetimes.push(lifetime);
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
                        .build()
                        .expect("there is a CA and no revocation list");
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_cert_resolver(pair);
        // Sessions are in tickets, which cost no memory, and never in a table. The keys of the
        // tickets belong to this configuration, so its end is theirs.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        let ticketer = match client_ca {
            None => ticketer(),
            Some(_) => None,
        };
        match ticketer {
            Some(ticketer) => config.ticketer = ticketer,
            None => config.send_tls13_tickets = 0,
        }
        Ok(InForce {
            config: Arc::new(config),
            lifetimes,
        })
    }
}
