//! When certificates expire.

use std::path::PathBuf;
use std::time::SystemTime;

use rustls::CertificateError;
use rustls::pki_types::CertificateDer;

use crate::error::Error;
use crate::pem_file::PemFile;
use crate::x509::Certificate;

/// What certificates are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Shown to clients.
    Server,
    /// The CAs of client certificates.
    ClientCa,
    /// The CAs of the broker's certificate.
    UpstreamCa,
    /// Shown to the broker.
    UpstreamClient,
}

impl Role {
    /// The word for a metric and the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::ClientCa => "client-ca",
            Self::UpstreamCa => "upstream-ca",
            Self::UpstreamClient => "upstream-client",
        }
    }
}

/// The time during which all certificates of a role are valid: an own certificate without those
/// of its issuers, or all CAs of a file.
///
/// A peer refuses an own certificate outside of it. A CA in a file is trusted as long as it stands
/// there (RFC 5280 §6.1.1 gives a trust anchor no dates), but whoever replaces it waits for this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// What they are for.
    pub role: Role,
    /// The file they are in.
    pub file: PathBuf,
    /// When the last of them becomes valid.
    pub not_before: SystemTime,
    /// When the first of them expires; it is valid up to this second (RFC 5280 §4.1.2.5).
    pub not_after: SystemTime,
}

impl Lifetime {
    pub(crate) fn of(
        role: Role,
        file: &PemFile,
        certificates: &[CertificateDer<'_>],
    ) -> Result<Self, Error> {
        let mut lifetime = Self {
            role,
            file: file.path().to_owned(),
            not_before: SystemTime::UNIX_EPOCH,
            not_after: SystemTime::UNIX_EPOCH,
        };
        for (before, certificate) in certificates.iter().enumerate() {
            let (not_before, not_after) = Certificate::from_der(certificate)
                .and_then(|certificate| certificate.validity())
                .map_err(|_| Error::DamagedCertificate {
                    file: file.path().to_owned(),
                    position: before + 1,
                    reason: CertificateError::BadEncoding,
                })?;
            lifetime.not_before = lifetime.not_before.max(not_before);
            if before == 0 || not_after < lifetime.not_after {
                lifetime.not_after = not_after;
            }
        }
        Ok(lifetime)
    }

    /// Where in its life this is at the given time.
    pub fn at(&self, now: SystemTime) -> Phase {
        if now > self.not_after {
            Phase::Expired
        } else if now < self.not_before {
            Phase::NotYetValid
        } else {
            Phase::Valid
        }
    }
}

/// Where in its life a certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Too early, or a clock is wrong.
    NotYetValid,
    /// In time.
    Valid,
    /// Too late.
    Expired,
}
