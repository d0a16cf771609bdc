//! A worker beside the application.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sleeve_config::ClientPlan;
use sleeve_wire::CloseCode;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::carrier::Carrier;
use crate::crowd::Crowd;
use crate::entry::Entry;
use crate::linkup::link_up;
use crate::plain::Kind;
use crate::pump::{End, Handle, Pump};
use crate::throttle::Throttle;
use crate::{clock, plain, random};

/// Pauses between attempts to reach the server: the first at once, then doubled up to the last.
const BACK_OFF_MS: [u64; 8] = [0, 50, 100, 200, 400, 800, 1600, 2000];
/// An application that waits shortens the pause to this.
const PRESSED: Duration = Duration::from_millis(100);
/// A session that lived so long begins the pauses anew.
const GOOD: Duration = Duration::from_secs(10);

/// What the tasks of a client's worker share.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<ClientPlan>,
    crowd: Rc<Crowd>,
    /// The session that takes new streams.
    current: RefCell<Option<Rc<Handle>>>,
    /// Applications' connections that wait for a session.
    waiting: RefCell<VecDeque<(OwnedFd, Kind)>>,
    /// Told when an application begins to wait.
    pressed: Notify,
    leaving: Cell<bool>,
    throttle: Throttle,
    limits: Throttle,
    /// Names this process in the handshake.
    instance: [u8; 16],
}

impl Client {
    pub(crate) fn new(plan: Arc<ClientPlan>, crowd: Rc<Crowd>) -> Rc<Self> {
        Rc::new(Self {
            plan,
            crowd,
            current: RefCell::default(),
            waiting: RefCell::default(),
            pressed: Notify::new(),
            leaving: Cell::new(false),
            throttle: Throttle::default(),
            limits: Throttle::default(),
            instance: random::bytes(),
        })
    }

    /// Takes applications' connections from a listener, without end.
    pub(crate) async fn accept(self: Rc<Self>, entry: Entry, take: impl FnMut(OwnedFd, Kind)) {
        let room = || self.room() > 0;
        let freed = async || {
            if let Some(silent) = self.limits.pass(clock::now()) {
                let limit = self.plan.common.max_streams;
                warn!(limit, silent, "limit of streams reached: further connections wait");
            }
            // Whatever frees a stream or brings a session tells; time is the net beneath it.
            let changed = self.crowd.changed.notified();
            if self.room() == 0 {
                let _ = tokio::time::timeout(Duration::from_millis(250), changed).await;
            }
        };
        entry.run(room, freed, take).await;
    }

    fn room(&self) -> u32 {
        match self.current.borrow().as_ref() {
            Some(handle) => handle.free(),
            None => {
                let waiting = u32::try_from(self.waiting.borrow().len()).unwrap_or(u32::MAX);
                self.plan.common.max_streams.saturating_sub(waiting)
            }
        }
    }

    /// Gives a connection to the session, or lets it wait for one.
    pub(crate) fn carry(&self, socket: OwnedFd, kind: Kind) {
        if kind == Kind::Tcp {
            // Should it fail, small replies may be late and nothing else.
            let _ = rustix::net::sockopt::set_tcp_nodelay(&socket, true);
        }
        match self.current.borrow().as_ref() {
            Some(handle) => handle.carry(socket, kind),
            None => {
                self.waiting.borrow_mut().push_back((socket, kind));
                self.pressed.notify_one();
            }
        }
    }

    /// No new session, and whoever waits for one is turned away.
    pub(crate) fn leave(&self) {
        self.leaving.set(true);
        self.turn_away();
        self.pressed.notify_one();
    }

    fn turn_away(&self) {
        for (socket, _) in self.waiting.borrow_mut().drain(..) {
            plain::reset(&socket);
        }
    }

    /// Keeps a session to the server as long as the worker lives.
    pub(crate) async fn keep(self: Rc<Self>) {
        let mut failures = 0;
        while !self.leaving.get() {
            match link_up(&self.plan, self.instance).await {
                Ok((tunnel, carrier)) => {
                    let began = Instant::now();
                    self.serve(tunnel, carrier).await;
                    failures = if began.elapsed() >= GOOD { 0 } else { failures + 1 };
                }
                Err(error) => {
                    failures += 1;
                    if let Some(silent) = self.throttle.pass(clock::now()) {
                        warn!(%error, silent, "no session with the server");
                    }
                    self.turn_away();
                }
            }
            if !self.leaving.get() {
                self.pause(failures).await;
            }
        }
    }

    async fn pause(&self, failures: usize) {
        let last = BACK_OFF_MS.len() - 1;
        let full = BACK_OFF_MS[failures.saturating_sub(1).min(last)];
        // A quarter more or less, so that many clients do not come back at the same moment.
        let spread = u32::try_from(full / 2).unwrap_or(0) + 1;
        let ms = full - full / 4 + u64::from(random::below(spread));
        let began = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
            () = self.pressed.notified() => {
                let pressed = PRESSED.min(Duration::from_millis(ms));
                tokio::time::sleep_until(began + pressed).await;
            }
        }
    }

    /// Runs a session until it takes no more streams.
    async fn serve(self: &Rc<Self>, tunnel: sleeve_session::Tunnel, carrier: Carrier) {
        let handle = Handle::new(Rc::new(Notify::new()), Rc::clone(&self.crowd.changed));
        let pump = match Pump::new(tunnel, carrier, None, Rc::clone(&handle)) {
            Ok(pump) => pump,
            Err(error) => return warn!(%error, "no session with the server"),
        };
        info!(framing = %self.plan.framing, "session with the server stands");
        *self.current.borrow_mut() = Some(Rc::clone(&handle));
        for (socket, kind) in self.waiting.borrow_mut().drain(..) {
            handle.carry(socket, kind);
        }
        let client = Rc::clone(self);
        let mut task = tokio::task::spawn_local({
            let handle = Rc::clone(&handle);
            async move {
                let end = client.crowd.run(pump, handle).await;
                client.tell(&end);
            }
        });
        loop {
            let changed = self.crowd.changed.notified();
            if handle.goes_away() || task.is_finished() {
                break;
            }
            tokio::select! {
                () = changed => {}
                _ = &mut task => break,
            }
        }
        *self.current.borrow_mut() = None;
    }

    fn tell(&self, end: &End) {
        match end {
            End::Drained | End::Stopped => info!("session with the server ended"),
            End::Session(sleeve_session::SessionError::Closed(CloseCode::Normal)) => {
                info!("the server ended the session");
            }
            End::Session(error) => warn!(%error, "session with the server lost"),
            End::Carrier(error) => warn!(%error, "session with the server lost"),
        }
    }
}
