//! The plain connections of one side, and the applications at their other end.

use std::collections::VecDeque;

use sleeve_session::{Local, Opened, Pulled, Pushed};
use sleeve_wire::{ResetReason, StreamId};

use crate::app::{Content, Ending, Habits, Script};
use crate::ledger::Ledger;
use crate::recipe::Backends;
use crate::rng::Rng;

/// What the session is to be told of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Readable,
    Writable,
    Connected,
    Refused(ResetReason),
}

/// A plain connection: how many bytes passed each point of it. The bytes themselves follow from
/// their place.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) uid: u64,
    pub(crate) script: Script,
    connecting: bool,
    /// Written by the application, and read by the daemon.
    wrote: u64,
    pulled: u64,
    /// The application ended its direction, or died.
    ended: bool,
    dead: bool,
    /// Written by the daemon, and read by the application.
    pushed: u64,
    consumed: u64,
    finished: bool,
    blocked: bool,
    /// The application has a step to come.
    pub(crate) scheduled: bool,
}

/// What an application's step did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// Microseconds to its next step; `None`: when something happens.
    pub(crate) again_us: Option<u64>,
}

impl Conn {
    pub(crate) fn new(uid: u64, script: Script) -> Self {
        Self {
            uid,
            script,
            connecting: false,
            wrote: 0,
            pulled: 0,
            ended: false,
            dead: false,
            pushed: 0,
            consumed: 0,
            finished: false,
            blocked: false,
            scheduled: false,
        }
    }

    /// From now on it reads all, writes no more, and ends.
    pub(crate) fn heal(&mut self) {
        self.script = Script {
            total: self.wrote,
            after: 0,
            read_chunk: u64::MAX,
            read_every_us: 0,
            every_us: 0,
            ending: Ending::Finish,
            ..self.script
        };
    }

    /// The application does what it can do now.
    pub(crate) fn step(&mut self) -> Step {
        let mut step = Step::default();
        if self.dead || self.connecting {
            return step;
        }
        let take = self.script.read_chunk.min(self.pushed - self.consumed);
        self.consumed += take;
        if self.blocked && self.space() > 0 {
            self.blocked = false;
            step.writable = true;
        }
        let speaks = self.consumed >= self.script.after || self.finished;
        let room = self.script.room[0].saturating_sub(self.wrote - self.pulled);
        let put = self.script.chunk.min(self.script.total - self.wrote).min(room);
        if speaks && put > 0 {
            self.wrote += put;
            step.readable = true;
        }
        let all = self.wrote == self.script.total;
        match self.script.ending {
            Ending::Reset(at) if all || self.wrote + self.consumed >= at => {
                self.dead = true;
                return Step { readable: true, writable: true, again_us: None };
            }
            Ending::Finish if all && !self.ended => {
                self.ended = true;
                step.readable = true;
            }
            Ending::FinishLast if all && self.finished && !self.ended => {
                self.ended = true;
                step.readable = true;
            }
            Ending::Reset(_) | Ending::Finish | Ending::FinishLast => {}
        }
        let reads = self.script.read_chunk > 0 && self.pushed > self.consumed;
        let writes = speaks && !all && room > put;
        step.again_us = [(reads, self.script.read_every_us), (writes, self.script.every_us)]
            .iter()
            .filter_map(|(does, us)| does.then_some(*us))
            .min();
        step
    }

    fn space(&self) -> u64 {
        self.script.room[1].saturating_sub(self.pushed - self.consumed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Plains {
    pub(crate) conns: Vec<Option<Conn>>,
    pub(crate) news: VecDeque<(StreamId, u64, News)>,
    /// Connections whose application may go on.
    pub(crate) pokes: Vec<StreamId>,
    /// Backend connections under way: in how many microseconds, which, with what outcome.
    pub(crate) dials: Vec<(u64, StreamId, u64, News)>,
    /// Bytes that the daemon writes and reads at most, and calls of it: for measurements.
    pub(crate) pushes: u64,
}

impl Plains {
    pub(crate) fn get(&mut self, id: StreamId) -> Option<&mut Conn> {
        self.conns.get_mut(id.index()).and_then(Option::as_mut)
    }

    pub(crate) fn insert(&mut self, id: StreamId, conn: Conn) {
        if self.conns.len() <= id.index() {
            self.conns.resize_with(id.index() + 1, || None);
        }
        self.conns[id.index()] = Some(conn);
        self.pokes.push(id);
    }

    /// What became of a backend connection; `false` if nobody waits for it any more.
    pub(crate) fn dialled(&mut self, id: StreamId, uid: u64) -> bool {
        match self.get(id).filter(|conn| conn.uid == uid) {
            Some(conn) => {
                conn.connecting = false;
                self.pokes.push(id);
                true
            }
            None => false,
        }
    }
}

/// The plain connections as the session sees them during one call.
pub(crate) struct Bench<'a> {
    pub(crate) side: usize,
    pub(crate) plains: &'a mut Plains,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) rng: &'a mut Rng,
    pub(crate) habits: &'a Habits,
    pub(crate) backends: &'a Backends,
}

impl Bench<'_> {
    /// The connection, which the session may only name while it holds it.
    fn held(&mut self, id: StreamId, what: &str) -> Option<&mut Conn> {
        let side = self.side;
        let conn = self.plains.conns.get_mut(id.index()).and_then(Option::as_mut);
        self.ledger.check(conn.is_some(), || format!("side {side}: {what} of {id}, not held"));
        conn
    }
}

impl Local for Bench<'_> {
    fn open(&mut self, id: StreamId, service: u16) -> Opened {
        let side = self.side;
        let Some(uid) = self.ledger.uid(id).filter(|_| side == 1 && service == 0) else {
            self.ledger.blame(|| format!("side {side} opens {id} for {service}"));
            return Opened::Failed(ResetReason::NoService);
        };
        let taken = self.plains.get(id).is_some() || self.ledger.end(uid, 1).opened;
        self.ledger.check(!taken, || format!("I15: {id} opened while its backend is held"));
        let end = self.ledger.end(uid, 1);
        end.opened = true;
        let (rng, backends) = (&mut *self.rng, self.backends);
        if rng.chance(backends.fail) {
            let reason = rng.pick(&[ResetReason::Refused, ResetReason::Internal]);
            end.refused = Some(reason);
            // Nothing was made, so that nothing is let go of.
            end.gone = Some(crate::ledger::Gone::Aborted(reason));
            return Opened::Failed(reason);
        }
        self.ledger.held[1] += 1;
        let mut conn = Conn::new(uid, self.habits.script(rng));
        let opened = if rng.chance(backends.ready) {
            Opened::Ready
        } else {
            conn.connecting = true;
            let reasons = [ResetReason::Refused, ResetReason::Timeout, ResetReason::Unreachable];
            let refuses = rng.chance(backends.refuse);
            let news = if refuses { News::Refused(rng.pick(&reasons)) } else { News::Connected };
            let after = rng.range(1, backends.connect_us);
            self.plains.dials.push((after, id, uid, news));
            Opened::Pending
        };
        self.plains.insert(id, conn);
        opened
    }

    fn pull(&mut self, id: StreamId, room: &mut [u8]) -> Pulled {
        let side = self.side;
        let Some(conn) = self.held(id, "pull") else { return Pulled::Reset };
        let (uid, connecting) = (conn.uid, conn.connecting);
        if conn.dead {
            self.ledger.end(uid, side).dead = true;
            return Pulled::Reset;
        }
        let len = (conn.wrote - conn.pulled).min(room.len() as u64);
        Content::new(uid, side).fill(conn.pulled, &mut room[..len as usize]);
        conn.pulled += len;
        let more = conn.wrote > conn.pulled || conn.ended || conn.script.pessimist;
        let ended = conn.ended;
        self.plains.pokes.push(id);
        let told = self.ledger.end(uid, side).eof;
        self.ledger.check(!told && !connecting, || format!("pull of {id} out of its time"));
        self.ledger.check(!room.is_empty(), || format!("pull of {id} into nothing"));
        self.ledger.read[side] += len;
        let end = self.ledger.end(uid, side);
        end.read += len;
        match (len, ended) {
            (0, false) => Pulled::Empty,
            (0, true) => {
                end.eof = true;
                Pulled::Eof
            }
            (len, _) => Pulled::Data { len: len as usize, more },
        }
    }

    fn push(&mut self, id: StreamId, bytes: &[u8]) -> Pushed {
        let side = self.side;
        let mut take = self.rng.size(0, bytes.len());
        let cut = self.rng.bits() % 100;
        self.plains.pushes += 1;
        let Some(conn) = self.held(id, "push") else { return Pushed::Reset };
        let (uid, at, connecting) = (conn.uid, conn.pushed, conn.connecting);
        if conn.dead {
            self.ledger.end(uid, side).dead = true;
            return Pushed::Reset;
        }
        if cut >= conn.script.short {
            take = bytes.len();
        }
        let take = conn.space().min(take as u64);
        conn.pushed += take;
        conn.blocked |= take < bytes.len() as u64;
        self.plains.pokes.push(id);
        let (own, far) = self.ledger.ends(uid, side);
        let fits = Content::new(uid, 1 - side).matches(at, bytes)
            && at + bytes.len() as u64 <= far.read;
        self.ledger.check(fits, || format!("I1: other bytes for {id} (uid {uid}) at {at}"));
        let timely = !own.shown && !connecting && !bytes.is_empty();
        self.ledger.check(timely, || format!("push of {id} out of its time"));
        self.ledger.end(uid, side).taken += take;
        Pushed::Taken(take as usize)
    }

    fn finish(&mut self, id: StreamId) {
        let side = self.side;
        let Some(conn) = self.held(id, "finish") else { return };
        conn.finished = true;
        let uid = conn.uid;
        self.plains.pokes.push(id);
        self.ledger.show_end(uid, side);
    }

    fn close(&mut self, id: StreamId) {
        let side = self.side;
        let Some(uid) = self.held(id, "close").map(|conn| conn.uid) else { return };
        self.ledger.close(uid, side);
        self.plains.conns[id.index()] = None;
    }

    fn abort(&mut self, id: StreamId, reason: ResetReason) {
        let side = self.side;
        let Some(uid) = self.held(id, "abort").map(|conn| conn.uid) else { return };
        self.ledger.abort(uid, side, reason);
        self.plains.conns[id.index()] = None;
    }

    fn is_dead(&mut self, id: StreamId, _drained: bool) -> bool {
        let side = self.side;
        let Some(conn) = self.held(id, "is_dead") else { return true };
        let (uid, dead) = (conn.uid, conn.dead);
        if dead {
            self.ledger.end(uid, side).dead = true;
        }
        dead
    }
}
