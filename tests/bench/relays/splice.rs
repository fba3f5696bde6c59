//! Moves octets from socket to socket without their coming into this process.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::engine::{Carrier, Turn};

/// Carries octets through a pipe, which it has only while there are octets in it.
#[derive(Debug, Default)]
pub(super) struct Splicer {
    pipe: Option<Pipe>,
    /// Octets in the pipe; above 0 if there is one.
    held: usize,
}

/// Both ends of a pipe.
#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Past a limit for all pipes of a user it stays as large as it is.
        let _ = fcntl_setpipe_size(&write, LEN);
        Ok(Self { read, write })
    }
}

impl Carrier for Splicer {
    /// Empty pipes that nobody uses.
    type Shared = Vec<Pipe>;

    fn carry(
        &mut self,
        from: &TcpStream,
        to: &TcpStream,
        spare: &mut Vec<Pipe>,
    ) -> io::Result<Turn> {
        let pipe = match self.pipe.take().or_else(|| spare.pop()) {
            Some(pipe) => pipe,
            None => Pipe::new()?,
        };
        if self.held == 0 {
            match shift(from, &pipe.write)? {
                Some(0) => {
                    spare.push(pipe);
                    return Ok(Turn::Ended);
                }
                Some(count) => self.held = count,
                None => {}
            }
        }
        if self.held > 0 {
            self.held -= shift(&pipe.read, to)?.unwrap_or(0);
        }
        if self.held == 0 {
            spare.push(pipe);
            return Ok(Turn::Clear);
        }
        self.pipe = Some(pipe);
        Ok(Turn::LeftOver)
    }
}

/// Splices once; none if that would have to wait.
fn shift(from: impl AsFd, to: impl AsFd) -> io::Result<Option<usize>> {
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    match splice(from, None, to, None, LEN, flags) {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The size of a pipe.
const LEN: usize = 1 << 20;
