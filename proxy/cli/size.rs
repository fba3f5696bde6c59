//! Sizes as people write them: Kubernetes quantities, whole ones only.
//!
//! `Ki`, `Mi` and `Gi` are powers of 1024, `k`, `M` and `G` powers of 1000. What Kubernetes reads
//! otherwise than most people (`m` is a thousandth there) and what it does not know (`K`, `KB`) is
//! refused, so that nobody has to guess.

use std::str::FromStr;

use crate::policy::ByteSize;

impl FromStr for ByteSize {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, suffix) = text.split_at(digits);
        let unit = match UNITS.iter().find(|(name, _)| *name == suffix) {
            Some((_, unit)) if !digits.is_empty() => *unit,
            _ => return Err(SizeError::of(text, digits, suffix)),
        };
        let number = digits.parse::<u64>().ok();
        let size = number.and_then(|number| number.checked_mul(unit));
        size.map(Self)
            .ok_or_else(|| SizeError::TooLarge(text.to_owned()))
    }
}

/// Why a text is no size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// There is nothing.
    #[error("the size is empty; give octets, such as 65536 or 64Ki")]
    Empty,
    /// It does not begin with a digit.
    #[error("`{0}` does not begin with a digit; give octets, such as 65536 or 64Ki")]
    NoDigit(String),
    /// It has a sign.
    #[error("`{0}` has a sign; give it without one, such as 64Ki, or 0 for no limit")]
    Sign(String),
    /// It has a space or the like.
    #[error("`{0}` has a space in it; give it without one, such as 64Ki")]
    Space(String),
    /// It is not a whole number.
    #[error("`{0}` is not a whole number; use a smaller unit, such as 1536Ki for 1.5Mi")]
    Fraction(String),
    /// What follows the number is no unit.
    #[error(
        "`{unit}` in `{text}` is no unit; use Ki, Mi, Gi (1024) or k, M, G (1000), such as {example}"
    )]
    Unit {
        /// The size as it was typed.
        text: String,
        /// What follows its number.
        unit: String,
        /// A size that would do.
        example: String,
    },
    /// It does not fit 64 bits.
    #[error("`{0}` is larger than any message; give less, such as 1Gi, or 0 for no limit")]
    TooLarge(String),
}

impl SizeError {
    /// What is wrong with a text that is no number with a unit behind it.
    fn of(text: &str, digits: &str, unit: &str) -> Self {
        let whole = text.to_owned();
        match unit.chars().next() {
            _ if text.is_empty() => Self::Empty,
            _ if text.contains(char::is_whitespace) => Self::Space(whole),
            Some('+' | '-') if digits.is_empty() => Self::Sign(whole),
            Some('.' | ',') => Self::Fraction(whole),
            _ if digits.is_empty() => Self::NoDigit(whole),
            _ => Self::Unit {
                text: whole,
                unit: unit.to_owned(),
                example: likely(digits, unit),
            },
        }
    }
}

/// The units, by name.
const UNITS: [(&str, u64); 7] = [
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
];

/// What was likely meant by a number with a unit that is none.
fn likely(digits: &str, unit: &str) -> String {
    match unit.bytes().next() {
        Some(b'm' | b'M') => format!("{digits}Mi"),
        Some(b'g' | b'G') => format!("{digits}Gi"),
        Some(b't' | b'T') => "1024Gi".to_owned(),
        _ => format!("{digits}Ki"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Result<u64, String> {
        let size = text.parse::<ByteSize>();
        size.map(|size| size.0).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_are_whole_numbers_with_the_units_of_kubernetes() {
        for (text, octets) in [
            ("0", 0),
            ("0Ki", 0),
            ("007", 7),
            ("65536", 65_536),
            ("1k", 1_000),
            ("2M", 2_000_000),
            ("3G", 3_000_000_000),
            ("1Ki", 1_024),
            ("64Mi", 67_108_864),
            ("1Gi", 1_073_741_824),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Ok(octets), "{text}");
        }
    }

    #[test]
    fn whatever_is_ambiguous_or_no_size_is_refused_with_an_example() {
        for (text, words) in [
            ("", "is empty"),
            ("Ki", "does not begin with a digit"),
            ("alice", "does not begin with a digit"),
            ("٣", "does not begin with a digit"),
            ("-1", "has a sign"),
            ("+1Ki", "has a sign"),
            (" 1", "has a space"),
            ("1 Ki", "has a space"),
            ("1Ki\n", "has a space"),
            ("1.5Mi", "not a whole number"),
            (".5Mi", "not a whole number"),
            ("1,024", "not a whole number"),
            ("1K", "such as 1Ki"),
            ("1KB", "such as 1Ki"),
            ("1kb", "such as 1Ki"),
            ("1m", "such as 1Mi"),
            ("1MB", "such as 1Mi"),
            ("1gi", "such as 1Gi"),
            ("1Ti", "such as 1024Gi"),
            ("1e3", "is no unit"),
            ("0x10", "is no unit"),
            ("18446744073709551616", "larger than any message"),
            ("18014398509481984Ki", "larger than any message"),
        ] {
            let error = size(text).unwrap_err();
            assert!(
                error.contains(words) && error.contains("such as"),
                "{text}: {error}"
            );
        }
    }
}
