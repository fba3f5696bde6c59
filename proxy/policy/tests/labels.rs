//! Labels come from a closed set.

use super::*;

#[test]
fn labels_are_the_configured_texts_in_their_order_and_other() {
    let rules = [
        "vhost:b=16",
        "user:x,vhost:*.a=16",
        "vhost:b,user:y=16",
        "vhost:other=16",
    ];
    let groups = [
        "prod/devs=alice",
        "*/all=*",
        "prod/ops=bob",
        "prod/devs=carol",
    ];
    let policy = policy(0, &rules, &groups);
    assert_eq!(policy.vhost_labels(), ["b", "*.a", "prod", "other"]);
    assert_eq!(
        policy.group_labels(),
        ["prod/devs", "*/all", "prod/ops", "other"]
    );
}

#[test]
fn a_client_is_counted_under_the_narrowest_label() {
    let rules = [
        "vhost:#=16",
        "vhost:a.#=16",
        "vhost:a.*=16",
        "vhost:a.b=16",
        "vhost:*.b=16",
    ];
    let groups = [
        "#/g=*", "a.#/g=*", "a.b/g=x*", "a.b/h=*", "a.b/i=xy", "*/j=*",
    ];
    let policy = policy(0, &rules, &groups);
    for (vhost, user, vhost_label, group_label) in [
        (Some("a.b"), Some("xy"), "a.b", "a.b/i"),
        (Some("a.b"), Some("xz"), "a.b", "a.b/g"),
        (Some("a.b"), Some("z"), "a.b", "a.b/h"),
        (Some("a.c"), Some("xy"), "a.#", "a.#/g"),
        (Some("c.b"), Some("xy"), "#", "#/g"),
        (None, Some("xy"), "other", "*/j"),
        (Some("a.b"), None, "a.b", "other"),
        (None, None, "other", "other"),
    ] {
        let who = Identity {
            vhost,
            user,
            ..Identity::default()
        };
        let limits = policy.identify(&who, AddressSyntax::Name);
        assert_eq!(limits.vhost_label(), vhost_label, "{who:?}");
        assert_eq!(limits.group_label(), group_label, "{who:?}");
        assert_eq!(
            limits.group(),
            Some(group_label).filter(|&label| label != "other")
        );
        assert!(policy.vhost_labels().contains(&vhost_label));
        assert!(policy.group_labels().contains(&group_label));
    }
}

#[test]
fn a_group_that_is_declared_twice_has_the_users_of_both() {
    let policy = policy(0, &["group:*/g=16"], &["*/g=alice", "*/g=bob"]);
    for user in ["alice", "bob"] {
        let who = Identity {
            user: Some(user),
            ..Identity::default()
        };
        let limits = policy.identify(&who, AddressSyntax::Name);
        assert_eq!(
            limits.limit(Direction::ToBroker, b"").size,
            ByteSize(16),
            "{user}"
        );
    }
}
