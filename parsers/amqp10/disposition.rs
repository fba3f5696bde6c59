//! Disposition: what became of a run of deliveries.

use super::attach::Role;
use super::descriptor::Descriptor;
use super::fault::Malformed;
use super::fields::{Field, any, boolean, mandatory, optional, uint};
use super::performative::Performative;

/// A disposition (AMQP 1.0 §2.7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disposition<'a> {
    /// What the sender of this frame is on the links of the deliveries.
    pub role: Role,
    /// The delivery-id of the first delivery.
    pub first: u32,
    /// That of the last; the first is the only one if left out. Some brokers put it before first.
    pub last: Option<u32>,
    /// Whether the sender of this frame forgets the deliveries.
    pub settled: bool,
    /// Their state, encoded: [`super::delivery_state`] reads it.
    pub state: Option<&'a [u8]>,
    /// A hint that the peer need not hurry to answer.
    pub batchable: bool,
}

/// The indices of the fields of a disposition that may be changed on the way.
impl Disposition<'_> {
    /// first.
    pub const FIRST: usize = 1;
    /// last.
    pub const LAST: usize = 2;
    /// settled.
    pub const SETTLED: usize = 3;
    /// state.
    pub const STATE: usize = 4;
}

impl<'a> Performative<'a> {
    /// Reads the fields of a disposition.
    pub fn disposition(&self) -> Result<Disposition<'a>, Malformed> {
        self.read(Descriptor::Disposition, disposition)
    }
}

fn disposition(fields: &[u8]) -> Field<'_, Disposition<'_>> {
    let (rest, role) = mandatory(boolean)(fields)?;
    let (rest, first) = mandatory(uint)(rest)?;
    let (rest, last) = optional(uint)(rest)?;
    let (rest, settled) = optional(boolean)(rest)?;
    let (rest, state) = optional(any)(rest)?;
    let (rest, batchable) = optional(boolean)(rest)?;
    let disposition = Disposition {
        role: Role::from_bool(role),
        first,
        last,
        settled: settled.unwrap_or(false),
        state,
        batchable: batchable.unwrap_or(false),
    };
    Ok((rest, disposition))
}
