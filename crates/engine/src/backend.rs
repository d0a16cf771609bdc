//! Connections to the backend, made when the peer opens a stream.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use sleeve_config::{Address, Host};
use sleeve_wire::{ResetReason, StreamId};
use tokio::sync::Notify;
use tracing::warn;

use crate::clock;
use crate::plain::{Kind, reason};
use crate::throttle::Throttle;

/// A Unix socket whose queue is full is tried again after this.
const QUEUE_FULL: Duration = Duration::from_millis(5);

/// A connection that took a detour through a task of its own.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) id: StreamId,
    /// Which connection of that id; see [`crate::plain::Plains`].
    pub(crate) turn: u32,
    pub(crate) outcome: Result<(OwnedFd, Kind), ResetReason>,
}

/// Where streams go, and the results of slow dialling on their way to the pump.
#[derive(Debug)]
pub(crate) struct Backend {
    target: Target,
    connect_timeout: Duration,
    dialled: Rc<RefCell<VecDeque<Dialled>>>,
    pump: Rc<Notify>,
    throttle: Rc<Throttle>,
    text: String,
}

#[derive(Clone, Debug)]
enum Target {
    Tcp(SocketAddr),
    Name(String, u16),
    Unix(SocketAddrUnix),
}

impl Backend {
    /// A backend at `address`; `throttle` is shared by all sessions of a worker.
    pub(crate) fn new(
        address: &Address,
        connect_timeout: Duration,
        pump: Rc<Notify>,
        throttle: Rc<Throttle>,
    ) -> std::io::Result<Self> {
        let target = match address {
            Address::Tcp { host: Host::Ip(ip), port } => Target::Tcp(SocketAddr::new(*ip, *port)),
            Address::Tcp { host: Host::Name(name), port } => Target::Name(name.clone(), *port),
            Address::Unix(path) => Target::Unix(SocketAddrUnix::new(path.as_path())?),
            Address::Abstract(name) => {
                Target::Unix(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
            }
            Address::Systemd(_) => return Err(std::io::ErrorKind::Unsupported.into()),
        };
        Ok(Self {
            target,
            connect_timeout,
            dialled: Rc::default(),
            pump,
            throttle,
            text: address.to_string(),
        })
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// The next result of slow dialling.
    pub(crate) fn next_dialled(&self) -> Option<Dialled> {
        self.dialled.borrow_mut().pop_front()
    }

    /// Begins a connection: the socket and whether it stands already, or nothing if the result
    /// comes through [`Backend::next_dialled`].
    pub(crate) fn start(
        &self,
        id: StreamId,
        turn: u32,
    ) -> Result<Option<(OwnedFd, Kind, bool)>, ResetReason> {
        let outcome = match &self.target {
            Target::Tcp(address) => {
                connect_tcp(address).map(|(socket, stands)| Some((socket, Kind::Tcp, stands)))
            }
            Target::Unix(address) => match connect_unix(address) {
                Err(Errno::AGAIN) => {
                    self.wait_in_line(id, turn, address.clone());
                    Ok(None)
                }
                outcome => outcome.map(|socket| Some((socket, Kind::Unix, true))),
            },
            Target::Name(name, port) => {
                self.look_up(id, turn, (name.clone(), *port));
                Ok(None)
            }
        };
        outcome.map_err(|errno| {
            self.tell(&std::io::Error::from(errno).to_string());
            reason(errno)
        })
    }

    /// One line for the operator, not one for each stream.
    pub(crate) fn tell(&self, what: &str) {
        if let Some(silent) = self.throttle.pass(clock::now()) {
            warn!(target = %self.text, error = what, silent, "backend cannot be reached");
        }
    }

    fn wait_in_line(&self, id: StreamId, turn: u32, address: SocketAddrUnix) {
        let deadline = tokio::time::Instant::now() + self.connect_timeout;
        self.dial(id, turn, async move {
            loop {
                tokio::time::sleep(QUEUE_FULL).await;
                match connect_unix(&address) {
                    Err(Errno::AGAIN) if tokio::time::Instant::now() < deadline => {}
                    Err(Errno::AGAIN) => return Err(ResetReason::Timeout),
                    outcome => return outcome.map(|s| (s, Kind::Unix)).map_err(reason),
                }
            }
        });
    }

    fn look_up(&self, id: StreamId, turn: u32, address: (String, u16)) {
        let limit = self.connect_timeout;
        self.dial(id, turn, async move {
            let hosts = [address];
            let connect = crate::dial::connect_any(&hosts);
            match tokio::time::timeout(limit, connect).await {
                Err(_) => Err(ResetReason::Timeout),
                Ok(Ok(stream)) => {
                    let socket = stream.into_std().map_err(|_| ResetReason::Internal)?;
                    Ok((OwnedFd::from(socket), Kind::Tcp))
                }
                Ok(Err(e)) => Err(e
                    .raw_os_error()
                    .map_or(ResetReason::Unreachable, |n| reason(Errno::from_raw_os_error(n)))),
            }
        });
    }

    fn dial(
        &self,
        id: StreamId,
        turn: u32,
        outcome: impl Future<Output = Result<(OwnedFd, Kind), ResetReason>> + 'static,
    ) {
        let (dialled, pump) = (Rc::clone(&self.dialled), Rc::clone(&self.pump));
        tokio::task::spawn_local(async move {
            let outcome = outcome.await;
            dialled.borrow_mut().push_back(Dialled { id, turn, outcome });
            pump.notify_one();
        });
    }
}

fn connect_unix(address: &SocketAddrUnix) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, address)?;
    Ok(socket)
}

fn connect_tcp(address: &SocketAddr) -> Result<(OwnedFd, bool), Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match rustix::net::connect(&socket, address) {
        Ok(()) => Ok((socket, true)),
        Err(Errno::INPROGRESS) => Ok((socket, false)),
        Err(errno) => Err(errno),
    }
}
