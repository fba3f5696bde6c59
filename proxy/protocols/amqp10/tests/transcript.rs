//! What was said in a conversation, for the reader of a failed test: set `TRANSCRIPT=1` to see it.

use std::fmt::Write as _;

use parsers::amqp10::{Descriptor, Performative};

use super::frames::{Fate, Unit, unit, unit_len};
use crate::gate::Side;

/// One line for each frame that reached the gate or left it.
pub(super) struct Transcript {
    wanted: bool,
    lines: String,
    /// What came of each of the four streams and is not a whole unit yet.
    rest: [Vec<u8>; 4],
}

impl Transcript {
    pub(super) fn new() -> Self {
        Self {
            wanted: std::env::var_os("TRANSCRIPT").is_some(),
            lines: String::new(),
            rest: Default::default(),
        }
    }

    /// Notes what a side said.
    pub(super) fn said(&mut self, side: Side, octets: &[u8]) {
        self.note(side as usize, side, "says  ", octets);
    }

    /// Notes what a side was sent.
    pub(super) fn heard(&mut self, side: Side, octets: &[u8]) {
        self.note(2 + side as usize, side, " hears", octets);
    }

    fn note(&mut self, stream: usize, side: Side, verb: &str, octets: &[u8]) {
        if !self.wanted {
            return;
        }
        let rest = &mut self.rest[stream];
        rest.extend_from_slice(octets);
        while let Some(len) = unit_len(rest) {
            let octets: Vec<u8> = rest.drain(..len).collect();
            let line = line(&octets);
            writeln!(self.lines, "{} {verb} {line}", side.as_str()).expect("memory");
        }
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        if std::thread::panicking() && self.wanted {
            println!("---\n{}", self.lines);
        }
    }
}

pub(super) fn line(octets: &[u8]) -> String {
    match unit(octets) {
        Unit::Header(header) => format!("{header:?}"),
        Unit::Empty(_) => "empty frame".to_owned(),
        Unit::Frame(frame) => format!("[{}] {}", frame.header.channel, fields(&frame)),
    }
}

fn fields(frame: &Performative<'_>) -> String {
    match frame.descriptor {
        Descriptor::Open => format!("{:?}", frame.open()),
        Descriptor::Begin => format!("{:?}", frame.begin()),
        Descriptor::Attach => format!("{:?}", frame.attach()),
        Descriptor::Flow => format!("{:?}", frame.flow()),
        Descriptor::Transfer => {
            let payload = frame.payload_len();
            format!("{:?}, {payload} octets", frame.transfer())
        }
        Descriptor::Disposition => {
            let disposition = frame.disposition().expect("a disposition");
            let fate = Fate::read(disposition.state);
            format!(
                "disposition {:?} {}..={:?} settled {} {fate:?}",
                disposition.role, disposition.first, disposition.last, disposition.settled
            )
        }
        Descriptor::Detach => format!("{:?}", frame.detach()),
        Descriptor::End => format!("{:?}", frame.end()),
        Descriptor::Close => format!("{:?}", frame.close()),
        other => format!("{other:?}"),
    }
}
