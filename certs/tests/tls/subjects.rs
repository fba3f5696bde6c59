//! Subjects as text. The rows are those of RFC 4514 where it has examples.

use certs::{SubjectError, subject};
use proptest::prelude::*;
use rustls::pki_types::CertificateDer;

use crate::tlv::{OID, SEQUENCE, SET, certificate, tlv, validity, version};

const CN: &[u8] = &[0x55, 0x04, 0x03];
const O: &[u8] = &[0x55, 0x04, 0x0A];
const OU: &[u8] = &[0x55, 0x04, 0x0B];
const L: &[u8] = &[0x55, 0x04, 0x07];
const SN: &[u8] = &[0x55, 0x04, 0x04];
/// 0.9.2342.19200300.100.1.25.
const DC: &[u8] = &[0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 0x01, 0x19];
/// 0.9.2342.19200300.100.1.1.
const UID: &[u8] = &[0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 0x01, 0x01];

const UTF8: u8 = 0x0C;
const NUMERIC: u8 = 0x12;
const PRINTABLE: u8 = 0x13;
const TELETEX: u8 = 0x14;
const IA5: u8 = 0x16;
const VISIBLE: u8 = 0x1A;
const UNIVERSAL: u8 = 0x1C;
const BMP: u8 = 0x1E;
const OCTET_STRING: u8 = 0x04;

#[test]
fn the_most_specific_name_comes_first() {
    let name = [rdn(&[(O, UTF8, b"Acme")]), rdn(&[(CN, UTF8, b"alice")])];
    assert_eq!(text(&name), "CN=alice,O=Acme");
    // RFC 4514 §4, the first example.
    let name = [
        rdn(&[(DC, IA5, b"net")]),
        rdn(&[(DC, IA5, b"example")]),
        rdn(&[(UID, UTF8, b"jsmith")]),
    ];
    assert_eq!(text(&name), "UID=jsmith,DC=example,DC=net");
}

#[test]
fn names_of_several_attributes_are_joined_by_a_plus() {
    // RFC 4514 §4, the second example.
    let name = [
        rdn(&[(DC, IA5, b"net")]),
        rdn(&[(DC, IA5, b"example")]),
        rdn(&[(OU, UTF8, b"Sales"), (CN, UTF8, b"J.  Smith")]),
    ];
    assert_eq!(text(&name), "OU=Sales+CN=J.  Smith,DC=example,DC=net");
}

#[test]
fn an_empty_subject_is_an_empty_text() {
    assert_eq!(text(&[]), "");
    assert_eq!(text(&[rdn(&[(CN, UTF8, b"")])]), "CN=");
}

#[test]
fn what_means_something_is_escaped() {
    for (value, expected) in [
        // RFC 4514 §4, the third and the fourth example.
        ("James \"Jim\" Smith, III", r#"James \"Jim\" Smith\, III"#),
        ("Before\rAfter", r"Before\0DAfter"),
        // RFC 4514 §2.4: at its beginning, at its end, and anywhere.
        ("#sharp", r"\#sharp"),
        ("a#", "a#"),
        (" a b ", r"\ a b\ "),
        ("  ", r"\ \ "),
        (" ", r"\ "),
        ("a  b", "a  b"),
        ("a+b;c<d>e\\f=g", r"a\+b\;c\<d\>e\\f=g"),
        ("a\0b", r"a\00b"),
        // Other control characters may be escaped, in the octets of UTF-8.
        ("a\n\u{7F}\u{85}b", r"a\0A\7F\C2\85b"),
        ("alice,O=Acme", r"alice\,O=Acme"),
    ] {
        let found = text(&[rdn(&[(CN, UTF8, value.as_bytes())])]);
        assert_eq!(found, format!("CN={expected}"), "{value:?}");
    }
}

#[test]
fn every_encoding_of_text_is_text() {
    // RFC 4514 §4, the last example.
    let name = [rdn(&[(SN, UTF8, "Lu\u{10D}i\u{107}".as_bytes())])];
    assert_eq!(text(&name), "SN=Lu\u{10D}i\u{107}");
    for (tag, octets, expected) in [
        (UTF8, &b"alice"[..], "alice"),
        (PRINTABLE, b"alice", "alice"),
        // No character of PrintableString, and issuers that write it all the same.
        (PRINTABLE, b"al@ice*", "al@ice*"),
        (IA5, b"alice", "alice"),
        (VISIBLE, b"alice", "alice"),
        (NUMERIC, b"12 34", "12 34"),
        (TELETEX, b"Jos\xE9", "Jos\u{E9}"),
        (BMP, b"\0a\x01\x0D", "a\u{10D}"),
        // A pair of surrogates, which UCS-2 has not and issuers write.
        (BMP, b"\xD8\x3D\xDE\x00", "\u{1F600}"),
    ] {
        let found = text(&[rdn(&[(L, tag, octets)])]);
        assert_eq!(found, format!("L={expected}"), "{tag:#x} {octets:x?}");
    }
}

#[test]
fn what_is_no_text_is_hexadecimal() {
    for (tag, octets, expected) in [
        (UTF8, &b"\xFF"[..], "#0C01FF"),
        (PRINTABLE, b"\xC3\xA9", "#1302C3A9"),
        (IA5, b"\xE9", "#1601E9"),
        (BMP, b"\0a\0", "#1E03006100"),
        (BMP, b"\xD8\x3D", "#1E02D83D"),
        (UNIVERSAL, b"\0\0\0a", "#1C0400000061"),
        (OCTET_STRING, b"Hi", "#04024869"),
    ] {
        let found = text(&[rdn(&[(CN, tag, octets)])]);
        assert_eq!(found, format!("CN={expected}"), "{tag:#x} {octets:x?}");
    }
    // The same digits as a text are another name.
    let name = [rdn(&[(CN, UTF8, b"#04024869")])];
    assert_eq!(text(&name), r"CN=\#04024869");
}

#[test]
fn a_type_without_a_name_is_in_numbers_and_its_value_in_digits() {
    // RFC 4514 §2.4: 1.3.6.1.4.1.1466.0 with the OCTET STRING "Hi".
    let oid = &[0x2B, 0x06, 0x01, 0x04, 0x01, 0x8B, 0x3A, 0x00];
    let name = [rdn(&[(oid, OCTET_STRING, b"Hi")])];
    assert_eq!(text(&name), "1.3.6.1.4.1.1466.0=#04024869");
    let name = [rdn(&[(oid, UTF8, b"Hi")])];
    assert_eq!(text(&name), "1.3.6.1.4.1.1466.0=#0C024869");
}

#[test]
fn every_type_with_a_name_is_called_by_it() {
    for (oid, expected) in [
        // RFC 4514 §3.
        (CN, "CN"),
        (L, "L"),
        (&[0x55, 0x04, 0x08], "ST"),
        (O, "O"),
        (OU, "OU"),
        (&[0x55, 0x04, 0x06], "C"),
        (&[0x55, 0x04, 0x09], "STREET"),
        (DC, "DC"),
        (UID, "UID"),
        // RFC 4519 §2.
        (SN, "SN"),
        (&[0x55, 0x04, 0x05], "serialNumber"),
        (&[0x55, 0x04, 0x0C], "title"),
        (&[0x55, 0x04, 0x0D], "description"),
        (&[0x55, 0x04, 0x0F], "businessCategory"),
        (&[0x55, 0x04, 0x11], "postalCode"),
        (&[0x55, 0x04, 0x29], "name"),
        (&[0x55, 0x04, 0x2A], "GN"),
        (&[0x55, 0x04, 0x2B], "initials"),
        (&[0x55, 0x04, 0x2C], "generationQualifier"),
        (&[0x55, 0x04, 0x2E], "dnQualifier"),
        // RFC 2985 §5.2.1.
        (
            &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x01],
            "emailAddress",
        ),
    ] {
        let found = text(&[rdn(&[(oid, PRINTABLE, b"x")])]);
        assert_eq!(found, format!("{expected}=x"));
    }
}

#[test]
fn a_subject_that_is_cut_anywhere_or_malformed_is_an_error() {
    let name = tlv(SEQUENCE, &[&rdn(&[(CN, UTF8, b"alice")])]);
    let whole = certificate(&version(2), &validity(), &name);
    assert_eq!(read(&whole).as_deref(), Ok("CN=alice"));
    for len in 0..whole.len() {
        assert_eq!(read(&whole[..len]), Err(SubjectError), "{len}");
    }
    let attribute = |parts: &[&[u8]]| tlv(SET, &[&tlv(SEQUENCE, parts)]);
    for wrong in [
        // A set of nothing, a sequence in its place, an attribute without a type, without a value.
        tlv(SET, &[]),
        tlv(SEQUENCE, &[&tlv(OID, &[CN])]),
        attribute(&[&tlv(UTF8, &[b"alice"])]),
        attribute(&[&tlv(OID, &[CN])]),
        // Something that goes on after the end of the name.
        [rdn(&[(CN, UTF8, b"alice")]), vec![0x31]].concat(),
    ] {
        let name = tlv(SEQUENCE, &[&wrong]);
        let certificate = certificate(&version(2), &validity(), &name);
        assert_eq!(read(&certificate), Err(SubjectError), "{wrong:x?}");
    }
}

#[test]
fn a_long_subject_is_read_in_a_moment() {
    // As much as a handshake lets through: 64 KiB.
    let many: Vec<_> = (0..4000).map(|_| rdn(&[(CN, UTF8, b",,")])).collect();
    let found = text(&many);
    assert_eq!(found.len(), 4000 * r"CN=\,\,".len() + 3999);
    let long = vec![0x01; 60_000];
    assert_eq!(text(&[rdn(&[(CN, UTF8, &long)])]).len(), 3 + 3 * 60_000);
}

proptest! {
    #[test]
    fn a_text_can_be_read_back(value in "[ #\"+,;<>=\\\\a\n\u{0}\u{85}é]{0,12}|\\PC{0,12}") {
        let found = text(&[rdn(&[(O, UTF8, b"Acme")]), rdn(&[(CN, UTF8, value.as_bytes())])]);
        let found = found.strip_prefix("CN=").and_then(|found| found.strip_suffix(",O=Acme"));
        prop_assert_eq!(unescaped(found.unwrap()), Some(value));
    }

    #[test]
    fn octets_of_any_kind_are_a_subject_or_an_error(
        at in 0..200_usize,
        octet: u8,
        noise in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let name = tlv(SEQUENCE, &[&rdn(&[(O, PRINTABLE, b"Acme"), (CN, BMP, b"\0a")])]);
        let mut changed = certificate(&version(2), &validity(), &name);
        let place = at % changed.len();
        changed[place] = octet;
        let _ = read(&changed);
        let _ = read(&noise);
        let _ = read(&certificate(&version(2), &validity(), &tlv(SEQUENCE, &[&noise])));
    }
}

/// What was escaped, by the grammar of a string in RFC 4514 §3; nothing if it breaks the grammar.
fn unescaped(text: &str) -> Option<String> {
    let (mut out, mut rest) = (Vec::new(), text);
    if text.starts_with(['#', ' ']) || (text.ends_with(' ') && !text.ends_with("\\ ")) {
        return None;
    }
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '"' | '+' | ',' | ';' | '<' | '>' | '\0' => return None,
            '\\' => {
                let special = rest.starts_with([' ', '#', '=', '"', '+', ',', ';', '<', '>', '\\']);
                let len = if special { 1 } else { 2 };
                match special {
                    true => out.extend(rest.bytes().take(1)),
                    false => out.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?),
                }
                rest = &rest[len..];
            }
            plain => out.extend(plain.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    String::from_utf8(out).ok()
}

/// A relative distinguished name: type, encoding and octets of each attribute.
fn rdn(attributes: &[(&[u8], u8, &[u8])]) -> Vec<u8> {
    let attributes: Vec<Vec<u8>> = attributes
        .iter()
        .map(|(oid, tag, octets)| tlv(SEQUENCE, &[&tlv(OID, &[oid]), &tlv(*tag, &[octets])]))
        .collect();
    tlv(SET, &[&attributes.concat()])
}

fn text(names: &[Vec<u8>]) -> String {
    let name = tlv(SEQUENCE, &[&names.concat()]);
    read(&certificate(&version(2), &validity(), &name)).unwrap()
}

fn read(certificate: &[u8]) -> Result<String, SubjectError> {
    subject(&CertificateDer::from(certificate))
}
