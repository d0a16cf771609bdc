//! Why a plan cannot be carried out.

use std::fmt;
use std::io;
use std::path::PathBuf;

use sleeve_seal::KEY_FILE_MIN;

use crate::address::Address;
use crate::keys::{KEY_FILE_MAX, KEYS_MAX};
use crate::setting::SettingError;

/// Why a plan cannot be carried out. The text is one sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// No address to listen at.
    NoListen,
    /// An address to listen at stands there twice.
    ListenTwice {
        /// The address.
        address: Address,
    },
    /// A client without a server.
    NoServer,
    /// A server or target is a socket of the service manager, which can only be listened at.
    DialsSystemd {
        /// The server or target.
        address: Address,
    },
    /// A server or target has the port 0.
    DialsPortZero {
        /// The server or target.
        address: Address,
    },
    /// A server or target is an own listener.
    DialsItself {
        /// The server or target.
        address: Address,
        /// The listener that a connection to it reaches.
        listen: Address,
    },
    /// The sealed connection would run over something else than TCP.
    NotTcp {
        /// A client's server, or where a server listens.
        address: Address,
    },
    /// A server that agrees to no framing mode.
    NoFraming,
    /// A setting is outside of its bounds.
    Setting(SettingError),
    /// No key file.
    NoKey,
    /// More than [`KEYS_MAX`] keys.
    TooManyKeys {
        /// Their number.
        count: usize,
    },
    /// Two files hold the same key.
    SameKey {
        /// The file that stands first.
        first: PathBuf,
        /// The file that stands later.
        second: PathBuf,
    },
    /// There is no such key file.
    KeyMissing {
        /// The file.
        path: PathBuf,
    },
    /// A key file cannot be read.
    KeyUnreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        kind: io::ErrorKind,
    },
    /// A key file is a folder, a FIFO, a device or a socket.
    KeyNotRegular {
        /// The file.
        path: PathBuf,
    },
    /// Others than its owner may read or change a key file.
    KeyExposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A key file has no bytes.
    KeyEmpty {
        /// The file.
        path: PathBuf,
    },
    /// A key file has fewer than [`KEY_FILE_MIN`] bytes.
    KeyTooShort {
        /// The file.
        path: PathBuf,
        /// Its length.
        len: usize,
    },
    /// A key file has more than [`KEY_FILE_MAX`] bytes.
    KeyTooLong {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoListen => f.write_str("there is no address to listen at: add --listen ADDR"),
            Self::ListenTwice { address } => {
                write!(f, "--listen {address} is given twice: remove one of them")
            }
            Self::NoServer => f.write_str("there is no server to dial: add --server ADDR"),
            Self::DialsSystemd { address } => write!(
                f,
                "{address} can only be listened at: write the server or target as host:port or \
                 unix:/path"
            ),
            Self::DialsPortZero { address } => {
                write!(f, "{address} cannot be dialled: write the port of the server or target")
            }
            Self::DialsItself { address, listen } => write!(
                f,
                "{address} is this end's own listener (--listen {listen}), so that each \
                 connection would open another one: change the one or the other"
            ),
            Self::NotTcp { address } => write!(
                f,
                "{address} cannot carry the sealed connection, which runs over TCP: write \
                 host:port"
            ),
            Self::NoFraming => {
                f.write_str("no framing mode is agreed to: add --framing adaptive,padded")
            }
            Self::Setting(error) => error.fmt(f),
            Self::NoKey => f.write_str(
                "there is no key: make one with `sleeve keygen FILE` and add --key FILE",
            ),
            Self::TooManyKeys { count } => write!(
                f,
                "{count} keys are too many, {KEYS_MAX} are allowed: remove those that are no \
                 longer used"
            ),
            Self::SameKey { first, second } => write!(
                f,
                "the key files {} and {} hold the same key: remove one --key, or make a new key \
                 if this is a rotation",
                first.display(),
                second.display()
            ),
            Self::KeyMissing { .. }
            | Self::KeyUnreadable { .. }
            | Self::KeyNotRegular { .. }
            | Self::KeyExposed { .. }
            | Self::KeyEmpty { .. }
            | Self::KeyTooShort { .. }
            | Self::KeyTooLong { .. } => self.fmt_key(f),
        }
    }
}

impl ConfigError {
    /// The sentences about one key file.
    fn fmt_key(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyMissing { path } => write!(
                f,
                "there is no key file {0}: copy the other end's key there, or make one with \
                 `sleeve keygen {0}`",
                path.display()
            ),
            Self::KeyUnreadable { path, kind } => write!(
                f,
                "cannot read the key file {} ({kind}): check its owner, its mode and its folder",
                path.display()
            ),
            Self::KeyNotRegular { path } => write!(
                f,
                "the key file {} is no regular file but a folder, a pipe, a socket or a device: give the path of a regular file",
                path.display()
            ),
            Self::KeyExposed { path, mode } => write!(
                f,
                "the key file {0} is open to others than its owner (mode {mode:04o}): run `chmod \
                 600 {0}`, and make a new key if somebody may have read it",
                path.display()
            ),
            Self::KeyEmpty { path } => write!(
                f,
                "the key file {} is empty: copy the other end's key there, or make one with \
                 `sleeve keygen` under a new name",
                path.display()
            ),
            Self::KeyTooShort { path, len } => write!(
                f,
                "the key file {} has {len} bytes, and below {KEY_FILE_MIN} a key can be guessed \
                 offline from one recorded first message: make a new one with `sleeve keygen FILE`",
                path.display()
            ),
            Self::KeyTooLong { path } => write!(
                f,
                "the key file {} has more than {KEY_FILE_MAX} bytes: check that it is the right \
                 file, a key of `sleeve keygen` has {KEY_FILE_MIN}",
                path.display()
            ),
            Self::NoListen
            | Self::ListenTwice { .. }
            | Self::NoServer
            | Self::DialsSystemd { .. }
            | Self::DialsPortZero { .. }
            | Self::DialsItself { .. }
            | Self::NotTcp { .. }
            | Self::NoFraming
            | Self::Setting(_)
            | Self::NoKey
            | Self::TooManyKeys { .. }
            | Self::SameKey { .. } => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<SettingError> for ConfigError {
    fn from(error: SettingError) -> Self {
        Self::Setting(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;

    #[test]
    fn sentences_are_of_one_kind() {
        let address: Address = "127.0.0.1:1".parse().unwrap();
        let path = PathBuf::from("/etc/sleeve/a.key");
        let all = [
            ConfigError::NoListen,
            ConfigError::ListenTwice { address: address.clone() },
            ConfigError::NoServer,
            ConfigError::DialsSystemd { address: address.clone() },
            ConfigError::DialsPortZero { address: address.clone() },
            ConfigError::NotTcp { address: address.clone() },
            ConfigError::DialsItself { address: address.clone(), listen: address },
            ConfigError::NoFraming,
            ConfigError::Setting(SettingError::Bounds { setting: Setting::Drain }),
            ConfigError::NoKey,
            ConfigError::TooManyKeys { count: 65 },
            ConfigError::SameKey { first: path.clone(), second: path.clone() },
            ConfigError::KeyMissing { path: path.clone() },
            ConfigError::KeyUnreadable { path: path.clone(), kind: io::ErrorKind::IsADirectory },
            ConfigError::KeyNotRegular { path: path.clone() },
            ConfigError::KeyExposed { path: path.clone(), mode: 0o644 },
            ConfigError::KeyEmpty { path: path.clone() },
            ConfigError::KeyTooShort { path: path.clone(), len: 31 },
            ConfigError::KeyTooLong { path },
        ];
        for error in all {
            let text = error.to_string();
            assert!(text.contains(": "), "says no next step: {text}");
            assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
            assert!(!format!("{error:?}").starts_with("Key") || text.contains("/etc"), "{text}");
        }
    }

    #[test]
    fn modes_are_shown_as_chmod_takes_them() {
        let error = ConfigError::KeyExposed { path: "/k".into(), mode: 0o64 };
        assert!(error.to_string().contains("(mode 0064)"), "{error}");
    }
}
