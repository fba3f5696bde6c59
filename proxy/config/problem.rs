//! What is wrong with a configuration.

use std::fmt;

use crate::cli::Stop;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The flag at fault.
    pub flag: &'static str,
    /// Its value.
    pub value: String,
    /// What was expected instead.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            flag,
            value,
            expected,
        } = self;
        write!(f, "{flag} {value:?}: expected {expected}")
    }
}

/// Everything that is wrong; at least one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
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
