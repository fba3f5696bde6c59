//! The descriptors of the process: how many it may have, and for whom the last of them are kept.
//!
//! When clients have taken what there is, the operator must still get in, and certificates and names
//! must still be read. So the last descriptors are not for clients. A new descriptor has the lowest
//! number that is free (POSIX.1-2017 §2.14): it tells how many are in use, and nothing is counted here.

use std::os::fd::{AsFd, AsRawFd};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{debug, warn};

/// Raises the soft limit of open files to the hard one; where that fails, it stays what it is.
///
/// It is low for the sake of select(2), which is not used here.
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

/// Whom a descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A client that comes in, or what only makes a client faster.
    Client,
    /// The broker of a client that is in. It may have more than clients, so that one that was let in
    /// last does not find that there is nothing left for its broker.
    Broker,
}

/// The last descriptors that the process may have.
#[derive(Clone, Copy, Debug)]
pub struct Reserve {
    /// The limit of open files, as it was when it was read.
    limit: u64,
}

impl Reserve {
    /// That of the limit of now.
    pub fn read() -> Self {
        let limit = getrlimit(Resource::Nofile).current;
        Self {
            limit: limit.unwrap_or(u64::MAX),
        }
    }

    /// Whether a new descriptor is one of those that are kept from this use.
    pub fn has(&mut self, new: &impl AsFd, of: Use) -> bool {
        let number = u64::try_from(new.as_fd().as_raw_fd()).unwrap_or(0);
        if number < self.begin(of) {
            return false;
        }
        // Somebody may have changed the limit from outside.
        *self = Self::read();
        number >= self.begin(of)
    }

    /// Whether the next new descriptor would be one of them, if there is any; `open` is any one.
    pub fn has_next(&mut self, open: &impl AsFd, of: Use) -> bool {
        let next = open.as_fd().try_clone_to_owned();
        next.map_or(true, |next| self.has(&next, of))
    }

    /// The first descriptor that is kept from a use.
    fn begin(self, of: Use) -> u64 {
        let kept = (self.limit / 4).min(MOST);
        self.limit
            - match of {
                Use::Client => kept,
                Use::Broker => kept / 2,
            }
    }
}

/// Descriptors that are kept from clients: half of them for the last brokers, and half for whoever
/// asks the admin port, for files and for names.
const MOST: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_descriptors_are_kept_and_of_few_a_quarter() {
        for (limit, client, broker) in [
            (20_000, 19_984, 19_992),
            (64, 48, 56),
            (40, 30, 35),
            (3, 3, 3),
            (0, 0, 0),
        ] {
            let reserve = Reserve { limit };
            let begins = [Use::Client, Use::Broker].map(|of| reserve.begin(of));
            assert_eq!(begins, [client, broker], "of {limit}");
        }
    }

    #[test]
    fn a_limit_that_has_changed_is_read_again() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let mut reserve = Reserve { limit: 0 };
        assert!(!reserve.has(&file, Use::Client));
        assert_eq!(reserve.limit, Reserve::read().limit);
    }
}
