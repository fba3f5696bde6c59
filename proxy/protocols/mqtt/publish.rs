//! A PUBLISH of a client: judged at its head, then passed on, or thrown away and answered.
//!
//! Its topic alias is looked at where it matters: when a limit depends on the topic, when the
//! PUBLISH is refused, and after one that set an alias was.

use std::num::NonZeroU16;

use parsers::Parsed;
use parsers::mqtt::{FixedHeader, Publish, QoS, Version, publish_head};

use super::aliases::Receiver;
use super::from_client::{Halt, Run};
use super::refuse::{Answer, Due, Word};
use super::session::{Control, Session, Stage};
use super::verdict::{Oversize, action, message_size, note};
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

/// The head of a PUBLISH with its topic in place of an alias, and the payload that follows.
#[derive(Debug)]
pub(super) struct Repaired {
    pub(super) head: Vec<u8>,
    pub(super) payload_len: usize,
}

impl Session {
    /// Looks at a PUBLISH and answers with its length if it may pass.
    #[inline]
    pub(super) fn publish(
        &mut self,
        head: Head<'_>,
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let Some(client) = &self.client else {
            return Err(Halt::Over);
        };
        let Head {
            header, publish, ..
        } = head;
        let may_have_alias = client.version == Version::V5 && publish.properties_len > 0;
        let aliases_matter =
            !self.aliases.is_empty() || client.limits.heeds_addresses(Direction::ToBroker);
        if may_have_alias && aliases_matter {
            return self.publish_by_alias(head, run, meter);
        }
        let size = message_size(self.settings.mqtt.message_size, header, publish);
        match client
            .limits
            .judge(Direction::ToBroker, publish.topic, size)
        {
            Verdict::Allowed => {
                run.admit(header.packet_len())?;
                meter.message(Direction::ToBroker, VerdictKind::Allowed, size);
                self.passes(publish);
                Ok(header.packet_len())
            }
            Verdict::WouldDeny(_) | Verdict::Denied(_) => self.publish_by_alias(head, run, meter),
        }
    }

    /// The same for a PUBLISH whose topic alias matters, if it has one.
    fn publish_by_alias(
        &mut self,
        head: Head<'_>,
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let alias = self.topic_alias(head, run, meter)?;
        let Some(client) = &self.client else {
            return Err(Halt::Over);
        };
        let Head {
            header, publish, ..
        } = head;
        let by_alias = alias.filter(|_| publish.topic.is_empty());
        let topic = by_alias
            .and_then(|alias| self.aliases.topic(alias))
            .unwrap_or(publish.topic);
        let size = message_size(self.settings.mqtt.message_size, header, publish);
        let note = |meter: &mut Meter, kind, limit| {
            let action = action(
                self.settings.policy.on_oversize(),
                publish.qos,
                client.is_v5(),
            );
            note(meter, kind, topic, size, limit, action);
        };
        let is_unknown = by_alias.is_some_and(|alias| self.aliases.is_unknown_to_receiver(alias));
        let len = header.packet_len() + if is_unknown { topic.len() } else { 0 };
        match client.limits.judge(Direction::ToBroker, topic, size) {
            Verdict::Denied(limit) => {
                run.must_be_empty()?;
                note(meter, VerdictKind::Denied, limit);
                let limit = limit.clone();
                return Err(self.refuse(head, alias, Oversize { size, limit }));
            }
            verdict => {
                run.admit(len)?;
                if is_unknown {
                    run.must_be_empty()?;
                }
                match verdict {
                    Verdict::WouldDeny(limit) => note(meter, VerdictKind::WouldDeny, limit),
                    _ => meter.message(Direction::ToBroker, VerdictKind::Allowed, size),
                }
            }
        }
        let heeds_topics = client.limits.heeds_addresses(Direction::ToBroker);
        self.passes(publish);
        match alias {
            Some(alias) if is_unknown => return Err(self.repair(head, alias)),
            Some(alias) if by_alias.is_none() && heeds_topics => {
                self.set_alias(alias, publish.topic, Receiver::Knows)?;
            }
            Some(alias) if by_alias.is_none() => self.aliases.forget(alias),
            _ => {}
        }
        Ok(header.packet_len())
    }

    /// Notes that the broker gets a PUBLISH.
    #[inline]
    fn passes(&mut self, publish: &Publish<'_>) {
        if let QoS::AtLeastOnce(id) | QoS::ExactlyOnce(id) = publish.qos {
            // The identifier is in use again, and now the broker knows it (MQTT 5.0 §4.3.3).
            self.refused.remove(id.get());
        }
    }

    /// Keeps a PUBLISH from the broker and decides how its sender learns of it.
    #[cold]
    fn refuse(&mut self, head: Head<'_>, alias: Option<NonZeroU16>, oversize: Oversize) -> Halt {
        let Head {
            header, publish, ..
        } = head;
        if self.settings.policy.on_oversize() != OnOversize::Reject {
            let word = self.packet_too_large(oversize.text());
            let ending = Ending::by(Side::Client, Reason::Oversize);
            self.end(ending, Due::Accepted, word);
            return Halt::Over;
        }
        if let Some(alias) = alias.filter(|_| !publish.topic.is_empty())
            && let Err(halt) = self.set_alias(alias, publish.topic, Receiver::IsUnaware)
        {
            return halt;
        }
        self.owed = match publish.qos {
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
        Halt::Withhold(header.packet_len())
    }

    /// Puts the topic into a PUBLISH whose alias the broker has never heard of.
    #[cold]
    fn repair(&mut self, head: Head<'_>, alias: NonZeroU16) -> Halt {
        let Head {
            header,
            publish,
            packet,
        } = head;
        let mut octets = Vec::new();
        let written = self.aliases.topic(alias).and_then(|topic| {
            let properties = publish.properties(header, packet)?;
            publish_head(&mut octets, header, publish, topic, properties)
        });
        if written.is_none() {
            let word =
                self.packet_too_large(String::from("No packet is long enough for its topic"));
            let ending = Ending::by(Side::Client, Reason::Oversize);
            self.end(ending, Due::Accepted, word);
            return Halt::Over;
        }
        self.aliases.receiver_knows(alias);
        if self.stage == Stage::Connecting {
            self.passed += (octets.len() + publish.payload_len) as u64;
        }
        self.repaired = Some(Repaired {
            head: octets,
            payload_len: publish.payload_len,
        });
        Halt::Withhold(publish.head_len(header))
    }

    /// The topic alias of a PUBLISH, once its properties are there; they are bounded as a packet
    /// that is not a message is.
    fn topic_alias(
        &mut self,
        head: Head<'_>,
        run: &Run,
        meter: &mut Meter,
    ) -> Result<Option<NonZeroU16>, Halt> {
        let Head {
            header,
            publish,
            packet,
        } = head;
        if publish.properties_len == 0 {
            return Ok(None);
        }
        if publish.properties_len as u64 > self.settings.max_control_size.0 {
            run.must_be_empty()?;
            return match self.control_size(Side::Client, publish.properties_len, meter) {
                Control::Passes => Ok(None),
                Control::Ends => Err(Halt::Over),
            };
        }
        match publish.topic_alias(header, packet)? {
            Parsed::Value(alias) => Ok(alias),
            Parsed::NeedMore(octets) => Err(Halt::NeedMore(octets)),
        }
    }

    /// Remembers a topic; a client with more of them than are remembered loses its connection.
    fn set_alias(
        &mut self,
        alias: NonZeroU16,
        topic: &[u8],
        receiver: Receiver,
    ) -> Result<(), Halt> {
        self.aliases.set(alias, topic, receiver).map_err(|_| {
            let text = String::from("Topic aliases stand for too many octets");
            let code = QUOTA_EXCEEDED;
            let word = Word::Reason {
                code,
                text: Some(text),
            };
            self.end(
                Ending::by(Side::Client, Reason::Oversize),
                Due::Accepted,
                word,
            );
            Halt::Over
        })
    }
}

/// DISCONNECT "Quota exceeded" (MQTT 5.0 §3.14.2.1).
const QUOTA_EXCEEDED: u8 = 0x97;
