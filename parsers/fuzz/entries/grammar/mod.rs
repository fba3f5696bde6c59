//! Parsers: octets are read as a stream, frame by frame.
//!
//! What is read has to be the same of each beginning of the octets that is long enough, and what is
//! written again has to be read again. What a frame means is left to the gates.

mod amqp091;
mod amqp10;
mod mqtt;
mod proxy_protocol;

use std::fmt::Debug;

use parsers::Parsed;

pub use amqp10::amqp10;
pub use amqp091::amqp091;
pub use mqtt::mqtt;
pub use proxy_protocol::proxy_protocol;

use super::script::Script;

/// Checks that each beginning of the octets is answered as the whole is, or with what it needs; that
/// is more than there was, and at most this many octets.
fn cuts_do_not_matter<'a, T: PartialEq + Debug, E: PartialEq + Debug>(
    octets: &'a [u8],
    most: usize,
    read: impl Fn(&'a [u8]) -> Result<Parsed<T>, E>,
) -> Option<T> {
    let whole = read(octets);
    for cut in 0..=octets.len().min(LONGEST_CUT) {
        match read(&octets[..cut]) {
            Ok(Parsed::NeedMore(more)) => {
                assert!(more > cut, "{more} octets are there already");
                assert!(more <= most, "{more} are more than there may be");
            }
            answer => assert_eq!(answer, whole, "of {cut} octets"),
        }
    }
    match whole {
        Ok(Parsed::Value(value)) => Some(value),
        _ => None,
    }
}

/// Reads all of the octets once; what is at the front says how many it has read.
fn stream<'a>(octets: &'a [u8], read: impl Fn(&'a [u8]) -> Option<usize>) {
    let mut rest = octets;
    for _ in 0..MOST_FRAMES {
        let Some(len) = read(rest).filter(|&len| len > 0) else {
            break;
        };
        match rest.get(len..) {
            Some(behind) if !behind.is_empty() => rest = behind,
            _ => break,
        }
    }
}

/// Beginnings are tried up to this length: heads that are longer are of the same kind.
const LONGEST_CUT: usize = 300;
const MOST_FRAMES: usize = 64;
