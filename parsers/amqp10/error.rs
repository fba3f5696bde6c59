//! Errors: why a delivery was rejected, or a link, a session or a connection ended.

use super::fields::{Field, mandatory, optional, text};
use super::list::{ListWriter, described_list};
use super::scalar;

/// An error (AMQP 1.0 §2.8.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmqpError<'a> {
    /// The error condition, a symbol; empty if the peer sent none that can be read.
    pub condition: &'a str,
    /// A text for people.
    pub description: Option<&'a str>,
    /// More about the condition, as a map of symbols. It is written and never read.
    pub info: &'a [(&'a str, InfoValue<'a>)],
}

/// A value in the info map of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoValue<'a> {
    /// A string.
    Text(&'a str),
    /// A ulong.
    Number(u64),
}

/// The error conditions that sizegate uses (AMQP 1.0 §2.8.15 to §2.8.18).
pub mod condition {
    /// An operator intervened to close the connection.
    pub const CONNECTION_FORCED: &str = "amqp:connection:forced";
    /// A valid frame header cannot be formed from the octets that came.
    pub const FRAMING_ERROR: &str = "amqp:connection:framing-error";
    /// A message is larger than the link allows.
    pub const MESSAGE_SIZE_EXCEEDED: &str = "amqp:link:message-size-exceeded";
    /// Data could not be decoded.
    pub const DECODE_ERROR: &str = "amqp:decode-error";
    /// The peer is not allowed to do what it did.
    pub const NOT_ALLOWED: &str = "amqp:not-allowed";
    /// A resource, such as the number of links, is used up.
    pub const RESOURCE_LIMIT_EXCEEDED: &str = "amqp:resource-limit-exceeded";
}

impl<'a> AmqpError<'a> {
    /// Reads the error that `raw` is as a whole. What cannot be read is left empty: that there is
    /// an error counts, and what it says is for people.
    pub(super) fn read(raw: &'a [u8]) -> Self {
        match described_list(raw) {
            Ok(Some((0x1D, fields))) => error(fields).map(|(_, error)| error).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    /// Appends the error: condition, description, info.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        ListWriter::described(out, 0x1D, |list| {
            list.field(|out| scalar::symbol(out, self.condition))
                .field(|out| {
                    if let Some(text) = self.description {
                        scalar::string(out, text);
                    }
                })
                .field(|out| self.write_info(out));
        });
    }

    /// ```text
    /// +------+---------+----------------+---------------------------+
    /// | 0xD1 | size, 4 | count, 4       | key, value, key, value... |   map32, AMQP 1.0 §1.6.23
    /// +------+---------+----------------+---------------------------+
    ///                   keys and values
    /// ```
    fn write_info(&self, out: &mut Vec<u8>) {
        if self.info.is_empty() {
            return;
        }
        let mut entries = Vec::new();
        for (key, value) in self.info {
            scalar::symbol(&mut entries, key);
            match value {
                InfoValue::Text(text) => scalar::string(&mut entries, text),
                InfoValue::Number(number) => entries.extend_from_slice(&scalar::ulong(*number)),
            }
        }
        out.push(0xD1);
        out.extend_from_slice(&(entries.len() as u32 + 4).to_be_bytes());
        out.extend_from_slice(&(self.info.len() as u32 * 2).to_be_bytes());
        out.append(&mut entries);
    }
}

fn error(fields: &[u8]) -> Field<'_, AmqpError<'_>> {
    let (rest, condition) = mandatory(text)(fields)?;
    let (rest, description) = optional(text)(rest)?;
    let error = AmqpError {
        condition,
        description,
        info: &[],
    };
    Ok((rest, error))
}
