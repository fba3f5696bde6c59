//! The cryptography: AWS-LC, by way of aws-lc-rs. It is chosen here and nowhere else.

use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256, SHA256_OUTPUT_LEN};
use rustls::SupportedProtocolVersion;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::server::ProducesTickets;
use rustls::version::{TLS12, TLS13};

use crate::MinVersion;

/// What rustls computes with.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

/// The versions that are spoken; the provider has cipher suites for each.
pub(crate) fn versions(min: MinVersion) -> &'static [&'static SupportedProtocolVersion] {
    match min {
        MinVersion::Tls12 => &FROM_TLS12,
        MinVersion::Tls13 => &FROM_TLS13,
    }
}

/// Session tickets under keys of their own, which are replaced every six hours.
///
/// None if there is no randomness for keys: then each handshake is a full one.
pub(crate) fn ticketer() -> Option<Arc<dyn ProducesTickets>> {
    Ticketer::new().ok()
}

/// Tells whether two readings are the same. A private key that was read does not stay in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; SHA256_OUTPUT_LEN]);

impl Fingerprint {
    /// The fingerprint of all parts in their order; where one ends counts as well.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut context = Context::new(&SHA256);
        for part in parts {
            context.update(&part.len().to_be_bytes());
            context.update(part);
        }
        let mut octets = [0; SHA256_OUTPUT_LEN];
        octets.copy_from_slice(context.finish().as_ref());
        Self(octets)
    }
}

static FROM_TLS12: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
static FROM_TLS13: [&SupportedProtocolVersion; 1] = [&TLS13];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_tells_contents_and_where_one_part_ends() {
        let of = |parts: &[&[u8]]| Fingerprint::of(parts.iter().copied());
        assert_eq!(of(&[b"ab", b"c"]), of(&[b"ab", b"c"]));
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"ab"]), of(&[b"ab", b""]));
        assert_ne!(of(&[]), of(&[b""]));
    }
}
