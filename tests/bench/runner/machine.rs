//! The facts of the machine that belong to its figures.

use std::fs;

use rustix::thread::sched_getaffinity;

/// What a reader must know of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The release of the kernel.
    pub(crate) kernel: String,
    /// The model of the processors.
    pub(crate) processor: String,
    /// How many of them this program may use.
    pub(crate) processors: u32,
    /// How many tasks wanted one over the last minute.
    pub(crate) load: f64,
}

impl Machine {
    /// The facts of now.
    pub(crate) fn look() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            processor: model(&read("/proc/cpuinfo"))
                .unwrap_or("unknown")
                .to_owned(),
            processors: sched_getaffinity(None).map_or(0, |cpus| cpus.count()),
            load: load(&read("/proc/loadavg")).unwrap_or(f64::NAN),
        }
    }

    /// Whether others were at work before the measurements began.
    pub(crate) fn was_busy(&self) -> bool {
        self.load > QUIET
    }
}

/// The model of the first processor.
fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

/// The first of the three load averages.
fn load(loadavg: &str) -> Option<f64> {
    loadavg.split(' ').next()?.parse().ok()
}

/// The load average up to which a machine is called quiet.
const QUIET: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_are_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A B @ 2GHz\nflags\t: x\n";
        assert_eq!(model(cpuinfo), Some("A B @ 2GHz"));
        assert_eq!(load("1.25 0.50 0.10 1/200 77\n"), Some(1.25));
        assert_eq!(load(""), None);
        assert!(Machine::look().processors > 0);
    }
}
