//! Networks by address: which of many CIDR blocks an address lies in.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use super::probe;

/// A value for each of many networks.
#[derive(Debug)]
pub(crate) struct Networks<V> {
    /// The networks, in canonical form.
    values: HashMap<IpNet, V>,
    /// The prefix lengths that occur: the only ones worth a look.
    lengths: Box<[u8]>,
}

impl<V> Networks<V> {
    /// Calls `found` with the value of each network that `peer` lies in.
    pub(crate) fn find<'a>(&'a self, peer: IpAddr, mut found: impl FnMut(&'a V)) {
        let peer = peer.to_canonical();
        for &length in &self.lengths {
            probe();
            // An IPv6 length does not exist for an IPv4 address.
            let network = IpNet::new(peer, length).map(|net| net.trunc());
            if let Some(value) = network.ok().and_then(|network| self.values.get(&network)) {
                found(value);
            }
        }
    }
}

impl<V> FromIterator<(IpNet, V)> for Networks<V> {
    fn from_iter<I: IntoIterator<Item = (IpNet, V)>>(networks: I) -> Self {
        let networks = networks.into_iter();
        let values: HashMap<_, _> = networks
            .map(|(net, value)| (canonical(net), value))
            .collect();
        let lengths: BTreeSet<u8> = values.keys().map(IpNet::prefix_len).collect();
        Self {
            values,
            lengths: lengths.into_iter().collect(),
        }
    }
}

/// The one form of a network: no host bits, and IPv4 where it was written as IPv4-mapped IPv6.
pub(crate) fn canonical(network: IpNet) -> IpNet {
    let mapped = match network {
        IpNet::V6(net) if net.prefix_len() >= MAPPED_PREFIX => {
            let length = net.prefix_len() - MAPPED_PREFIX;
            net.addr()
                .to_ipv4_mapped()
                .and_then(|v4| Ipv4Net::new(v4, length).ok())
        }
        _ => None,
    };
    mapped.map_or(network, IpNet::V4).trunc()
}

/// The length of `::ffff:0:0/96`, in which the IPv4-mapped addresses lie.
const MAPPED_PREFIX: u8 = 96;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(networks: &[&str], peer: &str) -> Vec<usize> {
        let parsed = networks.iter().map(|net| net.parse().unwrap());
        let networks: Networks<usize> = parsed.zip(0..).collect();
        let mut values = Vec::new();
        networks.find(peer.parse().unwrap(), |&value| values.push(value));
        values.sort_unstable();
        values
    }

    #[test]
    fn an_address_lies_in_every_network_whose_bits_it_begins_with() {
        let networks = [
            "10.8.0.0/16",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "10.8.1.2/32",
            "10.9.0.0/16",
        ];
        assert_eq!(found(&networks, "10.8.1.2"), [0, 1, 2, 3]);
        assert_eq!(found(&networks, "192.0.2.1"), [2]);
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address_that_it_maps() {
        let networks = [
            "10.8.0.0/16",
            "::/0",
            "::ffff:10.0.0.0/104",
            "2001:db8::/32",
        ];
        assert_eq!(found(&networks, "::ffff:10.8.1.2"), [0, 2]);
        assert_eq!(found(&networks, "10.8.1.2"), [0, 2]);
        assert_eq!(found(&networks, "2001:db8::1"), [1, 3]);
    }
}
