//! Large payloads, moved by the kernel from socket to socket.
//!
//! Once the gate has let a large payload through, nobody needs to look at it. Where both ends are
//! plain TCP, what has not been read of it goes through a pipe and never comes here. After that the
//! stream stands at a boundary, and the next one is likely to be large as well: so its head is
//! looked at and left where it is, since an octet that was read can't be spliced any more.

use std::io;
use std::num::NonZeroUsize;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;

use super::{Halt, Lane, Run};
use crate::gate::Reason;
use crate::relay::buffers::LARGE;
use crate::relay::pipes::Pipe;
use crate::transport::Duplex;

/// How the octets of a step are carried out.
#[derive(Debug, Default)]
pub(super) struct Splicing {
    /// What holds octets on their way; none while none are.
    pipe: Option<Pipe>,
    /// How often the head of what comes next is still looked at before it is read.
    looks: u8,
    /// Whether the kernel has refused to splice these sockets.
    is_refused: bool,
}

/// What came of an attempt to splice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spliced {
    /// There is nothing to splice, or it can't be had: octets are to be read.
    Nothing,
    /// The step has been carried out, or the lane is over.
    Done,
    /// A socket is not ready.
    Halted(Halt),
}

impl Lane {
    /// Moves what is left of a step from socket to socket, if it is worth it and can be had.
    pub(super) fn poll_splice<R: Duplex, W: Duplex>(
        &mut self,
        cx: &mut Context<'_>,
        source: &R,
        sink: Option<&W>,
    ) -> Spliced {
        let Run::Forward(mut left) = self.run else {
            return Spliced::Nothing;
        };
        let begun = self.splicing.pipe.take();
        if begun.is_none()
            && (left < LEAST || self.splicing.is_refused || !self.undecided().is_empty())
        {
            return Spliced::Nothing;
        }
        let (Some(source), Some(sink)) = (source.plain(), sink.and_then(Duplex::plain)) else {
            return Spliced::Nothing;
        };
        let Some(mut pipe) = begun.or_else(Pipe::lend) else {
            return Spliced::Nothing;
        };
        self.buffer = None;
        loop {
            if pipe.held() == 0 {
                match pipe.poll_fill(cx, source, left) {
                    Poll::Ready(Ok(0)) => {
                        self.finish(Reason::Closed);
                        return Spliced::Done;
                    }
                    Poll::Ready(Ok(_)) => self.heard = true,
                    Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                        self.splicing.is_refused = true;
                        return Spliced::Nothing;
                    }
                    Poll::Ready(Err(_)) => {
                        self.finish(Reason::Reset);
                        return Spliced::Done;
                    }
                    Poll::Pending => {
                        return Spliced::Halted(Halt::Idle);
                    }
                }
            }
            match pipe.poll_empty(cx, sink) {
                Poll::Ready(Ok(moved @ 1..)) => self.wrote(moved),
                Poll::Ready(_) => {
                    self.lose_sink();
                    return Spliced::Done;
                }
                Poll::Pending => {
                    self.splicing.pipe = Some(pipe);
                    return Spliced::Halted(Halt::Blocked);
                }
            }
            match self.run {
                Run::Forward(rest) => left = rest,
                _ => break,
            }
        }
        self.splicing.looks = LOOKS;
        Spliced::Done
    }

    /// Whether what is next is looked at before it is read.
    #[inline]
    pub(super) fn looks_first(&self) -> bool {
        self.splicing.looks > 0 && self.undecided().is_empty()
    }

    /// Looks at what is next in the source and leaves it there; says how many octets that are, or
    /// nothing if they are to be read.
    pub(super) fn look<R: Duplex>(
        &mut self,
        cx: &mut Context<'_>,
        source: &R,
        room: &mut [u8; LOOK],
    ) -> Option<usize> {
        match source.plain()?.poll_peek(cx, &mut ReadBuf::new(room)) {
            Poll::Ready(Ok(len @ 1..)) => Some(len),
            _ => None,
        }
    }

    /// Takes note of what the gate made of octets that were only looked at: after a few that are
    /// not worth it, the stream is read as usual.
    pub(super) fn looked(&mut self) {
        self.splicing.looks = match self.run {
            Run::Forward(LEAST..) => LOOKS,
            Run::Forward(_) => self.splicing.looks.saturating_sub(1),
            _ => 0,
        };
    }

    /// How much to read at most, so as not to read what might be spliced.
    pub(super) fn room(&self) -> usize {
        let window = self.window.map_or(LARGE, NonZeroUsize::get);
        match self.run {
            Run::Forward(left) if self.splicing.looks > 0 => {
                usize::try_from(left).map_or(window, |left| left.min(window))
            }
            _ => window,
        }
    }
}

/// Octets of which splicing is worth its calls.
const LEAST: u64 = 32 * 1024;
/// Heads that are looked at after a large one. A large message in frames ends with a small one.
const LOOKS: u8 = 4;
/// Octets that are looked at: the heads of most messages are shorter.
pub(super) const LOOK: usize = 512;
