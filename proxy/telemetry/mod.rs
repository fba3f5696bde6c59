//! What the operator sees: log lines on standard error and metrics for Prometheus.
//!
//! Every metric with its labels is in `metrics.rs`, every log line that speaks of a connection in
//! `report.rs`. The room is told what happened in the words of the gate and the policy, and decides
//! how it is counted and said.

mod log;
mod metrics;
mod panics;
mod protocol;
mod report;
mod sizes;

pub use self::log::{Format, Log, start};
pub use metrics::{Metrics, UPSTREAM_REASONS};
pub use panics::{Panic, contain, ending};
pub use protocol::{Active, ProtocolMetrics};
pub use report::{Closed, RefusalLog, Who, broke, closed, control_oversize, malformed, panicked};

#[cfg(test)]
mod tests;
