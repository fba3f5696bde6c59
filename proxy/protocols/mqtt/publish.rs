//! A PUBLISH of either side: judged at its head, then passed on, or thrown away and answered.
//!
//! Its topic alias is looked at where it matters: when a limit depends on the topic, when the
//! PUBLISH is refused, and after one that set an alias was.

use std::num::NonZeroU16;

use parsers::Parsed;
use parsers::mqtt::{FixedHeader, Publish, QoS, packet_len, publish_head};

use super::aliases::Receiver;
use super::ends::Control;
use super::packets::{Halt, Run};
use super::refuse::{Answer, Due, QUOTA_EXCEEDED, Word};
use super::session::{Session, Stage};
use super::verdict::{Note, Oversize, action, message_size, note};
use crate::gate::{Direction, Ending, Meter, Reason, Side, VerdictKind};
use crate::policy::{OnOversize, Verdict};

/// A PUBLISH whose head has been read.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) header: &'a FixedHeader,
    pub(super) publish: &'a Publish<'a>,
    /// The octets of the packet that are there, and perhaps those of others behind it.
    pub(super) packet: &'a [u8],
}

impl Session {
    /// Looks at a PUBLISH and answers with its length if it may pass.
    #[inline]
    pub(super) fn publish(
        &mut self,
        from: Side,
        head: Head<'_>,
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let (direction, stream) = match from {
            Side::Client => (Direction::ToBroker, &self.from_client),
            Side::Broker => (Direction::ToClient, &self.from_broker),
        };
        let Some(client) = &self.client else {
            return Err(Halt::Over);
        };
        let Head {
            header, publish, ..
        } = head;
        let may_have_alias = stream.has_aliases && publish.properties_len > 0;
        let aliases_matter = !stream.aliases.is_empty() || client.limits.heeds_addresses(direction);
        if may_have_alias && aliases_matter {
            return self.publish_by_alias(from, head, run, meter);
        }
        let size = message_size(self.settings.mqtt.message_size, header, publish);
        let fits = from == Side::Client || client.takes(header.packet_len());
        match client.limits.judge(direction, publish.topic, size) {
            Verdict::Allowed if fits => {
                run.admit(header.packet_len())?;
                meter.message(direction, VerdictKind::Allowed, size);
                self.passes(from, publish);
                Ok(header.packet_len())
            }
            _ => self.publish_by_alias(from, head, run, meter),
        }
    }

    /// The same for a PUBLISH whose topic alias matters, if it has one.
    fn publish_by_alias(
        &mut self,
        from: Side,
        head: Head<'_>,
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let alias = self.topic_alias(from, head, run, meter)?;
        let (direction, stream) = match from {
            Side::Client => (Direction::ToBroker, &self.from_client),
            Side::Broker => (Direction::ToClient, &self.from_broker),
        };
        let Some(client) = &self.client else {
            return Err(Halt::Over);
        };
        let Head {
            header, publish, ..
        } = head;
        let by_alias = alias.filter(|_| publish.topic.is_empty());
        let topic = by_alias
            .and_then(|alias| stream.aliases.topic(alias))
            .unwrap_or(publish.topic);
        let is_unknown = by_alias.is_some_and(|alias| stream.aliases.is_unknown_to_receiver(alias));
        let len = if is_unknown {
            packet_len(header.remaining_length + topic.len())
        } else {
            header.packet_len()
        };
        let message_size = message_size(self.settings.mqtt.message_size, header, publish);
        let (verdict, size, on_oversize) = match client.limits.judge(direction, topic, message_size)
        {
            // What its receiver does not take is thrown away, whatever is done to what the
            // operator does not want (MQTT 5.0 §3.1.2.11.4). It is judged as it would go out.
            Verdict::Allowed if from == Side::Broker => {
                (client.own_verdict(len), len as u64, OnOversize::Reject)
            }
            verdict => (verdict, message_size, self.settings.policy.on_oversize()),
        };
        let what = |verdict| Note {
            direction,
            verdict,
            action: action(on_oversize, publish.qos, client.is_v5()),
            topic,
            message_size,
        };
        match verdict {
            Verdict::Denied(limit) => {
                run.must_be_empty()?;
                note(meter, what(VerdictKind::Denied), size, limit);
                let limit = limit.clone();
                let oversize = Oversize { size, limit };
                return Err(self.refuse(from, head, alias, &oversize, on_oversize));
            }
            verdict => {
                run.admit(len)?;
                if is_unknown {
                    run.must_be_empty()?;
                }
                match verdict {
                    Verdict::WouldDeny(limit) => {
                        note(meter, what(VerdictKind::WouldDeny), size, limit);
                    }
                    _ => meter.message(direction, VerdictKind::Allowed, message_size),
                }
            }
        }
        let heeds_topics = client.limits.heeds_addresses(direction);
        self.passes(from, publish);
        match alias {
            Some(alias) if is_unknown => return Err(self.repair(from, head, alias)),
            Some(alias) if by_alias.is_none() && heeds_topics => {
                self.set_alias(from, alias, publish.topic, Receiver::Knows)?;
            }
            Some(alias) if by_alias.is_none() => self.stream(from).aliases.forget(alias),
            _ => {}
        }
        Ok(header.packet_len())
    }

    /// Notes that the other side gets a PUBLISH.
    #[inline]
    fn passes(&mut self, from: Side, publish: &Publish<'_>) {
        if let QoS::AtLeastOnce(id) | QoS::ExactlyOnce(id) = publish.qos {
            // The identifier is in use again, and now the receiver knows it (MQTT 5.0 §4.3.3).
            self.stream(from).refused.remove(id.get());
            if from == Side::Broker
                && let Some(receipts) = &mut self.receipts
            {
                receipts.sent(publish.qos);
            }
        }
    }

    /// Keeps a PUBLISH from the other side and decides how its sender learns of it.
    #[cold]
    fn refuse(
        &mut self,
        from: Side,
        head: Head<'_>,
        alias: Option<NonZeroU16>,
        oversize: &Oversize,
        on_oversize: OnOversize,
    ) -> Halt {
        let Head {
            header, publish, ..
        } = head;
        if on_oversize != OnOversize::Reject {
            let word = self.packet_too_large(oversize.text());
            self.end(Ending::by(from, Reason::Oversize), due(from), word);
            return Halt::Over;
        }
        if let Some(alias) = alias.filter(|_| !publish.topic.is_empty())
            && let Err(halt) = self.set_alias(from, alias, publish.topic, Receiver::IsUnaware)
        {
            return halt;
        }
        let oversize = oversize.clone();
        let answer = match publish.qos {
            QoS::AtMostOnce => None,
            QoS::AtLeastOnce(id) => Some(Answer::Puback {
                id: id.get(),
                oversize,
            }),
            QoS::ExactlyOnce(id) => Some(Answer::Pubrec {
                id: id.get(),
                dup: publish.dup,
                oversize,
            }),
        };
        self.stream(from).owed = answer.map(Box::new);
        Halt::Withhold(header.packet_len())
    }

    /// Puts the topic into a PUBLISH whose alias the other side has never heard of.
    #[cold]
    fn repair(&mut self, from: Side, head: Head<'_>, alias: NonZeroU16) -> Halt {
        let Head {
            header,
            publish,
            packet,
        } = head;
        let mut octets = Vec::new();
        let stream = self.stream(from);
        let written = stream.aliases.topic(alias).and_then(|topic| {
            let properties = publish.properties(header, packet)?;
            publish_head(&mut octets, header, publish, topic, properties)
        });
        if written.is_none() {
            let word =
                self.packet_too_large(String::from("No packet is long enough for its topic"));
            self.end(Ending::by(from, Reason::Oversize), due(from), word);
            return Halt::Over;
        }
        stream.aliases.receiver_knows(alias);
        let len = octets.len() + publish.payload_len;
        stream.replace(octets, publish.payload_len);
        if from == Side::Client && self.stage == Stage::Connecting {
            self.passed += len as u64;
        }
        Halt::Withhold(publish.head_len(header))
    }

    /// The topic alias of a PUBLISH, once its properties are there; they are bounded as a packet
    /// that is not a message is.
    fn topic_alias(
        &mut self,
        from: Side,
        head: Head<'_>,
        run: &Run,
        meter: &mut Meter,
    ) -> Result<Option<NonZeroU16>, Halt> {
        let Head {
            header,
            publish,
            packet,
        } = head;
        if publish.properties_len == 0 || !self.stream(from).has_aliases {
            return Ok(None);
        }
        if publish.properties_len as u64 > self.settings.max_control_size.0 {
            run.must_be_empty()?;
            return match self.control_size(from, publish.properties_len, meter) {
                Control::Passes => Ok(None),
                Control::Ends => Err(Halt::Over),
            };
        }
        match publish.topic_alias(header, packet)? {
            Parsed::Value(alias) => Ok(alias),
            Parsed::NeedMore(octets) => Err(Halt::NeedMore(octets)),
        }
    }

    /// Remembers a topic; a side with more of them than are remembered costs the connection.
    fn set_alias(
        &mut self,
        from: Side,
        alias: NonZeroU16,
        topic: &[u8],
        receiver: Receiver,
    ) -> Result<(), Halt> {
        let set = self.stream(from).aliases.set(alias, topic, receiver);
        set.map_err(|_| {
            let text = String::from("Topic aliases stand for too many octets");
            let code = QUOTA_EXCEEDED;
            let word = Word::Reason {
                code,
                text: Some(text),
            };
            self.end(Ending::by(from, Reason::Oversize), due(from), word);
            Halt::Over
        })
    }
}

/// When the client may be told that a PUBLISH of this side ended its connection.
fn due(from: Side) -> Due {
    match from {
        Side::Client => Due::Accepted,
        Side::Broker => Due::Now,
    }
}
