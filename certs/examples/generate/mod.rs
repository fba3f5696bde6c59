//! Certificates for development and tests: authorities, and what they issue.
//!
//! The example beside it writes some into a folder; tests, also those of other packages, take this
//! file in by its path. No part of the program: what it makes is for nobody to rely on.

#![allow(dead_code, reason = "each user uses its part")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// A certificate authority with a key of its own.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// An authority whose subject is `CN=name`.
    pub(crate) fn new(name: &str) -> Result<Self, GenerateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name(&format!("CN={name}"))?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        within(&mut params, Valid::Now);
        Ok(Self(CertifiedIssuer::self_signed(
            params,
            KeyPair::generate()?,
        )?))
    }

    /// The authority's own certificate and key.
    pub(crate) fn own(&self) -> Issued {
        Issued {
            cert: self.0.pem(),
            key: self.0.key().serialize_pem(),
        }
    }

    /// A certificate for a server of these names, which may be IP addresses. The first one is also
    /// its subject.
    pub(crate) fn server(&self, names: &[&str], valid: Valid) -> Result<Issued, GenerateError> {
        let owned: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(owned)?;
        params.distinguished_name = DistinguishedName::new();
        if let Some(&first) = names.first() {
            params.distinguished_name.push(DnType::CommonName, first);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params, valid)
    }

    /// A certificate for a client with this subject, such as `CN=alice,O=Acme`.
    pub(crate) fn client(&self, subject: &str, valid: Valid) -> Result<Issued, GenerateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name(subject)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params, valid)
    }

    fn issue(&self, mut params: CertificateParams, valid: Valid) -> Result<Issued, GenerateError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        within(&mut params, valid);
        let key = KeyPair::generate()?;
        Ok(Issued {
            cert: params.signed_by(&key, &self.0)?.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// A certificate and its private key, both in PEM.
pub(crate) struct Issued {
    pub(crate) cert: String,
    pub(crate) key: String,
}

impl Issued {
    /// Writes `name.crt` and `name.key` into a folder, the key for its owner alone.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> io::Result<()> {
        fs::write(folder.join(format!("{name}.crt")), &self.cert)?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(folder.join(format!("{name}.key")))?
            .write_all(self.key.as_bytes())
    }
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Valid {
    /// From yesterday on, for a year.
    Now,
    /// It expired in September 2001.
    Past,
    /// It becomes valid in October 2096.
    Future,
}

impl Valid {
    /// The first and the last second, since 1970.
    pub(crate) fn period(self) -> (Duration, Duration) {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let (from, days) = match self {
            Self::Now => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                // A certificate knows no fractions of a second.
                let now = Duration::from_secs(now.unwrap_or_default().as_secs());
                (now.saturating_sub(DAY), 366)
            }
            Self::Past => (Duration::from_secs(1_000_000_000) - DAY, 1),
            Self::Future => (Duration::from_secs(4_000_000_000), 365),
        };
        (from, from + DAY * days)
    }
}

fn within(params: &mut CertificateParams, valid: Valid) {
    let (from, to) = valid.period();
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + from;
    params.not_after = epoch + to;
}

/// Reads `CN=alice,O=Acme`. Nothing can be escaped in it.
fn distinguished_name(text: &str) -> Result<DistinguishedName, GenerateError> {
    let mut name = DistinguishedName::new();
    // What comes first in the text comes last in the certificate (RFC 4514 §2.1).
    for part in text.rsplit(',') {
        let (kind, value) = match part.split_once('=') {
            Some(("CN", value)) => (DnType::CommonName, value),
            Some(("O", value)) => (DnType::OrganizationName, value),
            Some(("OU", value)) => (DnType::OrganizationalUnitName, value),
            Some(("L", value)) => (DnType::LocalityName, value),
            Some(("ST", value)) => (DnType::StateOrProvinceName, value),
            Some(("C", value)) => (DnType::CountryName, value),
            _ => return Err(GenerateError::Subject(part.to_owned())),
        };
        name.push(kind, value);
    }
    Ok(name)
}

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GenerateError {
    /// A part of a subject is not known.
    #[error("{0:?}: expected CN, O, OU, L, ST or C, such as CN=alice")]
    Subject(String),
    /// A name cannot stand in a certificate, or there is no randomness.
    #[error("{0}")]
    Certificate(#[from] rcgen::Error),
}
