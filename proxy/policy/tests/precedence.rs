//! Each row of the order of precedence, and 0 at each scope.

use super::*;

/// The rule that decides for alice's message to `plant/a`, without its flag.
fn decides(rules: &[&str], syntax: AddressSyntax) -> String {
    let groups = ["prod/devs=alice,bob", "*/all=*", "*/a=al*", "prod/every=*"];
    let limits = policy(1 << 20, rules, &groups).identify(&alice(), syntax);
    let limit = limits.limit(Direction::ToBroker, b"plant/a");
    limit.rule.trim_start_matches("--limit ").to_owned()
}

/// Checks that of two rules the one decides, in whichever order they are given.
fn comes_before(first: &str, second: &str, syntax: AddressSyntax) {
    assert_eq!(decides(&[first, second], syntax), first, "before {second}");
    assert_eq!(decides(&[second, first], syntax), first, "before {second}");
}

#[test]
fn the_higher_rank_decides_whatever_the_number_of_selectors_and_their_patterns() {
    let ranks = [
        "peer:0.0.0.0/0",
        "address:*",
        "client:*",
        "user:*",
        "group:*/all",
        "vhost:#",
    ];
    for (at, higher) in ranks.iter().enumerate() {
        for lower in ranks.iter().skip(at + 1) {
            comes_before(
                &format!("{higher}=1Ki"),
                &format!("{lower}=2Ki"),
                AddressSyntax::Name,
            );
        }
    }
    for (higher, lower) in [
        (
            "peer:0.0.0.0/0",
            "address:plant/a,client:sensor-7,user:alice,group:prod/devs,vhost:prod",
        ),
        (
            "address:*",
            "client:sensor-7,user:alice,group:prod/devs,vhost:prod",
        ),
        ("client:*", "user:alice,group:prod/devs,vhost:prod"),
        ("user:*", "group:prod/devs,vhost:prod"),
        ("group:*/all", "vhost:prod"),
    ] {
        comes_before(
            &format!("{higher}=1Ki"),
            &format!("{lower}=2Ki"),
            AddressSyntax::Name,
        );
    }
}

#[test]
fn of_equal_ranks_more_selectors_then_names_then_longer_prefixes_decide() {
    for (first, second) in [
        // More selectors, though all of them are patterns.
        ("peer:0.0.0.0/0,vhost:#", "peer:10.8.1.2"),
        ("address:*,vhost:#", "address:plant/a"),
        ("user:*,vhost:#", "user:alice"),
        // Names before patterns.
        ("peer:10.8.1.2", "peer:10.8.1.2/31"),
        ("address:plant/a", "address:plant/a*"),
        ("client:sensor-7", "client:sensor-7*"),
        ("user:alice", "user:alice*"),
        ("vhost:prod", "vhost:prod.#"),
        ("group:prod/devs", "group:*/a"),
        ("group:prod/devs", "group:prod/every"),
        // The longer prefix.
        ("peer:10.8.0.0/16", "peer:10.0.0.0/8"),
        ("address:plant/*", "address:pl*a"),
        ("client:sensor-*", "client:s*r-7"),
        ("user:al*", "user:*alice"),
        ("group:*/a", "group:*/all"),
        ("vhost:prod.#", "vhost:#"),
        // Pairs of selectors, the highest rank first.
        ("address:plant/a,user:*", "address:plant/*,user:alice"),
        ("address:plant/*,user:*", "address:*,user:alice"),
        ("address:plant/a,user:alice", "address:plant/a,user:*"),
        ("address:plant/*,user:al*", "address:plant/*,user:a*"),
        (
            "peer:10.8.0.0/16,address:*",
            "peer:10.0.0.0/8,address:plant/a",
        ),
    ] {
        comes_before(
            &format!("{first}=1Ki"),
            &format!("{second}=2Ki"),
            AddressSyntax::Name,
        );
    }
}

#[test]
fn a_topic_filter_is_a_pattern_where_addresses_are_topics() {
    for (first, second) in [
        ("address:plant/a", "address:plant/+"),
        ("address:plant/+", "address:#"),
        ("address:+/a", "client:sensor-7"),
        ("address:plant/#,user:alice", "address:plant/a"),
        // A star is a character, and a misplaced wildcard matches nothing.
        ("vhost:prod", "address:plant/*"),
        ("vhost:prod", "address:plant#"),
    ] {
        comes_before(
            &format!("{first}=1Ki"),
            &format!("{second}=2Ki"),
            AddressSyntax::Topic,
        );
    }
    assert_eq!(
        decides(&["address:plant/#=1Ki"], AddressSyntax::Name),
        "--max-message-size"
    );
    assert_eq!(
        decides(&["address:plant/*=1Ki"], AddressSyntax::Topic),
        "--max-message-size"
    );
}

#[test]
fn of_equal_rules_the_first_given_decides() {
    for (one, other) in [
        ("user:alice", "user:alice"),
        ("user:a*e", "user:a*"),
        ("vhost:*", "vhost:#"),
        ("address:plant/a", "address:plant/a"),
        ("address:plant/a,user:alice", "address:plant/a,vhost:prod"),
        ("peer:10.8.0.0/16", "peer:::ffff:10.8.0.0/112"),
        ("group:*/all,vhost:prod", "group:*/all,vhost:prod"),
    ] {
        let [one, other] = [format!("{one}=1Ki"), format!("{other}=2Ki")];
        assert_eq!(decides(&[&one, &other], AddressSyntax::Name), one);
        assert_eq!(decides(&[&other, &one], AddressSyntax::Name), other);
    }
    for (one, other) in [
        ("address:plant/+", "address:plant/#"),
        ("address:+/a", "address:#"),
    ] {
        let [one, other] = [format!("{one}=1Ki"), format!("{other}=2Ki")];
        assert_eq!(decides(&[&one, &other], AddressSyntax::Topic), one);
        assert_eq!(decides(&[&other, &one], AddressSyntax::Topic), other);
    }
}

#[test]
fn all_selectors_of_a_rule_must_match_and_case_counts() {
    for text in [
        "user:alice,vhost:test",
        "user:bob,address:plant/a",
        "peer:10.9.0.0/16",
        "peer:::/0",
        "address:Plant/a",
        "client:Sensor-7",
        "user:Alice",
        "vhost:PROD",
        "group:test/devs",
        "group:prod/undeclared",
    ] {
        assert_eq!(
            decides(&[&format!("{text}=1Ki")], AddressSyntax::Name),
            "--max-message-size"
        );
    }
}

#[test]
fn what_a_client_did_not_say_matches_no_pattern() {
    let rules = [
        "client:*=16",
        "user:*=16",
        "vhost:#=16",
        "group:*/all=16",
        "peer:0.0.0.0/0=16",
    ];
    let limits =
        policy(0, &rules, &["*/all=*"]).identify(&Identity::default(), AddressSyntax::Name);
    assert_eq!(
        &*limits.limit(Direction::ToBroker, b"").rule,
        "--max-message-size"
    );
    let user = Identity {
        user: Some(""),
        ..Identity::default()
    };
    let limits = policy(0, &["group:*/all=16"], &["*/all=*"]).identify(&user, AddressSyntax::Name);
    assert_eq!(
        &*limits.limit(Direction::ToBroker, b"").rule,
        "--limit group:*/all=16"
    );
}

#[test]
fn zero_is_no_limit_at_every_scope_and_does_not_fall_through() {
    for narrow in [
        "peer:10.8.0.0/16",
        "address:plant/a",
        "client:sensor-7",
        "user:alice",
        "group:prod/devs",
        "vhost:prod",
    ] {
        let wider = [
            "vhost:#=16",
            "user:a*=17",
            "address:*=18",
            "peer:0.0.0.0/0=19",
        ];
        let of_rank = |rule: &&str| rule.split(':').next() == narrow.split(':').next();
        let wider = wider.iter().copied().rfind(of_rank);
        let none = format!("{narrow}=0");
        let rules: Vec<&str> = [Some(&*none), wider].into_iter().flatten().collect();
        let policy = policy(16, &rules, &["prod/devs=alice"]);
        let limits = policy.identify(&alice(), AddressSyntax::Name);
        let verdict = limits.judge(Direction::ToBroker, b"plant/a", u64::MAX);
        assert_eq!(verdict, Verdict::Allowed, "{narrow}");
        assert_eq!(
            limits.largest(Direction::ToBroker).size,
            ByteSize(0),
            "{narrow}"
        );
    }
    let limits = policy(0, &["user:bob=16"], &[]).identify(&alice(), AddressSyntax::Name);
    assert_eq!(
        limits.judge(Direction::ToBroker, b"", u64::MAX),
        Verdict::Allowed
    );
}

#[test]
fn directions_do_not_share_rules() {
    let mut spec = spec(100, &["user:alice=200"]);
    spec.receive_rules
        .push(rule("--receive-limit", "user:alice=300"));
    spec.mode = Mode::DryRun;
    let limits = Arc::new(Policy::compile(&spec)).identify(&alice(), AddressSyntax::Topic);
    for (direction, size) in [(Direction::ToBroker, 200), (Direction::ToClient, 300)] {
        assert_eq!(limits.judge(direction, b"a", size), Verdict::Allowed);
        let verdict = limits.judge(direction, b"a", size + 1);
        assert_eq!(verdict, Verdict::WouldDeny(limits.limit(direction, b"a")));
        assert_eq!(limits.limit(direction, b"a").size, ByteSize(size));
    }
}

#[test]
fn the_largest_limit_is_of_a_rule_that_the_client_can_meet() {
    for (rules, largest) in [
        (&["user:alice=200"][..], 200),
        (&["user:bob=900"], 100),
        (&["address:x=900"], 900),
        (&["address:x,user:bob=900"], 100),
        (&["address:x=0"], 0),
        // Shadowed for every address, or for this one.
        (&["address:x=900", "peer:10.0.0.0/8=50"], 50),
        (&["address:x=50", "address:x=900"], 100),
        // No topic filter.
        (&["address:x#=900"], 100),
        (&["peer:10.0.0.0/8=50", "peer:10.0.0.0/8,address:x=70"], 70),
    ] {
        let limits = policy(100, rules, &[]).identify(&alice(), AddressSyntax::Topic);
        assert_eq!(
            limits.largest(Direction::ToBroker).size,
            ByteSize(largest),
            "{rules:?}"
        );
    }
}
