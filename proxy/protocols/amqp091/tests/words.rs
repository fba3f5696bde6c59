//! The frames that tests speak, in few words.

use parsers::Parsed;
use parsers::amqp091::{
    Ack, Cancel, Channel, Close, ConnectionOpen, Consume, Deliver, Get, GetOk, MethodId,
    ProtocolHeader, Publish, Reject, Return, StartOk, Table, Tune, Version, encode, frame_header,
};

pub(super) const HEADER: [u8; 8] = *b"AMQP\0\0\x09\x01";
pub(super) const ONE: Channel = Channel(1);
pub(super) const TWO: Channel = Channel(2);
pub(super) const ZERO: Channel = Channel(0);

/// What both sides agree upon unless a test has something else.
pub(super) const TUNE: Tune = Tune {
    channel_max: 2_047,
    frame_max: 4_096,
    heartbeat: 0,
};

pub(super) fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut octets = Vec::new();
    write(&mut octets);
    octets
}

/// A frame of a type and with a payload of whatever sort.
pub(super) fn frame(frame_type: u8, channel: Channel, payload: &[u8]) -> Vec<u8> {
    let [c0, c1] = channel.0.to_be_bytes();
    let [s0, s1, s2, s3] = (payload.len() as u32).to_be_bytes();
    let header = [frame_type, c0, c1, s0, s1, s2, s3];
    [&header, payload, &[0xCE]].concat()
}

/// A method without arguments, or with these.
pub(super) fn method(channel: Channel, class: u16, method: u16, arguments: &[u8]) -> Vec<u8> {
    let id = [class.to_be_bytes(), method.to_be_bytes()].concat();
    frame(1, channel, &[&id, arguments].concat())
}

pub(super) fn heartbeat() -> Vec<u8> {
    written(encode::heartbeat)
}

pub(super) fn start() -> Vec<u8> {
    written(|out| encode::connection_start(out, "PLAIN AMQPLAIN EXTERNAL", "en_US"))
}

/// start-ok of alice, whose connection has a name.
pub(super) fn start_ok() -> Vec<u8> {
    let name = b"\x0Fconnection_nameS\0\0\0\x07billing";
    start_ok_with(name, b"PLAIN", b"\0alice\0secret")
}

pub(super) fn start_ok_with(properties: &[u8], mechanism: &[u8], response: &[u8]) -> Vec<u8> {
    let start_ok = StartOk {
        client_properties: Table(properties),
        mechanism,
        response,
        locale: b"en_US",
    };
    written(|out| encode::connection_start_ok(out, &start_ok))
}

pub(super) fn tune(tune: Tune) -> Vec<u8> {
    written(|out| encode::connection_tune(out, &tune))
}

pub(super) fn tune_ok(tune: Tune) -> Vec<u8> {
    written(|out| encode::connection_tune_ok(out, &tune))
}

pub(super) fn open() -> Vec<u8> {
    let open = ConnectionOpen {
        virtual_host: b"prod",
    };
    written(|out| encode::connection_open(out, &open))
}

pub(super) fn open_ok() -> Vec<u8> {
    written(encode::connection_open_ok)
}

pub(super) fn close(reply_code: u16, text: &str) -> Vec<u8> {
    let close = Close {
        reply_code,
        reply_text: text.as_bytes(),
        failed: (0, 0),
    };
    written(|out| encode::connection_close(out, Version::V091, &close))
}

pub(super) fn close_ok() -> Vec<u8> {
    written(|out| encode::connection_close_ok(out, Version::V091))
}

pub(super) fn channel_open(channel: Channel) -> Vec<u8> {
    written(|out| encode::channel_open(out, channel))
}

pub(super) fn channel_open_ok(channel: Channel) -> Vec<u8> {
    written(|out| encode::channel_open_ok(out, channel))
}

pub(super) fn channel_close(
    channel: Channel,
    code: u16,
    text: &str,
    failed: (u16, u16),
) -> Vec<u8> {
    let close = Close {
        reply_code: code,
        reply_text: text.as_bytes(),
        failed,
    };
    written(|out| encode::channel_close(out, channel, &close))
}

pub(super) fn channel_close_ok(channel: Channel) -> Vec<u8> {
    written(|out| encode::channel_close_ok(out, channel))
}

pub(super) fn confirm_select(channel: Channel, no_wait: bool) -> Vec<u8> {
    written(|out| encode::confirm_select(out, channel, no_wait))
}

pub(super) fn confirm_select_ok(channel: Channel) -> Vec<u8> {
    written(|out| encode::confirm_select_ok(out, channel))
}

pub(super) fn tx(channel: Channel, number: u16) -> Vec<u8> {
    let id = MethodId {
        class: 90,
        method: number,
    };
    written(|out| encode::plain(out, channel, id))
}

/// What a publish is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) channel: Channel,
    pub(super) exchange: &'static str,
    pub(super) routing_key: &'static str,
    pub(super) mandatory: bool,
    pub(super) size: usize,
}

impl Message {
    /// A message to a queue, on channel 1.
    pub(super) fn of(size: usize) -> Self {
        Self {
            channel: ONE,
            exchange: "",
            routing_key: "orders",
            mandatory: false,
            size,
        }
    }

    pub(super) fn mandatory(size: usize) -> Self {
        Self {
            mandatory: true,
            ..Self::of(size)
        }
    }

    pub(super) fn on(channel: Channel, size: usize) -> Self {
        Self {
            channel,
            ..Self::of(size)
        }
    }

    /// basic.publish.
    pub(super) fn publish(&self) -> Vec<u8> {
        let publish = Publish {
            exchange: self.exchange.as_bytes(),
            routing_key: self.routing_key.as_bytes(),
            mandatory: self.mandatory,
            immediate: false,
        };
        written(|out| encode::basic_publish(out, self.channel, &publish))
    }

    /// basic.deliver to consumer `c`.
    pub(super) fn deliver(&self, consumer_tag: &str, delivery_tag: u64) -> Vec<u8> {
        let deliver = Deliver {
            consumer_tag: consumer_tag.as_bytes(),
            delivery_tag,
            redelivered: false,
            exchange: self.exchange.as_bytes(),
            routing_key: self.routing_key.as_bytes(),
        };
        written(|out| encode::basic_deliver(out, self.channel, &deliver))
    }

    /// basic.get-ok.
    pub(super) fn get_ok(&self, delivery_tag: u64) -> Vec<u8> {
        let get_ok = GetOk {
            delivery_tag,
            redelivered: false,
            exchange: self.exchange.as_bytes(),
            routing_key: self.routing_key.as_bytes(),
            message_count: 3,
        };
        written(|out| encode::basic_get_ok(out, self.channel, &get_ok))
    }

    /// basic.return of it, whatever its body, with an empty one and these properties.
    pub(super) fn returned(&self, text: &str, properties: &[u8]) -> Vec<u8> {
        let returned = Return {
            reply_code: 311,
            reply_text: text.as_bytes(),
            exchange: self.exchange.as_bytes(),
            routing_key: self.routing_key.as_bytes(),
        };
        let mut octets = written(|out| encode::basic_return(out, self.channel, &returned));
        encode::content_header(&mut octets, self.channel, 0, properties);
        octets
    }

    /// The content header, without properties.
    pub(super) fn header(&self) -> Vec<u8> {
        self.header_with(&[0, 0])
    }

    pub(super) fn header_with(&self, properties: &[u8]) -> Vec<u8> {
        let size = self.size as u64;
        written(|out| encode::content_header(out, self.channel, size, properties))
    }

    /// The body in frames of so many octets.
    pub(super) fn body_in(&self, each: usize) -> Vec<u8> {
        let body = vec![b'b'; self.size];
        let mut octets = Vec::new();
        for piece in body.chunks(each) {
            encode::body(&mut octets, self.channel, piece);
        }
        octets
    }

    /// Content header and body.
    pub(super) fn content(&self) -> Vec<u8> {
        [self.header(), self.body_in(4_088)].concat()
    }

    /// A whole publish.
    pub(super) fn whole(&self) -> Vec<u8> {
        [self.publish(), self.content()].concat()
    }

    /// A whole delivery.
    pub(super) fn delivered(&self, consumer_tag: &str, delivery_tag: u64) -> Vec<u8> {
        [self.deliver(consumer_tag, delivery_tag), self.content()].concat()
    }
}

pub(super) fn ack(channel: Channel, delivery_tag: u64, multiple: bool) -> Vec<u8> {
    let ack = Ack {
        delivery_tag,
        multiple,
    };
    written(|out| encode::basic_ack(out, channel, &ack))
}

pub(super) fn nack(channel: Channel, delivery_tag: u64, multiple: bool) -> Vec<u8> {
    let nack = Ack {
        delivery_tag,
        multiple,
    };
    written(|out| encode::basic_nack(out, channel, &nack))
}

pub(super) fn reject(channel: Channel, delivery_tag: u64) -> Vec<u8> {
    let reject = Reject {
        delivery_tag,
        requeue: false,
    };
    written(|out| encode::basic_reject(out, channel, &reject))
}

pub(super) fn get(channel: Channel, no_ack: bool) -> Vec<u8> {
    let get = Get {
        queue: b"orders",
        no_ack,
    };
    written(|out| encode::basic_get(out, channel, &get))
}

pub(super) fn get_empty(channel: Channel) -> Vec<u8> {
    written(|out| encode::basic_get_empty(out, channel))
}

/// basic.consume; whether nothing is acknowledged, and whether no answer is wanted.
pub(super) fn consume(channel: Channel, tag: &str, no_ack: bool, no_wait: bool) -> Vec<u8> {
    let consume = Consume {
        queue: b"orders",
        consumer_tag: tag.as_bytes(),
        no_ack,
        no_wait,
    };
    written(|out| encode::basic_consume(out, channel, &consume))
}

pub(super) fn consume_ok(channel: Channel, tag: &str) -> Vec<u8> {
    written(|out| encode::basic_consume_ok(out, channel, tag.as_bytes()))
}

pub(super) fn cancel(channel: Channel, tag: &str, no_wait: bool) -> Vec<u8> {
    let cancel = Cancel {
        consumer_tag: tag.as_bytes(),
        no_wait,
    };
    written(|out| encode::basic_cancel(out, channel, &cancel))
}

pub(super) fn cancel_ok(channel: Channel, tag: &str) -> Vec<u8> {
    written(|out| encode::basic_cancel_ok(out, channel, tag.as_bytes()))
}

/// The text of a refusal of what a client sends.
pub(super) fn exceeded(size: usize) -> String {
    format!("Message size exceeded: {size} octets, limit 100, set by --max-message-size")
}

/// The text of a refusal of what a client is sent.
pub(super) fn receive_exceeded(size: usize) -> String {
    format!("Message size exceeded: {size} octets, limit 100, set by --max-receive-size")
}

/// Frames of a stream behind its protocol header, and what is left of one that is not whole.
pub(super) fn frames(stream: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut rest = stream;
    let mut frames = Vec::new();
    if rest.starts_with(b"AMQP") {
        rest = &rest[ProtocolHeader::LEN..];
    }
    while let Ok(Parsed::Value(header)) = frame_header(rest)
        && let Some((frame, behind)) = rest.split_at_checked(header.frame_len())
    {
        frames.push(frame);
        rest = behind;
    }
    (frames, rest)
}
