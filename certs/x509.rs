//! The few fields of a certificate that rustls does not hand out: version, dates, subject.
//!
//! Nothing is verified here; whether a certificate is to be believed is for rustls to say.

use std::time::{SystemTime, UNIX_EPOCH};

use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Decode, ErrorKind, Result, SliceReader, Tag, TagNumber, Tagged};

/// A certificate in DER (RFC 5280 §4.1).
///
/// ```text
/// Certificate    ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue }
/// TBSCertificate ::= SEQUENCE { version [0] EXPLICIT INTEGER DEFAULT v1, serialNumber INTEGER,
///     signature SEQUENCE, issuer SEQUENCE, validity SEQUENCE, subject SEQUENCE, ... }
/// Validity       ::= SEQUENCE { notBefore Time, notAfter Time }
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certificate<'a> {
    /// The version as people count it: 1 to 3.
    pub(crate) version: u8,
    /// What is in the validity.
    validity: &'a [u8],
    /// What is in the subject: its relative distinguished names.
    pub(crate) subject: &'a [u8],
}

impl<'a> Certificate<'a> {
    pub(crate) fn from_der(octets: &'a [u8]) -> Result<Self> {
        let mut certificate = contents(&mut SliceReader::new(octets)?, Tag::Sequence)?;
        let mut tbs = contents(&mut certificate, Tag::Sequence)?;
        let mut first = AnyRef::decode(&mut tbs)?;
        let mut version = 1;
        if first.tag() == VERSION {
            version = u8::from_der(first.value())?.saturating_add(1);
            first = AnyRef::decode(&mut tbs)?;
        }
        first.tag().assert_eq(Tag::Integer)?;
        let _signature = contents(&mut tbs, Tag::Sequence)?;
        let _issuer = contents(&mut tbs, Tag::Sequence)?;
        let validity = element(&mut tbs, Tag::Sequence)?;
        let subject = element(&mut tbs, Tag::Sequence)?;
        Ok(Self {
            version,
            validity,
            subject,
        })
    }

    /// The first and the last second in which the certificate is valid.
    pub(crate) fn validity(&self) -> Result<(SystemTime, SystemTime)> {
        let mut validity = SliceReader::new(self.validity)?;
        let not_before = AnyRef::decode(&mut validity)?;
        let not_after = AnyRef::decode(&mut validity)?;
        // Some begin in 1950, where UTCTime does, and that is before this clock.
        let not_before = time(not_before).unwrap_or(UNIX_EPOCH);
        Ok((not_before, time(not_after)?))
    }
}

/// Reads an element of this type and opens it.
pub(crate) fn contents<'a>(reader: &mut SliceReader<'a>, tag: Tag) -> Result<SliceReader<'a>> {
    SliceReader::new(element(reader, tag)?)
}

/// Reads an element of this type.
fn element<'a>(reader: &mut SliceReader<'a>, tag: Tag) -> Result<&'a [u8]> {
    let element = AnyRef::decode(reader)?;
    element.tag().assert_eq(tag)?;
    Ok(element.value())
}

/// UTCTime through the year 2049, GeneralizedTime after it (RFC 5280 §4.1.2.5).
fn time(element: AnyRef<'_>) -> Result<SystemTime> {
    let since_epoch = match element.tag() {
        Tag::UtcTime => element.decode_as::<UtcTime>()?.to_unix_duration(),
        _ => element.decode_as::<GeneralizedTime>()?.to_unix_duration(),
    };
    UNIX_EPOCH
        .checked_add(since_epoch)
        .ok_or_else(|| ErrorKind::DateTime.into())
}

const VERSION: Tag = Tag::ContextSpecific {
    constructed: true,
    number: TagNumber(0),
};
