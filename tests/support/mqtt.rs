//! MQTT packets as octets: encoders for what a test sends, a reader for what sizegate answers.
//!
//! Written from the specifications and on purpose without the product's own parsers and encoders.

/// A version of MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// MQTT 3.1: protocol name `MQIsdp`, level 3.
    V31,
    /// MQTT 3.1.1: protocol name `MQTT`, level 4.
    V311,
    /// MQTT 5.0: protocol name `MQTT`, level 5.
    V5,
}

impl Version {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::V31, Self::V311, Self::V5];
    /// Those without reason codes.
    pub const OLD: [Self; 2] = [Self::V31, Self::V311];

    /// The positive CONNACK of a new session.
    pub fn connack(self) -> Vec<u8> {
        connack(self, 0, 0)
    }
}

/// A will message.
#[derive(Clone, Debug, Default)]
pub struct Will {
    /// Its properties (5.0), without their length.
    pub properties: Vec<u8>,
    /// Its topic.
    pub topic: String,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// CONNECT.
#[derive(Clone, Debug)]
pub struct Connect {
    /// Decides on protocol name, level and properties.
    pub version: Version,
    /// Added to the level: 0x80 is what a bridge sends.
    pub level_bits: u8,
    /// The client id.
    pub client: String,
    /// Clean Session, or Clean Start.
    pub clean: bool,
    /// The properties (5.0), without their length.
    pub properties: Vec<u8>,
    /// The will.
    pub will: Option<Will>,
    /// The user name.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
}

impl Connect {
    /// The CONNECT of a client without credentials and will.
    pub fn new(version: Version, client: &str) -> Self {
        Self {
            version,
            level_bits: 0,
            client: client.to_owned(),
            clean: true,
            properties: Vec::new(),
            will: None,
            user: None,
            password: None,
        }
    }

    /// The same with these properties.
    pub fn properties(mut self, properties: impl Into<Vec<u8>>) -> Self {
        self.properties = properties.into();
        self
    }

    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let (name, level) = match self.version {
            Version::V31 => ("MQIsdp", 3),
            Version::V311 => ("MQTT", 4),
            Version::V5 => ("MQTT", 5),
        };
        let mut flags = u8::from(self.clean) << 1;
        let mut payload = text(&self.client);
        if let Some(will) = &self.will {
            flags |= 0x04;
            if self.version == Version::V5 {
                payload.extend(counted(&will.properties));
            }
            payload.extend(text(&will.topic));
            payload.extend(binary(&will.payload));
        }
        if let Some(user) = &self.user {
            flags |= 0x80;
            payload.extend(text(user));
        }
        if let Some(password) = &self.password {
            flags |= 0x40;
            payload.extend(text(password));
        }
        let mut rest = text(name);
        rest.extend([level | self.level_bits, flags, 0, 60]);
        if self.version == Version::V5 {
            rest.extend(counted(&self.properties));
        }
        rest.extend(payload);
        packet(0x10, &rest)
    }
}

/// PUBLISH.
#[derive(Clone, Debug)]
pub struct Publish {
    version: Version,
    /// DUP, QoS and RETAIN: the low half of the first octet.
    flags: u8,
    id: u16,
    topic: String,
    properties: Vec<u8>,
    payload: Vec<u8>,
}

impl Publish {
    /// A PUBLISH to this topic with this QoS; its packet identifier is 0 until it is given.
    pub fn new(version: Version, qos: u8, topic: &str) -> Self {
        Self {
            version,
            flags: qos << 1,
            id: 0,
            topic: topic.to_owned(),
            properties: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// The same with this packet identifier.
    pub fn id(mut self, id: u16) -> Self {
        self.id = id;
        self
    }

    /// The same with DUP set.
    pub fn dup(mut self) -> Self {
        self.flags |= 0x08;
        self
    }

    /// The same with RETAIN set.
    pub fn retain(mut self) -> Self {
        self.flags |= 0x01;
        self
    }

    /// The same with these properties (5.0), without their length.
    pub fn properties(mut self, properties: impl Into<Vec<u8>>) -> Self {
        self.properties = properties.into();
        self
    }

    /// The same with this payload.
    pub fn payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = payload.into();
        self
    }

    /// The same with a payload of so many octets.
    pub fn payload_len(self, len: usize) -> Self {
        self.payload(pattern(len))
    }

    /// The same with the payload that makes its Remaining Length this.
    pub fn remaining_len(self, len: usize) -> Self {
        let rest = self.clone().payload_len(0).rest().len();
        assert!(len >= rest, "the header alone is {rest} octets");
        self.payload_len(len - rest)
    }

    /// The same with the payload that makes the whole packet so many octets.
    pub fn packet_len(self, len: usize) -> Self {
        for field in 1..=4 {
            let publish = self.clone().remaining_len(len - 1 - field);
            if publish.encode().len() == len {
                return publish;
            }
        }
        panic!("no packet is {len} octets long");
    }

    /// The octets of the payload.
    pub fn payload_size(&self) -> usize {
        self.payload.len()
    }

    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        packet(0x30 | self.flags, &self.rest())
    }

    /// What follows the fixed header.
    fn rest(&self) -> Vec<u8> {
        let mut rest = text(&self.topic);
        if self.flags & 0x06 != 0 {
            rest.extend(self.id.to_be_bytes());
        }
        if self.version == Version::V5 {
            rest.extend(counted(&self.properties));
        }
        rest.extend(&self.payload);
        rest
    }
}

/// An answer of sizegate or a broker: CONNACK, an acknowledgement, or DISCONNECT, of MQTT 5.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The first octet.
    pub first: u8,
    /// The packet identifier, where the packet has one.
    pub id: Option<u16>,
    /// The reason code; 0 where it was left out.
    pub code: u8,
    /// The Reason String.
    pub reason: Option<String>,
}

impl Answer {
    /// Reads the octets of one whole packet, and panics when they are not one.
    pub fn parse(octets: &[u8]) -> Self {
        let first = octets[0];
        let (remaining, mut rest) = take_variable(&octets[1..]);
        assert_eq!(remaining, rest.len(), "the packet's length");
        let mut id = None;
        match first >> 4 {
            2 => rest = &rest[1..], // the acknowledge flags
            4..=7 => {
                id = Some(u16::from_be_bytes([rest[0], rest[1]]));
                rest = &rest[2..];
            }
            14 => {}
            _ => panic!("not an answer: {octets:02x?}"),
        }
        let code = rest.first().copied().unwrap_or(0);
        let mut reason = None;
        if rest.len() > 1 {
            let (len, mut properties) = take_variable(&rest[1..]);
            assert_eq!(len, properties.len(), "the property length");
            while let [property, high, low, tail @ ..] = properties {
                assert_eq!(*property, REASON_STRING, "only a Reason String is expected");
                let len = usize::from(u16::from_be_bytes([*high, *low]));
                assert!(reason.is_none(), "a second Reason String");
                reason = Some(String::from_utf8(tail[..len].to_vec()).unwrap());
                properties = &tail[len..];
            }
            assert!(properties.is_empty(), "octets after the properties");
        }
        Self {
            first,
            id,
            code,
            reason,
        }
    }
}

/// CONNACK with these flags and this code; 5.0 without properties.
pub fn connack(version: Version, flags: u8, code: u8) -> Vec<u8> {
    match version {
        Version::V5 => vec![0x20, 3, flags, code, 0],
        _ => vec![0x20, 2, flags, code],
    }
}

/// PUBACK, PUBREC, PUBREL or PUBCOMP in the form that all versions share.
pub fn ack(first: u8, id: u16) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    vec![first, 2, high, low]
}

/// An acknowledgement of MQTT 5.0 with a reason code and no properties.
pub fn ack_with(first: u8, id: u16, code: u8) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    vec![first, 3, high, low, code]
}

/// SUBSCRIBE to these filters with QoS 2.
pub fn subscribe(version: Version, id: u16, filters: &[&str]) -> Vec<u8> {
    let mut rest = id.to_be_bytes().to_vec();
    if version == Version::V5 {
        rest.push(0);
    }
    for filter in filters {
        rest.extend(text(filter));
        rest.push(2);
    }
    packet(0x82, &rest)
}

/// A property with a value of one, two or four octets.
pub fn property(id: u8, value: &[u8]) -> Vec<u8> {
    [&[id], value].concat()
}

/// Maximum Packet Size.
pub fn maximum_packet_size(octets: u32) -> Vec<u8> {
    property(0x27, &octets.to_be_bytes())
}

/// Topic Alias.
pub fn topic_alias(alias: u16) -> Vec<u8> {
    property(0x23, &alias.to_be_bytes())
}

/// A packet of this first octet and this rest.
pub fn packet(first: u8, rest: &[u8]) -> Vec<u8> {
    let mut octets = vec![first];
    octets.extend(counted(rest));
    octets
}

/// So many octets that look like no packet and differ from place to place.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

fn text(text: &str) -> Vec<u8> {
    binary(text.as_bytes())
}

fn binary(octets: &[u8]) -> Vec<u8> {
    let len = u16::try_from(octets.len()).unwrap();
    [&len.to_be_bytes(), octets].concat()
}

/// These octets after their number as a variable byte integer.
fn counted(octets: &[u8]) -> Vec<u8> {
    let mut out = variable(octets.len());
    out.extend(octets);
    out
}

/// A variable byte integer in its shortest form.
pub fn variable(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let octet = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(octet);
            return out;
        }
        out.push(octet | 0x80);
    }
}

fn take_variable(octets: &[u8]) -> (usize, &[u8]) {
    let mut value = 0;
    for (at, octet) in octets.iter().enumerate() {
        value |= usize::from(octet & 0x7f) << (7 * at);
        if octet & 0x80 == 0 {
            return (value, &octets[at + 1..]);
        }
    }
    panic!("a variable byte integer has no end: {octets:02x?}");
}

/// First octets of the packets that acknowledge.
pub const PUBACK: u8 = 0x40;
pub const PUBREC: u8 = 0x50;
pub const PUBREL: u8 = 0x62;
pub const PUBCOMP: u8 = 0x70;
pub const DISCONNECT: u8 = 0xe0;
pub const CONNACK: u8 = 0x20;
pub const PINGREQ: [u8; 2] = [0xc0, 0];
pub const PINGRESP: [u8; 2] = [0xd0, 0];

/// The property that carries a text for people.
const REASON_STRING: u8 = 0x1f;
