//! How long an encoded value is, whatever its type.
//!
//! Lists, maps and arrays carry their size, so nothing nested is looked at. Only descriptors nest
//! without telling; they are counted instead of followed by recursion.

use super::fault::Fault;
use crate::Parsed;

/// The octets of the value at the front of `input`, its constructor included (AMQP 1.0 §1.2).
///
/// ```text
/// +-------------+---------------------------------------------+
/// | constructor | data                                        |   AMQP 1.0 §1.2, §1.6
/// +-------------+---------------------------------------------+
/// | 0x00        | the descriptor, a value; then another value |
/// | 0x4_        | none                                        |
/// | 0x5_ to 0x9_| 1, 2, 4, 8, 16 octets                       |
/// | 0xA_ 0xB_   | size in 1, 4 octets; as many octets         |
/// | 0xC_ 0xD_   | size in 1, 4 octets; count in 1, 4; values  |
/// | 0xE_ 0xF_   | size in 1, 4 octets; count in 1, 4; array   |
/// +-------------+---------------------------------------------+
/// ```
///
/// A size counts all that follows it, the count included. `NeedMore` names octets up to the end of
/// the value at most, and may be as large as 4 GiB: check it against a ceiling before waiting.
pub(super) fn value_len(input: &[u8]) -> Result<Parsed<usize>, Fault> {
    let mut at = 0;
    // Values that are still due: one more for each descriptor that was begun.
    let mut due = 1_u32;
    while due > 0 {
        let rest = input.get(at..).unwrap_or_default();
        let Some((&constructor, data)) = rest.split_first() else {
            return Ok(Parsed::NeedMore(at.saturating_add(1)));
        };
        let (size_len, least) = match constructor >> 4 {
            0x0 if constructor == 0x00 => {
                if due > DEEPEST {
                    return Err(Fault::NestedTooDeep);
                }
                due += 1;
                at += 1;
                continue;
            }
            0x4 => (0, 0),
            0x5 => (0, 1),
            0x6 => (0, 2),
            0x7 => (0, 4),
            0x8 => (0, 8),
            0x9 => (0, 16),
            0xA => (1, 0),
            0xB => (4, 0),
            // The size has to leave room for the count.
            0xC | 0xE => (1, 1),
            0xD | 0xF => (4, 4),
            _ => return Err(Fault::UnknownConstructor),
        };
        let data_len = match (size_len, data) {
            (0, _) => least,
            (1, &[size, ..]) => 1 + usize::from(size),
            (4, &[a, b, c, d, ..]) => (u32::from_be_bytes([a, b, c, d]) as usize).saturating_add(4),
            _ => return Ok(Parsed::NeedMore(at.saturating_add(1 + size_len))),
        };
        if data_len < size_len + least {
            return Err(Fault::ListDisagrees);
        }
        at = at.saturating_add(1).saturating_add(data_len);
        due -= 1;
        if due == 0 && at > input.len() {
            return Ok(Parsed::NeedMore(at));
        }
    }
    Ok(Parsed::Value(at))
}

/// How many descriptors may be open at once. One is what the specification's own types need.
const DEEPEST: u32 = 8;
