//! What ends a connection, and which word each reason for it has.

use parsers::mqtt::{Malformed, Version};

use super::refuse::{Due, Farewell, Word};
use super::session::{Session, Stage};
use crate::gate::{Ending, Meter, Reason, Report, Side, VerdictKind};
use crate::policy::Mode;

impl Session {
    /// Ends the connection over octets that `side` may not send.
    pub(super) fn malformed(&mut self, side: Side, fault: Malformed, meter: &mut Meter) {
        let word = match self.version() {
            Some(Version::V5) => Word::Reason {
                code: fault.what.reason_code(),
                text: None,
            },
            _ => Word::Silence,
        };
        self.malformed_answered(side, fault, word, meter);
    }

    /// Ends the connection over octets that `side` may not send, and answers with `word`.
    pub(super) fn malformed_answered(
        &mut self,
        side: Side,
        fault: Malformed,
        word: Word,
        meter: &mut Meter,
    ) {
        meter.reports.push(Report::Malformed {
            side,
            what: fault.to_string(),
        });
        self.end(Ending::by(side, Reason::Malformed), Due::Now, word);
    }

    /// Judges a packet that is not a PUBLISH by its length; ends the connection if it is refused.
    pub(super) fn control_size(&mut self, side: Side, size: usize, meter: &mut Meter) -> Control {
        let (size, limit) = (size as u64, self.settings.max_control_size.0);
        if size <= limit {
            return Control::Passes;
        }
        let (verdict, control) = match self.settings.policy.mode() {
            Mode::Enforce => (VerdictKind::Denied, Control::Ends),
            Mode::DryRun => (VerdictKind::WouldDeny, Control::Passes),
        };
        meter.reports.push(Report::ControlOversize {
            side,
            verdict,
            size,
            limit,
        });
        if control == Control::Ends {
            let text = format!(
                "Packet size exceeded: {size} octets, limit {limit}, set by --max-control-size"
            );
            self.end(
                Ending::by(side, Reason::Oversize),
                // A broker that will never see the CONNECT, or is at fault itself, is not awaited.
                if self.stage == Stage::AwaitingConnect || side == Side::Broker {
                    Due::Now
                } else {
                    Due::Accepted
                },
                self.packet_too_large(text),
            );
        }
        control
    }

    /// The word for a packet that costs the connection: 0x95, which MQTT 5.0 alone has.
    pub(super) fn packet_too_large(&self, text: String) -> Word {
        match self.version() {
            Some(Version::V5) => Word::Reason {
                code: PACKET_TOO_LARGE,
                text: Some(text),
            },
            _ => Word::Silence,
        }
    }

    /// Decides that the connection ends; the first decision stands, but does not wait for a broker
    /// over which there is another.
    pub(super) fn end(&mut self, ending: Ending, due: Due, word: Word) {
        match &mut self.farewell {
            Some(farewell) if due == Due::Now => farewell.due = due,
            Some(_) => {}
            None => self.farewell = Some(Box::new(Farewell { ending, due, word })),
        }
    }
}

/// What becomes of a packet that is not a PUBLISH, as far as its length goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// It goes on.
    Passes,
    /// It ends the connection.
    Ends,
}

/// CONNACK and DISCONNECT "Packet too large" (MQTT 5.0 §2.4).
pub(super) const PACKET_TOO_LARGE: u8 = 0x95;
