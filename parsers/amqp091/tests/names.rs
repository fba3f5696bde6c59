//! Who a client says it is: tables and security mechanisms.

use super::*;

/// A field of each type that is in use, by name.
const FIELDS: [&[u8]; 18] = [
    b"\x01tt\x01",
    b"\x01bb\xFF",
    b"\x01BB\xFF",
    b"\x01UU\xFF\xFF",
    b"\x01uu\xFF\xFF",
    b"\x01ss\xFF\xFF",
    b"\x01II\xFF\xFF\xFF\xFF",
    b"\x01ii\xFF\xFF\xFF\xFF",
    b"\x01ff\xFF\xFF\xFF\xFF",
    b"\x01DD\x02\0\0\0\x07",
    b"\x01LL\0\0\0\0\0\0\0\x01",
    b"\x01ll\0\0\0\0\0\0\0\x01",
    b"\x01dd\0\0\0\0\0\0\0\x01",
    b"\x01TT\0\0\0\0\0\0\0\x01",
    b"\x01VV",
    b"\x01xx\0\0\0\x02\0\0",
    // An array of a boolean, and a table of one: its names are its own.
    b"\x01AA\0\0\0\x02t\x01",
    b"\x01FF\0\0\0\x0B\x04nameS\0\0\0\x01?",
];

#[test]
fn a_text_is_found_behind_fields_of_every_type() {
    let text = b"\x04nameS\0\0\0\x03abc";
    let table = [&FIELDS.concat()[..], text, b"\x01zS\0\0\0\0"].concat();
    let table = Table(&table);
    assert_eq!(table.longstr(b"name"), Some(&b"abc"[..]));
    assert_eq!(table.longstr(b"z"), Some(&b""[..]));
    assert_eq!(table.longstr(b"nam"), None);
    assert_eq!(table.longstr(b"t"), None, "it is no text");
    for field in FIELDS {
        let table = [field, text].concat();
        assert_eq!(Table(&table).longstr(b"name"), Some(&b"abc"[..]));
        for len in 0..table.len() {
            assert_eq!(Table(&table[..len]).longstr(b"name"), None, "{len}");
        }
    }
}

#[test]
fn what_cannot_be_stepped_over_hides_the_rest() {
    for kind in (0..=u8::MAX).filter(|kind| !b"tbBUusIifDLldTVxAFS".contains(kind)) {
        let table = [&[1, b'k', kind][..], b"\0\0\0\0\x04nameS\0\0\0\x03abc"].concat();
        assert_eq!(Table(&table).longstr(b"name"), None, "{kind}");
    }
}

#[test]
fn each_mechanism_says_its_name_in_its_own_way() {
    for (mechanism, response, name) in [
        (&b"PLAIN"[..], &b"\0alice\0secret"[..], Some("alice")),
        (b"PLAIN", b"bob\0alice\0secret", Some("alice")),
        (b"PLAIN", b"\0alice\0", Some("alice")),
        (b"PLAIN", b"\0alice", None),
        (b"PLAIN", b"\0\0secret", None),
        (b"PLAIN", b"", None),
        (b"PLAIN", b"\0\xFF\0secret", None),
        (
            b"AMQPLAIN",
            b"\x05LOGINS\0\0\0\x05alice\x08PASSWORDS\0\0\0\x01x",
            Some("alice"),
        ),
        (
            b"AMQPLAIN",
            b"\x08PASSWORDS\0\0\0\x01x\x05LOGINS\0\0\0\x05alice",
            Some("alice"),
        ),
        (b"AMQPLAIN", b"\x08PASSWORDS\0\0\0\x01x", None),
        (b"AMQPLAIN", b"\x05LOGINS\0\0\0\x06alice", None),
        (b"EXTERNAL", b"alice", Some("alice")),
        (b"EXTERNAL", b"", None),
        (b"RABBIT-CR-DEMO", b"alice", None),
        (b"ANONYMOUS", b"alice", None),
        (b"plain", b"\0alice\0secret", None),
    ] {
        let read = identity(Mechanism::named(mechanism), response);
        assert_eq!(read, name, "{mechanism:?} {response:?}");
    }
}
