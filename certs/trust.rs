//! The CAs that are trusted.

use std::path::PathBuf;

use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, RootCertStore};
use rustls_native_certs::load_native_certs;

use crate::error::Error;
use crate::lifetime::{Lifetime, Role};
use crate::pem_file::{PemFile, State};
use crate::provider::Fingerprint;

/// Whom a certificate must come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Any CA that this system trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` say where they are.
    #[default]
    System,
    /// One of the CAs in this file.
    File(PathBuf),
}

impl Trust {
    pub(crate) fn read(&self) -> Anchors {
        match self {
            // What cannot be read is left out, as everywhere on the system.
            Self::System => Anchors::System(load_native_certs().certs),
            Self::File(path) => Anchors::File(PemFile::read(path)),
        }
    }
}

/// CAs as they were at one time.
pub(crate) enum Anchors {
    /// Those of the system, in an order of their own.
    System(Vec<CertificateDer<'static>>),
    /// Those in a file.
    File(PemFile),
}

impl Anchors {
    pub(crate) fn state(&self) -> State {
        match self {
            Self::System(certificates) => {
                State::Read(Fingerprint::of(certificates.iter().map(|der| &der[..])))
            }
            Self::File(file) => file.state(),
        }
    }

    /// The CAs, at least one. Only those in a file have a lifetime that anybody waits for.
    pub(crate) fn load(&self, role: Role) -> Result<(RootCertStore, Option<Lifetime>), Error> {
        match self {
            Self::System(certificates) => Ok((from_system(certificates)?, None)),
            Self::File(file) => {
                from_file(file, role).map(|(roots, lifetime)| (roots, Some(lifetime)))
            }
        }
    }
}

/// What can be used of the system's CAs: one of a hundred that is odd is nobody's concern.
fn from_system(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    if roots.is_empty() {
        return Err(Error::NoSystemRoots);
    }
    Ok(roots)
}

/// All CAs of a file: who names one expects that it counts.
pub(crate) fn from_file(file: &PemFile, role: Role) -> Result<(RootCertStore, Lifetime), Error> {
    let certificates = file.certificates()?;
    let lifetime = Lifetime::of(role, file, &certificates)?;
    let mut roots = RootCertStore::empty();
    for (before, certificate) in certificates.into_iter().enumerate() {
        roots
            .add(certificate)
            .map_err(|error| Error::DamagedCertificate {
                file: file.path().to_owned(),
                position: before + 1,
                reason: match error {
                    rustls::Error::InvalidCertificate(reason) => reason,
                    _ => CertificateError::BadEncoding,
                },
            })?;
    }
    Ok((roots, lifetime))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn a_system_without_cas_is_told_to_name_a_file() {
        let empty = Anchors::System(Vec::new()).load(Role::UpstreamCa);
        let error = empty.map(|_| ()).unwrap_err();
        assert_eq!(error, Error::NoSystemRoots);
        let text = "this system has no CA certificates; a file with the CAs to trust is needed";
        assert_eq!(error.to_string(), text);
        let odd = Anchors::System(vec![CertificateDer::from_slice(b"odd")]);
        assert!(odd.load(Role::UpstreamCa).is_err());
    }

    #[test]
    fn an_odd_ca_of_the_system_is_left_out_and_none_has_a_lifetime() {
        let odd = CertificateDer::from_slice(b"odd");
        let anchors = Anchors::System(vec![odd, ca()]);
        let (roots, lifetime) = anchors.load(Role::UpstreamCa).unwrap();
        assert_eq!((roots.len(), lifetime), (1, None));
    }

    #[test]
    fn a_change_of_the_systems_cas_is_seen() {
        let (one, other) = (ca(), ca());
        let state = |cas: &[_]| Anchors::System(cas.to_vec()).state();
        let both = [one.clone(), other.clone()];
        assert_eq!(state(&both), state(&both));
        assert_ne!(state(&both), state(&both[..1]));
        assert_ne!(state(&[one]), state(&[other]));
    }

    fn ca() -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::default().self_signed(&key).unwrap();
        certificate.der().clone()
    }
}
