//! A broker that greets, counts and acknowledges, and keeps nothing.

use super::{Message, Protocol, Walker, amqp10, amqp091, mqtt, unexpected};
use crate::Error;

/// The broker's end of one connection.
#[derive(Debug)]
pub(crate) struct Broker {
    message: Message,
    walker: Walker,
    /// Messages that have come.
    messages: u64,
    /// Messages that have been acknowledged; at most `messages`.
    acknowledged: u64,
}

impl Broker {
    /// The end of a connection that has just come.
    pub(crate) fn new(message: Message) -> Self {
        Self {
            message,
            walker: Walker::new(message.protocol),
            messages: 0,
            acknowledged: 0,
        }
    }

    /// Takes octets of the client and appends what it is answered. Says how many were taken; the
    /// others, fewer than [`super::HEAD`], are to be given again with those that follow.
    pub(crate) fn take(&mut self, octets: &[u8], answer: &mut Vec<u8>) -> Result<usize, Error> {
        let Self {
            message,
            walker,
            messages,
            acknowledged,
        } = self;
        let taken = walker.walk(octets, |unit| {
            if unit.ends_message {
                *messages += 1;
                if matches!(message.protocol, Protocol::Mqtt | Protocol::Mqtt5) && unit.number != 0
                {
                    answer.extend(mqtt::puback(unit.number));
                    *acknowledged += 1;
                }
                return Ok(());
            }
            match message.protocol {
                Protocol::Mqtt | Protocol::Mqtt5 => match unit.kind {
                    mqtt::CONNECT => answer.extend(mqtt::connack(message.protocol)),
                    // DISCONNECT.
                    14 => {}
                    _ => return Err(unexpected(message.protocol, "a packet of unknown type")),
                },
                Protocol::Amqp10 => answer.extend(amqp10::answer(unit)),
                Protocol::Amqp091 => answer.extend(amqp091::answer(unit)),
            }
            Ok(())
        })?;
        if message.protocol == Protocol::Amqp091 && acknowledged < messages {
            answer.extend(amqp091::ack(*messages));
            *acknowledged = *messages;
        }
        Ok(taken)
    }

    /// Messages that have come.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Whether the client's stream stands between two units.
    pub(crate) fn is_between(&self) -> bool {
        self.walker.is_between()
    }
}

impl Message {
    /// How many messages are acknowledged after this unit of the broker, of which so many were
    /// before it.
    pub(crate) fn acknowledged_after(&self, unit: &super::Unit, before: u64) -> u64 {
        match self.protocol {
            Protocol::Mqtt | Protocol::Mqtt5 if unit.kind == mqtt::PUBACK => before + 1,
            Protocol::Amqp091 if amqp091::is_ack(unit) => unit.number.max(before),
            _ => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Batch;
    use super::*;

    /// Lets a client greet a broker without anything between them.
    fn greeted(message: Message) -> Broker {
        let mut broker = Broker::new(message);
        for (says, awaits) in message.protocol.greeting() {
            let mut answer = Vec::new();
            let taken = broker.take(&says, &mut answer).unwrap();
            assert_eq!(taken, says.len());
            let mut kinds = Vec::new();
            let walked = Walker::new(message.protocol).walk(&answer, |unit| {
                kinds.push(unit.kind);
                Ok(())
            });
            assert_eq!(walked.unwrap(), answer.len());
            assert!(kinds.contains(&awaits), "{awaits:#x} in {kinds:x?}");
        }
        broker
    }

    #[test]
    fn each_protocol_greets_counts_and_acknowledges() {
        for (protocol, is_acknowledged) in [
            (Protocol::Mqtt, false),
            (Protocol::Mqtt, true),
            (Protocol::Mqtt5, true),
            (Protocol::Amqp10, false),
            (Protocol::Amqp091, true),
        ] {
            let message = Message {
                protocol,
                size: 100,
                is_acknowledged,
            };
            let mut broker = greeted(message);
            let mut batch = Batch::new(&message, 5);
            let mut acknowledged = 0;
            for _ in 0..2 {
                let mut answer = Vec::new();
                broker.take(batch.next(), &mut answer).unwrap();
                let walked = Walker::new(protocol).walk(&answer, |unit| {
                    acknowledged = message.acknowledged_after(unit, acknowledged);
                    Ok(())
                });
                assert_eq!(walked.unwrap(), answer.len());
            }
            assert_eq!(broker.messages(), 10);
            assert!(broker.is_between());
            let expected = if is_acknowledged { 10 } else { 0 };
            assert_eq!(acknowledged, expected, "{protocol:?}");
        }
    }
}
