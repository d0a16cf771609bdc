//! What the command line means.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::PathBuf;

use sleeve_config::{ClientPlan, Common, ConfigError, Key, Plan, ServerPlan, load_keys};

use crate::cli::{ClientArgs, CommonArgs, ServerArgs};

/// The plan of `sleeve server`, checked.
pub(crate) fn server(args: &ServerArgs) -> Result<Plan, ConfigError> {
    checked(of_server(args, keys(&args.keys)?))
}

/// The plan of `sleeve client`, checked.
pub(crate) fn client(args: &ClientArgs) -> Result<Plan, ConfigError> {
    checked(of_client(args, keys(&args.keys)?))
}

pub(crate) fn of_server(args: &ServerArgs, keys: Vec<Key>) -> Plan {
    Plan::Server(ServerPlan {
        listen: args.listen.clone(),
        target: args.target.clone(),
        keys,
        framings: args.framing,
        common: common(&args.common),
    })
}

pub(crate) fn of_client(args: &ClientArgs, keys: Vec<Key>) -> Plan {
    Plan::Client(ClientPlan {
        listen: args.listen.clone(),
        servers: args.servers.clone(),
        keys,
        framing: args.framing,
        common: common(&args.common),
    })
}

pub(crate) fn common(args: &CommonArgs) -> Common {
    Common {
        connect_timeout: args.connect_timeout,
        drain: args.drain,
        max_streams: args.max_streams,
        workers: args.workers,
        segment_limit: None,
    }
}

fn keys(paths: &[PathBuf]) -> Result<Vec<Key>, ConfigError> {
    let credentials = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    load_keys(paths, credentials.as_deref())
}

fn checked(plan: Plan) -> Result<Plan, ConfigError> {
    plan.check(is_local)?;
    Ok(plan)
}

/// Whether an address is one of this machine's. The kernel chooses it as the source of a datagram
/// to itself then; none is sent. To bind to the address would not tell, since systems that hand
/// addresses over permit that for foreign ones too.
fn is_local(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        // Some port; 9 is that of the service that discards what it gets.
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_its_own_addresses() {
        assert!(is_local(Ipv4Addr::LOCALHOST.into()));
        // An address of RFC 5737 for documents.
        assert!(!is_local([192, 0, 2, 1].into()));
    }
}
