//! The grammar of AMQP 0-9-1, frame by frame in octets, and what holds for all frames.

mod contents;
mod frames;
mod laws;
mod methods;
mod names;
mod recorded;

use super::*;
use crate::Parsed;

/// A frame with its header and its end.
fn frame(frame_type: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let [c0, c1] = channel.to_be_bytes();
    let [s0, s1, s2, s3] = (payload.len() as u32).to_be_bytes();
    let header = [frame_type, c0, c1, s0, s1, s2, s3];
    [&header, payload, &[0xCE]].concat()
}

/// The header of a frame that has one.
fn header_of(frame: &[u8]) -> FrameHeader {
    match frame_header(frame) {
        Ok(Parsed::Value(header)) => header,
        other => panic!("no frame header: {other:?}"),
    }
}

/// What is read of a method frame.
fn read(frame: &[u8]) -> Result<Method<'_>, Malformed> {
    method(Version::V091, &header_of(frame), frame)
}

fn fault(at: usize, what: Fault) -> Malformed {
    Malformed { at, what }
}
