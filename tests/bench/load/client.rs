//! One client: it greets, sends batches and counts acknowledgements.

use std::net::SocketAddr;

use super::link::{Link, Trust};
use super::wire::{Batch, Message, Unit, Walker};
use crate::Error;

/// The client's end of one connection.
#[derive(Debug)]
pub(crate) struct Client {
    link: Link,
    message: Message,
    batch: Batch,
    walker: Walker,
    /// Octets of a unit that came in part.
    kept: Vec<u8>,
    /// Messages that have been sent.
    sent: u64,
    /// Messages that have been acknowledged; at most `sent`.
    acknowledged: u64,
}

impl Client {
    /// Connects and greets the broker; a write will hold so many messages.
    pub(crate) fn connect(
        address: SocketAddr,
        message: &Message,
        batch: usize,
        trust: Option<&Trust>,
    ) -> Result<Self, Error> {
        let mut client = Self {
            link: Link::connect(address, trust)?,
            message: *message,
            batch: Batch::new(message, batch),
            walker: Walker::new(message.protocol),
            kept: Vec::new(),
            sent: 0,
            acknowledged: 0,
        };
        for (says, awaits) in message.protocol.greeting() {
            client.link.send(&says).map_err(Error::io("greeting"))?;
            while !client.hear(awaits)? {}
        }
        Ok(client)
    }

    /// Sends the next batch, and says how many messages it held.
    pub(crate) fn send(&mut self) -> Result<u64, Error> {
        let octets = self.batch.next();
        self.link.send(octets).map_err(Error::io("sending"))?;
        self.sent += self.batch.count();
        Ok(self.batch.count())
    }

    /// Waits until at most so many messages are unacknowledged, if they are acknowledged at all.
    pub(crate) fn await_acknowledgements(&mut self, most: u64) -> Result<(), Error> {
        if self.message.is_acknowledged {
            while self.sent - self.acknowledged > most {
                self.hear(NOTHING)?;
            }
        }
        Ok(())
    }

    /// Reads what has come, without waiting.
    pub(crate) fn listen(&mut self) -> Result<(), Error> {
        let mut buffer = [0; BUFFER];
        let read = self.link.receive_now(&mut buffer);
        if let Some(count) = read.map_err(Error::io("listening"))? {
            self.take(buffer.get(..count).unwrap_or_default(), NOTHING)?;
        }
        Ok(())
    }

    /// Says goodbye and closes the connection.
    pub(crate) fn leave(mut self) -> Result<(), Error> {
        let farewell = self.message.protocol.farewell();
        let said = self.link.send(farewell).and_then(|()| self.link.close());
        said.map_err(Error::io("leaving"))
    }

    /// Waits for octets and takes them; says whether a unit of this kind is complete with them.
    fn hear(&mut self, awaits: u32) -> Result<bool, Error> {
        let mut buffer = [0; BUFFER];
        let read = self.link.receive(&mut buffer);
        let count = read.map_err(Error::io("waiting for the broker"))?;
        self.take(buffer.get(..count).unwrap_or_default(), awaits)
    }

    fn take(&mut self, octets: &[u8], awaits: u32) -> Result<bool, Error> {
        if octets.is_empty() {
            return Err(Error::Ended {
                side: "client",
                after: self.sent,
            });
        }
        let mut has_come = false;
        let each = |unit: &Unit| {
            self.acknowledged = self.message.acknowledged_after(unit, self.acknowledged);
            has_come |= unit.kind == awaits;
            Ok(())
        };
        if self.kept.is_empty() {
            let walked = self.walker.walk(octets, each)?;
            let rest = octets.get(walked..).unwrap_or_default();
            self.kept.extend_from_slice(rest);
        } else {
            self.kept.extend_from_slice(octets);
            let walked = self.walker.walk(&self.kept, each)?;
            self.kept.drain(..walked);
        }
        if self.acknowledged > self.sent {
            return Err(Error::Lost {
                sent: self.sent,
                counted: self.acknowledged,
            });
        }
        Ok(has_come)
    }
}

/// Octets that a client reads at once; it is told little.
const BUFFER: usize = 4 << 10;

/// A kind that no unit has.
const NOTHING: u32 = u32::MAX;
