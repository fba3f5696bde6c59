//! AMQP 1.0: frames of a stream, their performatives, and the sections of messages.

use std::fmt::Debug;

use parsers::Parsed;
use parsers::amqp10::{
    Annotations, Channel, Edit, Fault, FrameHeader, FrameType, Mechanism, Performative,
    annotations, common_transfer, delivery_state, encode, frame_header, identity, message_to,
    performative, protocol_header,
};

use super::{Script, cuts_do_not_matter, stream};

/// A stream of frames, or the payload of a message: the first octet chooses.
pub fn amqp10(octets: &[u8]) {
    let mut script = Script::new(octets);
    let (what, octets) = (script.octet(), script.octets(usize::MAX));
    delivery_state(octets);
    for name in ["PLAIN", "SCRAM-SHA-256", "EXTERNAL", "ANONYMOUS", "X"] {
        identity(Mechanism::named(name), octets);
    }
    let ceiling = [1 << 20, 100][usize::from(what >> 1 & 1)];
    match what & 1 {
        0 => stream(octets, |rest| frame(ceiling, rest)),
        _ => message(octets),
    }
}

/// The protocol header or frame at the front, and the octets that it has.
fn frame(ceiling: usize, input: &[u8]) -> Option<usize> {
    let protocol = cuts_do_not_matter(input, 8, |input| Ok::<_, ()>(protocol_header(input)));
    if let Some(Some(protocol)) = protocol {
        assert!(input.starts_with(&protocol.octets()));
        return Some(8);
    }
    let header = cuts_do_not_matter(input, FrameHeader::LEN, frame_header)?;
    if let FrameType::Amqp | FrameType::Sasl = header.frame_type {
        assert!(input.starts_with(&header.octets()));
    }
    // Of an empty frame there is nothing more to read.
    if header.is_empty() {
        return Some(header.frame_len());
    }
    let most = header.frame_len().min(ceiling.max(1_100));
    let read = |input| performative(&header, input, ceiling);
    let faults = |answer: Result<Parsed<Performative<'_>>, _>| {
        answer.map(|answer| match answer {
            Parsed::Value(read) => Parsed::Value((faults(&read), format!("{read:?}"))),
            Parsed::NeedMore(more) => Parsed::NeedMore(more),
        })
    };
    cuts_do_not_matter(input, most, |input| faults(read(input)));
    let short = common_transfer(&header, input);
    let Ok(Parsed::Value(body)) = read(input) else {
        if ceiling > input.len() {
            assert_eq!(short, None, "only the short way takes it");
        }
        return Some(header.frame_len());
    };
    if let Some(short) = short {
        assert_eq!(
            body.transfer(),
            Ok(short),
            "the short way and the general one"
        );
    }
    written_again(&body);
    patched(&body, input);
    if let Some(payload) = input.get(body.payload_at..header.frame_len()) {
        message(payload);
    }
    Some(header.frame_len())
}

/// Reads a performative as each one that it could be; every fault lies within it.
fn faults(read: &Performative<'_>) -> usize {
    let faults = [
        read.open().err(),
        read.begin().err(),
        read.attach().err(),
        read.flow().err(),
        read.transfer().err(),
        read.disposition().err(),
        read.detach().err(),
        read.end().err(),
        read.close().err(),
        read.sasl_init().err(),
        read.sasl_challenge().err(),
        read.sasl_response().err(),
        read.sasl_outcome().err(),
        read.sasl_mechanisms().map(Iterator::count).err(),
    ];
    let at_fault = faults.into_iter().flatten();
    at_fault
        .inspect(|fault| assert!(fault.at <= read.payload_at, "{fault}"))
        .count()
}

/// Checks that what the encoders make of a performative is read as it was; they leave out what is
/// not read.
fn written_again(body: &Performative<'_>) {
    let channel = body.header.channel;
    if let Ok(flow) = body.flow() {
        again(
            |out| encode::flow(out, channel, &flow),
            |body| {
                assert_eq!(body.flow(), Ok(flow));
            },
        );
    }
    if let Ok(begin) = body.begin() {
        again(
            |out| encode::begin(out, channel, &begin),
            |body| {
                assert_eq!(body.begin(), Ok(begin));
            },
        );
    }
    if let Ok(open) = body.open() {
        again(
            |out| encode::open(out, &open),
            |body| {
                assert_eq!(body.open(), Ok(open));
            },
        );
    }
    if let Ok(disposition) = body.disposition() {
        again(
            |out| encode::disposition(out, channel, &disposition),
            |body| {
                assert_eq!(body.disposition(), Ok(disposition));
            },
        );
        if let Some(state) = disposition.state {
            delivery_state(state);
        }
    }
    if let Ok(transfer) = body.transfer()
        && transfer.rcv_settle_mode.is_none()
    {
        again(
            |out| encode::transfer(out, channel, &transfer, b""),
            |body| {
                let expected = parsers::amqp10::Transfer {
                    payload_at: body.payload_at,
                    ..transfer
                };
                assert_eq!(body.transfer(), Ok(expected));
            },
        );
    }
    if let Ok(detach) = body.detach() {
        again(
            |out| encode::detach(out, channel, &detach),
            |body| {
                assert_eq!(body.detach(), Ok(detach));
            },
        );
    }
}

/// Reads what was written, which is one frame.
fn again(write: impl FnOnce(&mut Vec<u8>), check: impl FnOnce(&Performative<'_>)) {
    let mut out = Vec::new();
    write(&mut out);
    check(&whole(&out));
}

fn whole(octets: &[u8]) -> Performative<'_> {
    let header = value(frame_header(octets), octets);
    assert_eq!(header.frame_len(), octets.len());
    value(performative(&header, octets, usize::MAX), octets)
}

fn value<T, E: Debug>(answer: Result<Parsed<T>, E>, octets: &[u8]) -> T {
    match answer {
        Ok(Parsed::Value(value)) => value,
        Ok(Parsed::NeedMore(more)) => panic!("{more} octets of {}", octets.escape_ascii()),
        Err(fault) => panic!("{fault:?} in {}", octets.escape_ascii()),
    }
}

/// Checks that a patch changes what it should, and no other field.
fn patched(body: &Performative<'_>, input: &[u8]) {
    let channel = Channel(7);
    let mut same = Vec::new();
    if body
        .patch(channel, body.payload_len(), &[], &mut same)
        .is_some()
    {
        assert_eq!(same.len(), body.payload_at);
        assert_eq!(same[..6], input[..6]);
        assert_eq!(same[8..], input[8..body.payload_at]);
    }
    for index in [0, 1, 6] {
        let mut changed = Vec::new();
        let value: &[u8] = &[0x70, 1, 2, 3, 4];
        if body
            .patch(channel, 0, &[(index, value)], &mut changed)
            .is_some()
        {
            let body_again = whole(&changed);
            assert_eq!(body_again.header.channel, channel);
            assert_eq!(body_again.field(index), Some(value));
            for other in (0..20).filter(|&other| other != index) {
                let was = body.field(other);
                let filled = was.or((other < index).then_some(&[0x40][..]));
                assert_eq!(body_again.field(other), filled);
            }
        }
    }
}

/// The sections of a message up to where it says who it is for, and its annotations.
fn message(payload: &[u8]) {
    for ceiling in [usize::MAX, 30] {
        let end = payload.len().min(ceiling);
        cuts_do_not_matter(payload, end, |part| {
            Ok::<_, ()>(message_to(part, payload.len(), ceiling))
        });
    }
    // How much is awaited is the caller's to bound; a prefix is answered as the whole is.
    let read = |octets| {
        annotations(octets).map(|answer| match answer {
            Parsed::Value(found) => Parsed::Value((found.value(KEY), found.with_true(KEY))),
            Parsed::NeedMore(more) => Parsed::NeedMore(more),
        })
    };
    if cuts_do_not_matter(payload, usize::MAX, read).is_none() {
        return;
    }
    let found = value::<_, Fault>(annotations(payload), payload);
    if found.value(KEY).is_none() {
        assert_eq!(found.without(KEY), None);
        if let Some(edit) = found.with_true(KEY) {
            marked(&found, payload, &edit);
        }
    } else if let Some(edit) = found.without(KEY) {
        edited(payload, &edit);
    }
}

/// Checks that a mark can be found, and taken away again.
fn marked(before: &Annotations<'_>, payload: &[u8], edit: &Edit) {
    let with = edited(payload, edit);
    let found = value(annotations(&with), &with);
    assert_eq!(found.value(KEY), Some(&[0x41][..]));
    assert_eq!(found.value("a"), before.value("a"));
    let edit = found.without(KEY).expect("what was added");
    let without = edited(&with, &edit);
    // Where the mark was alone its section has gone, and what is behind may be no section at all.
    if let Ok(Parsed::Value(found)) = annotations(&without) {
        assert_eq!(found.value(KEY), None);
        assert_eq!(found.value("a"), before.value("a"));
    }
}

fn edited(octets: &[u8], edit: &Edit) -> Vec<u8> {
    let changed = [
        &octets[..edit.at.start],
        &edit.octets,
        &octets[edit.at.end..],
    ]
    .concat();
    assert_eq!(
        changed.len() as isize,
        octets.len() as isize + edit.growth()
    );
    changed
}

const KEY: &str = "x-opt-k";
