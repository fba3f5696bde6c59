//! Reads and writes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::engine::{Carrier, Turn};

/// Carries octets through a buffer that the thread shares.
#[derive(Debug, Default)]
pub(super) struct Copier {
    /// What the sink has not taken.
    left: Vec<u8>,
}

/// The buffer.
#[derive(Debug)]
pub(super) struct Buffer(Vec<u8>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; LEN])
    }
}

impl Carrier for Copier {
    type Shared = Buffer;

    fn carry(
        &mut self,
        mut from: &TcpStream,
        to: &TcpStream,
        Buffer(buffer): &mut Buffer,
    ) -> io::Result<Turn> {
        if !self.left.is_empty() {
            let written = write(to, &self.left)?;
            self.left.drain(..written);
            if self.left.is_empty() {
                // An idle connection holds nothing.
                self.left = Vec::new();
                return Ok(Turn::Clear);
            }
            return Ok(Turn::LeftOver);
        }
        let octets = match from.read(buffer) {
            Ok(0) => return Ok(Turn::Ended),
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Turn::Clear),
            Err(error) => return Err(error),
        };
        let written = write(to, octets)?;
        let left = octets.get(written..).unwrap_or_default();
        if left.is_empty() {
            return Ok(Turn::Clear);
        }
        self.left.extend_from_slice(left);
        Ok(Turn::LeftOver)
    }
}

fn write(mut to: &TcpStream, octets: &[u8]) -> io::Result<usize> {
    match to.write(octets) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}

/// Four segments of the loopback interface, so that a full read makes no small segment.
const LEN: usize = 4 * 65_483;
