//! The message-annotations of a message: finding one, and what has to change to add or remove one.
//!
//! They stand before the bare message, which is not looked at and stays as it is (AMQP 1.0 §3.2). A
//! change is told as one run of octets that takes another's place, so that whoever forwards the
//! message needs to hold no more of it than its head.

use std::ops::Range;

use super::descriptor::{Described, descriptor};
use super::fault::Fault;
use super::fields::text;
use super::scalar::{Scalar, boolean, symbol};
use super::value::value_len;
use crate::Parsed;

/// The message-annotations of a message, or the place where they would stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations<'a> {
    message: &'a [u8],
    /// Where the section begins, or would.
    at: usize,
    /// Its map, if there is one.
    map: Option<Map>,
}

/// The extent of a map. Offsets are from the beginning of the message; `at < entries_at <= end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Map {
    /// The constructor.
    constructor: u8,
    /// Where that stands.
    at: usize,
    /// Where the first key begins.
    entries_at: usize,
    /// Where the map ends.
    end: usize,
    /// How many keys and values there are.
    count: u32,
}

/// Octets that take the place of others in the head of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; possibly nothing.
    pub at: Range<usize>,
    /// What takes its place; possibly nothing.
    pub octets: Vec<u8>,
}

impl Edit {
    /// How many octets longer the message becomes.
    pub fn growth(&self) -> isize {
        self.octets.len() as isize - self.at.len() as isize
    }
}

/// Reads as much of the message that `message` begins with as is needed to know its annotations.
///
/// ```text
/// +---------------+---------------------------+--------------------------+--------------+
/// | header 0x70   | delivery-annotations 0x71 | message-annotations 0x72 | bare message |
/// | list, or none | map, or none              | map, or none             | 0x73 to 0x77 |
/// +---------------+---------------------------+--------------------------+--------------+
///   AMQP 1.0 §3.2
/// +------+-----------------+-----------------+------------+
/// | 0xC1 | size, 1 octet   | count, 1 octet  | key, value |   map8, AMQP 1.0 §1.6.23
/// | 0xD1 | size, 4 octets  | count, 4 octets | ...        |   map32
/// +------+-----------------+-----------------+------------+
/// ```
///
/// `NeedMore` names octets up to the end of the annotations, or up to what tells that there are none,
/// and may be as large as 4 GiB: check it against a ceiling before waiting. What is no message of
/// AMQP 1.0, or has annotations that are none, is an error.
pub fn annotations(message: &[u8]) -> Result<Parsed<Annotations<'_>>, Fault> {
    let mut at = 0;
    let mut least = HEADER;
    loop {
        let section = message.get(at..).unwrap_or_default();
        let (code, value_at) = match descriptor(section)? {
            Parsed::Value(Described::Known { code, value_at }) => (code, at + value_at),
            Parsed::Value(Described::Unknown) => return Err(Fault::UnexpectedType),
            Parsed::NeedMore(more) => return Ok(Parsed::NeedMore(at + more)),
        };
        if !(least..=FOOTER).contains(&code) {
            return Err(Fault::UnexpectedType);
        }
        if code > MESSAGE_ANNOTATIONS {
            let map = None;
            return Ok(Parsed::Value(Annotations { message, at, map }));
        }
        let value = message.get(value_at..).unwrap_or_default();
        let end = match value_len(value)? {
            Parsed::Value(len) => value_at + len,
            Parsed::NeedMore(more) => return Ok(Parsed::NeedMore(value_at + more)),
        };
        if code == MESSAGE_ANNOTATIONS {
            let map = Some(map(message, value_at, end)?);
            return Ok(Parsed::Value(Annotations { message, at, map }));
        }
        at = end;
        least = code + 1;
    }
}

impl<'a> Annotations<'a> {
    /// The value of an annotation, encoded, if there is one by this key.
    ///
    /// A key that is a string is taken for the symbol that it should be.
    pub fn value(&self, key: &str) -> Option<&'a [u8]> {
        let (_, value) = self.entry(key)?;
        self.message.get(value)
    }

    /// What has to change for an annotation by this key, which there is none of yet, to be true.
    ///
    /// It becomes the first one. `None` if the map cannot grow by it.
    pub fn with_true(&self, key: &str) -> Option<Edit> {
        let mut pair = Vec::new();
        symbol(&mut pair, key);
        pair.extend_from_slice(&boolean(true));
        let (at, mut octets, head) = match self.map {
            Some(map) => {
                let entries_len = u32::try_from(map.end - map.entries_at + pair.len()).ok()?;
                let head = map_head(map.constructor, map.count.checked_add(2)?, entries_len)?;
                (map.at..map.entries_at, Vec::new(), head)
            }
            None => {
                let section = vec![0x00, 0x53, MESSAGE_ANNOTATIONS];
                let head = map_head(MAP8, 2, u32::try_from(pair.len()).ok()?)?;
                (self.at..self.at, section, head)
            }
        };
        octets.extend_from_slice(&head);
        octets.append(&mut pair);
        Some(Edit { at, octets })
    }

    /// What has to change for there to be no annotation by this key; all of the section goes with
    /// the last one. `None` if there is none.
    pub fn without(&self, key: &str) -> Option<Edit> {
        let map = self.map?;
        let (key, value) = self.entry(key)?;
        let pair = key.start..value.end;
        if map.count == 2 {
            let (at, octets) = (self.at..map.end, Vec::new());
            return Some(Edit { at, octets });
        }
        let before = self.message.get(map.entries_at..pair.start)?;
        let entries_len = u32::try_from(map.end - map.entries_at - pair.len()).ok()?;
        let head = map_head(map.constructor, map.count - 2, entries_len)?;
        Some(Edit {
            at: map.at..pair.end,
            octets: [&head, before].concat(),
        })
    }

    /// Where the key and the value of an annotation stand.
    fn entry(&self, key: &str) -> Option<(Range<usize>, Range<usize>)> {
        let Map {
            entries_at,
            end,
            count,
            ..
        } = self.map?;
        let mut at = entries_at;
        for _ in 0..count / 2 {
            let its_key = next_value(self.message, at, end).ok()?;
            let value = next_value(self.message, its_key.end, end).ok()?;
            let (from, to) = (its_key.start, its_key.end);
            let is_it = text(self.message.get(from..to)?).is_ok_and(|(_, name)| name == key);
            if is_it {
                return Some((its_key, value));
            }
            at = value.end;
        }
        None
    }
}

/// Reads the map that stands at `at` and ends at `end`, and checks that it holds what it says.
fn map(message: &[u8], at: usize, end: usize) -> Result<Map, Fault> {
    let map = message.get(at..end).unwrap_or_default();
    let (constructor, entries_at, count) = match *map {
        [MAP8, _, count, ..] => (MAP8, at + 3, u32::from(count)),
        [MAP32, _, _, _, _, e, f, g, h, ..] => (MAP32, at + 9, u32::from_be_bytes([e, f, g, h])),
        _ => return Err(Fault::UnexpectedType),
    };
    let mut next = entries_at;
    for _ in 0..count {
        next = next_value(message, next, end)?.end;
    }
    if next != end || count % 2 == 1 {
        return Err(Fault::ListDisagrees);
    }
    Ok(Map {
        constructor,
        at,
        entries_at,
        end,
        count,
    })
}

/// Where the value that begins at `at` stands, in a map that ends at `end`.
fn next_value(message: &[u8], at: usize, end: usize) -> Result<Range<usize>, Fault> {
    match value_len(message.get(at..end).unwrap_or_default())? {
        Parsed::Value(len) => Ok(at..at + len),
        Parsed::NeedMore(_) => Err(Fault::ListDisagrees),
    }
}

/// Constructor, size and count of a map with `count` keys and values of `entries_len` octets; the
/// constructor is `least`, or map32 where that cannot hold them.
fn map_head(least: u8, count: u32, entries_len: u32) -> Option<Scalar> {
    let short = (
        u8::try_from(count),
        u8::try_from(entries_len.saturating_add(1)),
    );
    Some(match (least, short) {
        (MAP8, (Ok(count), Ok(size))) => Scalar::of(MAP8, [size, count]),
        _ => {
            let [a, b, c, d] = entries_len.checked_add(4)?.to_be_bytes();
            let [e, f, g, h] = count.to_be_bytes();
            Scalar::of(MAP32, [a, b, c, d, e, f, g, h])
        }
    })
}

/// The codes of the first and the last section of a message (AMQP 1.0 §3.2), and of this one.
const HEADER: u8 = 0x70;
const FOOTER: u8 = 0x78;
const MESSAGE_ANNOTATIONS: u8 = 0x72;
/// The constructors of maps (AMQP 1.0 §1.6.23).
const MAP8: u8 = 0xC1;
const MAP32: u8 = 0xD1;
