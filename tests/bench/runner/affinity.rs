//! Which processors a thread, and all that it starts, may run on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Error;
use crate::scenario::Placement;

/// The processors of one measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    /// Those of the proxy.
    pub(crate) proxy: CpuSet,
    /// Those of the clients and the sink.
    pub(crate) load: CpuSet,
}

impl Processors {
    /// Divides those that this thread may run on.
    pub(crate) fn divide(placement: Placement) -> Result<Self, Error> {
        let all = sched_getaffinity(None).map_err(Error::io("sched_getaffinity"))?;
        Ok(divide(all, placement))
    }
}

/// Lets this thread, and what it starts from now on, run on these processors only.
pub(crate) fn keep_to(processors: &CpuSet) -> Result<(), Error> {
    sched_setaffinity(None, processors).map_err(Error::io("sched_setaffinity"))
}

fn divide(all: CpuSet, placement: Placement) -> Processors {
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu));
    let (mut one, mut others) = (CpuSet::new(), all);
    if let Some(first) = first {
        one.set(first);
        others.unset(first);
    }
    if others.count() == 0 {
        others = all;
    }
    let (proxy, load) = match placement {
        Placement::Together => (one, one),
        Placement::Apart => (one, others),
        Placement::Free => (all, all),
    };
    Processors { proxy, load }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cpus: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        set
    }

    #[test]
    fn processors_are_divided_as_the_placement_says() {
        let all = set(&[2, 3, 7]);
        for (placement, proxy, load) in [
            (Placement::Together, set(&[2]), set(&[2])),
            (Placement::Apart, set(&[2]), set(&[3, 7])),
            (Placement::Free, all, all),
        ] {
            let divided = divide(all, placement);
            assert_eq!(
                (divided.proxy, divided.load),
                (proxy, load),
                "{placement:?}"
            );
        }
    }

    #[test]
    fn where_there_is_one_processor_all_run_on_it() {
        let divided = divide(set(&[4]), Placement::Apart);
        assert_eq!((divided.proxy, divided.load), (set(&[4]), set(&[4])));
    }
}
