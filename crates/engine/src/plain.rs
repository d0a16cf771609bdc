//! The plain connections of one session: sockets beside the application or beside the backend.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};
use sleeve_session::{Instant, Local, Opened, Pulled, Pushed};
use sleeve_wire::{ResetReason, StreamId};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::backend::{Backend, Dialled};
use crate::clock;
use crate::ready::Ready;
use crate::sys;

/// A socket and whom its readiness wakes. There is no buffer in it.
#[derive(Debug)]
struct Plain {
    /// A Unix socket is registered for writing only while a write is blocked: it would otherwise
    /// report each time that its peer has read something.
    socket: AsyncFd<OwnedFd>,
    waker: Waker,
    kind: Kind,
    state: State,
}

/// What a plain connection is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tcp,
    Unix,
}

impl Kind {
    /// What the kernel says of a socket.
    pub(crate) fn of(socket: impl AsFd) -> Self {
        match sockopt::socket_domain(socket) {
            Ok(rustix::net::AddressFamily::UNIX) => Self::Unix,
            Ok(_) | Err(_) => Self::Tcp,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `connect` has been called and has not answered.
    Connecting,
    Open,
    /// The last write was not taken whole.
    Blocked,
}

/// What the pump has to tell the session about a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    None,
    Readable,
    /// It takes bytes again, and may have something to read as well.
    Writable,
    Connected,
    Refused(ResetReason),
}

/// What is at a stream's id.
#[derive(Debug, Default)]
struct Place {
    plain: Option<Plain>,
    /// Counts the connections that this id had: results of slow dialling name the one that
    /// they belong to.
    turn: u32,
}

/// The sockets of a session by stream id.
#[derive(Debug)]
pub(crate) struct Plains {
    places: Vec<Place>,
    ready: Arc<Ready>,
    /// Where streams of the peer go; only beside the backend.
    backend: Option<Rc<Backend>>,
    /// Connections under way, the oldest first.
    deadlines: VecDeque<(Instant, StreamId, u32)>,
}

impl Plains {
    pub(crate) fn new(ready: Arc<Ready>, backend: Option<Rc<Backend>>) -> Self {
        Self { places: Vec::new(), ready, backend, deadlines: VecDeque::new() }
    }

    fn place(&mut self, id: StreamId) -> &mut Place {
        if id.index() >= self.places.len() {
            self.places.resize_with(id.index() + 1, Place::default);
        }
        &mut self.places[id.index()]
    }

    fn plain(&mut self, id: StreamId) -> Option<&mut Plain> {
        self.places.get_mut(id.index())?.plain.as_mut()
    }

    /// Takes a connected socket for a stream.
    pub(crate) fn insert(
        &mut self,
        id: StreamId,
        socket: OwnedFd,
        kind: Kind,
    ) -> std::io::Result<()> {
        self.register(id, socket, (kind, State::Open))
    }

    fn register(
        &mut self,
        id: StreamId,
        socket: OwnedFd,
        (kind, state): (Kind, State),
    ) -> std::io::Result<()> {
        let waker = self.ready.waker(id);
        let interest = match kind {
            Kind::Tcp => Interest::READABLE | Interest::WRITABLE,
            Kind::Unix => Interest::READABLE,
        };
        let plain = Plain { socket: sys::watch(socket, interest)?, waker, kind, state };
        if state == State::Connecting {
            let mut cx = Context::from_waker(&plain.waker);
            let _: Poll<_> = plain.socket.poll_write_ready(&mut cx);
        } else {
            plain.wait_readable();
        }
        self.place(id).plain = Some(plain);
        Ok(())
    }

    /// What a wake-up of this stream means.
    pub(crate) fn news(&mut self, id: StreamId) -> News {
        let Some(plain) = self.plain(id) else { return News::None };
        match plain.state {
            State::Open => News::Readable,
            State::Blocked if plain.is_writable() => {
                let place = self.place(id);
                place.plain = place.plain.take().and_then(|p| p.unblock().ok());
                News::Writable
            }
            State::Blocked => News::Readable,
            State::Connecting if !plain.is_writable() => News::None,
            State::Connecting => match sockopt::socket_error(&plain.socket) {
                Ok(Ok(())) => {
                    plain.state = State::Open;
                    plain.wait_readable();
                    News::Connected
                }
                Ok(Err(errno)) | Err(errno) => News::Refused(reason(errno)),
            },
        }
    }

    /// What slow dialling brought for a stream, if that is still there.
    pub(crate) fn dialled(&mut self, dialled: Dialled) -> News {
        let place = self.place(dialled.id);
        if place.turn != dialled.turn || place.plain.is_some() {
            return News::None;
        }
        match dialled.outcome {
            Err(reason) => News::Refused(reason),
            Ok((socket, kind)) => match self.insert(dialled.id, socket, kind) {
                Ok(()) => News::Connected,
                Err(_) => News::Refused(ResetReason::Internal),
            },
        }
    }

    /// When the oldest connection under way has had its time.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadlines.front().map(|(at, ..)| *at)
    }

    /// The next stream whose connection has had its time.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<StreamId> {
        while let Some(&(at, id, turn)) = self.deadlines.front() {
            let place = &self.places[id.index()];
            let waits = place.turn == turn
                && place.plain.as_ref().is_some_and(|p| p.state == State::Connecting);
            if waits && at > now {
                return None;
            }
            self.deadlines.pop_front();
            if waits {
                return Some(id);
            }
        }
        None
    }

    fn remove(&mut self, id: StreamId) -> Option<Plain> {
        let place = self.places.get_mut(id.index())?;
        place.turn = place.turn.wrapping_add(1);
        place.plain.take()
    }
}

impl Plain {
    /// Asks to be woken when there is something to read; `false` if there is already.
    fn wait_readable(&self) -> bool {
        let mut cx = Context::from_waker(&self.waker);
        for _ in 0..2 {
            match self.socket.poll_read_ready(&mut cx) {
                Poll::Pending => return true,
                Poll::Ready(Ok(mut guard)) => guard.clear_ready(),
                Poll::Ready(Err(_)) => return false,
            }
        }
        // Readiness that cannot be cleared: the other side has ended its direction.
        false
    }

    fn is_writable(&self) -> bool {
        let mut cx = Context::from_waker(&self.waker);
        match self.socket.poll_write_ready(&mut cx) {
            Poll::Pending => false,
            Poll::Ready(_) => true,
        }
    }

    /// Asks to be woken when it takes bytes again. Errors show at the next write.
    fn block(self) -> std::io::Result<Self> {
        let mut plain = match self.kind {
            Kind::Tcp => {
                self.wait_writable();
                self
            }
            Kind::Unix => self.reregister(Interest::READABLE | Interest::WRITABLE)?,
        };
        plain.state = State::Blocked;
        plain.wait_readable();
        plain.is_writable();
        Ok(plain)
    }

    /// Forgets that it took bytes once: the next write that is possible makes a new event.
    fn wait_writable(&self) {
        let mut cx = Context::from_waker(&self.waker);
        if let Poll::Ready(Ok(mut guard)) = self.socket.poll_write_ready(&mut cx) {
            guard.clear_ready();
        }
    }

    /// Goes back to being woken for what can be read.
    fn unblock(self) -> std::io::Result<Self> {
        let mut plain = match self.kind {
            Kind::Tcp => self,
            Kind::Unix => self.reregister(Interest::READABLE)?,
        };
        plain.state = State::Open;
        plain.wait_readable();
        Ok(plain)
    }

    fn reregister(self, interest: Interest) -> std::io::Result<Self> {
        let Self { socket, waker, kind, state } = self;
        Ok(Self { socket: sys::watch(socket.into_inner(), interest)?, waker, kind, state })
    }
}

impl Local for Plains {
    fn open(&mut self, id: StreamId, _service: u16) -> Opened {
        let turn = self.place(id).turn;
        let Some(backend) = self.backend.clone() else {
            return Opened::Failed(ResetReason::NoService);
        };
        let started = match backend.start(id, turn) {
            Ok(started) => started,
            Err(reason) => return Opened::Failed(reason),
        };
        let Some((socket, kind, connected)) = started else { return Opened::Pending };
        let state = if connected { State::Open } else { State::Connecting };
        match self.register(id, socket, (kind, state)) {
            Err(_) => Opened::Failed(ResetReason::Internal),
            Ok(()) if connected => Opened::Ready,
            Ok(()) => {
                let at = clock::now().after(backend.connect_timeout());
                self.deadlines.push_back((at, id, turn));
                Opened::Pending
            }
        }
    }

    fn pull(&mut self, id: StreamId, room: &mut [u8]) -> Pulled {
        let Some(plain) = self.plain(id) else { return Pulled::Reset };
        match rustix::net::recv(&plain.socket, &mut *room, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Pulled::Eof,
            // A short read has emptied the socket, and what comes next makes a new event.
            Ok((len, _)) => Pulled::Data { len, more: len == room.len() || !plain.wait_readable() },
            Err(Errno::AGAIN | Errno::INTR) => {
                if plain.wait_readable() {
                    Pulled::Empty
                } else {
                    Pulled::Reset
                }
            }
            Err(_) => Pulled::Reset,
        }
    }

    fn push(&mut self, id: StreamId, bytes: &[u8]) -> Pushed {
        let Some(plain) = self.plain(id) else { return Pushed::Reset };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let len = match rustix::net::send(&plain.socket, bytes, flags) {
            Ok(len) if len == bytes.len() => return Pushed::Taken(len),
            Ok(len) => len,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Pushed::Reset,
        };
        let place = self.place(id);
        match place.plain.take().map(Plain::block) {
            Some(Ok(plain)) => {
                place.plain = Some(plain);
                Pushed::Taken(len)
            }
            Some(Err(_)) | None => Pushed::Reset,
        }
    }

    fn finish(&mut self, id: StreamId) {
        if let Some(plain) = self.plain(id) {
            // A connection that died meanwhile tells so when it is read.
            let _ = rustix::net::shutdown(&plain.socket, rustix::net::Shutdown::Write);
        }
    }

    fn close(&mut self, id: StreamId) {
        drop(self.remove(id));
    }

    fn abort(&mut self, id: StreamId, _reason: ResetReason) {
        if let Some(plain) = self.remove(id) {
            // On TCP this makes the close a reset; Unix sockets have none, the nearest is
            // ECONNRESET at a peer whose bytes were not all read.
            let _ = sockopt::set_socket_linger(&plain.socket, Some(Duration::ZERO));
        }
    }

    fn is_dead(&mut self, id: StreamId, drained: bool) -> bool {
        let Some(plain) = self.plain(id) else { return true };
        if drained {
            let mut asked = [PollFd::new(&plain.socket, PollFlags::empty())];
            let _ = poll(&mut asked, Some(&Timespec::default()));
            asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
        } else {
            !matches!(sockopt::socket_error(&plain.socket), Ok(Ok(())))
        }
    }
}

/// What an error of `connect` means for the peer.
pub(crate) fn reason(errno: Errno) -> ResetReason {
    match errno {
        Errno::CONNREFUSED => ResetReason::Refused,
        Errno::TIMEDOUT => ResetReason::Timeout,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => ResetReason::Internal,
        _ => ResetReason::Unreachable,
    }
}

/// Makes the close of a connection that no stream has a reset.
pub(crate) fn reset(socket: impl AsFd) {
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
