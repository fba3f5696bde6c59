//! The subject of a client certificate as a text: `CN=alice,O=Acme` (RFC 4514).
//!
//! The text decides who a client is, so two names that differ may not look the same: what is not text
//! in a known encoding is written in hexadecimal digits, and what means something in the grammar is
//! escaped. Attribute types beyond those of RFC 4514 are spelt as OpenSSL does.

use std::fmt::Write;

use der::asn1::{AnyRef, ObjectIdentifier};
use der::{Decode, ErrorKind, Reader, SliceReader, Tag, Tagged};
use rustls::pki_types::CertificateDer;

use crate::x509::{self, Certificate};

/// The subject of a certificate that was verified, its most specific part first.
///
/// Empty if the certificate names its owner elsewhere, in a subjectAltName. What is read is bounded
/// by the handshake, which takes no certificate over 64 KiB; the text is at most thrice as long.
pub fn subject(certificate: &CertificateDer<'_>) -> Result<String, SubjectError> {
    let names = rdn_sequence(certificate).map_err(|_| SubjectError)?;
    Ok(names.join(","))
}

/// A certificate whose subject cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the subject of the certificate is not well-formed")]
pub struct SubjectError;

/// The relative distinguished names, the last one first (RFC 4514 §2.1).
///
/// ```text
/// RDNSequence               ::= SEQUENCE OF RelativeDistinguishedName
/// RelativeDistinguishedName ::= SET OF AttributeTypeAndValue
/// ```
fn rdn_sequence(certificate: &[u8]) -> der::Result<Vec<String>> {
    let mut sequence = SliceReader::new(Certificate::from_der(certificate)?.subject)?;
    let mut names = Vec::new();
    while !sequence.is_finished() {
        let mut set = x509::contents(&mut sequence, Tag::Set)?;
        let mut name = attribute(&mut set)?;
        while !set.is_finished() {
            name.push('+');
            name.push_str(&attribute(&mut set)?);
        }
        names.push(name);
    }
    names.reverse();
    Ok(names)
}

/// An attribute type and its value (RFC 4514 §2.3).
///
/// ```text
/// AttributeTypeAndValue ::= SEQUENCE { type OBJECT IDENTIFIER, value ANY }
/// ```
fn attribute(set: &mut SliceReader<'_>) -> der::Result<String> {
    let mut sequence = x509::contents(set, Tag::Sequence)?;
    let oid = ObjectIdentifier::decode(&mut sequence)?;
    let value = sequence.read_slice(sequence.remaining_len())?;
    if value.is_empty() {
        return Err(ErrorKind::Failed.into());
    }
    match (descriptor(oid), text(value)) {
        (Some(descriptor), Some(text)) => Ok(format!("{descriptor}={}", escaped(&text))),
        (Some(descriptor), None) => Ok(format!("{descriptor}=#{}", hexadecimal(value))),
        // A type in numbers has its value in digits (RFC 4514 §2.4).
        (None, _) => Ok(format!("{oid}=#{}", hexadecimal(value))),
    }
}

/// The short name of an attribute type, where it has one that is registered.
fn descriptor(oid: ObjectIdentifier) -> Option<&'static str> {
    let found = DESCRIPTORS.iter().find(|(known, _)| *known == oid);
    found.map(|(_, descriptor)| *descriptor)
}

/// The text that a value is, if it is one.
fn text(value: &[u8]) -> Option<String> {
    let value = AnyRef::from_der(value).ok()?;
    let octets = value.value();
    match value.tag() {
        Tag::Utf8String => std::str::from_utf8(octets).ok().map(str::to_owned),
        // PrintableString has fewer characters than ASCII, and issuers that know it not.
        Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString => {
            let octets = octets.is_ascii().then_some(octets)?;
            std::str::from_utf8(octets).ok().map(str::to_owned)
        }
        // T.61 to the letter of its name, Latin-1 in use: OpenSSL and Go read it so.
        Tag::TeletexString => Some(octets.iter().copied().map(char::from).collect()),
        Tag::BmpString => {
            let (units, rest) = octets.as_chunks::<2>();
            let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
            let text = char::decode_utf16(units).collect::<Result<_, _>>();
            text.ok().filter(|_| rest.is_empty())
        }
        _ => None,
    }
}

/// A text with what must be escaped escaped (RFC 4514 §2.4), and control characters too, which may
/// be: the text goes to logs.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let last = text.chars().count().saturating_sub(1);
    for (place, character) in text.chars().enumerate() {
        match character {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => out.extend(['\\', character]),
            '#' if place == 0 => out.push_str("\\#"),
            ' ' if place == 0 || place == last => out.push_str("\\ "),
            control if control.is_control() => {
                for octet in control.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\{octet:02X}");
                }
            }
            plain => out.push(plain),
        }
    }
    out
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut out, octet| {
        // Writing to a string does not fail.
        let _ = write!(out, "{octet:02X}");
        out
    })
}

/// RFC 4514 §3, then RFC 4519 and, for mail addresses, RFC 2985.
const DESCRIPTORS: [(ObjectIdentifier, &str); 21] = [
    (oid("2.5.4.3"), "CN"),
    (oid("2.5.4.7"), "L"),
    (oid("2.5.4.8"), "ST"),
    (oid("2.5.4.10"), "O"),
    (oid("2.5.4.11"), "OU"),
    (oid("2.5.4.6"), "C"),
    (oid("2.5.4.9"), "STREET"),
    (oid("0.9.2342.19200300.100.1.25"), "DC"),
    (oid("0.9.2342.19200300.100.1.1"), "UID"),
    (oid("2.5.4.4"), "SN"),
    (oid("2.5.4.5"), "serialNumber"),
    (oid("2.5.4.12"), "title"),
    (oid("2.5.4.13"), "description"),
    (oid("2.5.4.15"), "businessCategory"),
    (oid("2.5.4.17"), "postalCode"),
    (oid("2.5.4.41"), "name"),
    (oid("2.5.4.42"), "GN"),
    (oid("2.5.4.43"), "initials"),
    (oid("2.5.4.44"), "generationQualifier"),
    (oid("2.5.4.46"), "dnQualifier"),
    (oid("1.2.840.113549.1.9.1"), "emailAddress"),
];

const fn oid(dotted: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(dotted)
}
