//! What a verdict costs with 1, 100 and 10,000 rules.
//!
//! Prints nanoseconds and their ratio to one rule, for messages that are too large for the smallest
//! limit, so that the address has to be looked at; the last rows are of messages that are not. The
//! counts take turns, and the median of their rounds is taken, so that what disturbs one disturbs
//! all.
//!
//! The addresses that are asked for take turns too: a hot one would show what a cache does.

#![expect(
    clippy::print_stdout,
    reason = "the figures are what this program is for"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use sizegate::cli::limit_spec;
use sizegate::policy::{
    AddressSyntax, ByteSize, Direction, Identity, Limit, Limits, Policy, PolicySpec,
};

/// One kind of rule set.
struct Kind {
    /// What it is called.
    name: &'static str,
    /// How addresses are read.
    syntax: AddressSyntax,
    /// The text of a rule, by its number.
    rule: fn(usize) -> String,
    /// An address that the rule of a number matches.
    address: fn(usize) -> String,
    /// The size of the messages.
    size: u64,
}

/// The numbers of rules.
const COUNTS: [usize; 3] = [1, 100, 10_000];

/// How often each count has its turn.
const ROUNDS: usize = 41;

/// Verdicts in one turn.
const VERDICTS: usize = 20_000;

/// How many addresses take turns.
const ADDRESSES: usize = 64;

/// A size over all limits but the default, and one within all.
const LARGE: u64 = 2_000;
const SMALL: u64 = 1_000;

fn main() {
    println!(
        "| rules | {} |",
        COUNTS
            .map(|count| format!("{count}: ns (ratio)"))
            .join(" | ")
    );
    println!("|---|{}", "---:|".repeat(COUNTS.len()));
    for kind in KINDS {
        let medians = measure(&kind);
        let [one, ..] = medians;
        let cells = medians.map(|ns| format!("{ns:.1} ({:.2})", ns / one));
        println!("| {} | {} |", kind.name, cells.join(" | "));
    }
}

/// The median time of a verdict in nanoseconds, for each count.
fn measure(kind: &Kind) -> [f64; COUNTS.len()] {
    let cases = COUNTS.map(|count| (limits(kind, count), addresses(kind, count)));
    let mut rounds = COUNTS.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((limits, addresses), times) in cases.iter().zip(&mut rounds) {
            times.push(turn(limits, addresses, kind.size));
        }
    }
    rounds.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.get(ROUNDS / 2).copied().unwrap_or(f64::NAN)
    })
}

/// The time of a verdict in nanoseconds, over one turn.
fn turn(limits: &Limits, addresses: &[String], size: u64) -> f64 {
    let start = Instant::now();
    for address in addresses.iter().cycle().take(VERDICTS) {
        let address = black_box(address.as_bytes());
        black_box(limits.judge(Direction::ToBroker, address, black_box(size)));
    }
    start.elapsed().as_nanos() as f64 / VERDICTS as f64
}

/// The limits of a client under so many rules.
fn limits(kind: &Kind, count: usize) -> Limits {
    let limit = |flag| Limit::new(ByteSize(1 << 20), flag);
    let mut spec = PolicySpec::new(limit("--max-message-size"), limit("--max-receive-size"));
    let rule = |number| limit_spec("--limit", &(kind.rule)(number)).expect("the rule is right");
    spec.send_rules = (0..count).map(rule).collect();
    let who = Identity {
        user: Some("u0"),
        ..Identity::default()
    };
    Arc::new(Policy::compile(&spec)).identify(&who, kind.syntax)
}

/// Addresses that rules match, spread over all of them; as many whatever the count, so that their
/// own octets are as hot.
fn addresses(kind: &Kind, count: usize) -> Vec<String> {
    (0..ADDRESSES)
        .map(|at| (kind.address)(at * count / ADDRESSES))
        .collect()
}

/// The kinds of rule sets.
const KINDS: [Kind; 10] = [
    Kind {
        name: "names: `address:`",
        syntax: AddressSyntax::Name,
        rule: |number| format!("address:tenant/{number}/queue=1Ki"),
        address: |number| format!("tenant/{number}/queue"),
        size: LARGE,
    },
    Kind {
        name: "names: `user:uN,address:`",
        syntax: AddressSyntax::Name,
        rule: |number| format!("user:u{number},address:tenant/queue=1Ki"),
        address: |_| "tenant/queue".to_owned(),
        size: LARGE,
    },
    Kind {
        name: "topics: `address:`",
        syntax: AddressSyntax::Topic,
        rule: |number| format!("address:tenant/{number}/queue=1Ki"),
        address: |number| format!("tenant/{number}/queue"),
        size: LARGE,
    },
    Kind {
        name: "topic filters: `a/N/+`",
        syntax: AddressSyntax::Topic,
        rule: |number| format!("address:tenant/{number}/+=1Ki"),
        address: |number| format!("tenant/{number}/queue"),
        size: LARGE,
    },
    Kind {
        name: "topic filters: `+/N/#`",
        syntax: AddressSyntax::Topic,
        rule: |number| format!("address:+/{number}/#=1Ki"),
        address: |number| format!("tenant/{number}/queue"),
        size: LARGE,
    },
    Kind {
        name: "globs: `a.N.*`",
        syntax: AddressSyntax::Name,
        rule: |number| format!("address:tenant.{number}.*=1Ki"),
        address: |number| format!("tenant.{number}.queue"),
        size: LARGE,
    },
    Kind {
        name: "globs: `*.N`",
        syntax: AddressSyntax::Name,
        rule: |number| format!("address:*.{number}=1Ki"),
        address: |number| format!("tenant.{number}"),
        size: LARGE,
    },
    Kind {
        name: "globs: `user:uN,address:*.a*`",
        syntax: AddressSyntax::Name,
        rule: |number| format!("user:u{number},address:*.{number}*=1Ki"),
        address: |_| "tenant.0".to_owned(),
        size: LARGE,
    },
    Kind {
        name: "within all limits: names",
        syntax: AddressSyntax::Name,
        rule: |number| format!("address:tenant/{number}/queue=1Ki"),
        address: |number| format!("tenant/{number}/queue"),
        size: SMALL,
    },
    Kind {
        name: "within all limits: filters",
        syntax: AddressSyntax::Topic,
        rule: |number| format!("address:+/{number}/#=1Ki"),
        address: |number| format!("tenant/{number}/queue"),
        size: SMALL,
    },
];
