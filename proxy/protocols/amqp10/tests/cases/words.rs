//! What the two sides say, as octets.

use parsers::amqp10::{
    Attach, Begin, Channel, Close, Detach, Disposition, Flow, Handle, Open, Outcome, Presence,
    ReceiverSettleMode, Role, SenderSettleMode, Terminus, Transfer, encode,
};

use super::{BROKER, CLIENT, OUT};

pub(super) fn open(max_frame_size: u32) -> Open<'static> {
    Open {
        container_id: "c",
        hostname: None,
        max_frame_size,
        channel_max: Channel(2_000),
        idle_time_out: None,
    }
}

pub(super) fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut octets = Vec::new();
    write(&mut octets);
    octets
}

pub(super) fn begin(channel: Channel, remote: Option<Channel>, id: u32, window: u32) -> Vec<u8> {
    let begin = Begin {
        remote_channel: remote,
        next_outgoing_id: id,
        incoming_window: window,
        outgoing_window: 1_000,
        handle_max: Handle(u32::MAX),
    };
    written(|out| encode::begin(out, channel, &begin))
}

/// A link from or to a node of its own name.
pub(super) fn link(name: &str, handle: Handle, role: Role) -> Attach<'_> {
    let node = Terminus::Node {
        address: Some(name),
        dynamic: false,
    };
    Attach {
        name,
        handle,
        role,
        snd_settle_mode: SenderSettleMode::Mixed,
        rcv_settle_mode: ReceiverSettleMode::First,
        source: node,
        target: node,
        unsettled: Presence::Absent,
        initial_delivery_count: (role == Role::Sender).then_some(0),
        max_message_size: None,
    }
}

pub(super) fn attach(channel: Channel, attach: &Attach<'_>) -> Vec<u8> {
    written(|out| encode::attach(out, channel, attach))
}

pub(super) fn detach(channel: Channel, handle: Handle, closed: bool) -> Vec<u8> {
    let detach = Detach {
        handle,
        closed,
        error: None,
    };
    written(|out| encode::detach(out, channel, &detach))
}

pub(super) fn flow(channel: Channel, flow: Flow) -> Vec<u8> {
    written(|out| encode::flow(out, channel, &flow))
}

/// The first frame of a delivery of the client, which is the only one.
pub(super) fn first(id: u32) -> Transfer<'static> {
    Transfer {
        delivery_id: Some(id),
        delivery_tag: Some(b"tag"),
        message_format: Some(0),
        ..next()
    }
}

/// The last frame of a delivery of the client, if it is not the first.
pub(super) fn next() -> Transfer<'static> {
    Transfer {
        handle: OUT,
        delivery_id: None,
        delivery_tag: None,
        message_format: None,
        settled: None,
        more: false,
        rcv_settle_mode: None,
        state: None,
        resume: false,
        aborted: false,
        batchable: false,
        payload_at: 0,
    }
}

/// The same, with more frames behind it.
pub(super) fn more(transfer: Transfer<'static>) -> Transfer<'static> {
    Transfer {
        more: true,
        ..transfer
    }
}

/// A transfer of the client with a payload of so many octets.
pub(super) fn transfer(transfer: Transfer<'_>, payload: usize) -> Vec<u8> {
    transfer_on(CLIENT, transfer, payload)
}

pub(super) fn transfer_on(channel: Channel, transfer: Transfer<'_>, payload: usize) -> Vec<u8> {
    written(|out| encode::transfer(out, channel, &transfer, &vec![b'p'; payload]))
}

/// A delivery of the client in one frame.
pub(super) fn message(id: u32, payload: usize) -> Vec<u8> {
    transfer(first(id), payload)
}

pub(super) fn accepted(first: u32, last: Option<u32>) -> Vec<u8> {
    let state = written(|out| encode::state(out, &Outcome::Accepted, None));
    disposition(
        BROKER,
        Disposition {
            state: Some(&state),
            ..settled(Role::Receiver, first, last)
        },
    )
}

pub(super) fn settled(role: Role, first: u32, last: Option<u32>) -> Disposition<'static> {
    Disposition {
        role,
        first,
        last,
        settled: true,
        state: None,
        batchable: false,
    }
}

pub(super) fn disposition(channel: Channel, disposition: Disposition<'_>) -> Vec<u8> {
    written(|out| encode::disposition(out, channel, &disposition))
}

pub(super) fn close() -> Vec<u8> {
    written(|out| encode::close(out, &Close { error: None }))
}
