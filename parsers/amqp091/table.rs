//! Field tables, as far as it takes to find a text in one.

use super::fields::{Field, longstr, octet, shortstr};

/// A field table (AMQP 0-9-1 §4.2.5.5): its fields, without the length in front of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table<'a>(pub &'a [u8]);

impl<'a> Table<'a> {
    /// The long string of this name, if there is one that can be reached.
    ///
    /// What stands behind a field of an unknown type cannot be; a table need not make sense to
    /// anybody but the one that it is for.
    pub fn longstr(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut rest = self.0;
        while !rest.is_empty() {
            let (behind, (its, kind)) = field_head(rest).ok()?;
            if kind == LONGSTR && its == name {
                return longstr(behind).ok().map(|(_, text)| text);
            }
            rest = skip(kind, behind)?;
        }
        None
    }
}

/// ```text
/// +----------+------+-------+
/// | name     | type | value |   AMQP 0-9-1 §4.2.1, §4.2.5.5
/// | shortstr | 1    |       |
/// +----------+------+-------+
/// ```
fn field_head(input: &[u8]) -> Field<'_, (&[u8], u8)> {
    let (rest, name) = shortstr(input)?;
    let (rest, kind) = octet(rest)?;
    Ok((rest, (name, kind)))
}

/// What follows a value of this type.
///
/// The types are those that clients and brokers use, which differ from the specification's in `s`
/// and `l` and have `x` besides, as RabbitMQ lists them in its errata.
fn skip(kind: u8, input: &[u8]) -> Option<&[u8]> {
    let len = match kind {
        b'V' => 0,
        b't' | b'b' | b'B' => 1,
        b'U' | b'u' | b's' => 2,
        b'I' | b'i' | b'f' => 4,
        b'D' => 5,
        b'L' | b'l' | b'd' | b'T' => 8,
        LONGSTR | b'A' | b'F' | b'x' => return longstr(input).ok().map(|(rest, _)| rest),
        _ => return None,
    };
    input.get(len..)
}

const LONGSTR: u8 = b'S';
