//! Pipes through which the kernel moves octets from socket to socket without copying them.
//!
//! A pipe costs two descriptors and is needed only while a large payload is under way, so a thread
//! keeps a few and lends them. Where none can be had, octets are copied as usual.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::transport::descriptors::{Reserve, Use};

/// A pipe on loan, and what is in it.
#[derive(Debug)]
pub(super) struct Pipe {
    /// There until it is given back.
    ends: Option<Ends>,
    /// Octets in it; at most [`CAPACITY`].
    held: usize,
}

#[derive(Debug)]
struct Ends {
    out_of: OwnedFd,
    into: OwnedFd,
}

impl Pipe {
    /// An empty pipe, unless this thread or the process has too many.
    pub(super) fn lend() -> Option<Self> {
        POOL.with_borrow_mut(|pool| {
            if pool.lent >= MOST_LENT {
                return None;
            }
            let ends = pool.spare.pop().or_else(|| open().ok())?;
            pool.lent += 1;
            Some(Self {
                ends: Some(ends),
                held: 0,
            })
        })
    }

    /// Octets in it.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Moves up to `len` octets of a socket into the empty pipe; 0 is the end of the stream.
    pub(super) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        source: &TcpStream,
        len: u64,
    ) -> Poll<io::Result<usize>> {
        // Into a pipe that holds something, EAGAIN might mean that it is full, and not that the
        // socket is empty.
        debug_assert_eq!(self.held, 0, "only an empty pipe is filled");
        let len = usize::try_from(len).map_or(CAPACITY, |len| len.min(CAPACITY));
        let Some(Ends { into, .. }) = &self.ends else {
            return Poll::Ready(Ok(0));
        };
        loop {
            ready!(source.poll_read_ready(cx))?;
            let moved = source.try_io(Interest::READABLE, || {
                Ok(splice(source, None, into, None, len, FLAGS)?)
            });
            match moved {
                Err(error) if is_passing(&error) => {}
                moved => {
                    self.held = *moved.as_ref().unwrap_or(&0);
                    return Poll::Ready(moved);
                }
            }
        }
    }

    /// Moves octets out of the pipe into a socket.
    pub(super) fn poll_empty(
        &mut self,
        cx: &mut Context<'_>,
        sink: &TcpStream,
    ) -> Poll<io::Result<usize>> {
        let held = self.held;
        let Some(Ends { out_of, .. }) = &self.ends else {
            return Poll::Ready(Ok(0));
        };
        loop {
            ready!(sink.poll_write_ready(cx))?;
            let moved = sink.try_io(Interest::WRITABLE, || {
                Ok(splice(out_of, None, sink, None, held, FLAGS)?)
            });
            match moved {
                Err(error) if is_passing(&error) => {}
                moved => {
                    self.held -= *moved.as_ref().unwrap_or(&0);
                    #[cfg(test)]
                    MOVED.set(MOVED.get() + *moved.as_ref().unwrap_or(&0) as u64);
                    return Poll::Ready(moved);
                }
            }
        }
    }
}

impl Drop for Pipe {
    /// Gives the pipe back; one with octets in it is of no use to anybody else.
    fn drop(&mut self) {
        let ends = self.ends.take().filter(|_| self.held == 0);
        // A thread that is ending has no pool any more.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            pool.lent = pool.lent.saturating_sub(1);
            if pool.spare.len() < MOST_SPARE {
                pool.spare.extend(ends);
            }
        });
    }
}

fn open() -> io::Result<Ends> {
    let (out_of, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    if Reserve::read().has(&into, Use::Client) {
        return Err(Errno::MFILE.into());
    }
    // An unprivileged user may have only so much in large pipes (pipe(7)); a small one does, too.
    let _ = fcntl_setpipe_size(&into, CAPACITY);
    Ok(Ends { out_of, into })
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Pipes that this thread has lent.
#[cfg(test)]
pub(super) fn lent() -> usize {
    POOL.with_borrow(|pool| pool.lent)
}

/// Octets that pipes have moved on this thread.
#[cfg(test)]
pub(super) fn moved() -> u64 {
    MOVED.get()
}

#[cfg(test)]
thread_local! {
    static MOVED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The pipes of a thread.
#[derive(Debug)]
struct Pool {
    /// Empty ones that nobody needs now; at most [`MOST_SPARE`].
    spare: Vec<Ends>,
    /// How many are lent; at most [`MOST_LENT`].
    lent: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool {
            spare: Vec::new(),
            lent: 0,
        })
    };
}

const FLAGS: SpliceFlags = SpliceFlags::NONBLOCK;

/// Octets that a pipe is asked to hold. Less means more calls, and above it the kernel lets nobody
/// go who is not root (`fs.pipe-max-size`).
const CAPACITY: usize = 1 << 20;

/// Pipes that a thread keeps.
const MOST_SPARE: usize = 16;

/// Pipes that a thread lends at a time. They are two descriptors each, which clients may need more,
/// and are held only while their octets wait for a slow reader.
pub(super) const MOST_LENT: usize = 64;
