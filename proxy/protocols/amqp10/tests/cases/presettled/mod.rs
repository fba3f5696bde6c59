//! Pre-settled deliveries that go to the broker unsettled, and are restored on their way back.

mod chain;
mod credit;
mod endings;
mod heads;
mod limits;
mod modes;
mod outcomes;
mod restoring;
mod sending;

use super::*;
use crate::protocols::amqp10::Presettled;
use crate::protocols::amqp10::tests::LIMIT;

/// No limits.
const UNSETTLED: Terms = Terms {
    limit: 0,
    receive_limit: 0,
    presettled: Presettled::Unsettled,
    ..Terms::USUAL
};

/// The mark, in a section of its own.
const MARK: &[u8] = b"\x00\x53\x72\xC1\x1D\x02\xA3\x19x-opt-sizegate-presettled\x41";

/// A body that is a whole message.
const BODY: &[u8] = b"\x00\x53\x75\xA0\x04body";

/// A header, and a header with delivery annotations.
const HEADER: &[u8] = &[0x00, 0x53, 0x70, 0xC0, 2, 1, 0x41];
const DELIVERY_ANNOTATIONS: &[u8] = b"\x00\x53\x71\xC1\x05\x02\xA3\x01d\x41";

fn marked() -> Vec<u8> {
    [MARK, BODY].concat()
}

/// A message whose payload has this size, at least 8.
fn message_of(size: usize) -> Vec<u8> {
    let len = size as u32 - 8;
    let body = vec![b'b'; len as usize];
    [&[0x00, 0x53, 0x75, 0xB0], &len.to_be_bytes()[..], &body].concat()
}

/// A transfer of the client with this payload.
fn carries(transfer: Transfer<'_>, payload: &[u8]) -> Vec<u8> {
    written(|out| encode::transfer(out, CLIENT, &transfer, payload))
}

/// A transfer of the broker on the link that the client receives on.
fn brings(transfer: Transfer<'_>, payload: &[u8]) -> Vec<u8> {
    let transfer = Transfer {
        handle: IN_AT_BROKER,
        ..transfer
    };
    written(|out| encode::transfer(out, BROKER, &transfer, payload))
}

fn pre(transfer: Transfer<'_>) -> Transfer<'_> {
    Transfer {
        settled: Some(true),
        ..transfer
    }
}

/// The delivery-tag that a delivery gets which was pre-settled.
fn tag(id: u32) -> Vec<u8> {
    [b"sizegate", &id.to_be_bytes()[..]].concat()
}

/// The first frame of a delivery as it is made of a pre-settled one, and what it carries.
fn unsettled(id: u32, transfer: Transfer<'_>, payload: &[u8]) -> Vec<u8> {
    let tag = tag(id);
    let transfer = Transfer {
        delivery_id: Some(id),
        delivery_tag: Some(&tag),
        settled: Some(false),
        ..transfer
    };
    carries(transfer, payload)
}

/// The client sends so many pre-settled messages, from this delivery-id on.
fn send(raw: &mut Raw, ids: std::ops::Range<u32>) {
    for id in ids {
        let due = unsettled(id, first(id), &marked());
        raw.becomes(Side::Client, &carries(pre(first(id)), BODY), &due);
    }
}

/// What the broker says of deliveries from first to last.
fn says(fate: &Fate, settles: bool, first: u32, last: u32) -> Vec<u8> {
    let state = fate.octets();
    disposition(
        BROKER,
        Disposition {
            settled: settles,
            state: state.as_deref(),
            ..settled(Role::Receiver, first, Some(last))
        },
    )
}

/// The messages that were not accepted, as they were reported.
fn not_accepted(raw: &Raw) -> Vec<(crate::gate::Outcome, u64, Option<&str>)> {
    let reports = raw.gate.meter.reports.iter();
    reports
        .filter_map(|report| match report {
            Report::NotAccepted(it) => Some((it.outcome, it.messages, it.address.as_deref())),
            _ => None,
        })
        .collect()
}
