//! The laws of a gate.
//!
//! Cuts do not matter: what is said octet by octet comes to the same as what is said at once. Where
//! nothing is limited all goes on as it came, up to what the protocol does not allow. What is held
//! stays under its ceiling, and is given back.

use std::sync::Arc;

use sizegate::gate::{HoldBudget, Report, VerdictKind};

use super::harness::Harness;
use super::scene::{Event, Scene};
use super::terms::Terms;
use super::{Ending, Meter, SIDES, Script, Side};

/// How a protocol is spoken.
pub(super) struct Dialect {
    /// Its name in the list of protocols.
    pub(super) name: &'static str,
    /// The beginning of a conversation.
    pub(super) greet: fn(&mut Scene, &mut Script<'_>),
    /// Something that a side may say, by its number.
    pub(super) word: fn(Side, u8, &mut Script<'_>, &mut Vec<u8>),
    /// Whether a side has said that it leaves: what follows goes nowhere.
    pub(super) leaves: fn(Side, &[u8]) -> bool,
    /// Octets of the frame at the front, if it has a header.
    pub(super) frame_len: fn(Side, &[u8]) -> Option<usize>,
    /// Whether a side says what it may only after it has heard something.
    pub(super) hurries: fn(&[Vec<u8>; 2]) -> bool,
    /// The octets heard of which the place does not depend on cuts: the gate's own words stand at the
    /// first boundary after their cause.
    pub(super) steady: fn(&[u8]) -> Vec<u8>,
    /// Whether part of a frame may have passed that turns out to be broken.
    pub(super) passes_in_part: bool,
    /// Octets of a message that are awaited at most; of what is none it is the limit for that.
    pub(super) most_awaited: usize,
}

/// Checks every law on the terms and the conversation that the octets choose.
pub(super) fn hold(dialect: &Dialect, octets: &[u8]) {
    let mut script = Script::new(octets);
    let terms = Terms::choose(&mut script);
    let events = Scene::play(dialect, &mut script);
    if std::env::var_os("TRANSCRIPT").is_some() {
        println!("{terms:?}");
        for event in &events {
            println!("{event}");
        }
    }
    let [whole, frames, octets] = [Cuts::AsSaid, Cuts::Frames, Cuts::Octets]
        .map(|cuts| Outcome::of(dialect, &terms, &events, cuts));
    let is_silent = terms.change_nothing(dialect.name);
    if is_silent {
        whole.assert_unchanged(dialect, &events);
    }
    let is_broken = dialect.passes_in_part && octets.is_over();
    let told = if is_broken {
        Told::ButDryRuns
    } else {
        Told::All
    };
    octets.assert_same(&frames, told, "frame by frame");
    if !is_broken {
        octets.assert_same_octets(&frames, <[u8]>::to_vec, "frame by frame");
    }
    // When a side that waited goes on, more of the other side has passed if it came at once, and an
    // answer may be too late for it; nothing is owed to a side that leaves or is at fault.
    if !octets.has_waited && !whole.has_waited {
        octets.assert_same(&whole, told, "at once");
        let is_over = octets.is_over() || octets.has_left(dialect);
        if !is_over && !(dialect.hurries)(&octets.said) {
            let part = if is_silent {
                <[u8]>::to_vec
            } else {
                dialect.steady
            };
            octets.assert_same_octets(&whole, part, "at once");
        }
    }
}

/// How what a side says is cut on its way.
#[derive(Clone, Copy, Debug)]
enum Cuts {
    /// As the conversation has it.
    AsSaid,
    /// There, and behind each frame.
    Frames,
    /// Everywhere.
    Octets,
}

/// What came of a conversation.
#[derive(Debug)]
struct Outcome {
    /// What each side has said.
    said: [Vec<u8>; 2],
    /// What each side has been sent.
    heard: [Vec<u8>; 2],
    /// How the stream of each side ended, if it has.
    endings: [Option<Ending>; 2],
    /// Octets of each side that nothing has been decided on.
    undecided: [usize; 2],
    /// Whether octets of a side ever had to wait while the other one spoke.
    has_waited: bool,
    meter: Meter,
}

/// Which reports have to be the same.
#[derive(Clone, Copy)]
enum Told {
    All,
    /// Not what a dry run lets pass: of a frame that turns out to be broken it may have been told.
    ButDryRuns,
}

impl Told {
    fn of(self, reports: &[Report]) -> Vec<&Report> {
        let is_told = |report: &&Report| match report {
            Report::ControlOversize { verdict, .. } => {
                matches!(self, Self::All) || *verdict != VerdictKind::WouldDeny
            }
            _ => true,
        };
        reports.iter().filter(is_told).collect()
    }
}

impl Outcome {
    /// Plays a conversation.
    fn of(dialect: &Dialect, terms: &Terms, events: &[Event], cuts: Cuts) -> Self {
        let hold = Arc::new(HoldBudget::new(terms.hold_memory));
        let mut gate = Harness::new(terms.gate(dialect.name, &hold));
        let most_awaited = dialect.most_awaited.max(terms.max_control_size as usize);
        let mut said = [Vec::new(), Vec::new()];
        let mut has_waited = false;
        let mut frames = [Frame::default(), Frame::default()];
        for event in events {
            match event {
                Event::Says(side, octets) => {
                    let mut rest = &octets[..];
                    while !rest.is_empty() {
                        let len = match cuts {
                            Cuts::AsSaid => rest.len(),
                            Cuts::Frames => frames[*side as usize].take(dialect, *side, rest),
                            Cuts::Octets => 1,
                        };
                        let (piece, behind) = rest.split_at(len);
                        rest = behind;
                        gate.feed(*side, piece);
                        has_waited |= gate.waits(*side) || gate.undecided(side.other()) > 0;
                        assert!(hold.held() <= terms.hold_memory, "more is held than may be");
                        let undecided = gate.undecided(*side);
                        assert!(
                            undecided <= most_awaited || gate.waits(*side),
                            "{undecided} octets are not enough"
                        );
                    }
                    said[*side as usize].extend_from_slice(octets);
                }
                Event::Tick => {
                    gate.tick();
                }
                Event::HangUp(why) => {
                    gate.gate.hang_up(*why);
                    gate.settle();
                }
            }
        }
        let outcome = Self {
            heard: SIDES.map(|side| gate.sent_to(side)),
            endings: SIDES.map(|side| gate.ending(side)),
            undecided: SIDES.map(|side| gate.undecided(side)),
            meter: std::mem::take(&mut gate.meter),
            said,
            has_waited,
        };
        drop(gate);
        assert_eq!(hold.held(), 0, "what was held is given back");
        outcome
    }

    /// Checks that each side has heard what the other one said, unless somebody left or had to.
    fn assert_unchanged(&self, dialect: &Dialect, events: &[Event]) {
        let is_over = self.is_over()
            || events.iter().any(|event| matches!(event, Event::HangUp(_)))
            || self.has_left(dialect);
        for side in SIDES {
            let said = &self.said[side as usize];
            let heard = &self.heard[side.other() as usize];
            let decided = said.len() - self.undecided[side as usize];
            // What has been passed on before an end is the front of what was said.
            if !is_over {
                assert!(
                    heard.starts_with(&said[..decided]),
                    "what the {side:?} said is changed: {}\nto {}",
                    said.escape_ascii(),
                    heard.escape_ascii()
                );
                assert_eq!(heard.len(), decided, "something is added");
            }
        }
    }

    /// Checks that the same verdicts fell on the same octets in other pieces.
    fn assert_same(&self, other: &Self, told: Told, cuts: &str) {
        let Self { meter, .. } = self;
        assert_eq!(meter.messages, other.meter.messages, "counted {cuts}");
        assert_eq!(meter.sizes, other.meter.sizes, "added up {cuts}");
        let reports = [meter, &other.meter].map(|meter| told.of(&meter.reports));
        assert_eq!(reports[0], reports[1], "reported {cuts}");
        let first = |outcome: &Self| outcome.endings.into_iter().flatten().next();
        assert_eq!(first(self), first(other), "how it ends {cuts}");
    }

    /// Checks that both sides have heard the same, as far as `part` goes.
    fn assert_same_octets(&self, other: &Self, part: fn(&[u8]) -> Vec<u8>, cuts: &str) {
        for side in SIDES {
            let heard = |outcome: &Self| part(&outcome.heard[side as usize]);
            let [octets, other] = [heard(self), heard(other)];
            assert!(
                octets == other,
                "the {side:?} heard {}\nand {cuts} {}",
                octets.escape_ascii(),
                other.escape_ascii()
            );
        }
    }

    /// Whether a side has said that it leaves.
    fn has_left(&self, dialect: &Dialect) -> bool {
        let mut sides = SIDES.into_iter();
        sides.any(|side| (dialect.leaves)(side, &self.said[side as usize]))
    }

    /// Whether an end has begun.
    fn is_over(&self) -> bool {
        self.endings != [None, None] || self.meter.reports.iter().any(is_fault)
    }
}

/// The frame that a side is saying.
#[derive(Debug, Default)]
struct Frame {
    /// The beginning of it, until its length is known.
    head: Vec<u8>,
    /// Octets of it that are still to come.
    left: usize,
}

impl Frame {
    /// How many octets come before the next boundary between frames, or before all is said.
    fn take(&mut self, dialect: &Dialect, side: Side, said: &[u8]) -> usize {
        let mut len = 0;
        while self.left == 0 && len < said.len() {
            self.head.push(said[len]);
            len += 1;
            if let Some(frame_len) = (dialect.frame_len)(side, &self.head) {
                self.left = frame_len.saturating_sub(self.head.len());
                self.head.clear();
                if self.left == 0 {
                    return len;
                }
            }
        }
        let more = self.left.min(said.len() - len);
        self.left -= more;
        len + more
    }
}

/// Whether a side has said what it may not, or more at once than is taken.
fn is_fault(report: &Report) -> bool {
    match report {
        Report::Malformed { .. } => true,
        Report::ControlOversize { verdict, .. } => *verdict == VerdictKind::Denied,
        // A client of MQTT 5.0 may have a limit of its own.
        Report::Refused(refusal) => &*refusal.rule == "the client's Maximum Packet Size",
        Report::NotAccepted(_) => false,
    }
}
