//! One unit of a stream, a protocol header or a frame, and what a disposition says of a delivery.

use std::fmt;

use parsers::Parsed;
use parsers::amqp10::{
    AmqpError, DeliveryState, FrameHeader, FrameType, Outcome, Performative, ProtocolHeader,
    delivery_state, encode, frame_header, performative, protocol_header, whole_delivery,
};

/// What stands at the front of a stream.
pub(crate) enum Unit<'a> {
    Header(ProtocolHeader),
    /// A heartbeat.
    Empty(FrameHeader),
    Frame(Performative<'a>),
}

/// The octets of the unit at the front of `input`, if all of them are there.
pub(crate) fn unit_len(input: &[u8]) -> Option<usize> {
    let len = if input.starts_with(b"AMQP") {
        ProtocolHeader::LEN
    } else {
        match frame_header(input).expect("a frame header") {
            Parsed::Value(header) => header.frame_len(),
            Parsed::NeedMore(_) => return None,
        }
    };
    (input.len() >= len).then_some(len)
}

/// Reads a whole unit.
pub(crate) fn unit(octets: &[u8]) -> Unit<'_> {
    if let Parsed::Value(Some(header)) = protocol_header(octets) {
        return Unit::Header(header);
    }
    let header = match frame_header(octets) {
        Ok(Parsed::Value(header)) => header,
        other => panic!("{other:?} is no frame header"),
    };
    if header.is_empty() {
        return Unit::Empty(header);
    }
    match performative(&header, octets, octets.len()) {
        Ok(Parsed::Value(frame)) => Unit::Frame(frame),
        other => panic!("{other:?} is no frame"),
    }
}

/// The units of a stream, each by its octets; what is left at the end has to be none.
pub(crate) fn units(mut stream: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while !stream.is_empty() {
        let len = unit_len(stream).expect("a stream of whole units");
        let (first, rest) = stream.split_at(len);
        all.push(first);
        stream = rest;
    }
    all
}

/// The same stream of whole units, with fields that say nothing at the end of each transfer, so that
/// none is in the form that nearly all have.
pub(crate) fn spelt_out(stream: &[u8]) -> Vec<u8> {
    units(stream).into_iter().flat_map(spell_out).collect()
}

fn spell_out(octets: &[u8]) -> Vec<u8> {
    let mut out = octets.to_vec();
    let Some(delivery) = whole_delivery(octets).filter(|it| it.frame_len + 3 <= 512) else {
        return out;
    };
    // A short list: its size and its count (AMQP 1.0 §1.6.22).
    assert_eq!(octets[11], 0xC0);
    let added = 7 - octets[13];
    out[12] += added;
    out[13] += added;
    let fields_end = delivery.frame_len - delivery.payload_len;
    out.splice(fields_end..fields_end, (0..added).map(|_| 0x40));
    let size = (out.len() as u32).to_be_bytes();
    out.splice(..4, size);
    assert_eq!(whole_delivery(&out), None);
    out
}

/// Reads a frame that is neither empty nor a protocol header.
pub(crate) fn frame(octets: &[u8]) -> Performative<'_> {
    match unit(octets) {
        Unit::Frame(frame) => frame,
        _ => panic!("not a performative: {octets:02X?}"),
    }
}

/// What a disposition says of a delivery.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Accepted,
    Released,
    Modified,
    Rejected {
        condition: String,
        description: String,
    },
    /// Not an outcome.
    Received,
    Transactional {
        txn_id: Vec<u8>,
        outcome: Option<Box<Self>>,
    },
    /// Settled without a state.
    Forgotten,
}

impl Fate {
    pub(crate) fn rejected(condition: &str, description: &str) -> Self {
        Self::Rejected {
            condition: condition.to_owned(),
            description: description.to_owned(),
        }
    }

    /// Reads an encoded state.
    pub(crate) fn read(state: Option<&[u8]>) -> Self {
        let Some(state) = state else {
            return Self::Forgotten;
        };
        match delivery_state(state) {
            DeliveryState::Accepted => Self::Accepted,
            DeliveryState::Released => Self::Released,
            DeliveryState::Modified => Self::Modified,
            DeliveryState::Received => Self::Received,
            DeliveryState::Rejected => rejection(state),
            DeliveryState::Transactional { txn_id, outcome } => Self::Transactional {
                txn_id: txn_id.to_vec(),
                outcome: outcome.map(|outcome| Box::new(Self::read(Some(outcome)))),
            },
            other => panic!("{other:?} is no outcome"),
        }
    }

    /// The encoded state.
    pub(crate) fn octets(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Self::Accepted => encode::state(&mut out, &Outcome::Accepted, None),
            Self::Rejected { .. } => self.encode_rejected(&mut out, None),
            Self::Released => out.extend([0x00, 0x53, 0x26, 0x45]),
            Self::Modified => out.extend([0x00, 0x53, 0x27, 0x45]),
            Self::Received => out.extend([0x00, 0x53, 0x23, 0xC0, 3, 2, 0x43, 0x44]),
            Self::Transactional { txn_id, outcome } => match outcome.as_deref() {
                Some(Self::Accepted) => encode::state(&mut out, &Outcome::Accepted, Some(txn_id)),
                Some(rejected) => rejected.encode_rejected(&mut out, Some(txn_id)),
                None => {
                    out.extend([0x00, 0x53, 0x34, 0xC0, txn_id.len() as u8 + 3, 1]);
                    encode::binary(&mut out, txn_id);
                }
            },
            Self::Forgotten => return None,
        }
        Some(out)
    }

    fn encode_rejected(&self, out: &mut Vec<u8>, txn_id: Option<&[u8]>) {
        let Self::Rejected {
            condition,
            description,
        } = self
        else {
            panic!("{self:?} is not encoded here");
        };
        let error = AmqpError {
            condition,
            description: Some(description),
            info: &[],
        };
        encode::state(out, &Outcome::Rejected(error), txn_id);
    }
}

impl fmt::Debug for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Released => f.write_str("released"),
            Self::Modified => f.write_str("modified"),
            Self::Received => f.write_str("received"),
            Self::Forgotten => f.write_str("settled without a state"),
            Self::Rejected {
                condition,
                description,
            } => write!(f, "rejected({condition}, {description:?})"),
            Self::Transactional { txn_id, outcome } => {
                write!(f, "transactional-state({txn_id:02X?}, {outcome:?})")
            }
        }
    }
}

/// Reads the error of an encoded rejected: its list is the same as that of an end.
fn rejection(state: &[u8]) -> Fate {
    let [0x00, 0x53, 0x25, list @ ..] = state else {
        panic!("{state:02X?} is rejected in an unusual form");
    };
    let header = FrameHeader {
        size: state.len() as u32 + 8,
        doff: 2,
        frame_type: FrameType::Amqp,
        channel: Default::default(),
    };
    let octets = [&header.octets()[..], &[0x00, 0x53, 0x17], list].concat();
    let end = frame(&octets).end().expect("an error");
    let error = end.error.unwrap_or_default();
    Fate::rejected(error.condition, error.description.unwrap_or_default())
}
