//! TLS towards the broker.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;

use crate::MinVersion;
use crate::error::Error;
use crate::identity::{Identity, IdentityFiles};
use crate::lifetime::{Lifetime, Role};
use crate::pem_file::State;
use crate::provider::{provider, versions};
use crate::reload::{InForce, Reload, Renewable, Source};
use crate::trust::{Anchors, Trust};

/// What TLS towards the broker is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFiles {
    /// Whom the broker's certificate must come from.
    pub trust: Trust,
    /// What the broker is shown if it asks.
    pub identity: Option<Identity>,
    /// The oldest version that the broker may speak.
    pub min_version: MinVersion,
}

/// TLS towards the broker, kept in step with its files. The broker's name is always verified.
///
/// With an identity no session is resumed: brokers that take the user from the certificate need not
/// be fit for it, and OpenSSL refuses it unless they took care. Sessions end with their configuration.
#[derive(Debug)]
pub struct Client(Renewable<ClientFiles>);

impl Client {
    /// Reads the files for the first time.
    pub fn load(files: ClientFiles) -> Result<Self, Error> {
        Renewable::load(files).map(Self)
    }

    /// What a new connection uses.
    pub fn current(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.in_force().config)
    }

    /// Reads the files again. It waits for the disk, and nothing else waits for it.
    pub fn reload(&self) -> Reload {
        self.0.reload()
    }

    /// How long the certificates in force last: those of [`Role::UpstreamCa`], unless it is the
    /// system that is trusted, and [`Role::UpstreamClient`].
    pub fn lifetimes(&self) -> Vec<Lifetime> {
        self.0.in_force().lifetimes.clone()
    }
}

impl Source for ClientFiles {
    type Reading = (Anchors, Option<IdentityFiles>);
    type Config = ClientConfig;

    fn read(&self) -> Self::Reading {
        let identity = self.identity.as_ref().map(Identity::read);
        (self.trust.read(), identity)
    }

    fn states(&self, (anchors, identity): &Self::Reading) -> Vec<State> {
        let mut states = vec![anchors.state()];
        states.extend(identity.iter().flat_map(IdentityFiles::states));
        states
    }

    fn make(&self, (anchors, identity): &Self::Reading) -> Result<InForce<ClientConfig>, Error> {
        let (roots, lifetime) = anchors.load(Role::UpstreamCa)?;
        let mut lifetimes = Vec::from_iter(lifetime);
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(versions(self.min_version))
            .expect("the provider has cipher suites for each version")
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (pair, lifetime) = identity.load(Role::UpstreamClient)?;
                lifetimes.push(lifetime);
                let mut config = builder.with_client_cert_resolver(pair);
                config.resumption = Resumption::disabled();
                config
            }
        };
        Ok(InForce {
            config: Arc::new(config),
            lifetimes,
        })
    }
}
