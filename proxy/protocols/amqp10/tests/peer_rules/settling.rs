//! What a peer takes as settled, and by which tags it tells apart what is not.

use super::*;

#[test]
#[should_panic(expected = "is the tag of another delivery")]
fn a_tag_of_what_is_unsettled() {
    let again = Transfer {
        delivery_tag: delivery(0).delivery_tag,
        ..delivery(1)
    };
    client().receive(&[transfer(delivery(0), 1), transfer(again, 1)].concat());
}

#[test]
fn a_tag_of_what_is_settled() {
    let settled = |id| Transfer {
        delivery_tag: Some(b""),
        settled: Some(true),
        ..delivery(id)
    };
    client().receive(&[transfer(settled(0), 1), transfer(settled(1), 1)].concat());
}

#[test]
#[should_panic(expected = "from settled to unsettled")]
fn a_delivery_that_is_settled_no_longer() {
    let settled = Transfer {
        settled: Some(true),
        ..more(0)
    };
    let unsettled = Transfer {
        settled: Some(false),
        ..delivery(0)
    };
    client().receive(&[transfer(settled, 1), transfer(unsettled, 1)].concat());
}

/// A client that has a link on which the broker sends in this mode.
fn client_of(mode: SenderSettleMode) -> Peer {
    let mut client = client();
    client.attach(0, &LinkTerms::new("more", Role::Receiver));
    let attach = Attach {
        snd_settle_mode: mode,
        ..attach("more", 2, Role::Sender)
    };
    let mut octets = Vec::new();
    encode::attach(&mut octets, CHANNEL, &attach);
    client.receive(&octets);
    client.grant_credit(0, 2, 1);
    client
}

fn on_it(settled: bool) -> Vec<u8> {
    let transfer_on_it = Transfer {
        handle: Handle(2),
        settled: Some(settled),
        ..delivery(0)
    };
    transfer(transfer_on_it, 1)
}

#[test]
fn what_the_mode_of_the_link_allows() {
    for (mode, settled) in [
        (SenderSettleMode::Settled, true),
        (SenderSettleMode::Unsettled, false),
        (SenderSettleMode::Mixed, true),
        (SenderSettleMode::Mixed, false),
    ] {
        client_of(mode).receive(&on_it(settled));
    }
}

#[test]
#[should_panic(expected = "settled against Unsettled")]
fn a_settled_delivery_on_a_link_of_unsettled_ones() {
    client_of(SenderSettleMode::Unsettled).receive(&on_it(true));
}

#[test]
#[should_panic(expected = "settled against Settled")]
fn an_unsettled_delivery_on_a_link_of_settled_ones() {
    client_of(SenderSettleMode::Settled).receive(&on_it(false));
}

#[test]
#[should_panic(expected = "asked for Settled and was told Mixed")]
fn an_answer_with_another_mode() {
    let mut client = client();
    let terms = LinkTerms {
        snd_settle_mode: SenderSettleMode::Settled,
        ..LinkTerms::new("more", Role::Sender)
    };
    client.attach(0, &terms);
    let mut octets = Vec::new();
    encode::attach(&mut octets, CHANNEL, &attach("more", 2, Role::Receiver));
    client.receive(&octets);
}
