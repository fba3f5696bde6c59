//! The limits and groups of a command line, read into what a policy is compiled from.

use super::Problem;
use crate::cli::{Args, group_spec, limit_spec};
use crate::policy::{Limit, Mode, PolicySpec};

/// Limits and groups, as they were typed and as they were understood.
#[derive(Debug)]
pub(super) struct Limits {
    /// What they mean.
    pub(super) spec: PolicySpec,
    /// The rules and groups as they were typed, each with its flag.
    pub(super) typed: Vec<(&'static str, String)>,
}

impl Limits {
    /// Reads all of them, and adds everything that is wrong with them to `problems`.
    pub(super) fn from_args(args: &Args, problems: &mut Vec<Problem>) -> Self {
        let send = Limit::new(args.max_message_size, "--max-message-size");
        let receive = Limit::new(args.max_receive_size, "--max-receive-size");
        let mut spec = PolicySpec::new(send, receive);
        spec.on_oversize = args.on_oversize;
        spec.mode = if args.dry_run {
            Mode::DryRun
        } else {
            Mode::Enforce
        };
        let mut typed = Vec::new();
        for (flag, texts, rules) in [
            ("--limit", &args.limit, &mut spec.send_rules),
            (
                "--receive-limit",
                &args.receive_limit,
                &mut spec.receive_rules,
            ),
        ] {
            for text in texts {
                typed.push((flag, text.clone()));
                match limit_spec(flag, text) {
                    Ok(rule) => rules.push(rule),
                    Err(error) => problems.push(error.into()),
                }
            }
        }
        for text in &args.group {
            typed.push(("--group", text.clone()));
            match group_spec(text) {
                Ok(group) => spec.groups.push(group),
                Err(error) => problems.push(error.into()),
            }
        }
        problems.extend(spec.undeclared_groups().into_iter().map(Problem::from));
        Self { spec, typed }
    }
}
