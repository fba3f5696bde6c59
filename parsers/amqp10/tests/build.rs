//! Frames of every legal form, for the laws to hold over.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A frame on channel 0 with this performative, its list written as a list8.
pub(super) fn frame(code: u8, count: u8, fields: &[&[u8]]) -> Vec<u8> {
    let fields = fields.concat();
    let size = fields.len() as u8 + 1;
    let body = [&[0x00, 0x53, code, 0xC0, size, count], &fields[..]].concat();
    [&[0, 0, 0, body.len() as u8 + 8, 2, 0, 0, 0], &body[..]].concat()
}

/// How a list is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListForm {
    List0,
    List8,
    List32,
}

/// A frame in the parts it is put together from.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) frame_type: u8,
    pub(super) channel: u16,
    pub(super) extended_header: Vec<[u8; 4]>,
    pub(super) descriptor: Vec<u8>,
    pub(super) form: ListForm,
    pub(super) fields: Vec<Vec<u8>>,
    pub(super) payload: Vec<u8>,
}

impl Parts {
    /// The octets of the frame; a list that is too large for its form takes the next longer one.
    pub(super) fn octets(&self) -> Vec<u8> {
        let fields = self.fields.concat();
        let count = self.fields.len();
        let mut body = vec![0x00];
        body.extend_from_slice(&self.descriptor);
        match self.form {
            ListForm::List0 if count == 0 => body.push(0x45),
            ListForm::List0 | ListForm::List8 if fields.len() < 255 => {
                body.extend_from_slice(&[0xC0, fields.len() as u8 + 1, count as u8]);
            }
            _ => {
                body.push(0xD0);
                body.extend_from_slice(&(fields.len() as u32 + 4).to_be_bytes());
                body.extend_from_slice(&(count as u32).to_be_bytes());
            }
        }
        body.extend_from_slice(&fields);
        body.extend_from_slice(&self.payload);
        let extended = self.extended_header.concat();
        let header = FrameHeader {
            size: (8 + extended.len() + body.len()) as u32,
            doff: 2 + self.extended_header.len() as u8,
            frame_type: match self.frame_type {
                0 => FrameType::Amqp,
                1 => FrameType::Sasl,
                other => FrameType::Other(other),
            },
            channel: Channel(self.channel),
        };
        [&header.octets()[..], &extended, &body].concat()
    }
}

/// The four ways to write a descriptor of the specification.
pub(super) fn descriptors(code: u8, symbol: &str) -> Vec<Vec<u8>> {
    let len = symbol.len() as u8;
    vec![
        vec![0x53, code],
        vec![0x80, 0, 0, 0, 0, 0, 0, 0, code],
        [&[0xA3, len], symbol.as_bytes()].concat(),
        [&[0xB3, 0, 0, 0, len], symbol.as_bytes()].concat(),
    ]
}

/// A frame with this descriptor and these fields, in every form of the rest.
pub(super) fn frame_of(
    code: u8,
    symbol: &'static str,
    fields: impl Strategy<Value = Vec<Vec<u8>>>,
) -> impl Strategy<Value = Parts> {
    (
        prop_oneof![4 => Just(0_u8), 1 => Just(1), 1 => any::<u8>()],
        any::<u16>(),
        vec(any::<[u8; 4]>(), 0..3),
        prop::sample::select(descriptors(code, symbol)),
        prop_oneof![
            Just(ListForm::List0),
            Just(ListForm::List8),
            Just(ListForm::List32)
        ],
        fields,
        vec(any::<u8>(), 0..20),
    )
        .prop_map(
            |(frame_type, channel, extended_header, descriptor, form, fields, payload)| Parts {
                frame_type,
                channel,
                extended_header,
                descriptor,
                form,
                fields,
                payload,
            },
        )
}

/// One encoded value of any type, compound ones not looked into.
pub(super) fn value() -> impl Strategy<Value = Vec<u8>> {
    let sized = |size_len: usize, count_len: usize| {
        move |(constructor, data): (u8, Vec<u8>)| {
            let size = (count_len + data.len()) as u32;
            let mut octets = vec![constructor];
            octets.extend_from_slice(&size.to_be_bytes()[4 - size_len..]);
            octets.extend(std::iter::repeat_n(0, count_len));
            octets.extend(data);
            octets
        }
    };
    let data = || vec(any::<u8>(), 0..40);
    let fixed = (0x4_u8..=0x9, 0..16_u8, any::<[u8; 16]>()).prop_map(|(width, low, data)| {
        let len = match width {
            0x4 => 0,
            width => 1 << (width - 5),
        };
        [&[width << 4 | low], &data[..len]].concat()
    });
    let plain = prop_oneof![
        4 => fixed,
        1 => (0xA0..=0xAF_u8, data()).prop_map(sized(1, 0)),
        1 => (0xB0..=0xBF_u8, data()).prop_map(sized(4, 0)),
        1 => (prop_oneof![0xC0..=0xCF_u8, 0xE0..=0xEF_u8], data()).prop_map(sized(1, 1)),
        1 => (prop_oneof![0xD0..=0xDF_u8, 0xF0..=0xFF_u8], data()).prop_map(sized(4, 4)),
    ];
    plain.prop_recursive(3, 8, 2, |inner| {
        (inner.clone(), inner)
            .prop_map(|(descriptor, value)| [&[0x00][..], &descriptor, &value].concat())
    })
}

/// A uint in each of its forms, or null.
pub(super) fn uint_or_null() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => Just(vec![0x40]),
        2 => Just(vec![0x43]),
        2 => any::<u8>().prop_map(|value| vec![0x52, value]),
        2 => any::<[u8; 4]>().prop_map(|value| [&[0x70][..], &value].concat()),
    ]
}

/// A boolean in each of its forms, or null.
pub(super) fn boolean_or_null() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        vec![0x40],
        vec![0x41],
        vec![0x42],
        vec![0x56, 0x00],
        vec![0x56, 0x01],
    ])
}

/// The fields of a transfer, cut off after any of them; mostly of the types they should have.
pub(super) fn transfer_fields() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let tag = prop_oneof![
        1 => Just(vec![0x40]),
        4 => vec(any::<u8>(), 0..33).prop_map(|tag| said(|out| encode::binary(out, &tag))),
        1 => vec(any::<u8>(), 0..33).prop_map(|tag| {
            [&[0xB0, 0, 0, 0, tag.len() as u8][..], &tag].concat()
        }),
    ];
    let mode = prop::sample::select(vec![
        vec![0x40],
        vec![0x50, 0],
        vec![0x50, 1],
        vec![0x50, 2],
    ]);
    let state = prop_oneof![2 => Just(vec![0x40]), 1 => value()];
    let fields = (
        uint_or_null(),
        uint_or_null(),
        tag,
        uint_or_null(),
        boolean_or_null(),
        boolean_or_null(),
        (mode, state),
        boolean_or_null(),
        boolean_or_null(),
        boolean_or_null(),
        value(),
    );
    (
        fields,
        0..=12_usize,
        prop::option::weighted(0.1, (0..12_usize, value())),
    )
        .prop_map(|((a, b, c, d, e, f, (g, h), i, j, k, l), count, odd)| {
            let mut fields = vec![a, b, c, d, e, f, g, h, i, j, k, l];
            if let Some((index, value)) = odd {
                fields[index] = value;
            }
            fields.truncate(count);
            fields
        })
}
