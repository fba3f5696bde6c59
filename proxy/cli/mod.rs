//! What the user typed.
//!
//! Reads the values of flags and says what is wrong with them, in the user's own words. What they
//! mean together is left to others.

mod limit_spec;
mod size;

pub use limit_spec::{LimitSpecError, group_spec, limit_spec};
pub use size::SizeError;
