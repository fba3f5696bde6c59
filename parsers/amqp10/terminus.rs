//! The two ends of a link: its source and its target.

use super::descriptor::described;
use super::fault::Fault;
use super::fields::{Field, any, boolean, optional, text};
use super::list::{ListWriter, described_list};
use super::scalar;

/// A source or a target (AMQP 1.0 §2.6.3, §3.5.3, §3.5.4, §4.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminus<'a> {
    /// Null or left out: the link was refused, or is being ended.
    Null,
    /// A node: source 0x28 or target 0x29.
    Node {
        /// Its address, if it has one and that is a string.
        address: Option<&'a str>,
        /// Whether the node is to be created, and the address is to be told by the peer.
        dynamic: bool,
    },
    /// A transaction coordinator, 0x30.
    Coordinator,
    /// Anything else.
    Other,
}

impl<'a> Terminus<'a> {
    /// The address of a node.
    pub fn address(&self) -> Option<&'a str> {
        match *self {
            Self::Node { address, .. } => address,
            _ => None,
        }
    }

    /// Reads the terminus that `raw` is as a whole.
    pub(super) fn read(raw: &'a [u8]) -> Result<Self, Fault> {
        match described(raw) {
            Ok(Some((0x28 | 0x29, _))) => {}
            Ok(Some((0x30, _))) => return Ok(Self::Coordinator),
            Ok(_) | Err(Fault::NotDescribed) => return Ok(Self::Other),
            Err(what) => return Err(what),
        }
        match described_list(raw)? {
            Some((_, fields)) => match node(fields) {
                Ok((_, node)) => Ok(node),
                Err(nom::Err::Error(offence) | nom::Err::Failure(offence)) => Err(offence.what),
                Err(nom::Err::Incomplete(_)) => Err(Fault::ValueBeyondEnd),
            },
            None => Ok(Self::Other),
        }
    }

    /// Appends the terminus, a node with this descriptor; nothing for null and what is not known.
    pub(super) fn write(&self, out: &mut Vec<u8>, node: u8) {
        match *self {
            Self::Null | Self::Other => {}
            Self::Coordinator => ListWriter::described(out, 0x30, |_| {}),
            Self::Node { address, dynamic } => ListWriter::described(out, node, |list| {
                list.field(|out| {
                    if let Some(address) = address {
                        scalar::string(out, address);
                    }
                })
                .null() // durable
                .null() // expiry-policy
                .null() // timeout
                .value(dynamic.then(|| scalar::boolean(true)));
            }),
        }
    }
}

/// The fields that source and target share (AMQP 1.0 §3.5.3, §3.5.4): address, durable,
/// expiry-policy, timeout, dynamic. An address may be of any type; only a string is read.
fn node(fields: &[u8]) -> Field<'_, Terminus<'_>> {
    let (rest, address) = optional(any)(fields)?;
    let (rest, _durable) = optional(any)(rest)?;
    let (rest, _expiry_policy) = optional(any)(rest)?;
    let (rest, _timeout) = optional(any)(rest)?;
    let (rest, dynamic) = optional(boolean)(rest)?;
    let address = address.and_then(|raw| text(raw).ok()).map(|(_, text)| text);
    let dynamic = dynamic.unwrap_or(false);
    Ok((rest, Terminus::Node { address, dynamic }))
}
