//! Where the responder listens and the load connects: a Unix socket or a loopback TCP port.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

/// An address that a client of the lab connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port of this machine.
    Tcp(SocketAddr),
}

impl Endpoint {
    /// A connection that does not block, without Nagle's delay.
    pub(crate) fn connect(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
        }
    }
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing for the moment.
    Nothing,
    /// The other side has ended the connection, cleanly or by a reset.
    End,
}

/// One read.
pub(crate) fn receive(socket: impl AsFd, into: &mut [u8]) -> io::Result<Received> {
    match rustix::net::recv(socket, into, RecvFlags::empty()) {
        Ok((0, _)) => Ok(Received::End),
        Ok((length, _)) => Ok(Received::Bytes(length)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
        Err(Errno::CONNRESET | Errno::PIPE) => Ok(Received::End),
        Err(error) => Err(error.into()),
    }
}

/// One write; how many bytes it took, which is none when the socket is full, or `None` when the
/// other side has gone.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
        Ok(length) => Ok(Some(length)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Some(0)),
        Err(Errno::CONNRESET | Errno::PIPE) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
