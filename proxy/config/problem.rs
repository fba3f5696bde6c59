//! What is wrong with a configuration.

use std::fmt;

use crate::cli::{LimitSpecError, Stop};
use crate::policy::UndeclaredGroup;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A setting breaks a rule.
    #[error("{flag} {value:?}: expected {expected}")]
    Setting {
        /// The flag at fault.
        flag: &'static str,
        /// Its value.
        value: String,
        /// What was expected instead.
        expected: String,
    },
    /// A limit or a group cannot be read.
    #[error(transparent)]
    Limit(#[from] LimitSpecError),
    /// A limit is for a group that nobody declared.
    #[error(transparent)]
    Group(#[from] UndeclaredGroup),
    /// The files of TLS are of no use.
    #[error(transparent)]
    Certificates(#[from] certs::Error),
}

/// Everything that is wrong; at least one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl From<Problems> for Stop {
    fn from(problems: Problems) -> Self {
        Self::configuration(problems.0.iter().map(Problem::to_string))
    }
}
