//! Who a client says it is, in the words of its SASL mechanism. Passwords are passed over.

use std::borrow::Cow;

/// A SASL mechanism by its registered name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism<'a> {
    /// PLAIN (RFC 4616).
    Plain,
    /// EXTERNAL (RFC 4422 appendix A): the identity is that of the lower layer.
    External,
    /// ANONYMOUS (RFC 4505).
    Anonymous,
    /// SCRAM with any hash, with or without channel binding (RFC 5802).
    Scram(&'a str),
    /// A mechanism that may put a layer of its own around all that follows: GSSAPI, GS2 and
    /// DIGEST-MD5 (RFC 4752, RFC 5801, RFC 2831).
    MayAddSecurityLayer(&'a str),
    /// Any other mechanism.
    Other(&'a str),
}

impl<'a> Mechanism<'a> {
    /// The mechanism of this name.
    pub fn named(name: &'a str) -> Self {
        match name {
            "PLAIN" => Self::Plain,
            "EXTERNAL" => Self::External,
            "ANONYMOUS" => Self::Anonymous,
            "GSSAPI" | "GSS-SPNEGO" | "DIGEST-MD5" | "KERBEROS_V4" | "SRP" => {
                Self::MayAddSecurityLayer(name)
            }
            _ if name.starts_with("GS2-") => Self::MayAddSecurityLayer(name),
            _ if name.starts_with("SCRAM-") => Self::Scram(name),
            _ => Self::Other(name),
        }
    }

    /// The registered name.
    pub fn name(&self) -> &'a str {
        match *self {
            Self::Plain => "PLAIN",
            Self::External => "EXTERNAL",
            Self::Anonymous => "ANONYMOUS",
            Self::Scram(name) | Self::MayAddSecurityLayer(name) | Self::Other(name) => name,
        }
    }
}

/// The name in the client's first message of `mechanism`: the initial response, or the first
/// sasl-response where there was none.
///
/// That is the authentication identity; for EXTERNAL the authorization identity, which is all that
/// is said there. `None` if there is none, or none that can be read.
pub fn identity<'a>(mechanism: Mechanism<'_>, message: &'a [u8]) -> Option<Cow<'a, str>> {
    let name = match mechanism {
        Mechanism::Plain => Cow::Borrowed(plain(message)?),
        Mechanism::External => Cow::Borrowed(std::str::from_utf8(message).ok()?),
        Mechanism::Scram(_) => scram(message)?,
        Mechanism::Anonymous | Mechanism::MayAddSecurityLayer(_) | Mechanism::Other(_) => {
            return None;
        }
    };
    (!name.is_empty()).then_some(name)
}

/// ```text
/// +---------+------+---------+------+----------+
/// | authzid | 0x00 | authcid | 0x00 | password |   RFC 4616 §2
/// +---------+------+---------+------+----------+
/// ```
fn plain(message: &[u8]) -> Option<&str> {
    let mut parts = message.splitn(3, |&octet| octet == 0);
    let _authzid = parts.next()?;
    let authcid = parts.next()?;
    // Without a password this is no message of PLAIN.
    parts.next()?;
    std::str::from_utf8(authcid).ok()
}

/// ```text
/// gs2-cbind-flag , [a=authzid] , [m=...,] n=username , r=nonce [, extensions]   RFC 5802 §7
/// n  y  p=name
/// ```
fn scram(message: &[u8]) -> Option<Cow<'_, str>> {
    let message = std::str::from_utf8(message).ok()?;
    let mut parts = message.split(',');
    let binding = parts.next()?;
    if !(matches!(binding, "n" | "y") || binding.starts_with("p=")) {
        return None;
    }
    let authzid = parts.next()?;
    if !(authzid.is_empty() || authzid.starts_with("a=")) {
        return None;
    }
    let mut first = parts.next()?;
    if first.starts_with("m=") {
        first = parts.next()?;
    }
    let name = saslname(first.strip_prefix("n=")?)?;
    parts.next()?.strip_prefix("r=")?;
    Some(name)
}

/// Undoes `=2C` for a comma and `=3D` for an equals sign; no other escape is legal.
fn saslname(name: &str) -> Option<Cow<'_, str>> {
    let mut pieces = name.split('=');
    let first = pieces.next()?;
    let mut decoded = Cow::Borrowed(first);
    for piece in pieces {
        let (character, rest) = if let Some(rest) = piece.strip_prefix("2C") {
            (',', rest)
        } else {
            ('=', piece.strip_prefix("3D")?)
        };
        let decoded = decoded.to_mut();
        decoded.push(character);
        decoded.push_str(rest);
    }
    Some(decoded)
}
