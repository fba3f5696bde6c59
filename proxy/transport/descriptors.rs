//! The descriptors of the process: how many it may have.
//!
//! The soft limit is low for the sake of programs that use select(2), which no descriptor above 1,023
//! fits. This is none of them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, warn};

/// Raises the soft limit of open files to the hard one; where that fails, it stays what it is.
pub fn raise_limit() {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => debug!(limit = raised.current, "limit of open files"),
        Err(error) => warn!(limit = before.current, %error, "limit of open files is not raised"),
    }
}
