//! Conversations of AMQP 1.0.

use parsers::Parsed;
use parsers::amqp10::{
    AmqpError, Attach, Begin, Channel, Close, Descriptor, Detach, Disposition, End, Flow, Handle,
    Open, Outcome, Presence, ProtocolHeader, ReceiverSettleMode, Role, SenderSettleMode, Terminus,
    Transfer, encode, frame_header, performative,
};

use super::laws::Dialect;
use super::scene::Scene;
use super::{Script, Side};

/// AMQP 1.0, with and without its SASL layer.
pub(super) const DIALECT: Dialect = Dialect {
    name: "amqp10",
    greet,
    word,
    leaves,
    frame_len: |_, octets| frame_len(octets),
    hurries: |_| false,
    steady,
    passes_in_part: false,
    most_awaited: 0,
};

fn frame_len(octets: &[u8]) -> Option<usize> {
    match octets.first() {
        Some(b'A') => (octets.len() >= ProtocolHeader::LEN).then_some(ProtocolHeader::LEN),
        _ => match frame_header(octets) {
            Ok(Parsed::Value(header)) => Some(header.frame_len()),
            _ => None,
        },
    }
}

/// All frames but flow and disposition, of which some are the gate's.
fn steady(mut octets: &[u8]) -> Vec<u8> {
    let mut steady = Vec::new();
    while let Some(len) = frame_len(octets) {
        let (frame, rest) = octets.split_at(len.min(octets.len()));
        if !matches!(frame, [_, _, _, _, _, 0, _, _, 0, 0x53, 0x13 | 0x15, ..]) {
            steady.extend_from_slice(frame);
        }
        octets = rest;
    }
    steady.extend_from_slice(octets);
    steady
}

/// As many of the words of a beginning as are chosen.
fn greet(scene: &mut Scene, script: &mut Script<'_>) {
    let (how, windows) = (script.octet(), script.octet());
    if how & 0x40 != 0 {
        sasl(scene, how);
    }
    let id = [0, u32::MAX - 1][usize::from(how >> 5 & 1)];
    let window = [100, 1, 2, 4][usize::from(windows & 3)];
    let modes = windows >> 2 & 0xF;
    let steps: [Beginning; 5] = [
        |_, _, _, _, out| out.extend(ProtocolHeader::AMQP.octets()),
        |side, _, _, _, out| open(side, out),
        |side, id, window, _, out| begin(side, Channel(0), id, window, out),
        |side, id, _, modes, out| links(side, id, modes, out),
        |side, id, window, _, out| credit(side, id, window, out),
    ];
    for step in &steps[..usize::from(how & 7).min(steps.len())] {
        for side in super::SIDES {
            scene.says(side, |out| step(side, id, window, modes, out));
            // Pipelined or step by step.
            if how & 0x80 == 0 {
                scene.send(side, usize::MAX);
            }
        }
    }
}

/// What a side says with its first transfer-id, its window, and the modes of its links.
type Beginning = fn(Side, u32, u32, u8, &mut Vec<u8>);

fn sasl(scene: &mut Scene, how: u8) {
    for side in super::SIDES {
        scene.says(side, |out| out.extend(ProtocolHeader::SASL.octets()));
    }
    scene.says(Side::Broker, |out| encode::sasl_mechanisms(out, "PLAIN"));
    let mechanism = ["PLAIN", "GSSAPI"][usize::from(how == 0xFF)];
    scene.says(Side::Client, |out| {
        encode::sasl_init(out, mechanism, Some(b"\0alice\0secret"), None);
    });
    scene.send(Side::Client, usize::MAX);
    scene.says(Side::Broker, |out| encode::sasl_outcome(out, 0));
    scene.send(Side::Broker, usize::MAX);
}

/// An open; each side may give up after a while without a frame.
fn open(side: Side, out: &mut Vec<u8>) {
    let open = Open {
        container_id: "client",
        hostname: Some("prod"),
        max_frame_size: 512,
        channel_max: Channel(100),
        idle_time_out: (side == Side::Broker).then_some(10_000),
    };
    encode::open(out, &open);
}

/// A begin, on the same channel as that of the other side.
fn begin(side: Side, channel: Channel, id: u32, window: u32, out: &mut Vec<u8>) {
    let begin = Begin {
        remote_channel: (side == Side::Broker).then_some(channel),
        next_outgoing_id: id,
        incoming_window: window,
        outgoing_window: 1_000,
        handle_max: Handle(u32::MAX),
    };
    encode::begin(out, channel, &begin);
}

/// Two links: handle 0 is that on which the client sends.
fn links(side: Side, id: u32, modes: u8, out: &mut Vec<u8>) {
    for (name, handle, sender) in [("out", 0, Side::Client), ("in", 1, Side::Broker)] {
        let link = attach(name, handle, side == sender, id, modes);
        encode::attach(out, Channel(0), &link);
    }
}

fn attach(name: &str, handle: u32, is_sender: bool, id: u32, modes: u8) -> Attach<'_> {
    let node = Terminus::Node {
        address: (modes & 8 == 0).then_some("a"),
        dynamic: false,
    };
    Attach {
        name,
        handle: Handle(handle),
        role: if is_sender {
            Role::Sender
        } else {
            Role::Receiver
        },
        snd_settle_mode: [
            SenderSettleMode::Mixed,
            SenderSettleMode::Settled,
            SenderSettleMode::Unsettled,
            SenderSettleMode::Mixed,
        ][usize::from(modes & 3)],
        rcv_settle_mode: match modes & 4 {
            0 => ReceiverSettleMode::First,
            _ => ReceiverSettleMode::Second,
        },
        source: node,
        target: node,
        unsettled: Presence::Absent,
        initial_delivery_count: is_sender.then_some(id),
        max_message_size: None,
    }
}

/// Credit for the link on which the side receives.
fn credit(side: Side, id: u32, window: u32, out: &mut Vec<u8>) {
    let flow = Flow {
        next_incoming_id: Some(id),
        incoming_window: window,
        next_outgoing_id: id,
        outgoing_window: 1_000,
        handle: Some(Handle(u32::from(side == Side::Client))),
        delivery_count: Some(id),
        link_credit: Some(20),
        ..Flow::default()
    };
    encode::flow(out, Channel(0), &flow);
}

fn word(side: Side, what: u8, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let channel = Channel(0);
    match what {
        0..0x10 => {
            let handle = Handle(u32::from(side == Side::Broker));
            transfer(what, channel, handle, script, out);
        }
        0x10..0x14 => {
            let channel = Channel(script.number() as u16);
            let handle = Handle(script.number());
            transfer(what, channel, handle, script, out);
        }
        0x14..0x1C => disposition(what, side, channel, script, out),
        0x1C..0x20 => flow(what, script, out),
        0x20 | 0x21 => {
            let detach = Detach {
                handle: Handle(script.number()),
                closed: what == 0x20,
                error: None,
            };
            encode::detach(out, channel, &detach);
        }
        0x22..0x24 => {
            let (handle, is_sender) = (script.number(), script.is());
            let (id, modes) = (script.number(), script.octet());
            let name = script.one_of(&["out", "in", "other", "x"]);
            let link = attach(name, handle, is_sender, id, modes);
            let link = Attach {
                max_message_size: script.perhaps().map(u64::from),
                unsettled: match modes & 0x10 {
                    0 => Presence::Absent,
                    _ => Presence::Present,
                },
                target: match modes & 0x20 {
                    0 => link.target,
                    _ => Terminus::Coordinator,
                },
                ..link
            };
            encode::attach(out, Channel(u16::from(what & 1)), &link);
        }
        0x24 => begin(
            side,
            Channel(script.number() as u16),
            script.number(),
            10,
            out,
        ),
        0x25 => encode::end(out, Channel(script.number() as u16), &End { error: None }),
        0x26 => encode::close(out, &Close { error: None }),
        0x27 => encode::empty_frame(out),
        0x28 => open(side, out),
        0x29 => out.extend(ProtocolHeader::AMQP.octets()),
        0x2A => encode::sasl_outcome(out, script.octet()),
        0x2B => encode::sasl_init(out, script.one_of(&["PLAIN", "GSSAPI"]), None, None),
        _ => {
            let extended = usize::from(what & 1) * 4;
            let body = script.octets(40);
            out.extend((8 + extended as u32 + body.len() as u32).to_be_bytes());
            out.extend([2 + (what & 1), script.octet() & 1, 0, 0]);
            out.extend(&[0; 4][..extended]);
            out.extend_from_slice(body);
        }
    }
}

/// A frame of a delivery: the number says whether more follow, and whether it is settled.
fn transfer(
    what: u8,
    channel: Channel,
    handle: Handle,
    script: &mut Script<'_>,
    out: &mut Vec<u8>,
) {
    let (choice, len) = (script.octet(), usize::from(script.octet()));
    let transacted = [0x00, 0x53, 0x34, 0xC0, 4, 1, 0xA0, 1, b'x'];
    let transfer = Transfer {
        handle,
        delivery_id: (choice & 1 == 0).then(|| script.number()),
        delivery_tag: (choice & 1 == 0).then_some(&b"tag"[..]),
        message_format: (choice & 1 == 0).then_some(0),
        settled: match choice & 6 {
            0 | 2 => Some(what & 4 != 0),
            4 => None,
            _ => Some(true),
        },
        more: what & 1 != 0,
        rcv_settle_mode: (choice & 0x38 == 0x38).then_some(ReceiverSettleMode::Second),
        state: (choice & 0x38 == 0x30).then_some(&transacted),
        resume: choice & 0x78 == 0x28,
        aborted: choice & 0x38 == 0x20,
        batchable: choice & 0x38 == 0x18,
        payload_at: 0,
    };
    let message = [
        MESSAGES[usize::from(what >> 1 & 1 | choice >> 6 & 2)],
        &[b'm'; 256],
    ]
    .concat();
    encode::transfer(out, channel, &transfer, &message[..len]);
}

fn disposition(what: u8, side: Side, channel: Channel, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let mut state = Vec::new();
    match what & 3 {
        0 => encode::state(&mut state, &Outcome::Accepted, None),
        1 => encode::state(&mut state, &Outcome::Rejected(AmqpError::default()), None),
        2 => encode::state(&mut state, &Outcome::Accepted, Some(b"x")),
        // Released.
        _ => state.extend([0x00, 0x53, 0x26, 0x45]),
    }
    let first = script.number();
    let choice = script.octet();
    let disposition = Disposition {
        role: match choice & 1 {
            0 => Role::Receiver,
            _ => Role::Sender,
        },
        first,
        last: (choice & 2 != 0).then(|| first.wrapping_add(script.number())),
        settled: what & 4 == 0,
        state: (choice & 4 == 0).then_some(&state),
        batchable: side == Side::Client && choice & 8 != 0,
    };
    encode::disposition(out, channel, &disposition);
}

fn flow(what: u8, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let handle = (what & 1 == 0).then(|| Handle(script.number()));
    let flow = Flow {
        next_incoming_id: script.perhaps(),
        incoming_window: script.number(),
        next_outgoing_id: script.number(),
        outgoing_window: script.number(),
        handle,
        delivery_count: handle.and_then(|_| script.perhaps()),
        link_credit: handle.and_then(|_| script.perhaps()),
        available: None,
        drain: handle.is_some() && what & 2 != 0 && script.is(),
        echo: script.is(),
    };
    encode::flow(out, Channel(0), &flow);
}

/// Nothing follows a close (AMQP 1.0 §2.4.3).
fn leaves(_: Side, said: &[u8]) -> bool {
    let mut rest = said;
    loop {
        while rest.starts_with(b"AMQP") {
            rest = rest.get(ProtocolHeader::LEN..).unwrap_or_default();
        }
        let Ok(Parsed::Value(header)) = frame_header(rest) else {
            return false;
        };
        if let Ok(Parsed::Value(body)) = performative(&header, rest, usize::MAX)
            && body.descriptor == Descriptor::Close
        {
            return true;
        }
        rest = rest.get(header.frame_len()..).unwrap_or_default();
    }
}

/// How a message may begin: with a body, with an annotation, as one that was settled when it was
/// sent, or with the address that it is for.
const MESSAGES: [&[u8]; 4] = [
    b"\x00\x53\x75\xB0\0\0\x01\0",
    b"\x00\x53\x70\xC0\x02\x01\x41\x00\x53\x72\xC1\x06\x02\xA3\x01a\x52\x09\x00\x53\x75\xB0\0\0\x01\0",
    b"\x00\x53\x72\xC1\x1D\x02\xA3\x19x-opt-sizegate-presettled\x41\x00\x53\x75\xB0\0\0\x01\0",
    b"\x00\x53\x73\xC0\x06\x03\x40\x40\xA1\x01a\x00\x53\x75\xB0\0\0\x01\0",
];
