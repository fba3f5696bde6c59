//! One direction of a connection: octets of one side on their way to the other.
//!
//! A lane reads from its source, asks the gate for a step, and carries the step out on its sink, to
//! the last octet, before it asks for the next. It reads no further than the sink keeps up with, so
//! it never holds more than one buffer.

mod sink;
mod splice;

use std::io;
use std::num::NonZeroUsize;
use std::task::{Context, Poll};

use self::sink::Sink;
pub(super) use self::sink::WhenOver;
use self::splice::{LOOK, Spliced, Splicing};
use super::buffers::{Buffer, window};
use crate::gate::{Ending, Gate, Meter, Reason, Side, Step};
use crate::transport::{self, Duplex, segment_len};

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Lane {
    /// The side that the octets come from.
    from: Side,
    /// What was received and not dealt with; none while nothing is pending.
    buffer: Option<Buffer>,
    /// The step that is being carried out.
    run: Run,
    /// What of it the kernel carries out.
    splicing: Splicing,
    /// Octets of the gate's own that go out before anything else.
    inject: Vec<u8>,
    /// How many of them have gone out; at most the length of `inject`.
    injected: usize,
    /// How far the lane has come.
    state: State,
    /// Whether the sink's sending side has been shut.
    sink: Sink,
    /// Octets to hold at most at once; none before a read made it worth asking the sink.
    window: Option<NonZeroUsize>,
    /// Octets forwarded since the last [`Lane::take_carried`]; the gate's own do not count.
    carried: u64,
    /// Octets thrown away since the lane is over.
    discarded: u64,
    /// Whether its source has ever sent an octet.
    heard: bool,
    /// What TLS found wrong with its source.
    fault: Option<io::Error>,
    /// How the lane came to be over.
    ending: Option<Ending>,
    /// Whether the gate took a step at the last [`Lane::poll`].
    moved: bool,
}

/// A step that is being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// None: the gate is to be asked.
    Idle,
    /// This many octets go on.
    Forward(u64),
    /// This many octets are thrown away.
    Withhold(u64),
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It is being carried out.
    Begun,
    /// There is none: the gate needs more octets.
    Short,
    /// There is none before the other lane has moved.
    Waits,
}

/// How far a lane has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It forwards what the gate lets through.
    Open,
    /// It forwards nothing more, and throws away what its source still sends.
    Draining,
    /// Its source sends nothing more.
    Finished,
}

/// Why a lane stopped for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// A socket is not ready; the task will be woken.
    Blocked,
    /// The gate has nothing to do before more octets come; the task will be woken.
    Idle,
    /// The gate waits for the other lane.
    Waiting,
    /// There are octets for a sink that is not there yet.
    NeedsSink,
    /// Nothing more will come of this lane.
    Finished,
}

impl Lane {
    /// The lane of the octets that come from a side.
    pub(super) fn new(from: Side) -> Self {
        Self {
            from,
            buffer: None,
            run: Run::Idle,
            splicing: Splicing::default(),
            inject: Vec::new(),
            injected: 0,
            state: State::Open,
            sink: Sink::Open,
            window: None,
            carried: 0,
            discarded: 0,
            heard: false,
            fault: None,
            ending: None,
            moved: false,
        }
    }

    /// The octets received and not dealt with.
    pub(super) fn undecided(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], Buffer::octets)
    }

    /// How the lane came to be over; `None` while it is not.
    pub(super) fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Whether the gate, or a fault, ended the lane, rather than its source.
    pub(super) fn was_cut_short(&self) -> bool {
        self.ending
            .is_some_and(|ending| ending != Ending::by(self.from, Reason::Closed))
    }

    /// How its source broke off, rather than ended its stream, if it did.
    pub(super) fn broken_off(&self) -> Option<Ending> {
        let broken = [Reason::Reset, Reason::Tls].map(|reason| Ending::by(self.from, reason));
        self.ending.filter(|ending| broken.contains(ending))
    }

    /// Ends the lane, since its sink has broken off, unless it has come to its end.
    pub(super) fn break_off(&mut self, ending: Ending) {
        if self.ending.is_none() {
            self.end(ending);
        }
    }

    /// Whether the gate could be asked for a step now: none is being carried out.
    pub(super) fn can_be_asked(&self) -> bool {
        self.state == State::Open && self.run == Run::Idle && self.inject.is_empty()
    }

    /// Whether the gate took a step at the last [`Lane::poll`].
    pub(super) fn has_moved(&self) -> bool {
        self.moved
    }

    /// Octets thrown away since the lane is over.
    pub(super) fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Whether its source has ever sent an octet.
    pub(super) fn has_heard(&self) -> bool {
        self.heard
    }

    /// What TLS found wrong with its source; told once.
    pub(super) fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }

    /// Octets forwarded since this was asked last.
    pub(super) fn take_carried(&mut self) -> u64 {
        std::mem::take(&mut self.carried)
    }

    /// Reads once; 0 is the end of the stream.
    pub(super) fn poll_fill<R: Duplex>(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut R,
    ) -> Poll<io::Result<usize>> {
        // Most turns end here, and need no buffer to find out.
        if self.undecided().is_empty() && source.poll_readable(cx).is_pending() {
            self.buffer = None;
            return Poll::Pending;
        }
        let room = self.room();
        let buffer = self.buffer.get_or_insert_with(Buffer::pooled);
        let read = buffer.poll_read(cx, source, room);
        if read.is_pending() {
            self.buffer = self.buffer.take().and_then(Buffer::settle);
        }
        read
    }

    /// Goes on as far as the sockets and the gate let it.
    pub(super) fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut source: Option<&mut R>,
        mut sink: Option<&mut W>,
        gate: &mut dyn Gate,
        meter: &mut Meter,
        when_over: WhenOver,
    ) -> Halt
    where
        R: Duplex,
        W: Duplex,
    {
        // Whether the gate may have something to say that it has not said yet.
        self.moved = false;
        let mut ask = !self.undecided().is_empty() || gate.pending(self.from);
        loop {
            if let Some(halt) = self.poll_carry_out(cx, sink.as_deref_mut()) {
                return halt;
            }
            match (self.state, self.run) {
                (State::Open, Run::Idle) if ask => {
                    let input = self.buffer.as_ref().map_or(&[][..], Buffer::octets);
                    let step = gate.step(self.from, input, meter, &mut self.inject);
                    debug_assert!(
                        !matches!(step, Step::More(octets) if octets <= input.len()),
                        "no wait without need"
                    );
                    match self.take(step) {
                        Taken::Begun => {}
                        Taken::Short => ask = false,
                        Taken::Waits => return Halt::Waiting,
                    }
                    continue;
                }
                (State::Open, Run::Idle) => {
                    if let Some(source) = source.as_deref()
                        && self.take_look(cx, source, gate, meter) == Taken::Begun
                    {
                        continue;
                    }
                }
                (State::Open, _) => {
                    if let Some(source) = source.as_deref() {
                        match self.poll_splice(cx, source, sink.as_deref()) {
                            Spliced::Nothing => {}
                            Spliced::Done => continue,
                            Spliced::Halted(halt) => return halt,
                        }
                    }
                }
                (State::Draining, _) => {
                    self.discard();
                    if self
                        .poll_shut(cx, sink.as_deref_mut(), when_over)
                        .is_pending()
                    {
                        return Halt::Blocked;
                    }
                }
                (State::Finished, _) => {
                    let when_over = if self.was_cut_short() {
                        when_over
                    } else {
                        WhenOver::Shut
                    };
                    return match self.poll_shut(cx, sink, when_over) {
                        Poll::Ready(()) => Halt::Finished,
                        Poll::Pending => Halt::Blocked,
                    };
                }
            }
            let Some(source) = source.as_deref_mut() else {
                // There is no broker, so nothing will come of it.
                if self.state == State::Draining {
                    self.state = State::Finished;
                    continue;
                }
                return Halt::Idle;
            };
            match self.poll_fill(cx, source) {
                Poll::Ready(Ok(0)) => self.finish(Reason::Closed),
                Poll::Ready(Ok(len)) => {
                    self.heard = true;
                    ask = true;
                    if len >= MEASURED {
                        self.measure(sink.as_deref());
                    }
                }
                Poll::Ready(Err(error)) if transport::fault(&error).is_some() => {
                    self.fault = Some(error);
                    self.finish(Reason::Tls);
                }
                Poll::Ready(Err(_)) => self.finish(Reason::Reset),
                Poll::Pending => return Halt::Idle,
            }
        }
    }

    /// Bounds what is held at once to what the sink takes in whole segments.
    fn measure<W: Duplex>(&mut self, sink: Option<&W>) {
        if self.window.is_none()
            && let Some(sink) = sink
        {
            // TLS makes records of what it is given, and segments of those.
            self.window = NonZeroUsize::new(window(sink.plain().and_then(segment_len)));
        }
    }

    /// Asks the gate about octets that are left where they are, where that is worth it.
    fn take_look<R: Duplex>(
        &mut self,
        cx: &mut Context<'_>,
        source: &R,
        gate: &mut dyn Gate,
        meter: &mut Meter,
    ) -> Taken {
        if !self.looks_first() {
            return Taken::Short;
        }
        let mut room = [0; LOOK];
        let Some(len) = self.look(cx, source, &mut room) else {
            return Taken::Short;
        };
        let input = room.get(..len).unwrap_or_default();
        let step = gate.step(self.from, input, meter, &mut self.inject);
        let taken = self.take(step);
        self.looked();
        taken
    }

    /// Begins a step.
    fn take(&mut self, step: Step) -> Taken {
        match step {
            Step::More(_) => return Taken::Short,
            Step::Wait => return Taken::Waits,
            Step::Forward(octets) => self.run = Run::Forward(octets),
            Step::Withhold(octets) => self.run = Run::Withhold(octets),
            Step::Inject => {}
            Step::End(ending) => self.end(ending),
        }
        self.moved = true;
        Taken::Begun
    }

    /// Throws away what is held, once the lane is over.
    fn discard(&mut self) {
        self.discarded += self.undecided().len() as u64;
        self.buffer = None;
    }

    /// Throws away what was to be forwarded and has nowhere to go.
    pub(super) fn drop_step(&mut self) {
        if let Run::Forward(octets) = self.run {
            self.run = Run::Withhold(octets);
        }
        self.inject = Vec::new();
        self.injected = 0;
    }

    /// Forwards nothing more.
    fn end(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
        self.state = State::Draining;
        self.run = Run::Idle;
        self.inject = Vec::new();
        self.injected = 0;
        self.splicing = Splicing::default();
        self.discard();
    }

    /// Takes the end of the source; octets that the gate could not decide on go with it.
    fn finish(&mut self, reason: Reason) {
        self.end(Ending::by(self.from, reason));
        self.state = State::Finished;
    }
}

/// Octets of one read from which on it matters where they are cut.
const MEASURED: usize = 16 * 1024;
