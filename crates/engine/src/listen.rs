//! Listeners.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sleeve_config::{Address, Host};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::error::EngineError;
use crate::sys;

/// The kernel cuts it at net.core.somaxconn.
const BACKLOG: i32 = 65_535;

/// A bound socket, once for each worker that may accept from it.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Where it listens, with the port that the kernel gave.
    pub(crate) address: Address,
    pub(crate) sockets: Vec<OwnedFd>,
    /// The file to be removed at the end.
    pub(crate) file: Option<SocketFile>,
}

/// A Unix socket that this process bound, and the file that stands for it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode: if another file has taken the name it is left alone.
    identity: (u64, u64),
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        let meta = std::fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), identity: (meta.dev(), meta.ino()) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let same = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == self.identity);
        if same {
            // Should it fail, the next start finds a dead socket and replaces it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Binds all of `addresses`, or none. TCP listeners are bound once for each worker, so that the
/// kernel spreads connections; of the others there is one.
pub(crate) fn bind_all(
    addresses: &[Address],
    workers: usize,
) -> Result<Vec<Listener>, EngineError> {
    let mut listeners = Vec::new();
    for address in addresses {
        let refused = |source| EngineError::Bind { address: address.to_string(), source };
        match address {
            Address::Tcp { host, port } => {
                for found in resolve(host, *port).map_err(refused)? {
                    listeners.push(bind_tcp(found, workers).map_err(refused)?);
                }
            }
            Address::Unix(path) => listeners.push(bind_path(path)?),
            Address::Abstract(name) => {
                let socket = abstract_address(name).and_then(|a| bind_unix(&a));
                listeners.push(Listener {
                    address: address.clone(),
                    sockets: vec![socket.map_err(refused)?],
                    file: None,
                });
            }
            Address::Systemd(name) => listeners.push(from_systemd(name, address)?),
        }
    }
    Ok(listeners)
}

fn resolve(host: &Host, port: u16) -> io::Result<Vec<SocketAddr>> {
    match host {
        Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, port)]),
        Host::Name(name) => Ok((name.as_str(), port).to_socket_addrs()?.collect()),
    }
}

fn bind_tcp(address: SocketAddr, workers: usize) -> io::Result<Listener> {
    // Sharing a port is for the workers of one process: a port that another one has is busy.
    let first = tcp(address, false)?;
    let address = first.local_addr()?.as_socket().unwrap_or(address);
    let mut sockets = Vec::new();
    if workers > 1 {
        drop(first);
        for _ in 0..workers {
            let socket = tcp(address, true)?;
            socket.listen(BACKLOG)?;
            sockets.push(socket.into());
        }
    } else {
        first.listen(BACKLOG)?;
        sockets.push(first.into());
    }
    let address = Address::Tcp { host: Host::Ip(address.ip()), port: address.port() };
    Ok(Listener { address, sockets, file: None })
}

fn tcp(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
    // Connections of an earlier process that are still closing do not make the port busy.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

fn bind_unix(address: &SockAddr) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// socket2 takes a path that begins with a zero byte as an abstract name.
fn abstract_address(name: &str) -> io::Result<SockAddr> {
    SockAddr::unix(format!("\0{name}"))
}

fn bind_path(path: &Path) -> Result<Listener, EngineError> {
    let address = Address::Unix(path.to_owned());
    let refused = |source| EngineError::Bind { address: address.to_string(), source };
    match std::fs::symlink_metadata(path) {
        Err(_) => {}
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(EngineError::NotASocket(path.to_owned()));
        }
        Ok(_) => match std::os::unix::net::UnixStream::connect(path) {
            // The process that made it is gone.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(refused)?;
            }
            Ok(_) => return Err(EngineError::SocketBusy(path.to_owned())),
            Err(source) => return Err(refused(source)),
        },
    }
    let socket = SockAddr::unix(path).and_then(|a| bind_unix(&a)).map_err(refused)?;
    let file = SocketFile::new(path).map_err(refused)?;
    Ok(Listener { address: address.clone(), sockets: vec![socket], file: Some(file) })
}

/// A socket that the service manager passed; its file, if it has one, belongs to the manager.
fn from_systemd(name: &str, address: &Address) -> Result<Listener, EngineError> {
    let missing = || EngineError::NoSystemdSocket(name.to_owned());
    let passed = sd_notify::listen_fds_with_names().map_err(|_| missing())?;
    let mut sockets = Vec::new();
    for (fd, _) in passed.filter(|(_, passed)| passed == name) {
        let refused = |source| EngineError::Bind { address: address.to_string(), source };
        let socket = Socket::from(sys::inherited(fd).map_err(refused)?);
        socket.set_nonblocking(true).map_err(refused)?;
        socket.set_cloexec(true).map_err(refused)?;
        sockets.push(socket.into());
    }
    if sockets.is_empty() {
        return Err(missing());
    }
    Ok(Listener { address: address.clone(), sockets, file: None })
}
