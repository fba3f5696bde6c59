//! The certificate that proxies show to TLS clients.

use std::path::{Path, PathBuf};

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::Error;
use crate::load::Trust;

/// A certificate for the loopback address, as files and as what a client trusts.
#[derive(Debug)]
pub(crate) struct Certificate {
    /// The certificate in PEM.
    pub(crate) chain: PathBuf,
    /// Its key in PEM.
    pub(crate) key: PathBuf,
    /// Both in one file.
    pub(crate) both: PathBuf,
    /// Trust in it.
    pub(crate) trust: Trust,
}

impl Certificate {
    /// Makes one in a folder: ECDSA on P-256, signed by itself.
    pub(crate) fn make(folder: &Path) -> Result<Self, Error> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([String::from("127.0.0.1")])?;
        let (chain, key) = (cert.pem(), signing_key.serialize_pem());
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            let written = std::fs::write(&path, text);
            written.map(|()| path).map_err(Error::io("a certificate"))
        };
        Ok(Self {
            chain: write("cert.pem", &chain)?,
            key: write("key.pem", &key)?,
            both: write("both.pem", &(chain.clone() + &key))?,
            trust: Trust::new(cert.der().clone())?,
        })
    }
}
