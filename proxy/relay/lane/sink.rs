//! The far end of a lane: what goes out to its sink, and in what order the sink is let go.
//!
//! A sink may keep back what it was given (TLS does, when the socket below is full), so a lane that
//! has written all there is has it flushed before its task sleeps.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::{Halt, Lane, Run, State};
use crate::gate::{Ending, Reason};

/// The sending side of a lane's sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sink {
    Open,
    Shut,
}

/// What happens to the sink's sending side when its lane is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::relay) enum WhenOver {
    /// It is left open: the other lane has not come to its end.
    Keep,
    /// It is shut.
    Shut,
}

impl Lane {
    /// Writes and throws away as far as the octets there go; `None` once they are used up or the
    /// step is done, so that the gate or the source is next.
    pub(super) fn poll_carry_out<W>(
        &mut self,
        cx: &mut Context<'_>,
        mut sink: Option<&mut W>,
    ) -> Option<Halt>
    where
        W: AsyncWrite + Unpin,
    {
        loop {
            let own = self.inject.get(self.injected..).unwrap_or_default();
            let (octets, limit) = if own.is_empty() {
                match (self.run, &mut self.buffer) {
                    (Run::Forward(left), Some(buffer)) => (buffer.octets(), left),
                    (Run::Withhold(left), Some(buffer)) => {
                        let len = clamp(left, buffer.octets().len());
                        buffer.consume(len);
                        self.ran(len);
                        return None;
                    }
                    _ => return None,
                }
            } else {
                (own, u64::MAX)
            };
            let len = clamp(limit, octets.len());
            let octets = octets.get(..len).unwrap_or_default();
            if octets.is_empty() {
                return None;
            }
            let Some(sink) = sink.as_deref_mut() else {
                return Some(Halt::NeedsSink);
            };
            match Pin::new(sink).poll_write(cx, octets) {
                Poll::Ready(Ok(written @ 1..)) => self.wrote(written),
                Poll::Ready(_) => {
                    self.lose_sink();
                    return None;
                }
                Poll::Pending => return Some(Halt::Blocked),
            }
        }
    }

    /// Has the sink send what it may have kept back; says whether the lane came to be over by it.
    ///
    /// To be called before the task sleeps: TLS keeps back what a full socket did not take, and its
    /// own answers to what it read (a key update, an alert), and sends none of it by itself.
    pub(in crate::relay) fn flush<W>(&mut self, cx: &mut Context<'_>, sink: Option<&mut W>) -> bool
    where
        W: AsyncWrite + Unpin,
    {
        if self.sink == Sink::Open
            && let Some(sink) = sink
            && let Poll::Ready(Err(_)) = Pin::new(sink).poll_flush(cx)
        {
            self.lose_sink();
            return true;
        }
        false
    }

    /// Notes that the sink takes nothing more.
    pub(super) fn lose_sink(&mut self) {
        self.sink = Sink::Shut;
        if self.state != State::Finished {
            self.end(Ending::by(self.from.other(), Reason::Reset));
        }
    }

    /// Notes that octets have gone out.
    pub(super) fn wrote(&mut self, len: usize) {
        if self.inject.is_empty() {
            self.carried += len as u64;
            if let Some(buffer) = &mut self.buffer {
                buffer.consume(len);
            }
            self.ran(len);
        } else {
            self.injected += len;
            if self.injected >= self.inject.len() {
                self.inject = Vec::new();
                self.injected = 0;
            }
        }
    }

    /// Notes that `len` octets of the step have been carried out.
    fn ran(&mut self, len: usize) {
        let len = len as u64;
        self.run = match self.run {
            Run::Forward(left) if left > len => Run::Forward(left - len),
            Run::Withhold(left) if left > len => Run::Withhold(left - len),
            _ => Run::Idle,
        };
    }

    /// Shuts the sink's sending side if that is to be done and has not been.
    pub(in crate::relay) fn poll_shut<W>(
        &mut self,
        cx: &mut Context<'_>,
        sink: Option<&mut W>,
        when_over: WhenOver,
    ) -> Poll<()>
    where
        W: AsyncWrite + Unpin,
    {
        if self.sink == Sink::Open && when_over == WhenOver::Shut {
            if let Some(sink) = sink
                && Pin::new(sink).poll_shutdown(cx).is_pending()
            {
                return Poll::Pending;
            }
            self.sink = Sink::Shut;
        }
        Poll::Ready(())
    }
}

/// The smaller of a step's octets and those that are there.
fn clamp(left: u64, there: usize) -> usize {
    usize::try_from(left).map_or(there, |left| left.min(there))
}
