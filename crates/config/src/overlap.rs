//! Whether dialling an address would reach one's own listener: a tunnel into itself, in which each
//! connection opens the next one until the descriptors are used up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::address::{Address, Host};

/// Whether a connection to `dialled` arrives at `listen`, as far as the two addresses tell. What
/// depends on name servers or symbolic links cannot be seen here.
pub(crate) fn is_own(
    listen: &Address,
    dialled: &Address,
    is_local: &dyn Fn(IpAddr) -> bool,
) -> bool {
    match (listen, dialled) {
        (Address::Tcp { host, port }, Address::Tcp { host: to, port: to_port }) => {
            *port != 0 && port == to_port && arrives(host, to, is_local)
        }
        (
            Address::Tcp { .. } | Address::Unix(_) | Address::Abstract(_) | Address::Systemd(_),
            Address::Tcp { .. } | Address::Unix(_) | Address::Abstract(_) | Address::Systemd(_),
        ) => listen == dialled,
    }
}

fn arrives(listen: &Host, dialled: &Host, is_local: &dyn Fn(IpAddr) -> bool) -> bool {
    if listen == dialled {
        return true;
    }
    let reached = meanings(dialled);
    meanings(listen).into_iter().any(|own| {
        reached.iter().any(|to| match own {
            IpAddr::V4(own) if own.is_unspecified() => to.is_ipv4() && local(*to, is_local),
            // The engine keeps [::] to IPv6, but most programs do not, and operators read it as
            // all addresses: a plan that stands on the difference is refused.
            IpAddr::V6(own) if own.is_unspecified() => local(*to, is_local),
            IpAddr::V4(_) | IpAddr::V6(_) => own == effective(*to),
        })
    })
}

fn local(ip: IpAddr, is_local: &dyn Fn(IpAddr) -> bool) -> bool {
    ip.is_loopback() || ip.is_unspecified() || is_local(ip)
}

/// Where the kernel connects to: a connection to "any" address goes to the loopback one.
fn effective(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) | IpAddr::V6(_) => ip,
    }
}

/// The addresses that a host is known to have without asking anyone.
fn meanings(host: &Host) -> Vec<IpAddr> {
    match host {
        // ::ffff:127.0.0.1 is 127.0.0.1 in other letters.
        Host::Ip(ip) => vec![ip.to_canonical()],
        Host::Name(name) if is_localhost(name) => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        Host::Name(_) => Vec::new(),
    }
}

/// RFC 6761, section 6.3: this name and those below it are the loopback addresses.
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(listen: &str, dialled: &str) -> bool {
        let machine = |ip: IpAddr| ip.to_string() == "10.1.2.3" || ip.to_string() == "fd00::3";
        is_own(&listen.parse().unwrap(), &dialled.parse().unwrap(), &machine)
    }

    #[test]
    fn reaches_itself() {
        let table = [
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("0.0.0.0:1", "127.5.5.5:1"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("0.0.0.0:1", "localhost:1"),
            ("0.0.0.0:1", "10.1.2.3:1"),
            ("0.0.0.0:1", "[::ffff:127.0.0.1]:1"),
            ("[::]:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("[::]:1", "0.0.0.0:1"),
            ("[::]:1", "10.1.2.3:1"),
            ("[::]:1", "[fd00::3]:1"),
            ("[::]:1", "LOCALHOST:1"),
            ("127.0.0.1:1", "0.0.0.0:1"),
            ("[::1]:1", "[::]:1"),
            ("127.0.0.1:1", "localhost:1"),
            ("127.0.0.1:1", "localhost.:1"),
            ("localhost:1", "127.0.0.1:1"),
            ("localhost:1", "[::1]:1"),
            ("db:1", "DB:1"),
            ("[::ffff:127.0.0.1]:1", "127.0.0.1:1"),
            ("unix:/run/a", "unix:/run/a"),
            ("unix:/run//a", "unix:/run/./a"),
            ("unix:@a", "unix:@a"),
        ];
        for (listen, dialled) in table {
            assert!(own(listen, dialled), "{listen} {dialled}");
        }
    }

    #[test]
    fn reaches_something_else() {
        let table = [
            ("127.0.0.1:1", "127.0.0.1:2"),
            ("127.0.0.1:1", "127.0.0.2:1"),
            ("127.0.0.1:1", "10.1.2.3:1"),
            ("10.1.2.3:1", "127.0.0.1:1"),
            ("0.0.0.0:1", "10.1.2.4:1"),
            ("0.0.0.0:1", "[::1]:1"),
            ("0.0.0.0:0", "127.0.0.1:1"),
            ("127.0.0.1:1", "[::1]:1"),
            ("0.0.0.0:1", "db:1"),
            ("db:1", "db2:1"),
            ("unix:/run/a", "unix:/run/b"),
            ("unix:/a", "unix:@/a"),
            ("unix:/a", "a:1"),
        ];
        for (listen, dialled) in table {
            assert!(!own(listen, dialled), "{listen} {dialled}");
        }
    }
}
