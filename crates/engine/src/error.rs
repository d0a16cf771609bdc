//! Why a daemon does not start, or does not go on.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What stops a daemon. Each text is one sentence that ends with what to do.
#[derive(Debug)]
pub enum EngineError {
    /// A listener cannot be had.
    Bind {
        /// As the operator wrote it.
        address: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A living process listens on the Unix socket.
    SocketBusy(PathBuf),
    /// Something else than a socket has the name.
    NotASocket(PathBuf),
    /// The service manager passed no socket of that name.
    NoSystemdSocket(String),
    /// The target's address cannot be used.
    Target {
        /// As the operator wrote it.
        address: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread or its runtime cannot be had.
    Runtime(io::Error),
    /// A thread ended by a fault of its own.
    Fault,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { address, source } if source.kind() == io::ErrorKind::AddrInUse => write!(
                f,
                "cannot listen on {address}: another process listens there; stop it or choose \
                 another address"
            ),
            Self::Bind { address, source } => write!(
                f,
                "cannot listen on {address}: {source}; give an address of this host that this \
                 user may use"
            ),
            Self::SocketBusy(path) => write!(
                f,
                "cannot listen on unix:{}: a living process listens there; stop it or choose \
                 another path",
                path.display()
            ),
            Self::NotASocket(path) => write!(
                f,
                "cannot listen on unix:{}: the file is not a socket; move it away or choose \
                 another path",
                path.display()
            ),
            Self::NoSystemdSocket(name) => write!(
                f,
                "the service manager passed no socket named {name}; check FileDescriptorName= in \
                 the socket unit"
            ),
            Self::Target { address, source } => {
                write!(f, "cannot use the target {address}: {source}; check its path")
            }
            Self::Runtime(source) => {
                write!(f, "cannot start a thread: {source}; check the limits of this process")
            }
            Self::Fault => f.write_str("a thread ended by a fault of sleeve; please report it"),
        }
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind { source, .. } | Self::Target { source, .. } | Self::Runtime(source) => {
                Some(source)
            }
            Self::SocketBusy(_) | Self::NotASocket(_) | Self::NoSystemdSocket(_) | Self::Fault => {
                None
            }
        }
    }
}
