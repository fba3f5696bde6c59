//! SASL frames, and who a client says it is.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

#[test]
fn a_mechanism_is_known_by_its_name() {
    for (name, mechanism) in [
        ("PLAIN", Mechanism::Plain),
        ("EXTERNAL", Mechanism::External),
        ("ANONYMOUS", Mechanism::Anonymous),
        ("SCRAM-SHA-256", Mechanism::Scram("SCRAM-SHA-256")),
        ("SCRAM-SHA-1-PLUS", Mechanism::Scram("SCRAM-SHA-1-PLUS")),
        ("GSSAPI", Mechanism::MayAddSecurityLayer("GSSAPI")),
        ("GS2-KRB5", Mechanism::MayAddSecurityLayer("GS2-KRB5")),
        ("DIGEST-MD5", Mechanism::MayAddSecurityLayer("DIGEST-MD5")),
        ("CRAM-MD5", Mechanism::Other("CRAM-MD5")),
        ("plain", Mechanism::Other("plain")),
    ] {
        assert_eq!(Mechanism::named(name), mechanism);
        assert_eq!(mechanism.name(), name);
    }
}

#[test]
fn the_name_is_read_from_the_first_message() {
    let scram = Mechanism::Scram("SCRAM-SHA-256");
    for (mechanism, message, name) in [
        (Mechanism::Plain, &b"\0alice\0pw"[..], Some("alice")),
        (Mechanism::Plain, b"root\0alice\0p\0w", Some("alice")),
        (Mechanism::Plain, b"\0alice\0", Some("alice")),
        (Mechanism::Plain, b"\0alice", None),
        (Mechanism::Plain, b"\0\0pw", None),
        (Mechanism::Plain, b"\0\xFF\0pw", None),
        (Mechanism::Plain, b"", None),
        (Mechanism::External, b"", None),
        (Mechanism::External, b"alice", Some("alice")),
        (Mechanism::Anonymous, b"trace@example", None),
        (Mechanism::Other("X"), b"\0alice\0pw", None),
        (scram, b"n,,n=user,r=fyko", Some("user")),
        (scram, b"y,,n=user,r=fyko", Some("user")),
        (scram, b"p=tls-unique,,n=user,r=fyko", Some("user")),
        (scram, b"n,a=root,n=user,r=fyko,x=1", Some("user")),
        (scram, b"n,,m=1,n=user,r=fyko", Some("user")),
        (scram, b"n,,n=a=2Cb=3Dc=2C,r=fyko", Some("a,b=c,")),
        (scram, b"n,,n=a=2c,r=fyko", None),
        (scram, b"n,,n=a=,r=fyko", None),
        (scram, b"n,,n=,r=fyko", None),
        (scram, b"n,,n=user", None),
        (scram, b"n,,n=user,x=1", None),
        (scram, b"n,,r=fyko,n=user", None),
        (scram, b"n,b=root,n=user,r=fyko", None),
        (scram, b"x,,n=user,r=fyko", None),
        (scram, b"n,,n=\xFF,r=fyko", None),
        (scram, b"", None),
    ] {
        assert_eq!(identity(mechanism, message).as_deref(), name, "{message:?}");
    }
    let borrowed = identity(scram, b"n,,n=user,r=fyko");
    assert!(matches!(borrowed, Some(Cow::Borrowed("user"))));
}

#[test]
fn mechanisms_are_a_symbol_or_an_array_of_them() {
    let names = |value: &[u8]| {
        let size = value.len() as u8 + 1;
        let frame_len = 8 + 6 + value.len() as u8;
        let octets = [
            &[
                0, 0, 0, frame_len, 2, 1, 0, 0, 0x00, 0x53, 0x40, 0xC0, size, 1,
            ],
            value,
        ]
        .concat();
        let names = read(&octets).unwrap().sasl_mechanisms().unwrap();
        names
            .map(|mechanism| mechanism.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&[0xA3, 1, b'A']), ["A"]);
    assert_eq!(names(&[0xB3, 0, 0, 0, 1, b'A']), ["A"]);
    assert_eq!(names(&[0xE0, 6, 2, 0xA3, 1, b'A', 1, b'B']), ["A", "B"]);
    assert_eq!(names(&[0xE0, 7, 1, 0xB3, 0, 0, 0, 1, b'A']), ["A"]);
    let long = [0xF0, 0, 0, 0, 9, 0, 0, 0, 2, 0xA3, 1, b'A', 1, b'B'];
    assert_eq!(names(&long), ["A", "B"]);
    let name = [b'A'; 256];
    let octets = said(|out| encode::sasl_mechanisms(out, std::str::from_utf8(&name).unwrap()));
    let mut names_of_long = read(&octets).unwrap().sasl_mechanisms().unwrap();
    assert_eq!(
        names_of_long.next().map(|name| name.name().len()),
        Some(256)
    );
    // An array of nothing, one that is cut, and what is no array.
    assert!(names(&[0xE0, 2, 0, 0xA3]).is_empty());
    assert_eq!(names(&[0xE0, 5, 2, 0xA3, 1, b'A', 9]), ["A"]);
    assert!(names(&[0x43]).is_empty());
}

#[test]
fn an_outcome_is_ok_only_with_code_0() {
    for code in 0..=5 {
        assert_eq!(SaslOutcome { code }.is_ok(), code == 0);
    }
}

proptest! {
    #[test]
    fn a_scram_name_is_undone_as_it_was_escaped(name in "[a-z,=23CD]{1,20}") {
        let escaped = name.replace('=', "=3D").replace(',', "=2C");
        let message = format!("n,,n={escaped},r=nonce");
        let scram = Mechanism::Scram("SCRAM-SHA-1");
        let read = identity(scram, message.as_bytes());
        prop_assert_eq!(read.as_deref(), Some(&name[..]));
    }

    #[test]
    fn no_message_makes_the_reading_of_a_name_panic(
        message in prop::collection::vec(any::<u8>(), 0..40),
        name in prop::sample::select(vec!["PLAIN", "EXTERNAL", "SCRAM-SHA-1", "GSSAPI"]),
    ) {
        identity(Mechanism::named(name), &message);
    }
}
