//! The ceilings: what was counted once, and with which toolchain.
//!
//! Another compiler makes other instructions of the same source, so the ceilings are tight for the
//! one that they were counted with and loose for all others: they still tell a case that has become
//! dear from one that has not.

use std::fmt;
use std::process::Command;

use crate::Error;

/// How much a case may grow under the toolchain of the ceilings.
const TOLERANCE: f64 = 0.05;

/// How much it may grow under another one. Two releases of rustc were seen to differ by 4 %.
const LOOSE: f64 = 0.15;

/// What was counted, and with what.
#[derive(Debug, PartialEq)]
pub(super) struct Ceilings {
    /// With what.
    pub(super) toolchain: Toolchain,
    /// Cases and instructions for each message.
    pub(super) cases: Vec<(String, f64)>,
}

/// What makes instructions of a source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Toolchain(String);

/// What comes of comparing a case with its ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Finding {
    /// Within the ceiling.
    Within(f64),
    /// So much below that the ceiling should follow.
    Below(f64),
    /// Above what is tolerated.
    Over(f64),
    /// There is no ceiling.
    Unknown,
}

impl Ceilings {
    /// Reads a file of ceilings.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        let mut toolchain = None;
        let mut cases = Vec::new();
        for line in lines {
            let wrong = || Error::Value {
                value: line.to_owned(),
                expected: "a line of a case and its instructions",
            };
            let (name, value) = line.split_once(": ").ok_or_else(wrong)?;
            if name == TOOLCHAIN {
                toolchain = Some(Toolchain(value.to_owned()));
            } else {
                cases.push((name.to_owned(), value.parse().map_err(|_| wrong())?));
            }
        }
        let toolchain = toolchain.ok_or(Error::Unread {
            program: "the file of ceilings",
            what: "toolchain",
        })?;
        Ok(Self { toolchain, cases })
    }

    /// How much a case may grow under a toolchain.
    pub(super) fn tolerance(&self, toolchain: &Toolchain) -> f64 {
        if *toolchain == self.toolchain {
            TOLERANCE
        } else {
            LOOSE
        }
    }

    /// Compares a case with its ceiling.
    pub(super) fn find(&self, case: &str, counted: f64, tolerance: f64) -> Finding {
        let ceiling = self.cases.iter().find(|(name, _)| name == case);
        match ceiling {
            None => Finding::Unknown,
            Some((_, ceiling)) if counted > ceiling * (1.0 + tolerance) => Finding::Over(*ceiling),
            Some((_, ceiling)) if counted < ceiling * (1.0 - tolerance) => Finding::Below(*ceiling),
            Some((_, ceiling)) => Finding::Within(*ceiling),
        }
    }
}

impl fmt::Display for Ceilings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        writeln!(f, "{TOOLCHAIN}: {}", self.toolchain)?;
        for (name, counted) in &self.cases {
            writeln!(f, "{name}: {counted:.1}")?;
        }
        Ok(())
    }
}

impl Toolchain {
    /// That of this machine.
    pub(super) fn here() -> Result<Self, Error> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(rustc).arg("-vV").output();
        let output = output.map_err(Error::io("rustc"))?;
        let told = String::from_utf8_lossy(&output.stdout);
        Self::parse(&told).ok_or(Error::Unread {
            program: "rustc",
            what: "release and host",
        })
    }

    fn parse(told: &str) -> Option<Self> {
        let value = |key| told.lines().find_map(|line| line.strip_prefix(key));
        Some(Self(format!(
            "rustc {} {}",
            value("release: ")?,
            value("host: ")?
        )))
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Within(ceiling) => write!(f, "within the ceiling of {ceiling:.1}"),
            Self::Below(ceiling) => write!(f, "BELOW the ceiling of {ceiling:.1}: renew it"),
            Self::Over(ceiling) => write!(f, "OVER the ceiling of {ceiling:.1}"),
            Self::Unknown => f.write_str("there is NO CEILING"),
        }
    }
}

const TOOLCHAIN: &str = "toolchain";

const HEAD: &str = "\
# Instructions of a gate for each message. A case that grows by more than 5 % fails (15 % under
# another toolchain). Written by:
#   cargo run --release -p sizegate-bench --bin instructions -- --renew
";

#[cfg(test)]
mod tests {
    use super::*;

    fn ceilings() -> Ceilings {
        Ceilings {
            toolchain: Toolchain("rustc 1.95.0 x86_64-unknown-linux-gnu".to_owned()),
            cases: vec![("a".to_owned(), 100.0), ("b".to_owned(), 62.5)],
        }
    }

    #[test]
    fn a_file_reads_as_it_was_written() {
        let ceilings = ceilings();
        assert_eq!(Ceilings::parse(&ceilings.to_string()).unwrap(), ceilings);
        assert!(Ceilings::parse("a: 1.0\n").is_err());
        assert!(Ceilings::parse("toolchain: x\na: many\n").is_err());
        assert!(Ceilings::parse("toolchain: x\na\n").is_err());
    }

    #[test]
    fn a_case_may_grow_by_five_in_a_hundred() {
        let find = |counted| ceilings().find("a", counted, TOLERANCE);
        assert_eq!(find(100.0), Finding::Within(100.0));
        assert_eq!(find(105.0), Finding::Within(100.0));
        assert_eq!(find(105.1), Finding::Over(100.0));
        assert_eq!(find(94.9), Finding::Below(100.0));
        assert_eq!(ceilings().find("c", 1.0, TOLERANCE), Finding::Unknown);
    }

    #[test]
    fn another_toolchain_is_given_more_room() {
        let told = "rustc 1.95.0 (x)\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n";
        let same = Toolchain::parse(told).unwrap();
        assert_eq!(ceilings().tolerance(&same), TOLERANCE);
        let other = Toolchain::parse(&told.replace("1.95", "1.96")).unwrap();
        assert_eq!(ceilings().tolerance(&other), LOOSE);
    }
}
