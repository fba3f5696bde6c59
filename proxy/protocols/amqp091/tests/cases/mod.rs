//! One rule each, byte for byte.

mod beginnings;
mod ceilings;
mod channels;
mod closing;
mod confirms;
mod contents;
mod malformed;
mod receiving;
mod recorded;
mod refusals;

use super::words::*;
use super::{LIMIT, SIDES, Terms};
use crate::gate::harness::Harness;
use crate::gate::{Ending, Reason, Report, Side};
use crate::policy::{Action, Mode, OnOversize};

/// A gate between two sides that say what a test writes down.
struct Raw {
    gate: Harness,
}

/// What a side hears when it hears nothing.
const NOTHING: [u8; 0] = [];

impl Raw {
    /// A gate whose two sides have said nothing.
    fn new(terms: Terms) -> Self {
        Self { gate: terms.open() }
    }

    /// A gate whose broker has accepted the client, and nothing has been opened.
    fn opened(terms: Terms) -> Self {
        let mut raw = Self::new(terms);
        raw.open(TUNE);
        raw
    }

    /// The same with channels 1 and 2.
    fn begun(terms: Terms) -> Self {
        let mut raw = Self::opened(terms);
        raw.begin();
        raw
    }

    /// The same where channel 1 has confirms.
    fn confirming(terms: Terms) -> Self {
        let mut raw = Self::begun(terms);
        raw.passes(Side::Client, &confirm_select(ONE, false));
        raw.passes(Side::Broker, &confirm_select_ok(ONE));
        raw
    }

    /// Lets the two sides open the connection.
    fn open(&mut self, agreed: parsers::amqp091::Tune) {
        self.passes(Side::Client, &HEADER);
        self.passes(Side::Broker, &start());
        self.passes(Side::Client, &start_ok());
        self.passes(Side::Broker, &tune(TUNE));
        self.passes(Side::Client, &[tune_ok(agreed), open()].concat());
        self.passes(Side::Broker, &open_ok());
    }

    fn begin(&mut self) {
        for channel in [ONE, TWO] {
            self.passes(Side::Client, &channel_open(channel));
            self.passes(Side::Broker, &channel_open_ok(channel));
        }
    }

    fn says(&mut self, side: Side, octets: &[u8]) {
        self.gate.feed(side, octets);
    }

    fn hears(&mut self, side: Side) -> Vec<u8> {
        self.gate.sent_to(side)
    }

    /// A side hears just this.
    #[track_caller]
    fn expect(&mut self, side: Side, octets: &[u8]) {
        let heard = self.hears(side);
        assert!(heard == octets, "{}", difference(&heard, octets));
    }

    /// A side says something, and the other one hears just that.
    #[track_caller]
    fn passes(&mut self, side: Side, octets: &[u8]) {
        self.becomes(side, octets, octets);
    }

    /// A side says something, and the other one hears nothing of it.
    #[track_caller]
    fn is_kept(&mut self, side: Side, octets: &[u8]) {
        self.becomes(side, octets, &NOTHING);
    }

    /// A side says something, and the other one hears something else.
    #[track_caller]
    fn becomes(&mut self, side: Side, octets: &[u8], others: &[u8]) {
        self.says(side, octets);
        self.expect(side.other(), others);
    }

    /// Neither side hears anything.
    #[track_caller]
    fn is_quiet(&mut self) {
        for side in SIDES {
            self.expect(side, &NOTHING);
        }
    }

    /// Size and action of what was refused so far.
    fn refused(&self) -> Vec<(u64, Action)> {
        let reports = self.gate.meter.reports.iter();
        reports
            .filter_map(|report| match report {
                Report::Refused(refusal) => Some((refusal.size, refusal.action)),
                _ => None,
            })
            .collect()
    }

    /// The connection ended so, on both sides, once they have agreed.
    #[track_caller]
    fn has_ended(&mut self, ending: Ending) {
        for side in SIDES {
            if self.gate.ending(side).is_none() {
                self.says(side, &close_ok());
            }
        }
        let endings = SIDES.map(|side| self.gate.ending(side));
        assert_eq!(endings, [Some(ending); 2]);
    }
}

fn difference(heard: &[u8], due: &[u8]) -> String {
    let lines = |octets: &[u8]| -> Vec<String> {
        let (frames, rest) = frames(octets);
        let frames = frames.into_iter().chain([rest]);
        frames
            .map(|frame| frame.escape_ascii().to_string())
            .collect()
    };
    format!("heard {:#?}\ninstead of {:#?}", lines(heard), lines(due))
}
