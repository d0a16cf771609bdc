//! Addresses: where to listen and what to dial.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

/// Most bytes of a Unix socket's path or abstract name. Linux has 108 bytes for either, one of which
/// is the zero byte behind the path or in front of the name.
pub const UNIX_PATH_MAX: usize = 107;

/// Most bytes of a host name (RFC 1035, section 2.3.4) without its final dot.
const HOST_NAME_MAX: usize = 253;
/// Most bytes between two dots of a host name (RFC 1035, section 2.3.4).
const HOST_LABEL_MAX: usize = 63;
/// Most bytes of the name of a descriptor that systemd passes (systemd.socket(5)).
const SYSTEMD_NAME_MAX: usize = 255;

/// The host part of a TCP address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An IPv4 or IPv6 address.
    Ip(IpAddr),
    /// A name, in lower case, resolved at each dial.
    Name(String),
}

/// Where to listen or what to dial.
///
/// ```
/// use sleeve_config::Address;
///
/// for text in ["127.0.0.1:6379", "[::1]:6379", "db1:6379", "unix:/run/a", "unix:@a", "systemd:a"] {
///     let address: Address = text.parse()?;
///     assert_eq!(address.to_string(), text);
/// }
/// # Ok::<(), sleeve_config::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// `127.0.0.1:6379`, `[::1]:6379` or `host:6379`.
    Tcp {
        /// What stands before the port.
        host: Host,
        /// The port; 0 has the kernel choose one.
        port: u16,
    },
    /// `unix:/path`; the path has 1 to [`UNIX_PATH_MAX`] bytes and starts at the root.
    Unix(PathBuf),
    /// `unix:@name`, a name in Linux' abstract namespace of 1 to [`UNIX_PATH_MAX`] bytes.
    Abstract(String),
    /// `systemd:name`, the name of a listening socket that systemd passes.
    Systemd(String),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(name) = text.strip_prefix("unix:@") {
            return abstract_name(name);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return unix_path(path);
        }
        if let Some(name) = text.strip_prefix("systemd:") {
            return systemd_name(name);
        }
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if text.starts_with('/') {
            return Err(AddressError::BarePath);
        }
        tcp(text)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host: Host::Ip(IpAddr::V4(ip)), port } => write!(f, "{ip}:{port}"),
            Self::Tcp { host: Host::Ip(IpAddr::V6(ip)), port } => write!(f, "[{ip}]:{port}"),
            Self::Tcp { host: Host::Name(name), port } => write!(f, "{name}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Abstract(name) => write!(f, "unix:@{name}"),
            Self::Systemd(name) => write!(f, "systemd:{name}"),
        }
    }
}

fn abstract_name(name: &str) -> Result<Address, AddressError> {
    match name.len() {
        0 => Err(AddressError::EmptyAbstract),
        bytes if bytes > UNIX_PATH_MAX => Err(AddressError::LongAbstract { bytes }),
        _ if name.contains('\0') => Err(AddressError::ZeroByte),
        _ => Ok(Address::Abstract(name.to_owned())),
    }
}

fn unix_path(path: &str) -> Result<Address, AddressError> {
    match path.len() {
        0 => Err(AddressError::EmptyPath),
        bytes if bytes > UNIX_PATH_MAX => Err(AddressError::LongPath { bytes }),
        _ if path.contains('\0') => Err(AddressError::ZeroByte),
        // A daemon's current folder is seldom the one that the operator had in mind.
        _ if !path.starts_with('/') => Err(AddressError::RelativePath),
        _ => Ok(Address::Unix(PathBuf::from(path))),
    }
}

fn systemd_name(name: &str) -> Result<Address, AddressError> {
    let printable = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    let permitted = name.bytes().all(|byte| printable(byte) && byte != b':');
    match name.len() {
        0 => Err(AddressError::EmptySystemd),
        bytes if bytes > SYSTEMD_NAME_MAX || !permitted => Err(AddressError::SystemdName),
        _ => Ok(Address::Systemd(name.to_owned())),
    }
}

fn tcp(text: &str) -> Result<Address, AddressError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').ok_or(AddressError::OpenBracket)?;
        let ip = inside.parse::<Ipv6Addr>().map_err(|_| AddressError::NotIpv6)?;
        let port = after.strip_prefix(':').ok_or(AddressError::NoPort)?;
        return Ok(Address::Tcp { host: Host::Ip(ip.into()), port: port_number(port)? });
    }
    let (host, port) = text.rsplit_once(':').ok_or(AddressError::NoPort)?;
    if host.contains(':') && !host.contains('/') {
        return Err(AddressError::NoBrackets);
    }
    if host.is_empty() {
        return Err(AddressError::NoHost);
    }
    let host = match host.parse::<Ipv4Addr>() {
        Ok(ip) => Host::Ip(ip.into()),
        Err(_) => Host::Name(host_name(host)?),
    };
    Ok(Address::Tcp { host, port: port_number(port)? })
}

/// Digits only: `u16::from_str` alone would take a sign.
fn port_number(text: &str) -> Result<u16, AddressError> {
    if text.is_empty() {
        return Err(AddressError::NoPort);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::BadPort);
    }
    text.parse().map_err(|_| AddressError::BadPort)
}

/// A name that a resolver could know, in lower case: names that differ in case only are the same.
fn host_name(text: &str) -> Result<String, AddressError> {
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.len() > HOST_NAME_MAX {
        return Err(AddressError::LongName);
    }
    // No top-level domain is a number, so this is an IPv4 address with a typing error, or in one
    // of the old short forms that resolvers read in different ways.
    let last = name.rsplit('.').next().unwrap_or(name);
    if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::NotIpv4);
    }
    // The underscore is no letter of host names, but container networks give such names.
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let fine =
        |label: &str| (1..=HOST_LABEL_MAX).contains(&label.len()) && label.bytes().all(letter);
    if !name.split('.').all(fine) {
        return Err(AddressError::BadName);
    }
    Ok(text.to_ascii_lowercase())
}

/// Why a text is no address. The sentence does not repeat the text: whoever shows it says where
/// the text stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// There is no text.
    Empty,
    /// A path without `unix:`.
    BarePath,
    /// A TCP address without a port.
    NoPort,
    /// A port without a host.
    NoHost,
    /// The port is no number up to 65535.
    BadPort,
    /// An IPv6 address without its brackets.
    NoBrackets,
    /// A bracket that is not closed.
    OpenBracket,
    /// Something else than an IPv6 address in brackets.
    NotIpv6,
    /// Numbers with dots that are no IPv4 address.
    NotIpv4,
    /// A character or an empty part that no host name has.
    BadName,
    /// A host name that is longer than the name system permits.
    LongName,
    /// `unix:` and nothing else.
    EmptyPath,
    /// A path that does not start at the root.
    RelativePath,
    /// A path that does not fit into a socket address.
    LongPath {
        /// Its length.
        bytes: usize,
    },
    /// `unix:@` and nothing else.
    EmptyAbstract,
    /// A name that does not fit into a socket address.
    LongAbstract {
        /// Its length.
        bytes: usize,
    },
    /// A zero byte in a path or a name.
    ZeroByte,
    /// `systemd:` and nothing else.
    EmptySystemd,
    /// A name that systemd would not give to a descriptor.
    SystemdName,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongPath { bytes } => write!(
                f,
                "the path has {bytes} bytes and a Unix socket's may have {UNIX_PATH_MAX}: put the \
                 socket into a folder with a shorter name, such as /run/sleeve"
            ),
            Self::LongAbstract { bytes } => write!(
                f,
                "the name has {bytes} bytes and an abstract one may have {UNIX_PATH_MAX}: take a \
                 shorter name"
            ),
            Self::Empty => f.write_str("it is empty: write host:port or unix:/path"),
            Self::BarePath => f.write_str("a path needs the word unix: in front: write unix:/path"),
            Self::NoPort => {
                f.write_str("the port is missing: write host:port, for instance 127.0.0.1:6379")
            }
            Self::NoHost => f.write_str(
                "the host is missing: write 127.0.0.1:PORT for this machine alone, 0.0.0.0:PORT \
                 or [::]:PORT for all of its addresses",
            ),
            Self::BadPort => f.write_str("the port must be a number from 0 to 65535: correct it"),
            Self::NoBrackets => {
                f.write_str("an IPv6 address needs brackets: write it like [::1]:6379")
            }
            Self::OpenBracket => f.write_str("the bracket is not closed: write it like [::1]:6379"),
            Self::NotIpv6 => f.write_str(
                "there is no IPv6 address in the brackets: write it like [::1]:6379, without a \
                 zone, and names and IPv4 addresses without brackets",
            ),
            Self::NotIpv4 => f.write_str(
                "this is no IPv4 address: write four numbers from 0 to 255, for instance \
                 127.0.0.1:6379",
            ),
            Self::BadName => f.write_str(
                "a host name has letters, digits, - and _ between single dots: correct the name, \
                 or write an address",
            ),
            Self::LongName => f.write_str("the host name has more than 253 bytes: correct it"),
            Self::EmptyPath => f.write_str("the path is missing: write unix:/path"),
            Self::RelativePath => {
                f.write_str("the path does not start with a slash: write it in full, unix:/path")
            }
            Self::EmptyAbstract => f.write_str("the name is missing: write unix:@name"),
            Self::ZeroByte => f.write_str("it has a zero byte: take it out"),
            Self::EmptySystemd => f.write_str(
                "the name is missing: write systemd:NAME with the FileDescriptorName= of the \
                 socket unit",
            ),
            Self::SystemdName => f.write_str(
                "systemd's names have up to 255 printable ASCII characters and no colon: write \
                 the FileDescriptorName= of the socket unit",
            ),
        }
    }
}

impl std::error::Error for AddressError {}

#[cfg(test)]
mod tests;
