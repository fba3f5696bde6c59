//! What becomes of files that are read again.
//!
//! A decision without a clock: whoever owns the timer and the signal calls, and is told what it came
//! to. New connections get what is in force; those that exist keep what they began with.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::lifetime::Lifetime;
use crate::pem_file::State;

/// What reading the files again came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reload {
    /// They hold what they held the last time: there is nothing to say.
    Unchanged,
    /// They hold something else, and that is in force. So is what was in force before and is back
    /// in the files after something that was not usable.
    Renewed,
    /// They hold something else that cannot be used: what was in force stays so.
    Kept(Error),
    /// They hold what could not be used the last time either. That was said; a timer has no reason
    /// to say it again, and an answer to somebody who asks has.
    StillKept(Error),
}

/// Files that make a configuration.
pub(crate) trait Source {
    /// What was in the files at one time.
    type Reading;
    /// What it makes.
    type Config;

    fn read(&self) -> Self::Reading;

    /// What tells one reading from another.
    fn states(&self, reading: &Self::Reading) -> Vec<State>;

    fn make(&self, reading: &Self::Reading) -> Result<InForce<Self::Config>, Error>;
}

/// A configuration, and how long its certificates last.
#[derive(Debug)]
pub(crate) struct InForce<C> {
    pub(crate) config: Arc<C>,
    pub(crate) lifetimes: Vec<Lifetime>,
}

/// A configuration that follows its files.
#[derive(Debug)]
pub(crate) struct Renewable<S: Source> {
    source: S,
    /// The last reading. It is locked while the files are read, so that of two reloads the later
    /// one has the later reading.
    seen: Mutex<Seen>,
    /// Made from the last usable reading. It is locked for no longer than it takes to copy it.
    in_force: Mutex<Arc<InForce<S::Config>>>,
}

/// What the files held when they were last read.
#[derive(Debug)]
struct Seen {
    states: Vec<State>,
    /// Why they could not be used, if so.
    error: Option<Error>,
}

impl<S: Source> Renewable<S> {
    /// Reads the files for the first time; they must be usable.
    pub(crate) fn load(source: S) -> Result<Self, Error> {
        let reading = source.read();
        let first = source.make(&reading)?;
        Ok(Self {
            seen: Mutex::new(Seen {
                states: source.states(&reading),
                error: None,
            }),
            source,
            in_force: Mutex::new(Arc::new(first)),
        })
    }

    pub(crate) fn in_force(&self) -> Arc<InForce<S::Config>> {
        Arc::clone(&locked(&self.in_force))
    }

    pub(crate) fn reload(&self) -> Reload {
        let mut seen = locked(&self.seen);
        let reading = self.source.read();
        let states = self.source.states(&reading);
        if seen.states == states {
            return match &seen.error {
                None => Reload::Unchanged,
                Some(error) => Reload::StillKept(error.clone()),
            };
        }
        let made = self.source.make(&reading);
        *seen = Seen {
            states,
            error: made.as_ref().err().cloned(),
        };
        match made {
            Ok(next) => {
                *locked(&self.in_force) = Arc::new(next);
                Reload::Renewed
            }
            Err(error) => Reload::Kept(error),
        }
    }
}

/// What is behind these locks is whole at any time, so a panic elsewhere does not spoil it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;

    use super::*;
    use crate::provider::Fingerprint;

    /// Files of which only the state counts: the contents `0` are of no use.
    struct Scripted(Cell<State>);

    impl Source for Scripted {
        type Reading = State;
        type Config = State;

        fn read(&self) -> State {
            self.0.get()
        }

        fn states(&self, reading: &State) -> Vec<State> {
            vec![*reading]
        }

        fn make(&self, reading: &State) -> Result<InForce<State>, Error> {
            if *reading == contents(0) || *reading == ABSENT {
                return Err(Error::NoSystemRoots);
            }
            Ok(InForce {
                config: Arc::new(*reading),
                lifetimes: Vec::new(),
            })
        }
    }

    const ABSENT: State = State::Unreadable(io::ErrorKind::NotFound);
    const DENIED: State = State::Unreadable(io::ErrorKind::PermissionDenied);
    const KEPT: Reload = Reload::Kept(Error::NoSystemRoots);
    const STILL_KEPT: Reload = Reload::StillKept(Error::NoSystemRoots);

    #[test]
    fn a_change_is_answered_once_and_what_is_in_force_is_the_last_that_was_usable() {
        let files = Renewable::load(Scripted(Cell::new(contents(1)))).unwrap();
        for (state, answer, in_force) in [
            (contents(1), Reload::Unchanged, contents(1)),
            (contents(2), Reload::Renewed, contents(2)),
            (contents(2), Reload::Unchanged, contents(2)),
            (contents(0), KEPT, contents(2)),
            (contents(0), STILL_KEPT, contents(2)),
            (ABSENT, KEPT, contents(2)),
            (ABSENT, STILL_KEPT, contents(2)),
            (contents(0), KEPT, contents(2)),
            // Back to what is in force, and on to something new.
            (contents(2), Reload::Renewed, contents(2)),
            (contents(2), Reload::Unchanged, contents(2)),
            (DENIED, Reload::Renewed, DENIED),
            (contents(1), Reload::Renewed, contents(1)),
        ] {
            files.source.0.set(state);
            assert_eq!(files.reload(), answer, "{state:?}");
            assert_eq!(*files.in_force().config, in_force, "{state:?}");
        }
    }

    #[test]
    fn what_is_of_no_use_at_first_does_not_load() {
        let error = Renewable::load(Scripted(Cell::new(contents(0)))).err();
        assert_eq!(error, Some(Error::NoSystemRoots));
    }

    fn contents(octet: u8) -> State {
        State::Read(Fingerprint::of([&[octet][..]]))
    }
}
