//! What `/proc` tells of a program: its processor time, its memory, its ports.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;

/// A process and all that descend from it, at one moment.
#[derive(Debug)]
pub(crate) struct Family(Vec<u32>);

impl Family {
    /// Finds the descendants of a process.
    pub(crate) fn of(root: u32) -> Result<Self, Error> {
        let path = Path::new("/proc");
        let entries = fs::read_dir(path).map_err(Error::io("/proc"))?;
        let mut parents = BTreeMap::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // One that has ended meanwhile is nobody's child.
            if let Ok(stat) = fs::read_to_string(entry.path().join("stat"))
                && let Some(stat) = Stat::parse(&stat)
            {
                parents.insert(pid, stat.parent);
            }
        }
        Ok(Self(descendants(root, &parents)))
    }

    /// The processes.
    pub(crate) fn pids(&self) -> &[u32] {
        &self.0
    }

    /// The time that all their threads have spent on a processor, in user space and in the kernel,
    /// those of children included that have ended.
    pub(crate) fn cpu(&self) -> Result<Duration, Error> {
        let mut sum = Duration::ZERO;
        for &pid in &self.0 {
            let path = PathBuf::from(format!("/proc/{pid}/stat"));
            let stat = fs::read_to_string(&path).ok();
            let stat = stat.and_then(|text| Stat::parse(&text));
            let stat = stat.ok_or(Error::Proc { path })?;
            // The same time is told in hundredths of a second and, for threads that live, in
            // nanoseconds.
            sum += duration(stat.own).max(threads(pid)) + duration(stat.children);
        }
        Ok(sum)
    }

    /// The most memory that they have had in RAM, in octets.
    pub(crate) fn peak(&self) -> Result<u64, Error> {
        self.sum("status", |text| kib(text, "VmHWM:"))
    }

    /// The memory that they have in RAM, in octets, what they share counted once.
    pub(crate) fn resident(&self) -> Result<u64, Error> {
        self.sum("smaps_rollup", |text| kib(text, "Pss:"))
    }

    fn sum(&self, file: &str, read: impl Fn(&str) -> Option<u64>) -> Result<u64, Error> {
        let mut sum = 0;
        for pid in &self.0 {
            let path = PathBuf::from(format!("/proc/{pid}/{file}"));
            let text = fs::read_to_string(&path).ok();
            sum += text
                .and_then(|text| read(&text))
                .ok_or(Error::Proc { path })?;
        }
        Ok(sum)
    }
}

/// Whether somebody listens on this TCP port of this network namespace.
pub(crate) fn is_listening(port: u16) -> Result<bool, Error> {
    let path = Path::new("/proc/self/net/tcp");
    let table = fs::read_to_string(path).map_err(Error::io("/proc/self/net/tcp"))?;
    Ok(listens(&table, port))
}

/// What is needed of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// utime and stime.
    own: u64,
    /// cutime and cstime: of children that have been waited for.
    children: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name of the program stands in parentheses and may hold any character.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let sum = |from: usize| {
            let times = fields.get(from..from + 2)?.iter();
            times
                .map(|field| field.parse::<u64>().ok())
                .sum::<Option<_>>()
        };
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: sum(11)?,
            children: sum(13)?,
        })
    }
}

/// Ticks of the clock of `/proc/PID/stat` as time.
fn duration(ticks: u64) -> Duration {
    let second = rustix::param::clock_ticks_per_second();
    Duration::from_secs_f64(ticks as f64 / second as f64)
}

/// The time of the threads of a process that live; nothing where the kernel does not tell.
fn threads(pid: u32) -> Duration {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Duration::ZERO;
    };
    let nanos = tasks.flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        running(&text)
    });
    Duration::from_nanos(nanos.sum())
}

/// The first number of a `schedstat`: nanoseconds on a processor.
fn running(schedstat: &str) -> Option<u64> {
    schedstat.split(' ').next()?.parse().ok()
}

/// The process and its children, and theirs.
fn descendants(root: u32, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
    let mut family = vec![root];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        let children = parents.iter().filter(|(_, its)| **its == parent);
        family.extend(children.map(|(&child, _)| child));
        at += 1;
    }
    family
}

/// A line such as `VmHWM:    1234 kB`, in octets.
fn kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(number << 10)
}

/// Whether a table of TCP sockets has one in the state LISTEN (0A) on this port.
fn listens(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_it = fields.next().is_some_and(|local| local.ends_with(&port));
        is_it && fields.nth(1) == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_is_read_whatever_its_program_is_called() {
        let text = "41 (a) b (c) S 7 41 41 0 -1 4194560 999 8 0 0 100 20 3 4 20 0 1 0 5555 1 2\n";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.parent, stat.own, stat.children), (7, 120, 7));
        assert_eq!(Stat::parse("41 (a) S 7"), None);
    }

    #[test]
    fn a_schedstat_begins_with_the_time_on_a_processor() {
        assert_eq!(running("123456 7 8\n"), Some(123_456));
        assert_eq!(running(""), None);
        assert!(threads(std::process::id()) > Duration::ZERO);
    }

    #[test]
    fn a_family_is_all_that_descend_from_one() {
        let parents = BTreeMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 4), (7, 5)]);
        assert_eq!(descendants(3, &parents), [3, 4, 6]);
        assert_eq!(descendants(9, &parents), [9]);
    }

    #[test]
    fn memory_is_told_in_kib() {
        let status = "Name:\tx\nVmPeak:\t    9 kB\nVmHWM:\t     123 kB\n";
        assert_eq!(kib(status, "VmHWM:"), Some(123 << 10));
        assert_eq!(kib(status, "Pss:"), None);
    }

    #[test]
    fn only_a_listening_socket_on_the_port_itself_counts() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000\n\
            1: 0100007F:1F91 0100007F:1F92 01 00000000:00000000 00:00000000\n";
        assert!(listens(table, 8080));
        assert!(!listens(table, 8081));
        assert!(!listens(table, 8082));
    }

    #[test]
    fn this_process_is_found_with_its_child() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let family = Family::of(std::process::id()).unwrap();
        assert!(family.pids().contains(&child.id()));
        assert!(family.peak().unwrap() > 0 && family.resident().unwrap() > 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
