//! The one task that owns a tunnel.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use sleeve_session::{Counters, Ended, Instant, SessionError, Transmit, Tunnel};
use sleeve_wire::{CloseCode, GoAwayReason, ResetReason, StreamId};
use tokio::sync::Notify;

use crate::backend::Backend;
use crate::carrier::Carrier;
use crate::clock;
use crate::plain::{self, Kind, News, Plains};
use crate::ready::Ready;
use crate::sys::Sent;
use crate::timer::Timer;

/// Bytes read from the carrier at once; a record and a half of the largest, at least.
const READ: usize = 64 * 1024;
/// Reads of the carrier in one turn: the plain connections have their turn after that.
const READS: usize = 4;

/// Why a pump ended.
#[derive(Debug)]
pub(crate) enum End {
    /// All streams ended and none was to follow.
    Drained,
    /// The carrier was closed, or failed.
    Carrier(io::Error),
    /// The peer broke the rules, is silent, or closed the session.
    Session(SessionError),
    /// This daemon ends.
    Stopped,
}

/// What others of the same thread may see of a pump and ask of it.
#[derive(Debug)]
pub(crate) struct Handle {
    /// Connections of applications on their way to the pump.
    incoming: RefCell<VecDeque<(OwnedFd, Kind)>>,
    /// Streams that can still be opened, those in `incoming` not counted.
    free: Cell<u32>,
    /// It takes no further streams, for good.
    going_away: Cell<bool>,
    counters: Cell<Counters>,
    writes: Cell<u64>,
    sent: Cell<Sent>,
    wants_sent: Cell<bool>,
    drain: Cell<Option<u64>>,
    stop: Cell<bool>,
    /// Wakes the pump.
    pump: Rc<Notify>,
    /// Wakes whoever waits for a free stream, or for the end.
    pub(crate) changed: Rc<Notify>,
}

impl Handle {
    pub(crate) fn new(pump: Rc<Notify>, changed: Rc<Notify>) -> Rc<Self> {
        Rc::new(Self {
            incoming: RefCell::default(),
            free: Cell::new(0),
            going_away: Cell::new(false),
            counters: Cell::default(),
            writes: Cell::new(0),
            sent: Cell::default(),
            wants_sent: Cell::new(false),
            drain: Cell::new(None),
            stop: Cell::new(false),
            pump,
            changed,
        })
    }

    /// Streams that can be opened now.
    pub(crate) fn free(&self) -> u32 {
        let coming = u32::try_from(self.incoming.borrow().len()).unwrap_or(u32::MAX);
        self.free.get().saturating_sub(coming)
    }

    /// Whether the session takes no further streams, for good.
    pub(crate) fn goes_away(&self) -> bool {
        self.going_away.get()
    }

    /// Gives an application's connection to the pump.
    pub(crate) fn carry(&self, socket: OwnedFd, kind: Kind) {
        self.incoming.borrow_mut().push_back((socket, kind));
        self.pump.notify_one();
    }

    /// No new streams; the pump ends when the last one has.
    pub(crate) fn drain(&self, grace_ms: u64) {
        self.drain.set(Some(grace_ms));
        self.pump.notify_one();
    }

    /// Ends at once.
    pub(crate) fn stop(&self) {
        self.stop.set(true);
        self.pump.notify_one();
    }

    /// Totals; those of the kernel are as of the pump's last turn.
    pub(crate) fn counters(&self) -> (Counters, u64, Sent) {
        self.wants_sent.set(true);
        self.pump.notify_one();
        (self.counters.get(), self.writes.get(), self.sent.get())
    }
}

/// A tunnel, its carrier and its plain connections.
#[derive(Debug)]
pub(crate) struct Pump {
    tunnel: Tunnel,
    carrier: Carrier,
    plains: Plains,
    ready: Arc<Ready>,
    backend: Option<Rc<Backend>>,
    handle: Rc<Handle>,
    timer: Timer,
    /// Bytes from the carrier that make no whole record yet: `inbound[..held]`.
    inbound: Vec<u8>,
    held: usize,
}

impl Pump {
    /// `backend`: where streams go that the peer opens, if it may.
    pub(crate) fn new(
        tunnel: Tunnel,
        carrier: Carrier,
        backend: Option<Rc<Backend>>,
        handle: Rc<Handle>,
    ) -> io::Result<Self> {
        let ready = Ready::new(tunnel.session().settings().max_streams);
        Ok(Self {
            plains: Plains::new(Arc::clone(&ready), backend.clone()),
            tunnel,
            carrier,
            ready,
            backend,
            handle,
            timer: Timer::new()?,
            inbound: vec![0; READ],
            held: 0,
        })
    }

    /// Frames that came with the handshake.
    pub(crate) fn handle_first(&mut self, plaintext: &[u8]) -> Result<(), SessionError> {
        let now = clock::now();
        self.tunnel.session_mut().handle_record(plaintext, &mut self.plains, now)?;
        self.tunnel.session_mut().end_of_input(&mut self.plains, now);
        Ok(())
    }

    /// Runs until the tunnel ends. All plain connections are reset then, but those that ended.
    pub(crate) async fn run(mut self) -> End {
        let pump = Rc::clone(&self.handle.pump);
        let end = {
            let mut asked = pin!(pump.notified());
            // The turn bounds its own work; the runtime's budget would cut it short at a point
            // where sockets look as if they had nothing to tell.
            tokio::task::unconstrained(poll_fn(|cx| {
                while asked.as_mut().poll(cx).is_ready() {
                    asked.set(pump.notified());
                }
                self.turn(cx)
            }))
            .await
        };
        self.finish(&end);
        end
    }

    /// One turn: carrier first, then time, then what the plain connections and others of this
    /// thread want, then as many records as can be written.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.ready.set_pump(cx.waker());
        let now = clock::now();
        let more = match self.receive(cx, now) {
            Ok(more) => more,
            Err(end) => return Poll::Ready(end),
        };
        if self.handle.stop.get() {
            return Poll::Ready(End::Stopped);
        }
        if now >= self.tunnel.timeout()
            && let Err(e) = self.tunnel.handle_timeout(now)
        {
            return Poll::Ready(End::Session(e));
        }
        self.take_incoming(now);
        self.take_dialled(now);
        self.take_ready(now);
        if let Err(end) = self.transmit(cx, now) {
            return Poll::Ready(end);
        }
        self.publish();
        if self.tunnel.session().ended() == Ended::Yes && self.tunnel.pending().is_empty() {
            return Poll::Ready(End::Drained);
        }
        let deadline = self.plains.deadline();
        let at = deadline.map_or(self.tunnel.timeout(), |at| at.min(self.tunnel.timeout()));
        if let Err(e) = self.timer.wake_at(cx, at, now) {
            return Poll::Ready(End::Carrier(e));
        }
        if more {
            // After the driver has had a look at all other sockets.
            let _: Poll<()> = pin!(tokio::task::yield_now()).poll(cx);
        }
        Poll::Pending
    }

    /// Reads the carrier; says whether there may be more to read.
    fn receive(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<bool, End> {
        for _ in 0..READS {
            let space = &mut self.inbound[self.held..];
            let room = space.len();
            let len = match self.carrier.poll_read(cx, space) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Err(e)) => return Err(End::Carrier(e)),
                Poll::Ready(Ok(0)) => {
                    return Err(End::Carrier(io::ErrorKind::UnexpectedEof.into()));
                }
                Poll::Ready(Ok(len)) => len,
            };
            self.held += len;
            let taken = self
                .tunnel
                .handle_carrier(&mut self.inbound[..self.held], &mut self.plains, now)
                .map_err(End::Session)?;
            self.inbound.copy_within(taken..self.held, 0);
            self.held -= taken;
            if len < room {
                // The next poll registers the task for what comes; a socket that was read short
                // has nothing more to give.
                continue;
            }
        }
        Ok(true)
    }

    fn take_incoming(&mut self, now: Instant) {
        if let Some(grace_ms) = self.handle.drain.get() {
            self.tunnel.session_mut().go_away(GoAwayReason::Drain, grace_ms);
        }
        while let Some((socket, kind)) = self.handle.incoming.borrow_mut().pop_front() {
            match self.tunnel.session_mut().open(now) {
                None => plain::reset(&socket),
                Some(id) => {
                    if self.plains.insert(id, socket, kind).is_err() {
                        let session = self.tunnel.session_mut();
                        session.handle_refused(id, ResetReason::Internal, &mut self.plains);
                    }
                }
            }
        }
    }

    fn take_dialled(&mut self, now: Instant) {
        let Some(backend) = self.backend.clone() else { return };
        while let Some(dialled) = backend.next_dialled() {
            let id = dialled.id;
            let news = self.plains.dialled(dialled);
            self.tell(id, news, now);
        }
        while let Some(id) = self.plains.expired(now) {
            self.tell(id, News::Refused(ResetReason::Timeout), now);
        }
    }

    fn take_ready(&mut self, now: Instant) {
        let ready = Arc::clone(&self.ready);
        ready.drain(|id| {
            let news = self.plains.news(id);
            self.tell(id, news, now);
        });
    }

    fn tell(&mut self, id: StreamId, news: News, now: Instant) {
        match news {
            News::None => {}
            News::Readable => self.tunnel.mark_readable(id, &mut self.plains),
            News::Writable => {
                self.tunnel.handle_writable(id, &mut self.plains, now);
                self.tunnel.mark_readable(id, &mut self.plains);
            }
            News::Connected => {
                let session = self.tunnel.session_mut();
                session.handle_connected(id, &mut self.plains, now);
            }
            News::Refused(reason) => {
                if let Some(backend) = &self.backend {
                    backend.tell(&format!("{reason:?}").to_lowercase());
                }
                self.tunnel.session_mut().handle_refused(id, reason, &mut self.plains);
            }
        }
    }

    fn transmit(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<(), End> {
        let drained = self.tunnel.session().is_going_away() && self.tunnel.session().live() == 0;
        if drained && self.handle.incoming.borrow().is_empty() {
            self.tunnel.session_mut().close(CloseCode::Normal);
        }
        loop {
            let carrier = &self.carrier;
            let mut probe = || carrier.path();
            let asked = self.tunnel.poll_transmit(&mut self.plains, now, &mut probe);
            match asked.map_err(End::Session)? {
                Transmit::Idle => return Ok(()),
                Transmit::Write => {}
            }
            self.carrier.set_unsent_max(self.tunnel.unsent_max());
            while !self.tunnel.pending().is_empty() {
                match self.carrier.poll_write(cx, self.tunnel.pending()) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Err(e)) => return Err(End::Carrier(e)),
                    Poll::Ready(Ok(len)) => self.tunnel.sent(len),
                }
                self.handle.writes.set(self.handle.writes.get() + 1);
            }
        }
    }

    /// Lets others see how it stands.
    fn publish(&self) {
        let session = self.tunnel.session();
        let settings = session.settings();
        let free = if session.can_open() { settings.max_streams - session.live() } else { 0 };
        let freed = self.handle.free.replace(free) == 0 && free > 0;
        let away = session.is_going_away();
        if freed || self.handle.going_away.replace(away) != away {
            self.handle.changed.notify_waiters();
        }
        self.handle.counters.set(*session.counters());
        if self.handle.wants_sent.take() {
            self.handle.sent.set(self.carrier.sent().unwrap_or_default());
        }
    }

    /// Ends all that is left: with resets, since its bytes did not all arrive.
    fn finish(&mut self, end: &End) {
        let reason = match end {
            End::Stopped | End::Drained => ResetReason::Shutdown,
            End::Carrier(_) | End::Session(_) => ResetReason::Reset,
        };
        if let End::Session(e) = end
            && let Some(code) = e.close_code()
        {
            self.say(code);
        }
        if matches!(end, End::Stopped) {
            self.say(CloseCode::Normal);
        }
        self.tunnel.session_mut().abort(reason, &mut self.plains);
        for (socket, _) in self.handle.incoming.borrow_mut().drain(..) {
            plain::reset(&socket);
        }
        self.handle.free.set(0);
        self.handle.counters.set(*self.tunnel.session().counters());
        self.handle.sent.set(self.carrier.sent().unwrap_or_default());
        self.handle.changed.notify_waiters();
    }

    /// Tells the peer why the session ends, if the carrier takes it at once.
    fn say(&mut self, code: CloseCode) {
        self.tunnel.session_mut().close(code);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let _ = self.transmit(&mut cx, clock::now());
    }
}
