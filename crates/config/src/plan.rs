//! The plan: what the engine has to do.

use std::net::IpAddr;
use std::time::Duration;

use sleeve_seal::Key;
use sleeve_wire::Framing;

use crate::address::Address;
use crate::error::ConfigError;
use crate::keys::check_count;
use crate::overlap::is_own;
use crate::setting::{Setting, within};

/// One tunnel's end.
#[derive(Debug)]
pub enum Plan {
    /// The end beside the application: accepts plain connections, dials the sealed one.
    Client(ClientPlan),
    /// The end beside the backend: accepts sealed connections, dials plain ones.
    Server(ServerPlan),
}

/// The end beside the application.
#[derive(Debug)]
pub struct ClientPlan {
    /// Where applications connect; at least one.
    pub listen: Vec<Address>,
    /// Where the other end listens, in the order of preference; at least one.
    pub servers: Vec<Address>,
    /// The first is used to dial; at least one.
    pub keys: Vec<Key>,
    /// The framing mode of its sessions.
    pub framing: Framing,
    /// What both ends have.
    pub common: Common,
}

/// The end beside the backend.
#[derive(Debug)]
pub struct ServerPlan {
    /// Where the other end connects; at least one.
    pub listen: Vec<Address>,
    /// The backend.
    pub target: Address,
    /// All of them are accepted; at least one.
    pub keys: Vec<Key>,
    /// What it agrees to; at least one.
    pub framings: Framings,
    /// What both ends have.
    pub common: Common,
}

/// Settings of both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    /// How long a dial may take, all addresses of a name together.
    pub connect_timeout: Duration,
    /// How long living streams may go on after the request to stop.
    pub drain: Duration,
    /// Streams that a session may have at a time.
    pub max_streams: u32,
    /// Threads, each with its own sessions.
    pub workers: usize,
    /// Most bytes in a segment of the sealed connection (TCP_MAXSEG), `None` for the path's own.
    /// Only the lab sets it: loopback's segments are forty times as long as Ethernet's.
    pub segment_limit: Option<u16>,
}

impl Default for Common {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            drain: Duration::from_secs(30),
            max_streams: *Setting::MAX_STREAMS.end(),
            workers: 1,
            segment_limit: None,
        }
    }
}

/// The framing modes that a server agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framings {
    /// [`Framing::Adaptive`].
    pub adaptive: bool,
    /// [`Framing::Padded`].
    pub padded: bool,
}

impl Framings {
    /// Whether this mode is among them.
    #[must_use]
    pub const fn agrees_to(self, framing: Framing) -> bool {
        match framing {
            Framing::Adaptive => self.adaptive,
            Framing::Padded => self.padded,
        }
    }
}

impl Default for Framings {
    fn default() -> Self {
        Self { adaptive: true, padded: true }
    }
}

impl Plan {
    /// Its keys.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        match self {
            Self::Client(plan) => &plan.keys,
            Self::Server(plan) => &plan.keys,
        }
    }

    /// Whether the plan can be carried out, as far as that can be said without opening a socket.
    ///
    /// `is_local` tells whether an address belongs to this machine. It is an argument because the
    /// answer takes a question to the kernel; a wildcard listener takes connections to all of them.
    ///
    /// # Errors
    /// The first fault that is found.
    pub fn check(&self, is_local: impl Fn(IpAddr) -> bool) -> Result<(), ConfigError> {
        let (listen, dialled, common) = match self {
            Self::Client(plan) => {
                check_sealed(&plan.servers)?;
                (&plan.listen, plan.servers.as_slice(), &plan.common)
            }
            Self::Server(plan) => {
                check_sealed(&plan.listen)?;
                if !plan.framings.adaptive && !plan.framings.padded {
                    return Err(ConfigError::NoFraming);
                }
                (&plan.listen, std::slice::from_ref(&plan.target), &plan.common)
            }
        };
        check_listen(listen)?;
        if dialled.is_empty() {
            return Err(ConfigError::NoServer);
        }
        for address in dialled {
            check_dialled(address, listen, &is_local)?;
        }
        check_count(self.keys().len())?;
        check_common(common)
    }
}

/// What the two ends say to each other runs over TCP; a socket of systemd may be one.
fn check_sealed(addresses: &[Address]) -> Result<(), ConfigError> {
    let other = |address: &&Address| match address {
        Address::Unix(_) | Address::Abstract(_) => true,
        Address::Tcp { .. } | Address::Systemd(_) => false,
    };
    match addresses.iter().find(other) {
        Some(address) => Err(ConfigError::NotTcp { address: address.clone() }),
        None => Ok(()),
    }
}

fn check_listen(listen: &[Address]) -> Result<(), ConfigError> {
    if listen.is_empty() {
        return Err(ConfigError::NoListen);
    }
    let repeated = |(index, address): &(usize, &Address)| {
        // The kernel gives each port 0 another one.
        !matches!(address, Address::Tcp { port: 0, .. })
            && listen.iter().take(*index).any(|earlier| earlier == *address)
    };
    match listen.iter().enumerate().find(repeated) {
        Some((_, address)) => Err(ConfigError::ListenTwice { address: address.clone() }),
        None => Ok(()),
    }
}

fn check_dialled(
    address: &Address,
    listen: &[Address],
    is_local: &dyn Fn(IpAddr) -> bool,
) -> Result<(), ConfigError> {
    match address {
        Address::Systemd(_) => {
            return Err(ConfigError::DialsSystemd { address: address.clone() });
        }
        Address::Tcp { port: 0, .. } => {
            return Err(ConfigError::DialsPortZero { address: address.clone() });
        }
        Address::Tcp { .. } | Address::Unix(_) | Address::Abstract(_) => {}
    }
    match listen.iter().find(|own| is_own(own, address, is_local)) {
        Some(own) => {
            Err(ConfigError::DialsItself { address: address.clone(), listen: own.clone() })
        }
        None => Ok(()),
    }
}

fn check_common(common: &Common) -> Result<(), ConfigError> {
    within(Setting::ConnectTimeout, &Setting::CONNECT_TIMEOUT, common.connect_timeout)?;
    within(Setting::Drain, &Setting::DRAIN, common.drain)?;
    within(Setting::MaxStreams, &Setting::MAX_STREAMS, common.max_streams)?;
    within(Setting::Workers, &Setting::WORKERS, common.workers)?;
    Ok(())
}

#[cfg(test)]
mod tests;
