//! One PEM file: read once, as it was at that time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::Error;
use crate::provider::Fingerprint;
use crate::sections::{Fault, Found, has_encrypted_key};

/// A file and what it held, or why that could not be read.
pub(crate) struct PemFile {
    path: PathBuf,
    octets: Result<Vec<u8>, io::ErrorKind>,
}

impl PemFile {
    /// Reads the file. That it cannot be read is a state of it like any other.
    pub(crate) fn read(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            octets: fs::read(path).map_err(|error| error.kind()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells this state of the file from others.
    pub(crate) fn state(&self) -> State {
        match &self.octets {
            Ok(octets) => State::Read(Fingerprint::of([&octets[..]])),
            Err(reason) => State::Unreadable(*reason),
        }
    }

    /// The certificates, in their order; at least one.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        let octets = self.octets()?;
        let certificates = CertificateDer::pem_slice_iter(octets)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| self.damaged(&error))?;
        if certificates.is_empty() {
            return Err(Error::NoCertificate {
                file: self.path.clone(),
                found: Found::among(octets),
            });
        }
        Ok(certificates)
    }

    /// The first private key.
    pub(crate) fn key(&self) -> Result<PrivateKeyDer<'static>, Error> {
        let octets = self.octets()?;
        match PrivateKeyDer::pem_slice_iter(octets).next() {
            Some(Ok(key)) => Ok(key),
            Some(Err(error)) => Err(self.damaged(&error)),
            None if has_encrypted_key(octets) => Err(Error::EncryptedKey {
                file: self.path.clone(),
            }),
            None => Err(Error::NoKey {
                file: self.path.clone(),
                found: Found::among(octets),
            }),
        }
    }

    fn octets(&self) -> Result<&[u8], Error> {
        match &self.octets {
            Ok(octets) => Ok(octets),
            Err(io::ErrorKind::NotFound) => Err(Error::Missing {
                file: self.path.clone(),
            }),
            Err(reason) => Err(Error::Unreadable {
                file: self.path.clone(),
                reason: *reason,
            }),
        }
    }

    fn damaged(&self, error: &pem::Error) -> Error {
        let file = self.path.clone();
        // The headers of an encrypted key are no base64.
        if self.octets.as_deref().is_ok_and(has_encrypted_key) {
            return Error::EncryptedKey { file };
        }
        Error::Damaged {
            file,
            fault: Fault::from(error),
        }
    }
}

/// What is compared to find out whether a file has changed.
///
/// Time and inode say nothing: a Kubernetes secret is replaced behind two symbolic links, and a file
/// may be written twice within the resolution of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It held what this stands for.
    Read(Fingerprint),
    /// It could not be read.
    Unreadable(io::ErrorKind),
}
