//! SASL frames: what mechanism was chosen, what was said, and how it ended.

use std::fmt;

use super::descriptor::Descriptor;
use super::fault::Malformed;
use super::fields::{Field, any, binary, mandatory, optional, text, ubyte};
use super::identity::Mechanism;
use super::performative::Performative;

/// A sasl-init (AMQP 1.0 §5.3.3.2). Its debug form leaves out the initial response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SaslInit<'a> {
    /// The mechanism that the client chose.
    pub mechanism: Mechanism<'a>,
    /// Its first message, if it has one; a secret.
    pub initial_response: Option<&'a [u8]>,
    /// The host that is meant.
    pub hostname: Option<&'a str>,
}

/// A sasl-outcome (AMQP 1.0 §5.3.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaslOutcome {
    /// 0 ok, 1 auth, 2 sys, 3 sys-perm, 4 sys-temp (AMQP 1.0 §5.3.3.6).
    pub code: u8,
}

impl SaslOutcome {
    /// Whether the client is who it said it is.
    pub fn is_ok(&self) -> bool {
        self.code == 0
    }
}

impl fmt::Debug for SaslInit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaslInit")
            .field("mechanism", &self.mechanism)
            .field("hostname", &self.hostname)
            .finish_non_exhaustive()
    }
}

impl<'a> Performative<'a> {
    /// Reads the fields of a sasl-init.
    pub fn sasl_init(&self) -> Result<SaslInit<'a>, Malformed> {
        self.read(Descriptor::SaslInit, sasl_init)
    }

    /// Reads the octets of a sasl-challenge (AMQP 1.0 §5.3.3.3).
    pub fn sasl_challenge(&self) -> Result<&'a [u8], Malformed> {
        self.read(Descriptor::SaslChallenge, mandatory(binary))
    }

    /// Reads the octets of a sasl-response (AMQP 1.0 §5.3.3.4); a secret.
    pub fn sasl_response(&self) -> Result<&'a [u8], Malformed> {
        self.read(Descriptor::SaslResponse, mandatory(binary))
    }

    /// Reads the fields of a sasl-outcome.
    pub fn sasl_outcome(&self) -> Result<SaslOutcome, Malformed> {
        let code = self.read(Descriptor::SaslOutcome, mandatory(ubyte))?;
        Ok(SaslOutcome { code })
    }

    /// Reads the names of a sasl-mechanisms (AMQP 1.0 §5.3.3.1).
    pub fn sasl_mechanisms(&self) -> Result<SaslMechanisms<'a>, Malformed> {
        let raw = self.read(Descriptor::SaslMechanisms, mandatory(any))?;
        Ok(SaslMechanisms::of(raw))
    }
}

fn sasl_init(fields: &[u8]) -> Field<'_, SaslInit<'_>> {
    let (rest, mechanism) = mandatory(text)(fields)?;
    let (rest, initial_response) = optional(binary)(rest)?;
    let (rest, hostname) = optional(text)(rest)?;
    let init = SaslInit {
        mechanism: Mechanism::named(mechanism),
        initial_response,
        hostname,
    };
    Ok((rest, init))
}

/// The names in a sasl-mechanisms, one after the other.
///
/// ```text
/// +------+---------+----------+-------------+-------------------------+
/// | 0xE0 | size, 1 | count, 1 | constructor | length, symbol; ...     |   array8, AMQP 1.0 §1.6.24
/// | 0xF0 | size, 4 | count, 4 | 0xA3, 0xB3  | length of 1 or 4 octets |   array32
/// | 0xA3 | length  | symbol   |             |                         |   a single one
/// +------+---------+----------+-------------+-------------------------+
/// ```
#[derive(Clone, Debug)]
pub struct SaslMechanisms<'a> {
    /// What is left of the names, each with a length before it.
    rest: &'a [u8],
    /// Octets of a length: 1 or 4.
    length_len: usize,
}

impl<'a> SaslMechanisms<'a> {
    fn of(raw: &'a [u8]) -> Self {
        let (constructor, rest) = match raw {
            [constructor @ (0xA3 | 0xB3), rest @ ..] => (*constructor, rest),
            [0xE0, _, _, constructor, rest @ ..] => (*constructor, rest),
            [0xF0, _, _, _, _, _, _, _, _, constructor, rest @ ..] => (*constructor, rest),
            _ => (0, &[][..]),
        };
        match constructor {
            0xA3 => Self {
                rest,
                length_len: 1,
            },
            0xB3 => Self {
                rest,
                length_len: 4,
            },
            _ => Self {
                rest: &[],
                length_len: 1,
            },
        }
    }
}

impl<'a> Iterator for SaslMechanisms<'a> {
    type Item = Mechanism<'a>;

    fn next(&mut self) -> Option<Mechanism<'a>> {
        let (length, rest) = self.rest.split_at_checked(self.length_len)?;
        let length = length
            .iter()
            .fold(0, |sum, &octet| sum << 8 | usize::from(octet));
        let (name, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Mechanism::named(std::str::from_utf8(name).ok()?))
    }
}
