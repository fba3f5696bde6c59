//! The strict peer is strict: each rule that it holds others to, broken once.

mod settling;

use parsers::amqp10::{
    Attach, Begin, Channel, Disposition, Flow, Handle, Open, Presence, ProtocolHeader,
    ReceiverSettleMode, Role, SenderSettleMode, Terminus, Transfer, encode,
};

use super::frames::Fate;
use super::peer::{Counts, Delivery, LinkTerms, Peer, PeerTerms};
use crate::gate::Side;

const CHANNEL: Channel = Channel(5);

/// A client that has a session, sends on its link 0, and receives on its link 1 with 2 credits and a
/// window of 3; it may send 2 deliveries in 4 frames, and has sent one that is whole.
fn client() -> Peer {
    client_that_counts(Counts::AtFirst)
}

fn client_that_counts(counts: Counts) -> Peer {
    let terms = PeerTerms {
        incoming_window: 3,
        counts,
        ..PeerTerms::default()
    };
    let mut client = Peer::new(Side::Client, terms);
    client.start();
    client.begin();
    client.attach(0, &LinkTerms::new("sends", Role::Sender));
    client.attach(0, &LinkTerms::new("receives", Role::Receiver));
    let mut octets = ProtocolHeader::AMQP.octets().to_vec();
    encode::open(
        &mut octets,
        &Open {
            container_id: "b",
            hostname: None,
            max_frame_size: 512,
            channel_max: Channel(10),
            idle_time_out: None,
        },
    );
    let begin = Begin {
        remote_channel: Some(Channel(0)),
        next_outgoing_id: 0,
        incoming_window: 4,
        outgoing_window: 100,
        handle_max: Handle(10),
    };
    encode::begin(&mut octets, CHANNEL, &begin);
    for (name, handle, role) in [("sends", 0, Role::Receiver), ("receives", 1, Role::Sender)] {
        encode::attach(&mut octets, CHANNEL, &attach(name, handle, role));
    }
    encode::flow(&mut octets, CHANNEL, &credit(0, 0, 2));
    client.receive(&octets);
    client.grant_credit(0, 1, 2);
    client.send(0, 0, Delivery::of(&[10, 10]));
    client
}

fn attach(name: &str, handle: u32, role: Role) -> Attach<'_> {
    Attach {
        name,
        handle: Handle(handle),
        role,
        snd_settle_mode: SenderSettleMode::Mixed,
        rcv_settle_mode: ReceiverSettleMode::First,
        source: Terminus::Null,
        target: Terminus::Null,
        unsettled: Presence::Absent,
        initial_delivery_count: Some(0),
        max_message_size: None,
    }
}

/// A flow of the receiver of the client's deliveries, which has got so many frames.
fn credit(frames: u32, delivery_count: u32, link_credit: u32) -> Flow {
    Flow {
        next_incoming_id: Some(frames),
        incoming_window: 4,
        handle: Some(Handle(0)),
        delivery_count: Some(delivery_count),
        link_credit: Some(link_credit),
        ..Flow::default()
    }
}

fn flow(flow: Flow) -> Vec<u8> {
    let mut octets = Vec::new();
    encode::flow(&mut octets, CHANNEL, &flow);
    octets
}

/// A delivery to the client in one frame; each of them has a tag of its own.
fn delivery(id: u32) -> Transfer<'static> {
    let tag = id as usize % TAGS.len();
    Transfer {
        handle: Handle(1),
        delivery_id: Some(id),
        delivery_tag: Some(&TAGS[tag..=tag]),
        message_format: Some(0),
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

const TAGS: &[u8] = b"0123456789abcdef";

fn more(id: u32) -> Transfer<'static> {
    Transfer {
        more: true,
        ..delivery(id)
    }
}

fn transfer(transfer: Transfer<'_>, payload: usize) -> Vec<u8> {
    let mut octets = Vec::new();
    encode::transfer(&mut octets, CHANNEL, &transfer, &vec![b'p'; payload]);
    octets
}

fn outcome(fate: &Fate, first: u32, settled: bool) -> Vec<u8> {
    let state = fate.octets();
    let disposition = Disposition {
        role: Role::Receiver,
        first,
        last: None,
        settled,
        state: state.as_deref(),
        batchable: false,
    };
    let mut octets = Vec::new();
    encode::disposition(&mut octets, CHANNEL, &disposition);
    octets
}

#[test]
fn a_peer_takes_what_is_right() {
    let mut client = client();
    client.receive(&transfer(more(9), 10));
    let rest = Transfer {
        delivery_id: None,
        delivery_tag: None,
        ..delivery(9)
    };
    client.receive(&transfer(rest, 10));
    client.receive(&transfer(delivery(10), 10));
    client.receive(&outcome(&Fate::Accepted, 0, true));
    let of_three = Flow {
        next_outgoing_id: 3,
        ..credit(2, 1, 5)
    };
    client.receive(&flow(of_three));
}

#[test]
#[should_panic(expected = "ids have a gap")]
fn a_gap_in_the_ids() {
    let mut client = client();
    client.receive(&[transfer(delivery(9), 1), transfer(delivery(11), 1)].concat());
}

#[test]
#[should_panic(expected = "ids have a gap")]
fn an_id_that_was_used() {
    let mut client = client();
    client.receive(&[transfer(delivery(9), 1), transfer(delivery(9), 1)].concat());
}

#[test]
#[should_panic(expected = "a frame of another delivery")]
fn a_delivery_inside_of_another_on_one_link() {
    let mut client = client();
    client.receive(&[transfer(more(9), 1), transfer(delivery(10), 1)].concat());
}

#[test]
#[should_panic(expected = "without credit")]
fn more_deliveries_than_there_is_credit() {
    let mut client = client();
    for id in 0..3 {
        client.receive(&transfer(delivery(id), 1));
    }
}

#[test]
#[should_panic(expected = "more transfer frames than the incoming-window allows")]
fn more_frames_than_the_window_allows() {
    let mut client = client();
    client.receive(&transfer(more(0), 1).repeat(4));
}

#[test]
#[should_panic(expected = "begins with its abort")]
fn a_delivery_that_begins_with_its_abort() {
    let aborted = Transfer {
        aborted: true,
        ..delivery(0)
    };
    client().receive(&transfer(aborted, 0));
}

#[test]
#[should_panic(expected = "a frame without payload")]
fn a_frame_without_payload() {
    client().receive(&transfer(delivery(0), 0));
}

#[test]
#[should_panic(expected = "over its max-frame-size")]
fn a_frame_that_is_too_large() {
    client().receive(&transfer(delivery(0), 500));
}

#[test]
#[should_panic(expected = "no link has")]
fn a_handle_that_nobody_has() {
    let unknown = Transfer {
        handle: Handle(7),
        ..delivery(0)
    };
    client().receive(&transfer(unknown, 1));
}

#[test]
#[should_panic(expected = "outside of a session")]
fn a_channel_that_nobody_has() {
    let mut octets = transfer(delivery(0), 1);
    octets[7] = 6;
    client().receive(&octets);
}

#[test]
#[should_panic(expected = "next-outgoing-id")]
fn a_flow_that_counts_other_frames_than_came() {
    let flow_of_one = Flow {
        next_outgoing_id: 1,
        ..credit(2, 1, 5)
    };
    client().receive(&flow(flow_of_one));
}

#[test]
#[should_panic(expected = "next-incoming-id 3")]
fn a_flow_that_is_ahead_of_what_was_sent() {
    client().receive(&flow(credit(3, 1, 5)));
}

#[test]
#[should_panic(expected = "shrank")]
fn a_window_that_shrinks() {
    let small = Flow {
        incoming_window: 1,
        ..credit(2, 1, 5)
    };
    client().receive(&flow(small));
}

#[test]
#[should_panic(expected = "delivery-count for 2 deliveries; 1 were sent")]
fn a_receivers_count_that_is_ahead() {
    client().receive(&flow(credit(2, 2, 5)));
}

#[test]
#[should_panic(expected = "shrank")]
fn credit_that_shrinks() {
    client().receive(&flow(credit(2, 1, 0)));
}

/// A flow of the sender on the client's link 1, who has sent so many frames.
fn count(frames: u32, delivery_count: u32) -> Vec<u8> {
    flow(Flow {
        next_outgoing_id: frames,
        handle: Some(Handle(1)),
        ..credit(2, delivery_count, 0)
    })
}

#[test]
#[should_panic(expected = "a sender's delivery-count for 1 deliveries; 0 came")]
fn a_senders_count_that_is_ahead() {
    client().receive(&count(0, 1));
}

#[test]
#[should_panic(expected = "a sender's delivery-count for 0 deliveries; 1 came")]
fn a_senders_count_that_is_behind() {
    let mut client = client();
    client.receive(&transfer(delivery(0), 1));
    client.receive(&count(1, 0));
}

#[test]
fn a_sender_may_count_a_delivery_at_its_end_and_give_back_what_it_is_asked_for() {
    let mut client = client();
    client.receive(&transfer(more(0), 1));
    client.receive(&[count(1, 0), count(1, 1)].concat());
    client.ask_to_drain(0, 1);
    client.receive(&count(1, 2));
    assert!(!client.sessions[0].links[1].drain);
}

#[test]
#[should_panic(expected = "1 deliveries are known")]
fn an_outcome_of_what_was_never_sent() {
    client().receive(&outcome(&Fate::Accepted, 1, true));
}

#[test]
#[should_panic(expected = "when it was not sent whole")]
fn an_outcome_before_the_last_frame() {
    let mut client = client();
    client.queue(0, 0, Delivery::of(&[10, 10]));
    client.push_frame(0, 0);
    client.receive(&outcome(&Fate::rejected("c", "d"), 1, true));
}

#[test]
#[should_panic(expected = "as a second outcome")]
fn a_second_outcome() {
    client().receive(&outcome(&Fate::Accepted, 0, true).repeat(2));
}

#[test]
#[should_panic(expected = "was sent settled")]
fn an_outcome_of_what_was_settled() {
    let mut client = client();
    client.send(0, 0, Delivery::of(&[10]).settled());
    client.receive(&outcome(&Fate::Accepted, 1, true));
}

#[test]
#[should_panic(expected = "settled against its rcv-settle-mode")]
fn an_outcome_that_settles_before_the_sender() {
    client().receive(&outcome(&Fate::Accepted, 0, false));
}

#[test]
#[should_panic(expected = "settled without a fate")]
fn a_sender_that_settles_what_has_no_outcome() {
    let mut client = client();
    client.receive(&transfer(delivery(0), 1));
    let mut octets = Vec::new();
    let settles = Disposition {
        role: Role::Sender,
        first: 0,
        last: None,
        settled: true,
        state: None,
        batchable: false,
    };
    encode::disposition(&mut octets, CHANNEL, &settles);
    client.receive(&octets);
}

#[test]
#[should_panic(expected = "got something after a close")]
fn a_second_close() {
    let mut octets = Vec::new();
    encode::close(&mut octets, &parsers::amqp10::Close { error: None });
    client().receive(&octets.repeat(2));
}

#[test]
fn a_peer_sends_no_more_than_it_may() {
    let mut client = client_that_counts(Counts::AtLast);
    // Two of four frames and one of two credits are left.
    client.send(0, 0, Delivery::of(&[10, 10, 10]));
    let session = &client.sessions[0];
    assert_eq!((session.remote_window(), session.links[0].credit()), (0, 0));
    assert!(session.links[0].open.is_some());
    client.receive(&flow(credit(4, 1, 1)));
    client.push(0, 0);
    assert!(client.sessions[0].links[0].open.is_none());
    client.send(0, 0, Delivery::of(&[10]));
    assert_eq!(client.sessions[0].links[0].queue.len(), 1);
}
