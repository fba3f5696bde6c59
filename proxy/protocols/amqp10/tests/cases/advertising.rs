//! What a client is told of its limit in advance: max-message-size of the broker's attach.

use super::*;
use crate::policy::Mode;
use crate::protocols::Advertise;

/// What becomes of the max-message-size of an attach of the broker.
fn told(terms: Terms, role: Role, max_message_size: Option<u64>) -> Option<u64> {
    let mut raw = Raw::begun(terms.open(), None);
    let mine = match role {
        Role::Sender => Role::Receiver,
        Role::Receiver => Role::Sender,
    };
    raw.passes(Side::Client, &attach(CLIENT, &link("new", Handle(3), mine)));
    let mut answer = Attach {
        max_message_size,
        ..link("new", Handle(13), role)
    };
    raw.says(Side::Broker, &attach(BROKER, &answer));
    let heard = raw.hears(Side::Client);
    let size = frame(&heard).attach().expect("an attach").max_message_size;
    // Nothing else of it is changed.
    answer.max_message_size = size;
    assert_eq!(heard, attach(BROKER, &answer));
    size
}

fn advertising(limit: u64) -> Terms {
    Terms {
        limit,
        advertise: Advertise::Largest,
        ..Terms::default()
    }
}

#[test]
fn it_is_the_smaller_of_the_two_where_0_and_null_are_none() {
    for (limit, theirs, expected) in [
        (100, None, Some(100)),
        (100, Some(0), Some(100)),
        (100, Some(50), Some(50)),
        (100, Some(100), Some(100)),
        (100, Some(101), Some(100)),
        (100, Some(u64::MAX), Some(100)),
        (0, None, None),
        (0, Some(0), Some(0)),
        (0, Some(50), Some(50)),
    ] {
        let size = told(advertising(limit), Role::Receiver, theirs);
        assert_eq!(size, expected, "{limit} and {theirs:?}");
    }
}

#[test]
fn links_on_which_the_broker_sends_are_left_alone() {
    assert_eq!(told(advertising(100), Role::Sender, Some(500)), Some(500));
    assert_eq!(told(advertising(100), Role::Sender, None), None);
}

#[test]
fn a_dry_run_tells_nothing_and_nor_does_no_advertise() {
    let dry = Terms {
        mode: Mode::DryRun,
        ..advertising(100)
    };
    assert_eq!(told(dry, Role::Receiver, Some(500)), Some(500));
    let silent = Terms {
        advertise: Advertise::Nothing,
        ..advertising(100)
    };
    assert_eq!(told(silent, Role::Receiver, None), None);
}

#[test]
fn the_clients_own_attach_is_left_alone() {
    let mut raw = Raw::begun(advertising(100).open(), None);
    for role in [Role::Sender, Role::Receiver] {
        let mine = Attach {
            max_message_size: Some(5_000),
            handle: Handle(3 + role as u32),
            ..link("new", OUT, role)
        };
        raw.passes(Side::Client, &attach(CLIENT, &mine));
    }
}
