//! The protocol header: eight octets that open each layer of a connection.

use crate::Parsed;

/// A protocol header (AMQP 1.0 §2.2), of whatever protocol called itself AMQP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolHeader {
    /// The protocol id.
    pub id: u8,
    /// The major version.
    pub major: u8,
    /// The minor version.
    pub minor: u8,
    /// The revision.
    pub revision: u8,
}

/// What a protocol header asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// AMQP 1.0 itself, protocol id 0.
    Amqp10,
    /// A TLS layer, protocol id 2 (AMQP 1.0 §5.2.1).
    Tls,
    /// A SASL layer, protocol id 3 (AMQP 1.0 §5.3.1).
    Sasl,
    /// AMQP 0-9-1, or 0-8 and 0-9, whose headers have another form.
    Amqp091,
    /// A version that is not known here.
    Other,
}

impl ProtocolHeader {
    /// AMQP 1.0 (§2.2).
    pub const AMQP: Self = Self::of_1_0(0);
    /// The TLS layer of AMQP 1.0 (§5.2.1).
    pub const TLS: Self = Self::of_1_0(2);
    /// The SASL layer of AMQP 1.0 (§5.3.1).
    pub const SASL: Self = Self::of_1_0(3);
    /// Octets of a protocol header.
    pub const LEN: usize = 8;

    const fn of_1_0(id: u8) -> Self {
        Self {
            id,
            major: 1,
            minor: 0,
            revision: 0,
        }
    }

    /// Which protocol the header asks for.
    ///
    /// 0-8 and 0-9 wrote `AMQP 1 1 major minor`, 0-9-1 writes `AMQP 0 0 9 1` (AMQP 0-9-1 §4.2.2).
    pub fn protocol(&self) -> Protocol {
        match (self.id, self.major, self.minor, self.revision) {
            (0, 1, 0, 0) => Protocol::Amqp10,
            (2, 1, 0, 0) => Protocol::Tls,
            (3, 1, 0, 0) => Protocol::Sasl,
            (0, 0, 9, 1) | (1, 1, 8, 0) | (1, 1, 0, 8 | 9) | (1, 1, 9, 1) => Protocol::Amqp091,
            _ => Protocol::Other,
        }
    }

    /// The octets of the header.
    pub fn octets(&self) -> [u8; Self::LEN] {
        let [a, m, q, p] = *MAGIC;
        [a, m, q, p, self.id, self.major, self.minor, self.revision]
    }
}

/// Reads a protocol header, or says by its first octets that this is none.
///
/// ```text
/// +-----------------+----+-------+-------+----------+
/// | 'A' 'M' 'Q' 'P' | id | major | minor | revision |   AMQP 1.0 §2.2
/// | 4               | 1  | 1     | 1     | 1        |
/// +-----------------+----+-------+-------+----------+
/// ```
///
/// `None` at the first octet that differs from `AMQP`.
pub fn protocol_header(input: &[u8]) -> Parsed<Option<ProtocolHeader>> {
    if input.iter().zip(MAGIC).any(|(octet, due)| octet != due) {
        return Parsed::Value(None);
    }
    match input {
        &[_, _, _, _, id, major, minor, revision, ..] => Parsed::Value(Some(ProtocolHeader {
            id,
            major,
            minor,
            revision,
        })),
        _ => Parsed::NeedMore(ProtocolHeader::LEN),
    }
}

const MAGIC: &[u8; 4] = b"AMQP";
