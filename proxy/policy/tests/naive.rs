//! Matching as the definitions read, slowly and from the text.

use std::net::IpAddr;

/// Whether a name matches, `*` being any run of characters.
pub(super) fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_at_checked(1) {
        None => name.is_empty(),
        Some(("*", rest)) => (0..=name.len()).any(|at| glob(rest, &name[at..])),
        Some((octet, rest)) => name
            .strip_prefix(octet)
            .is_some_and(|name| glob(rest, name)),
    }
}

/// Whether a virtual host matches, token by token.
pub(super) fn dotted(pattern: &str, name: &str) -> bool {
    fn tokens(pattern: &[&str], name: &[&str]) -> bool {
        match (pattern, name) {
            ([], name) => name.is_empty(),
            (["#", rest @ ..], name) => (0..=name.len()).any(|at| tokens(rest, &name[at..])),
            ([token, rest @ ..], [own, name @ ..]) => {
                (*token == "*" || token == own) && tokens(rest, name)
            }
            (_, []) => false,
        }
    }
    let pattern: Vec<&str> = pattern.split('.').collect();
    let name: Vec<&str> = name.split('.').filter(|_| !name.is_empty()).collect();
    tokens(&pattern, &name)
}

/// Whether a topic matches a filter; one with a misplaced wildcard matches nothing.
pub(super) fn topic(filter: &str, topic: &str) -> bool {
    let levels: Vec<&str> = filter.split('/').collect();
    let (last, others) = levels.split_last().unwrap();
    let placed = |level: &&str| *level == "+" || !level.contains(['+', '#']);
    if !others.iter().all(placed) || !(*last == "#" || placed(last)) {
        return false;
    }
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let names: Vec<&str> = topic.split('/').collect();
    let fits = |(level, name): (&&str, &&str)| *level == "+" || level == name;
    match *last {
        "#" => names.len() >= others.len() && others.iter().zip(&names).all(fits),
        _ => names.len() == levels.len() && levels.iter().zip(&names).all(fits),
    }
}

/// The address and the prefix length of a network, both as for IPv6.
fn bits(network: &str) -> (u128, u32) {
    let (address, length) = network.split_once('/').unwrap_or((network, "128"));
    let length: u32 = length.parse().unwrap();
    match address.parse().unwrap() {
        IpAddr::V4(v4) if network.contains('/') => (v4.to_ipv6_mapped().into(), length + 96),
        IpAddr::V4(v4) => (v4.to_ipv6_mapped().into(), 128),
        IpAddr::V6(v6) => (v6.into(), length),
    }
}

/// Whether an address lies in a network.
pub(super) fn lies_in(peer: IpAddr, network: &str) -> bool {
    let (network, length) = bits(network);
    let (peer, _) = bits(&peer.to_string());
    let mapped = peer >> 32 == 0xffff;
    // An IPv4 address lies in no network that is wider than all of IPv4.
    (!mapped || length >= 96) && (network ^ peer).checked_shr(128 - length).unwrap_or(0) == 0
}

/// The prefix length of a network that is more than one address.
pub(super) fn network_prefix(network: &str) -> Option<usize> {
    let (address, length) = bits(network);
    let mapped = address >> 32 == 0xffff && length >= 96;
    let prefix = if mapped { length - 96 } else { length } as usize;
    (length < 128).then_some(prefix)
}
