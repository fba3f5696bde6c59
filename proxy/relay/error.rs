//! Why a broker could not be reached.

use std::io;

/// A broker that could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// Its name has no address.
    #[error("the broker's name could not be resolved")]
    Resolve(#[source] io::Error),
    /// It refused the connection, or no way leads to it.
    #[error("the broker refused the connection")]
    Connect(#[source] io::Error),
    /// It did not answer within `--connect-timeout`.
    #[error("the broker did not answer in time")]
    Timeout,
}
