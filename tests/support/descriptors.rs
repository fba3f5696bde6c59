//! The descriptors that the process of a test may have, and those that it starts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open files of this process to the hard one, and says what that is.
pub fn raise_descriptor_limit() -> usize {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    maximum.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap())
}
