//! What is wrong with a file, in the words of whoever has to mend it.

use std::io;
use std::path::PathBuf;

use rustls::CertificateError;

use crate::sections::{Fault, Found};

/// Why a set of files makes no configuration. The text is whole: there is no cause behind it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Nothing is at this path, or a link leads nowhere.
    #[error("{file}: no such file")]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// The file is there and can't be read.
    #[error("{file}: cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        reason: io::ErrorKind,
    },
    /// A section is damaged.
    #[error("{file}: not well-formed PEM: {fault}")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with the section.
        fault: Fault,
    },
    /// A file that was to hold certificates holds none.
    #[error("{file}: no certificate in it{found}")]
    NoCertificate {
        /// The file.
        file: PathBuf,
        /// What is in it.
        found: Found,
    },
    /// A file that was to hold a private key holds none.
    #[error("{file}: no private key in it{found}")]
    NoKey {
        /// The file.
        file: PathBuf,
        /// What is in it.
        found: Found,
    },
    /// The private key is protected by a password.
    #[error("{file}: the private key is encrypted, and is needed without a password")]
    EncryptedKey {
        /// The file.
        file: PathBuf,
    },
    /// The private key is of a kind that TLS does not use, or is damaged.
    #[error(
        "{file}: the private key is damaged or of an unknown kind; \
         RSA from 2048 bits, ECDSA (P-256, P-384, P-521) and Ed25519 are known"
    )]
    UnusableKey {
        /// The file.
        file: PathBuf,
    },
    /// A certificate cannot be decoded.
    #[error("{file}: certificate {position} in it is damaged: {reason}")]
    DamagedCertificate {
        /// The file.
        file: PathBuf,
        /// Its place among the certificates of the file; the first is 1.
        position: usize,
        /// What the decoder says.
        reason: CertificateError,
    },
    /// A certificate that identifies nobody in TLS: no peer would take it.
    #[error(
        "{file}: the first certificate in it is of X.509 version {version}, and TLS needs version 3: \
         it must be issued with extensions, such as subjectAltName"
    )]
    OldCertificate {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u8,
    },
    /// Certificate and private key are not of one pair: one of them is still to be replaced, or
    /// the certificates stand in the wrong order.
    #[error(
        "{key}: the private key does not fit the first certificate in {cert} \
         (the own certificate comes first, those of its issuers after it)"
    )]
    KeyMismatch {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The system's CAs were to be trusted, and there are none.
    #[error("this system has no CA certificates; a file with the CAs to trust is needed")]
    NoSystemRoots,
}
