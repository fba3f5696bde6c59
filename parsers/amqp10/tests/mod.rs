//! Every row of the grammar, and the laws: cuts do not matter, decoding undoes encoding.

mod annotations;
mod build;
mod encoders;
mod frames;
mod laws;
mod links;
mod message;
mod patch;
mod performatives;
mod recorded;
mod sasl;
mod values;

use super::*;
use crate::Parsed;

/// No ceiling that a test would meet.
const CEILING: usize = 1 << 20;

/// The performative at the front of octets that hold it as a whole.
fn read(octets: &[u8]) -> Result<Performative<'_>, Malformed> {
    let Parsed::Value(header) = frame_header(octets)? else {
        panic!("a frame header is there");
    };
    match performative(&header, octets, CEILING)? {
        Parsed::Value(performative) => Ok(performative),
        Parsed::NeedMore(more) => panic!("{more} octets are due, {} are there", octets.len()),
    }
}

/// What `write` appends.
fn said(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}
