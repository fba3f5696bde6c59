//! What a verdict costs, counted in looks at tables and patterns instead of time.

use super::super::index::probes::taken_by;
use super::*;

/// The looks that alice's message to `address` takes, with so many rules.
fn looks(count: usize, form: fn(usize) -> String, address: &str, syntax: AddressSyntax) -> u64 {
    let rules: Vec<String> = (0..count).map(form).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let limits = policy(1 << 20, &rules, &[]).identify(&alice(), syntax);
    let direction = Direction::ToBroker;
    assert_ne!(
        &*limits.limit(direction, address.as_bytes()).rule,
        "--max-message-size"
    );
    assert_eq!(taken_by(|| allowed(&limits, address, 16)), 0);
    taken_by(|| denied(&limits, address, 17))
}

fn allowed(limits: &Limits, address: &str, size: u64) {
    let verdict = limits.judge(Direction::ToBroker, address.as_bytes(), size);
    assert_eq!(verdict, Verdict::Allowed);
}

fn denied(limits: &Limits, address: &str, size: u64) {
    let verdict = limits.judge(Direction::ToBroker, address.as_bytes(), size);
    assert!(matches!(verdict, Verdict::Denied(_)));
}

/// Rules of which only the first is for alice; the others name somebody else.
fn user(number: usize) -> String {
    match number {
        0 => "alice".to_owned(),
        number => format!("u{number}"),
    }
}

#[test]
fn names_take_the_same_work_for_1_and_10_000_rules() {
    let forms: [fn(usize) -> String; 4] = [
        |number| format!("address:a/{number}=16"),
        |number| format!("address:a/{number},vhost:prod=16"),
        |number| format!("address:a/{number},user:{}=16", user(number)),
        |number| format!("address:a/0,vhost:prod,user:{}=16", user(number)),
    ];
    for form in forms {
        for syntax in [AddressSyntax::Name, AddressSyntax::Topic] {
            let [one, many] = [1, 10_000].map(|count| looks(count, form, "a/0", syntax));
            assert_eq!((one, many), (1, 1), "{}", form(1));
        }
    }
}

#[test]
fn patterns_of_others_cost_nothing() {
    let form = |number| format!("address:a/{number}/#,user:{}=16", user(number));
    let [one, many] = [1, 10_000].map(|count| looks(count, form, "a/0/b", AddressSyntax::Topic));
    assert_eq!(one, many);
    let form = |number| format!("address:a/{number}/*,user:{}=16", user(number));
    let [one, many] = [1, 10_000].map(|count| looks(count, form, "a/0/b", AddressSyntax::Name));
    assert_eq!(one, many);
}

#[test]
fn patterns_that_share_a_beginning_are_not_all_tried() {
    let topics: [fn(usize) -> String; 2] = [
        |number| format!("address:+/{number}/#=16"),
        |number| format!("address:a/{number}/+=16"),
    ];
    for form in topics {
        let [one, many] =
            [1, 10_000].map(|count| looks(count, form, "a/0/b", AddressSyntax::Topic));
        assert_eq!(one, many, "{}", form(1));
    }
    let globs: [fn(usize) -> String; 3] = [
        |number| format!("address:a.{number:05}.*=16"),
        |number| format!("address:*.{number:05}.b=16"),
        |number| format!("address:a.*{number:05}.b=16"),
    ];
    for form in globs {
        let [one, many] =
            [1, 10_000].map(|count| looks(count, form, "a.00000.b", AddressSyntax::Name));
        // A binary search among 10,000 takes 14 steps.
        assert!(many <= one + 14, "{}: {one} and {many}", form(1));
    }
}

#[test]
fn a_client_takes_with_it_only_the_scopes_that_it_is_in() {
    let rules: Vec<String> = (0..10_000)
        .map(|number| format!("address:a,user:{}=16", user(number)))
        .collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let limits = policy(0, &rules, &[]).identify(&alice(), AddressSyntax::Name);
    assert!(
        size_of_val(&limits) <= 128,
        "{} octets",
        size_of_val(&limits)
    );
    assert_eq!(limits.scope_count(), 1);
}
