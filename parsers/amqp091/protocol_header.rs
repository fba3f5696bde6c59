//! The protocol header: the eight octets with which a client begins.

use crate::Parsed;

/// A protocol header (AMQP 0-9-1 §4.2.2), of whatever protocol called itself AMQP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolHeader {
    /// What follows `AMQP`.
    pub version: [u8; 4],
}

/// The versions of the protocol that are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// 0-9-1, and 0-9, which is the same as far as it is looked at.
    #[default]
    V091,
    /// 0-8, in which connection.close has another number.
    V08,
}

impl ProtocolHeader {
    /// AMQP 0-9-1 (§4.2.2).
    pub const AMQP: Self = Self {
        version: [0, 0, 9, 1],
    };
    /// Octets of a protocol header.
    pub const LEN: usize = 8;

    /// The version that the header asks for, if it is one of these.
    ///
    /// 0-9-1 has `0 0 9 1` and 0-9 has `1 1 0 9`. For 0-8 clients wrote `1 1 8 0`, and `1 1 9 1` as
    /// RabbitMQ knows them.
    pub fn version(&self) -> Option<Version> {
        match self.version {
            [0, 0, 9, 1] | [1, 1, 0, 9] => Some(Version::V091),
            [1, 1, 8, 0] | [1, 1, 9, 1] | [1, 1, 0, 8] => Some(Version::V08),
            _ => None,
        }
    }

    /// The octets of the header.
    pub fn octets(&self) -> [u8; Self::LEN] {
        let [a, m, q, p] = *MAGIC;
        let [id, major, minor, revision] = self.version;
        [a, m, q, p, id, major, minor, revision]
    }
}

/// Reads a protocol header, or says by its first octets that this is none.
///
/// ```text
/// +-----+-----+-----+-----+---+---+---+---+
/// | 'A' | 'M' | 'Q' | 'P' | 0 | 0 | 9 | 1 |   AMQP 0-9-1 §4.2.2
/// +-----+-----+-----+-----+---+---+---+---+
/// ```
///
/// `None` at the first octet that differs from `AMQP`.
pub fn protocol_header(input: &[u8]) -> Parsed<Option<ProtocolHeader>> {
    if input.iter().zip(MAGIC).any(|(octet, due)| octet != due) {
        return Parsed::Value(None);
    }
    match input {
        &[_, _, _, _, id, major, minor, revision, ..] => Parsed::Value(Some(ProtocolHeader {
            version: [id, major, minor, revision],
        })),
        _ => Parsed::NeedMore(ProtocolHeader::LEN),
    }
}

const MAGIC: &[u8; 4] = b"AMQP";
