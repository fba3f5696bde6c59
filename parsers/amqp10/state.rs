//! Delivery states and outcomes: what became of a delivery.

use super::error::AmqpError;
use super::fields::{any, binary, mandatory, optional};
use super::list::{ListWriter, described_list};
use super::scalar;

/// A delivery state (AMQP 1.0 §3.4, §4.5.5, §4.5.8), as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState<'a> {
    /// 0x23 received: not an outcome, but how far a delivery has come.
    Received,
    /// 0x24 accepted.
    Accepted,
    /// 0x25 rejected.
    Rejected,
    /// 0x26 released.
    Released,
    /// 0x27 modified.
    Modified,
    /// 0x33 declared: the coordinator's answer to a declare.
    Declared,
    /// 0x34 transactional-state: the delivery belongs to a transaction.
    Transactional {
        /// The transaction's id.
        txn_id: &'a [u8],
        /// The provisional outcome, encoded: [`delivery_state`] reads it.
        outcome: Option<&'a [u8]>,
    },
    /// Anything else.
    Other,
}

/// An outcome that sizegate gives to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Accepted (AMQP 1.0 §3.4.2).
    Accepted,
    /// Rejected, and why (AMQP 1.0 §3.4.3).
    Rejected(AmqpError<'a>),
}

/// Reads the delivery state that `raw` is as a whole; what is not one is [`DeliveryState::Other`].
pub fn delivery_state(raw: &[u8]) -> DeliveryState<'_> {
    match described_list(raw) {
        Ok(Some((0x23, _))) => DeliveryState::Received,
        Ok(Some((0x24, _))) => DeliveryState::Accepted,
        Ok(Some((0x25, _))) => DeliveryState::Rejected,
        Ok(Some((0x26, _))) => DeliveryState::Released,
        Ok(Some((0x27, _))) => DeliveryState::Modified,
        Ok(Some((0x33, _))) => DeliveryState::Declared,
        Ok(Some((0x34, fields))) => transactional(fields).unwrap_or(DeliveryState::Other),
        _ => DeliveryState::Other,
    }
}

/// Appends an outcome as a delivery state, wrapped in a transactional-state where the delivery
/// belongs to a transaction (AMQP 1.0 §4.4.2).
pub fn state(out: &mut Vec<u8>, outcome: &Outcome<'_>, txn_id: Option<&[u8]>) {
    match txn_id {
        None => encode_outcome(out, outcome),
        Some(txn_id) => ListWriter::described(out, 0x34, |list| {
            list.field(|out| scalar::binary(out, txn_id))
                .field(|out| encode_outcome(out, outcome));
        }),
    }
}

fn encode_outcome(out: &mut Vec<u8>, outcome: &Outcome<'_>) {
    match outcome {
        Outcome::Accepted => ListWriter::described(out, 0x24, |_| {}),
        Outcome::Rejected(error) => ListWriter::described(out, 0x25, |list| {
            list.field(|out| error.write(out));
        }),
    }
}

/// The fields of a transactional-state (AMQP 1.0 §4.5.8): txn-id, outcome.
fn transactional(fields: &[u8]) -> Option<DeliveryState<'_>> {
    let (rest, txn_id) = mandatory(binary)(fields).ok()?;
    let (_, outcome) = optional(any)(rest).ok()?;
    Some(DeliveryState::Transactional { txn_id, outcome })
}
