//! A certificate of one's own, and the private key that proves it.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::error::Error;
use crate::lifetime::{Lifetime, Role};
use crate::pem_file::{PemFile, State};
use crate::provider::provider;
use crate::x509::Certificate;

/// Where a certificate and its private key are. They may be in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The own certificate first, then those of its issuers up to, and without, the root.
    pub cert: PathBuf,
    /// Its private key: PKCS #8, PKCS #1 or SEC 1, without a password.
    pub key: PathBuf,
}

impl Identity {
    pub(crate) fn read(&self) -> IdentityFiles {
        IdentityFiles {
            cert: PemFile::read(&self.cert),
            key: PemFile::read(&self.key),
        }
    }
}

/// An identity as it was in its files at one time.
pub(crate) struct IdentityFiles {
    cert: PemFile,
    key: PemFile,
}

impl IdentityFiles {
    pub(crate) fn states(&self) -> [State; 2] {
        [self.cert.state(), self.key.state()]
    }

    /// What a connection shows, if certificate and key are one pair.
    pub(crate) fn load(&self, role: Role) -> Result<(Arc<SingleCertAndKey>, Lifetime), Error> {
        let chain = self.cert.certificates()?;
        let own = chain.get(..1).unwrap_or_default();
        let lifetime = Lifetime::of(role, &self.cert, own)?;
        let key = self.key.key()?;
        if let Some(Ok(own)) = own.first().map(|own| Certificate::from_der(own))
            && own.version != 3
        {
            return Err(Error::OldCertificate {
                file: self.cert.path().to_owned(),
                version: own.version,
            });
        }
        let key =
            provider()
                .key_provider
                .load_private_key(key)
                .map_err(|_| Error::UnusableKey {
                    file: self.key.path().to_owned(),
                })?;
        let pair = CertifiedKey::new(chain, key);
        match pair.keys_match() {
            Ok(()) => Ok((Arc::new(pair.into()), lifetime)),
            Err(rustls::Error::InvalidCertificate(reason)) => Err(Error::DamagedCertificate {
                file: self.cert.path().to_owned(),
                position: 1,
                reason,
            }),
            // A key of this provider always says what its public half is.
            Err(_) => Err(Error::KeyMismatch {
                cert: self.cert.path().to_owned(),
                key: self.key.path().to_owned(),
            }),
        }
    }
}
