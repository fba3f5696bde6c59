//! The sections of a PEM file, as far as they explain what is wrong with it.
//!
//! A file that lacks what it was to hold is most often another file, and its labels tell which.

use std::fmt;

use rustls::pki_types::pem;

/// What a file holds instead of what was expected. Shown, it goes on a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No octet.
    Nothing,
    /// Something that is no PEM.
    NoPem,
    /// DER, which is what PEM is made of; PKCS #12 looks the same.
    Der,
    /// PEM whose lines do not begin where they must.
    Displaced,
    /// Sections with these labels, in their order, each named once.
    Sections(Vec<String>),
}

impl Found {
    pub(crate) fn among(octets: &[u8]) -> Self {
        match octets {
            [] => return Self::Nothing,
            // A SEQUENCE whose length takes two octets, as that of certificates and keys does.
            [0x30, 0x82, ..] => return Self::Der,
            _ => {}
        }
        let mut labels: Vec<String> = Vec::new();
        for label in labels_of(octets) {
            if labels.len() < MOST_LABELS && !labels.iter().any(|known| known == label) {
                labels.push(label.to_owned());
            }
        }
        if !labels.is_empty() {
            return Self::Sections(labels);
        }
        let displaced = lines_of(octets)
            .filter(|line| !line.starts_with(BEGIN))
            .any(|line| line.windows(BEGIN.len()).any(|window| window == BEGIN));
        if displaced {
            Self::Displaced
        } else {
            Self::NoPem
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str(": it is empty"),
            Self::NoPem => f.write_str(": it is not PEM"),
            Self::Der => f.write_str(": it is DER or PKCS #12, and PEM is needed"),
            Self::Displaced => f.write_str(": its BEGIN does not stand at the start of a line"),
            Self::Sections(labels) => write!(f, ", only {}", labels.join(", ")),
        }
    }
}

/// What is wrong with a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It has no end: the file may have been cut off.
    NoEnd,
    /// Its first line is not whole.
    Begin,
    /// Between its lines is something else than base64.
    Base64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoEnd => "a section has no END line",
            Self::Begin => "a BEGIN line is not whole",
            Self::Base64 => "a section is not base64",
        })
    }
}

impl From<&pem::Error> for Fault {
    fn from(error: &pem::Error) -> Self {
        match error {
            pem::Error::MissingSectionEnd { .. } => Self::NoEnd,
            pem::Error::IllegalSectionStart { .. } => Self::Begin,
            _ => Self::Base64,
        }
    }
}

/// Whether a private key in the file needs a password: PKCS #8 has a label for it, the older kinds
/// of keys have a header (RFC 1421 §4.6.1.1).
pub(crate) fn has_encrypted_key(octets: &[u8]) -> bool {
    lines_of(octets).any(|line| line.starts_with(b"Proc-Type: 4,ENCRYPTED"))
        || labels_of(octets).any(|label| label == "ENCRYPTED PRIVATE KEY")
}

/// The labels of the sections: capital letters, digits and spaces, as all that are in use.
fn labels_of(octets: &[u8]) -> impl Iterator<Item = &str> {
    lines_of(octets)
        .filter_map(|line| line.strip_prefix(BEGIN))
        .filter_map(|rest| {
            std::str::from_utf8(rest)
                .ok()?
                .trim_end()
                .strip_suffix("-----")
        })
        .filter(|label| {
            let known = |octet: u8| octet.is_ascii_uppercase() || octet.is_ascii_digit();
            label.len() <= LONGEST_LABEL && label.bytes().all(|octet| octet == b' ' || known(octet))
        })
}

fn lines_of(octets: &[u8]) -> impl Iterator<Item = &[u8]> {
    octets.split(|&octet| octet == b'\n' || octet == b'\r')
}

const BEGIN: &[u8] = b"-----BEGIN ";
/// Labels that are named; more would explain nothing.
const MOST_LABELS: usize = 4;
/// The longest label that is repeated in a message; no label in use is as long.
const LONGEST_LABEL: usize = 40;
