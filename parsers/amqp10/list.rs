//! Lists: reading where one begins and ends, checking what it holds, and writing one.

use super::descriptor::described;
use super::fault::Fault;
use super::fields::NULL;
use super::scalar::Scalar;
use super::value::value_len;
use crate::Parsed;

/// The extent of a list. Offsets are from its constructor; `fields_at <= end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// Where the first field begins.
    pub(super) fields_at: usize,
    /// Where the list ends.
    pub(super) end: usize,
    /// How many fields it says it has.
    pub(super) count: u32,
}

/// Reads constructor, size and count of the list at the front of `input`.
///
/// ```text
/// +------+-----------------+------------------+--------+
/// | 0x45 |                 |                  |        |   list0, AMQP 1.0 §1.6.22
/// | 0xC0 | size, 1 octet   | count, 1 octet   | fields |   list8
/// | 0xD0 | size, 4 octets  | count, 4 octets  | fields |   list32
/// +------+-----------------+------------------+--------+
/// ```
///
/// The size counts what follows it, the count included.
pub(super) fn list(input: &[u8]) -> Result<Parsed<List>, Fault> {
    let (fields_at, count_len, size, count) = match *input {
        [] => return Ok(Parsed::NeedMore(1)),
        [0x45, ..] => (1, 0, 0, 0),
        [0xC0, size, count, ..] => (3, 1, usize::from(size), u32::from(count)),
        [0xC0, ..] => return Ok(Parsed::NeedMore(3)),
        [0xD0, a, b, c, d, e, f, g, h, ..] => {
            let size = u32::from_be_bytes([a, b, c, d]) as usize;
            (9, 4, size, u32::from_be_bytes([e, f, g, h]))
        }
        [0xD0, ..] => return Ok(Parsed::NeedMore(9)),
        _ => return Err(Fault::NotAList),
    };
    let Some(fields_len) = size.checked_sub(count_len) else {
        return Err(Fault::ListDisagrees);
    };
    Ok(Parsed::Value(List {
        fields_at,
        end: fields_at + fields_len,
        count,
    }))
}

/// Checks that `fields` are `count` values and nothing else; tells the offset that is wrong.
pub(super) fn check_fields(fields: &[u8], count: u32) -> Result<(), (usize, Fault)> {
    let mut at = 0;
    for _ in 0..count {
        let rest = fields.get(at..).unwrap_or_default();
        match value_len(rest) {
            Ok(Parsed::Value(len)) => at += len,
            // Also what ends a count of four thousand millions in a list of ten octets.
            Ok(Parsed::NeedMore(_)) => return Err((at, Fault::ListDisagrees)),
            Err(what) => return Err((at, what)),
        }
    }
    if at == fields.len() {
        Ok(())
    } else {
        Err((at, Fault::ListDisagrees))
    }
}

/// The fields of the list that `raw` is as a whole.
pub(super) fn fields_of(raw: &[u8]) -> Result<&[u8], Fault> {
    let Parsed::Value(list) = list(raw)? else {
        return Err(Fault::ValueBeyondEnd);
    };
    let Some(fields) = raw.get(list.fields_at..list.end) else {
        return Err(Fault::ValueBeyondEnd);
    };
    check_fields(fields, list.count).map_err(|(_, what)| what)?;
    Ok(fields)
}

/// The code and the fields of the described list that `raw` is as a whole; `None` if the
/// descriptor is not known.
pub(super) fn described_list(raw: &[u8]) -> Result<Option<(u8, &[u8])>, Fault> {
    match described(raw)? {
        Some((code, value)) => Ok(Some((code, fields_of(value)?))),
        None => Ok(None),
    }
}

/// A list that is being written, in the shortest form; nulls at its end are left out.
pub(super) struct ListWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Where the list begins in `out`.
    at: usize,
    /// Fields written so far.
    count: u32,
    /// Fields up to the last that is not null, and where that one ends; `kept_count <= count`.
    kept_count: u32,
    kept_end: usize,
}

impl ListWriter<'_> {
    /// Appends a described list whose fields are written by `fields`.
    pub(super) fn described(out: &mut Vec<u8>, code: u8, fields: impl FnOnce(&mut ListWriter<'_>)) {
        out.extend_from_slice(&[0x00, 0x53, code]);
        let at = out.len();
        out.extend_from_slice(&[0xC0, 0, 0]);
        let kept_end = out.len();
        let mut list = ListWriter {
            out,
            at,
            count: 0,
            kept_count: 0,
            kept_end,
        };
        fields(&mut list);
        list.finish();
    }

    /// Appends a field that is written by `write`; a field of no octets is null.
    pub(super) fn field(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        let before = self.out.len();
        write(self.out);
        if self.out.len() == before {
            self.out.push(NULL);
        }
        self.count += 1;
        if self.out.get(before..) != Some(&[NULL]) {
            self.kept_count = self.count;
            self.kept_end = self.out.len();
        }
        self
    }

    /// Appends a value that is already encoded, or null.
    pub(super) fn value(&mut self, octets: Option<impl AsRef<[u8]>>) -> &mut Self {
        self.field(|out| {
            if let Some(octets) = octets {
                out.extend_from_slice(octets.as_ref());
            }
        })
    }

    /// Appends a null.
    pub(super) fn null(&mut self) -> &mut Self {
        self.field(|_| {})
    }

    fn finish(self) {
        self.out.truncate(self.kept_end);
        // What is written here fits into a frame, whose own size has four octets.
        let fields_len = (self.kept_end - self.at - 3) as u32;
        let head = list_head(0x45, self.kept_count, fields_len);
        let head = head.as_ref().iter().copied();
        self.out.splice(self.at..self.at + 3, head);
    }
}

/// Constructor, size and count of a list with `count` fields of `fields_len` octets.
///
/// The constructor is `least`, or the first after it in the order 0x45, 0xC0, 0xD0 that can hold
/// them. `fields_len` has to be 4 octets below what a size can say.
pub(super) fn list_head(least: u8, count: u32, fields_len: u32) -> Scalar {
    let short = (
        u8::try_from(count),
        u8::try_from(fields_len.saturating_add(1)),
    );
    match (least, short) {
        (0x45, (Ok(0), _)) => Scalar::of(0x45, []),
        (0x45 | 0xC0, (Ok(count), Ok(size))) => Scalar::of(0xC0, [size, count]),
        _ => {
            let [a, b, c, d] = fields_len.saturating_add(4).to_be_bytes();
            let [e, f, g, h] = count.to_be_bytes();
            Scalar::of(0xD0, [a, b, c, d, e, f, g, h])
        }
    }
}
