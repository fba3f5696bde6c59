//! What operators copy: manifests, alerts and the dashboard of `proxy/deploy` against the schemas of
//! Kubernetes, against the program's own flags, and against the metrics that it serves.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod alerts;
mod dashboard;
mod flags;
#[path = "../../certs/examples/generate/mod.rs"]
mod generate;
mod manifest;
mod metrics;
mod pods;
mod promql;
mod redirect;
#[path = "../support/mod.rs"]
mod support;
mod works;
