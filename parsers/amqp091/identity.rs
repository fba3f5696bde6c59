//! Who a client says it is, in the words of its security mechanism. Passwords are passed over.

use super::table::Table;

/// A security mechanism of connection.start-ok by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// PLAIN (RFC 4616).
    Plain,
    /// AMQPLAIN, which is what AMQP 0-8 called PLAIN.
    AmqPlain,
    /// EXTERNAL (RFC 4422 appendix A): the identity is that of the lower layer.
    External,
    /// Any other mechanism.
    Other,
}

impl Mechanism {
    /// The mechanism of this name.
    pub fn named(name: &[u8]) -> Self {
        match name {
            b"PLAIN" => Self::Plain,
            b"AMQPLAIN" => Self::AmqPlain,
            b"EXTERNAL" => Self::External,
            _ => Self::Other,
        }
    }
}

/// The name in the response of connection.start-ok; `None` if there is none that can be read.
///
/// That is the authentication identity; for EXTERNAL the authorization identity, which is all that
/// is said there.
pub fn identity(mechanism: Mechanism, response: &[u8]) -> Option<&str> {
    let name = match mechanism {
        Mechanism::Plain => plain(response)?,
        Mechanism::AmqPlain => Table(response).longstr(b"LOGIN")?,
        Mechanism::External => response,
        Mechanism::Other => return None,
    };
    let name = std::str::from_utf8(name).ok()?;
    (!name.is_empty()).then_some(name)
}

/// ```text
/// +---------+------+---------+------+----------+
/// | authzid | 0x00 | authcid | 0x00 | password |   RFC 4616 §2
/// +---------+------+---------+------+----------+
/// ```
fn plain(response: &[u8]) -> Option<&[u8]> {
    let mut parts = response.splitn(3, |&octet| octet == 0);
    let _authzid = parts.next()?;
    let authcid = parts.next()?;
    // Without a password this is no message of PLAIN.
    parts.next()?;
    Some(authcid)
}
