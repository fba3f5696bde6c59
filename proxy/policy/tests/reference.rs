//! The compiled policy gives the same answers as a walk over all rules that reads the texts anew.

use std::cmp::Ordering;
use std::net::IpAddr;

use proptest::prelude::*;
use proptest::sample::select;

use super::naive::{dotted, glob, lies_in, network_prefix, topic};
use super::*;

/// A rule as names and texts of selectors, highest rank first.
#[derive(Clone, Debug)]
struct Plain {
    selectors: Vec<(&'static str, String)>,
    size: u64,
}

impl Plain {
    /// The rule as it is typed.
    fn text(&self) -> String {
        let selectors: Vec<String> = self
            .selectors
            .iter()
            .map(|(name, text)| format!("{name}:{text}"))
            .collect();
        format!("{}={}", selectors.join(","), self.size)
    }
}

/// A group as texts of its virtual host, its name and its users.
type PlainGroup = (String, &'static str, Vec<String>);

/// Whose message it is.
#[derive(Clone, Debug)]
struct Sender {
    peer: Option<IpAddr>,
    vhost: Option<String>,
    user: Option<String>,
    client: Option<String>,
}

impl Sender {
    fn identity(&self) -> Identity<'_> {
        Identity {
            peer: self.peer,
            vhost: self.vhost.as_deref(),
            user: self.user.as_deref(),
            client: self.client.as_deref(),
        }
    }
}

/// The walk over all rules.
struct Walk<'a> {
    groups: &'a [PlainGroup],
    sender: &'a Sender,
    address: &'a str,
    syntax: AddressSyntax,
}

impl Walk<'_> {
    /// The rule that decides, if one does.
    fn decides<'r>(&self, rules: &'r [Plain]) -> Option<&'r Plain> {
        let mut best: Option<&Plain> = None;
        for rule in rules.iter().filter(|rule| self.matches(rule)) {
            if best.is_none_or(|best| self.order(rule, best) == Ordering::Less) {
                best = Some(rule);
            }
        }
        best
    }

    fn matches(&self, rule: &Plain) -> bool {
        rule.selectors.iter().all(|(name, text)| match *name {
            "peer" => self.sender.peer.is_some_and(|peer| lies_in(peer, text)),
            "address" if self.syntax == AddressSyntax::Topic => topic(text, self.address),
            "address" => glob(text, self.address),
            "client" => self
                .sender
                .client
                .as_ref()
                .is_some_and(|client| glob(text, client)),
            "user" => self
                .sender
                .user
                .as_ref()
                .is_some_and(|user| glob(text, user)),
            "group" => !self.entries(text).is_empty(),
            _ => self
                .sender
                .vhost
                .as_ref()
                .is_some_and(|vhost| dotted(text, vhost)),
        })
    }

    /// The entries of a group's list by which the sender is in it.
    fn entries(&self, group: &str) -> Vec<&str> {
        let here = |vhost: &str| {
            vhost == "*"
                || self
                    .sender
                    .vhost
                    .as_ref()
                    .is_some_and(|own| dotted(vhost, own))
        };
        let groups = self
            .groups
            .iter()
            .filter(|(vhost, name, _)| format!("{vhost}/{name}") == group && here(vhost));
        let user = self.sender.user.as_deref();
        let listed = |entry: &&String| user.is_some_and(|user| glob(entry, user));
        groups
            .flat_map(|(_, _, users)| users)
            .filter(listed)
            .map(String::as_str)
            .collect()
    }

    /// Which of two rules comes first, if one does.
    fn order(&self, one: &Plain, other: &Plain) -> Ordering {
        let rank = |rule: &Plain| rank(rule.selectors[0].0);
        let many = |rule: &Plain| rule.selectors.len();
        let mut order = rank(other)
            .cmp(&rank(one))
            .then(many(other).cmp(&many(one)));
        for (one, other) in one.selectors.iter().zip(&other.selectors) {
            order = order.then_with(|| self.narrower(one, other));
        }
        order
    }

    fn narrower(&self, one: &(&str, String), other: &(&str, String)) -> Ordering {
        let own = |(name, text): &(&str, String)| match (*name, self.syntax) {
            ("peer", _) => network_prefix(text),
            ("address", AddressSyntax::Topic) => text.find(['+', '#']),
            ("address" | "client" | "user", _) => text.find('*'),
            ("group", _) => text.rsplit_once('/').unwrap().0.find(['*', '#']),
            _ => text.find(['*', '#']),
        };
        let listed = |(name, text): &(&str, String)| match *name {
            "group" => {
                let entries = self.entries(text);
                let prefixes = entries.iter().map(|entry| entry.find('*'));
                prefixes.min_by(|one, other| before(*one, *other)).unwrap()
            }
            _ => None,
        };
        before(own(one), own(other)).then_with(|| before(listed(one), listed(other)))
    }
}

/// Orders the lengths of prefixes: first those that have no end, then the longer.
fn before(one: Option<usize>, other: Option<usize>) -> Ordering {
    match (one, other) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(one), Some(other)) => other.cmp(&one),
    }
}

fn rank(name: &str) -> usize {
    ["vhost", "group", "user", "client", "address", "peer"]
        .iter()
        .position(|&other| other == name)
        .unwrap()
}

fn networks() -> impl Strategy<Value = String> {
    let networks = [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "10.8.0.0/16",
        "10.8.1.2",
        "10.8.1.2/31",
        "::/0",
        "::ffff:10.0.0.0/104",
        "2001:db8::/32",
        "2001:db8::1",
    ];
    select(networks.to_vec()).prop_map(str::to_owned)
}

fn vhost_patterns() -> impl Strategy<Value = String> {
    let tokens = prop::collection::vec(select(&["a", "b", "", "*", "#"][..]), 1..4);
    tokens
        .prop_map(|tokens| tokens.join("."))
        .prop_filter("not empty", |text| !text.is_empty())
}

fn address_patterns() -> impl Strategy<Value = String> {
    let levels = prop::collection::vec(text("[ab$]{0,2}|[+#*]|a\\*"), 1..4);
    let filters = levels.prop_map(|levels| levels.join("/"));
    let patterns = prop_oneof![
        filters,
        text("[ab/*+#$]{1,5}"),
        text("[ab/]{1,3}"),
        text("a[b*]{1,3}")
    ];
    patterns.prop_filter("not empty", |text| !text.is_empty())
}

fn group_names() -> impl Strategy<Value = (String, &'static str)> {
    let vhosts = prop_oneof![Just("*".to_owned()), Just("a".to_owned()), vhost_patterns()];
    (vhosts, select(&["g", "h"][..]))
}

fn rules() -> impl Strategy<Value = Plain> {
    let group = group_names().prop_map(|(vhost, name)| format!("{vhost}/{name}"));
    let texts = (
        networks(),
        address_patterns(),
        text("[ab*]{1,3}"),
        text("[ab*]{1,3}|\\*"),
        group,
        vhost_patterns(),
    );
    // Many rules of few kinds, so that a message meets several of each, and some of any kind.
    let kinds = prop_oneof![
        3 => Just([false, true, false, false, false, false]),
        2 => Just([false, true, false, true, false, false]),
        4 => prop::array::uniform6(prop::bool::weighted(0.3)),
    ];
    let kinds = kinds.prop_filter("a selector", |kind| kind.contains(&true));
    (texts, kinds, prop_oneof![Just(0), 16..24_u64]).prop_map(|(texts, kind, size)| {
        let selectors = [
            ("peer", texts.0),
            ("address", texts.1),
            ("client", texts.2),
            ("user", texts.3),
            ("group", texts.4),
            ("vhost", texts.5),
        ];
        let there = selectors.into_iter().zip(kind).filter(|(_, there)| *there);
        Plain {
            selectors: there.map(|(selector, _)| selector).collect(),
            size,
        }
    })
}

/// Texts of a regular expression, which is read once and not for each text.
fn text(regex: &str) -> impl Strategy<Value = String> + use<> {
    proptest::string::string_regex(regex).unwrap()
}

fn groups() -> impl Strategy<Value = PlainGroup> {
    (
        group_names(),
        prop::collection::vec(text("[ab*]{1,3}"), 1..4),
    )
        .prop_map(|((vhost, name), users)| (vhost, name, users))
}

fn senders() -> impl Strategy<Value = Sender> {
    let peers = [
        "10.8.1.2",
        "10.8.1.3",
        "10.9.0.1",
        "192.0.2.1",
        "::ffff:10.8.1.2",
        "2001:db8::1",
    ];
    let peer = select(peers.to_vec()).prop_map(|peer| peer.parse().unwrap());
    let vhosts = prop::collection::vec(select(&["a", "b", ""][..]), 0..4);
    let vhost = vhosts.prop_map(|tokens| tokens.join("."));
    let maybe = prop::option::weighted::<BoxedStrategy<String>>;
    let [user, client] = ["[ab]{0,4}"; 2].map(|names| maybe(0.9, text(names).boxed()));
    (
        prop::option::weighted(0.9, peer),
        maybe(0.9, vhost.boxed()),
        user,
        client,
    )
        .prop_map(|(peer, vhost, user, client)| Sender {
            peer,
            vhost,
            user,
            client,
        })
}

fn addresses() -> impl Strategy<Value = String> {
    let levels = prop::collection::vec(text("[ab$]{0,2}"), 1..4);
    prop_oneof![
        levels.prop_map(|levels| levels.join("/")),
        text("[ab/*+#$]{0,5}"),
        text("ab{0,3}")
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_048))]

    #[test]
    fn the_compiled_policy_answers_like_a_walk_over_all_rules(
        rules in prop::collection::vec(rules(), 0..40),
        groups in prop::collection::vec(groups(), 0..5),
        senders in prop::collection::vec(senders(), 1..4),
        addresses in prop::collection::vec(addresses(), 1..8),
        default in prop_oneof![Just(0), 16..24_u64],
    ) {
        let texts: Vec<String> = rules.iter().map(Plain::text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let declared: Vec<String> = groups
            .iter()
            .map(|(vhost, name, users)| format!("{vhost}/{name}={}", users.join(",")))
            .collect();
        let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
        let policy = policy(default, &texts, &declared);
        let direction = Direction::ToBroker;
        for (sender, syntax) in senders.iter().flat_map(|sender| {
            [AddressSyntax::Name, AddressSyntax::Topic].map(|syntax| (sender, syntax))
        }) {
            let limits = policy.identify(&sender.identity(), syntax);
            for address in &addresses {
                let walk = Walk { groups: &groups, sender, address, syntax };
                let decides = walk.decides(&rules);
                let (text, size) = decides.map_or_else(
                    || ("--max-message-size".to_owned(), default),
                    |rule| (format!("--limit {}", rule.text()), rule.size),
                );
                let limit = limits.limit(direction, address.as_bytes());
                prop_assert_eq!(&*limit.rule, &text, "{:?} {} {:?}", sender, address, syntax);
                for octets in [16, 23, size, size + 1] {
                    let over = size != 0 && octets > size;
                    let expected = if over { Verdict::Denied(limit) } else { Verdict::Allowed };
                    let verdict = limits.judge(direction, address.as_bytes(), octets);
                    prop_assert_eq!(verdict, expected);
                }
                let largest = limits.largest(direction);
                prop_assert!(largest.size.0 == 0 || size != 0 && size <= largest.size.0);
            }
        }
    }
}
