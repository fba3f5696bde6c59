//! What is changed about a delivery, which is decided by its head: where it is settled, and its mark.

use std::sync::Arc;

use parsers::Parsed;
use parsers::amqp10::{Edit, SenderSettleMode, Transfer, annotations};

use super::super::link::{Link, LinkLimit};
use super::KEY;
use crate::gate::Side;

/// What is changed about a delivery.
#[derive(Debug, Default)]
pub(in super::super) enum Change {
    /// Nothing.
    #[default]
    Nothing,
    /// That is not known before this many octets of its payload are there, which are in frames that
    /// have not come.
    Undecided(How, usize),
    /// This.
    Made(Box<Rewrite>),
}

/// A change that was decided.
#[derive(Debug)]
pub(in super::super) struct Rewrite {
    /// How it is settled.
    pub(in super::super) how: How,
    /// Whether its receiver is asked to let it be settled by its sender (AMQP 1.0 §2.8.3).
    pub(in super::super) second: bool,
    /// What changes of its payload; nothing once that has gone out, or where nothing has to.
    pub(in super::super) edit: Option<Edit>,
    /// Where it is sent to, if it says so itself; with its first frame.
    pub(in super::super) address: Option<Arc<str>>,
}

/// How a delivery goes on other than it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum How {
    /// Unsettled, with the mark.
    Unsettled,
    /// Settled, without the mark.
    Restored,
}

/// The head of a delivery as far as it has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    /// Octets of the payload that are there, from the first on.
    pub(super) payload: &'a [u8],
    /// Octets of payload in all frames up to the present one.
    pub(super) payload_len: usize,
    /// Whether no frame follows.
    pub(super) is_last: bool,
    /// How long a head may be.
    pub(super) ceiling: usize,
}

impl Change {
    /// Whether it is still to be decided.
    pub(in super::super) fn is_undecided(&self) -> bool {
        matches!(self, Self::Undecided(..))
    }

    /// Whether it makes the delivery go to the broker unsettled, or may do so.
    pub(in super::super) fn unsettles(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Undecided(how, _) => *how == How::Unsettled,
            Self::Made(rewrite) => rewrite.how == How::Unsettled,
        }
    }

    /// Whether a message of so many octets is larger with it than its receiver takes.
    pub(in super::super) fn outgrows(&self, octets: u64, max_message_size: Option<u64>) -> bool {
        let Self::Made(rewrite) = self else {
            return false;
        };
        let Some(edit) = &rewrite.edit else {
            return false;
        };
        let grown = octets.saturating_add_signed(edit.growth() as i64);
        edit.growth() > 0 && max_message_size.is_some_and(|most| grown > most)
    }

    /// Whether it makes the delivery settled again.
    pub(in super::super) fn restores(&self) -> bool {
        matches!(self, Self::Made(rewrite) if rewrite.how == How::Restored)
    }

    /// What is changed about the frame that goes on now, or is about to.
    pub(in super::super) fn for_frame(&mut self) -> Option<Box<Rewrite>> {
        let Self::Made(rewrite) = self else {
            return None;
        };
        let frame = Rewrite {
            edit: rewrite.edit.take(),
            address: rewrite.address.take(),
            ..**rewrite
        };
        Some(Box::new(frame))
    }

    /// By how many octets the message is shorter than it came, or may be.
    pub(in super::super) fn shortening(&self) -> u64 {
        match self {
            Self::Undecided(How::Restored, _) => MARK_LEN,
            Self::Made(rewrite) => {
                let growth = rewrite.edit.as_ref().map_or(0, Edit::growth);
                growth.min(0).unsigned_abs() as u64
            }
            _ => 0,
        }
    }
}

/// How the delivery that a transfer of a side begins may have to be changed, by all that stands
/// before its payload.
///
/// Left as they are: links of management and transactions; deliveries with a state of their own,
/// which is that of a transaction; resumed ones, of which there are two views already; and payloads
/// that are no message of AMQP 1.0, where the mark has no place.
pub(super) fn candidate(from: Side, link: &Link, transfer: &Transfer<'_>) -> Option<How> {
    let is_plain = transfer.message_format.unwrap_or(0) == 0
        && transfer.state.is_none()
        && !transfer.resume
        && !transfer.aborted
        && !matches!(link.limit, LinkLimit::Exempt);
    let modes = &link.snd_settle_mode;
    let is_settled = transfer.settled == Some(true)
        // Its frames need not say so before the last one (AMQP 1.0 §2.7.5).
        || modes.client == Some(SenderSettleMode::Settled);
    let how = match from {
        Side::Client if !is_settled || modes.broker == Some(SenderSettleMode::Settled) => None,
        Side::Client => Some(How::Unsettled),
        // Such a link has no settled deliveries (AMQP 1.0 §2.8.2).
        Side::Broker if modes.client == Some(SenderSettleMode::Unsettled) => None,
        Side::Broker => Some(How::Restored),
    };
    how.filter(|_| is_plain)
}

/// Decides what is changed about a delivery that may have to be, or says how many octets of the
/// payload that is coming in are needed.
pub(super) fn decide(how: How, second: bool, link: &Link, head: Head<'_>) -> Result<Change, usize> {
    let Head {
        payload,
        payload_len,
        is_last,
        ceiling,
    } = head;
    // What is beyond the ceiling is not looked at, so that cuts make no difference.
    let most = payload_len.min(ceiling);
    let found = match annotations(payload.get(..most).unwrap_or(payload)) {
        Ok(Parsed::Value(found)) => found,
        Ok(Parsed::NeedMore(more)) if more > ceiling => return Ok(Change::Nothing),
        Ok(Parsed::NeedMore(more)) if more <= payload_len => return Err(more),
        Ok(Parsed::NeedMore(more)) if !is_last => return Ok(Change::Undecided(how, more)),
        _ => return Ok(Change::Nothing),
    };
    let mark = found.value(KEY);
    let is_marked = matches!(mark, Some([0x41] | [0x56, 0x01]));
    let edit = match how {
        How::Restored if is_marked => found.without(KEY),
        How::Unsettled if is_marked => None,
        // What bears the key and another value can't bear it once more.
        How::Unsettled if mark.is_none() => match found.with_true(KEY) {
            None => return Ok(Change::Nothing),
            edit => edit,
        },
        _ => return Ok(Change::Nothing),
    };
    let empties = edit
        .as_ref()
        .is_some_and(|edit| payload_len.checked_add_signed(edit.growth()) == Some(0));
    if empties && !is_last {
        // A frame of nothing is not sent: some receivers take it for the last one.
        return Ok(Change::Undecided(how, payload_len + 1));
    }
    let change = Change::Made(Box::new(Rewrite {
        how,
        second,
        edit,
        address: link.own_address(),
    }));
    if is_last && change.outgrows(payload_len as u64, link.max_message_size) {
        return Ok(Change::Nothing);
    }
    Ok(change)
}

/// The octets of the mark, with a section of its own.
const MARK_LEN: u64 = 6 + 2 + KEY.len() as u64 + 1;
