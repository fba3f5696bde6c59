//! Walks a stream from unit to unit.

use super::{Protocol, Unit};
use crate::Error;

/// How far a stream has been walked.
#[derive(Debug)]
pub(crate) struct Walker {
    protocol: Protocol,
    /// The unit under way.
    unit: Option<Unit>,
    /// Octets of it that have not come yet.
    left: u64,
}

impl Walker {
    /// At the beginning of a stream.
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            unit: None,
            left: 0,
        }
    }

    /// Walks over these octets, which follow those that were walked before, and calls back for each
    /// unit that is complete. Says how many were walked; fewer than [`super::HEAD`] are left over,
    /// and are to be given again with those that follow.
    pub(crate) fn walk(
        &mut self,
        octets: &[u8],
        mut each: impl FnMut(&Unit) -> Result<(), Error>,
    ) -> Result<usize, Error> {
        let mut at = 0;
        loop {
            let there = octets.len() - at;
            let taken = usize::try_from(self.left).map_or(there, |left| left.min(there));
            self.left -= taken as u64;
            at += taken;
            if self.left > 0 {
                return Ok(at);
            }
            if let Some(unit) = self.unit.take() {
                each(&unit)?;
            }
            let rest = octets.get(at..).unwrap_or_default();
            let Some(unit) = self.protocol.unit(rest)? else {
                return Ok(at);
            };
            self.left = unit.len;
            self.unit = Some(unit);
        }
    }

    /// Whether no unit is under way.
    pub(crate) fn is_between(&self) -> bool {
        self.unit.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Batch, HEAD, Message};
    use super::*;

    /// Walks a stream that comes in pieces of so many octets, and counts its messages.
    fn messages(protocol: Protocol, stream: &[u8], piece: usize) -> u64 {
        let mut walker = Walker::new(protocol);
        let mut messages = 0;
        let mut kept = Vec::new();
        for octets in stream.chunks(piece) {
            kept.extend_from_slice(octets);
            let walked = walker.walk(&kept, |unit| {
                messages += u64::from(unit.ends_message);
                Ok(())
            });
            kept.drain(..walked.unwrap());
            assert!(kept.len() < HEAD, "{} octets are left over", kept.len());
        }
        assert!(walker.is_between() && kept.is_empty());
        messages
    }

    #[test]
    fn it_does_not_matter_how_a_stream_was_cut() {
        for (protocol, size) in [
            (Protocol::Mqtt, 64),
            (Protocol::Mqtt5, 1 << 10),
            (Protocol::Amqp10, 100),
            (Protocol::Amqp10, 200_000),
            (Protocol::Amqp091, 100),
        ] {
            let message = Message {
                protocol,
                size,
                is_acknowledged: protocol != Protocol::Amqp10,
            };
            let stream = Batch::new(&message, 7).next().to_vec();
            for piece in [1, 7, 63, 64, 65, stream.len()] {
                assert_eq!(
                    messages(protocol, &stream, piece),
                    7,
                    "{protocol:?} {piece}"
                );
            }
        }
    }

    #[test]
    fn a_message_counts_once_its_last_octet_is_there() {
        let message = Message {
            protocol: Protocol::Mqtt,
            size: 1 << 10,
            is_acknowledged: false,
        };
        let stream = Batch::new(&message, 1).next().to_vec();
        let mut walker = Walker::new(Protocol::Mqtt);
        let mut units = 0;
        let (head, last) = stream.split_at(stream.len() - 1);
        for (octets, complete) in [(head, 0), (last, 1)] {
            let walked = walker.walk(octets, |_| {
                units += 1;
                Ok(())
            });
            assert_eq!((walked.unwrap(), units), (octets.len(), complete));
        }
    }
}
