//! What is done to a message over its limit.

use parsers::amqp091::{Ack, ContentHeader, MethodId, Reject, Return, encode};

use super::arrival::{Arrival, ContentMethod};
use super::channel::{Fate, Life, Mode, Owed, Refused};
use super::connection::Connection;
use super::consumers::Acknowledges;
use super::refuse::{CONTENT_TOO_LARGE, Note, Why, note, text};
use super::walk::Halt;
use crate::gate::{Meter, Reason, Side, VerdictKind};
use crate::policy::{Action, Limit, OnOversize};

/// What is done to a message over its limit, given its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// It is thrown away, and its sender answered.
    Reject,
    /// It is thrown away, and nobody is told.
    Drop,
    /// Its channel is closed.
    Channel,
    /// The connection is closed.
    Connection,
}

impl Connection {
    /// Writes down a message that would be refused, were this no dry run.
    pub(super) fn would_refuse(&self, arrival: &Arrival<'_>, limit: &Limit, meter: &mut Meter) {
        let course = self.course(arrival);
        self.note(arrival, VerdictKind::WouldDeny, course, limit, meter);
    }

    /// Refuses a message, all of which is thrown away.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        arrival: &Arrival<'_>,
        limit: &Limit,
        meter: &mut Meter,
    ) -> Result<Fate, Halt> {
        let course = self.course(arrival);
        let returns = course == Course::Reject && self.returns(arrival);
        let properties = if returns { properties(arrival)? } else { NONE };
        self.note(arrival, VerdictKind::Denied, course, limit, meter);
        let text = text(arrival.body_size, limit);
        if course == Course::Connection {
            self.end_if_accepted(arrival.from, Reason::Oversize, Why::Forced(text));
            return Err(Halt::Over);
        }
        let mut owed = Owed::default();
        match arrival.method {
            ContentMethod::Publish(publish) => {
                if returns {
                    let returned = Return {
                        reply_code: CONTENT_TOO_LARGE,
                        reply_text: text.as_bytes(),
                        exchange: publish.exchange,
                        routing_key: publish.routing_key,
                    };
                    let client = &mut owed.client;
                    encode::basic_return(client, arrival.channel, &returned);
                    encode::content_header(client, arrival.channel, 0, properties);
                }
                self.refuse_publish(arrival, &mut owed);
            }
            ContentMethod::GetOk(get_ok) => {
                encode::basic_get_empty(&mut owed.client, arrival.channel);
                self.refuse_delivery(arrival, course, get_ok.delivery_tag, &mut owed);
            }
            ContentMethod::Deliver(deliver) => {
                self.refuse_delivery(arrival, course, deliver.delivery_tag, &mut owed);
            }
            ContentMethod::Return => {}
        }
        if course == Course::Channel {
            let failed = match arrival.from {
                Side::Client => MethodId::BASIC_PUBLISH,
                Side::Broker => MethodId {
                    class: 0,
                    method: 0,
                },
            };
            let failed = (failed.class, failed.method);
            self.refuse_channel(arrival.channel, Refused { text, failed });
        }
        self.weigh(arrival.channel)?;
        Ok(Fate::Swallowed(Box::new(owed)))
    }

    /// Numbers a publish that is refused, and has it answered with that number.
    fn refuse_publish(&mut self, arrival: &Arrival<'_>, owed: &mut Owed) {
        let state = self.channels.get_mut(&arrival.channel);
        if let Some(Mode::Confirm(confirms)) = state.map(|state| &mut state.mode) {
            let nack = Ack {
                delivery_tag: confirms.refuse(),
                multiple: false,
            };
            encode::basic_nack(&mut owed.client, arrival.channel, &nack);
        }
    }

    /// Has a delivery rejected in the client's place, where it is acknowledged at all.
    ///
    /// It does not go back to its queue, from which it would come again.
    fn refuse_delivery(
        &mut self,
        arrival: &Arrival<'_>,
        course: Course,
        delivery_tag: u64,
        owed: &mut Owed,
    ) {
        let Some(state) = self.channels.get_mut(&arrival.channel) else {
            return;
        };
        let is_get = matches!(arrival.method, ContentMethod::GetOk(_));
        if is_get {
            state.consumers.got();
        }
        if course != Course::Reject {
            return;
        }
        owed.rejects = Some(delivery_tag);
        let reject = Reject {
            delivery_tag,
            requeue: false,
        };
        encode::basic_reject(&mut owed.broker, arrival.channel, &reject);
    }

    /// Whether a publish that is refused is returned: where it asked for that, or where nothing else
    /// would be said.
    fn returns(&self, arrival: &Arrival<'_>) -> bool {
        let state = self.channels.get(&arrival.channel);
        let is_confirmed = state.is_some_and(|state| matches!(state.mode, Mode::Confirm(_)));
        match arrival.method {
            ContentMethod::Publish(publish) => publish.mandatory || !is_confirmed,
            _ => false,
        }
    }

    fn course(&self, arrival: &Arrival<'_>) -> Course {
        let Some(state) = self.channels.get(&arrival.channel) else {
            return Course::Drop;
        };
        let is_tx = matches!(state.mode, Mode::Tx { .. });
        match self.settings.policy.on_oversize() {
            // A side has closed the connection: nobody listens.
            _ if self.sides.client.is_closed || self.sides.broker.is_closed => Course::Drop,
            OnOversize::Close => Course::Connection,
            // The same of the channel.
            _ if state.life != Life::Open => Course::Drop,
            OnOversize::Detach => Course::Channel,
            // What is part of a transaction cannot be left out of it.
            OnOversize::Reject if is_tx && arrival.from == Side::Client => Course::Channel,
            OnOversize::Reject => {
                let acknowledges = match arrival.method {
                    ContentMethod::Publish(_) => Acknowledges::Each,
                    ContentMethod::Deliver(deliver) => {
                        state.consumers.delivered(deliver.consumer_tag)
                    }
                    ContentMethod::GetOk(_) => state.consumers.next_get(),
                    ContentMethod::Return => Acknowledges::None,
                };
                match acknowledges {
                    Acknowledges::Each => Course::Reject,
                    Acknowledges::None => Course::Drop,
                }
            }
        }
    }

    fn note(
        &self,
        arrival: &Arrival<'_>,
        verdict: VerdictKind,
        course: Course,
        limit: &Limit,
        meter: &mut Meter,
    ) {
        let action = match course {
            Course::Reject => Action::Reject,
            Course::Drop => Action::Drop,
            Course::Channel => Action::Detach,
            Course::Connection => Action::Close,
        };
        let what = Note {
            from: arrival.from,
            verdict,
            action,
            address: &self.address,
            size: arrival.body_size,
        };
        note(meter, what, limit);
    }
}

/// The property flags and properties of a content, by which its sender knows it again when it is
/// returned; none where there are many.
fn properties<'a>(arrival: &Arrival<'a>) -> Result<&'a [u8], Halt> {
    let Arrival {
        header,
        octets,
        before,
        ..
    } = *arrival;
    if header.payload_len() > MOST_RETURNED {
        return Ok(NONE);
    }
    match octets.get(ContentHeader::PROPERTIES_AT..header.end_at()) {
        Some(properties) => Ok(properties),
        None => Err(Halt::NeedMore(before + header.frame_len())),
    }
}

/// The property flags of a content without properties.
const NONE: &[u8] = &[0, 0];
/// Octets of a content header up to which its properties are returned.
const MOST_RETURNED: usize = 4 * 1_024;
