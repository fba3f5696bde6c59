//! The policy as a whole: the order of precedence, labels, and what a verdict costs.

mod labels;
mod naive;
mod precedence;
mod reference;
mod work;

use super::*;
use crate::cli::{group_spec, limit_spec};

/// A rule of either direction.
pub(crate) fn rule(flag: &'static str, text: &str) -> Rule {
    limit_spec(flag, text).unwrap()
}

/// A group.
pub(crate) fn group(text: &str) -> Group {
    group_spec(text).unwrap()
}

/// A policy of a default and rules, all of the send direction.
pub(crate) fn spec(default: u64, rules: &[&str]) -> PolicySpec {
    let send = Limit::new(ByteSize(default), "--max-message-size");
    let receive = Limit::new(ByteSize(0), "--max-receive-size");
    PolicySpec {
        send_rules: rules.iter().map(|text| rule("--limit", text)).collect(),
        ..PolicySpec::new(send, receive)
    }
}

/// A policy of a default, rules of the send direction, and groups.
fn policy(default: u64, rules: &[&str], groups: &[&str]) -> Arc<Policy> {
    let mut spec = spec(default, rules);
    spec.groups = groups.iter().map(|text| group(text)).collect();
    Arc::new(Policy::compile(&spec))
}

/// Somebody of whom everything is known.
fn alice() -> Identity<'static> {
    Identity {
        peer: Some([10, 8, 1, 2].into()),
        vhost: Some("prod"),
        user: Some("alice"),
        client: Some("sensor-7"),
    }
}
