//! Two tunnels, a carrier between them and applications at both ends, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use sleeve_seal::Link;
use sleeve_session::{Ended, Instant, Session, SessionError, Tunnel};
use sleeve_wire::{CloseCode, GoAwayReason, StreamId};

use crate::end::{Around, End, Over};
use crate::ledger::Ledger;
use crate::local::{Conn, News};
use crate::pipe::Pipe;
use crate::recipe::Recipe;
use crate::rng::Rng;
use crate::tap::Tap;
use crate::trace::Trace;

/// Virtual time that all may take to come to an end after faults have stopped. A carrier of
/// 10 MB/s with 50 ms each way and timers that are 100 ms late settles within a few seconds.
const SETTLE_US: u64 = 120_000_000;
/// Events after which a run is taken to be going in circles.
const EVENTS_MAX: u64 = 3_000_000;

/// What happens at a time that was set before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// An application connects.
    Connect,
    /// An application goes on: its side, id and connection.
    App(usize, u32, u64),
    /// A backend connection was answered: its place in the list of outcomes.
    Dialled(usize),
    /// The dialling side wants no further streams.
    Drain,
    /// Faults stop.
    Heal,
}

/// What went wrong in a run.
#[derive(Debug)]
pub struct Failure {
    /// Reproduces the run.
    pub seed: u64,
    /// The invariant that broke, and how.
    pub what: String,
    /// The last events, if they were asked for.
    pub trace: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SEED={}\n{}\n{}", self.seed, self.what, self.trace)
    }
}

/// What a run that went well did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Events of the run.
    pub events: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Application bytes read, both sides.
    pub bytes: u64,
    /// Records that were sealed, both sides.
    pub records: u64,
    /// Virtual microseconds.
    pub micros: u64,
    /// The carrier was ended by a fault.
    pub cut: bool,
}

/// The world of one run.
#[derive(Debug)]
pub struct World {
    pub(crate) recipe: Recipe,
    rng: Rng,
    pub(crate) now: u64,
    pub(crate) ends: [End; 2],
    pipes: [Pipe; 2],
    pub(crate) ledger: Ledger,
    pub(crate) tap: Tap,
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    ties: u64,
    outcomes: Vec<(StreamId, u64, News)>,
    /// Connections of applications that no stream could be opened for yet.
    queued: u64,
    healed: bool,
    events: u64,
    trace: Trace,
}

impl World {
    /// The world at its beginning.
    #[must_use]
    pub fn new(recipe: Recipe, trace: bool) -> Self {
        let mut rng = Rng::new(recipe.seed ^ 0x5EED);
        let framing = recipe.settings[0].framing;
        let (mut up, mut down) = ([0; 32], [0; 32]);
        rng.fill(&mut up);
        rng.fill(&mut down);
        let links = || Link::pair(up, down, framing, recipe.rekey);
        let peers = recipe.peers();
        let (dials, accepts) = links();
        let tunnel = |side: usize, link| {
            Tunnel::new(Session::new(recipe.settings[side], peers[side], Instant(0)), link)
        };
        let initial = [peers[0].initial_credit, peers[1].initial_credit].map(u64::from);
        let fault = |way| recipe.fault.filter(|fault| fault.direction == way);
        let mut world = Self {
            ends: [End::new(0, tunnel(0, dials)), End::new(1, tunnel(1, accepts))],
            pipes: [0, 1].map(|way| Pipe::new(recipe.pipes[way], fault(way), &mut rng)),
            ledger: Ledger::default(),
            tap: Tap::new(links(), framing, initial, recipe.settings[1].max_streams),
            due: BinaryHeap::new(),
            ties: 0,
            outcomes: Vec::new(),
            queued: 0,
            healed: false,
            events: 0,
            now: 0,
            rng,
            trace: Trace::new(trace),
            recipe,
        };
        let mut at = 0;
        for _ in 0..world.recipe.connections {
            at += world.rng.range(0, world.recipe.apart_us);
            world.plan(at, Due::Connect);
        }
        if let Some(at) = world.recipe.drain_at {
            world.plan(at, Due::Drain);
        }
        if world.recipe.heal_at < u64::MAX {
            world.plan(world.recipe.heal_at, Due::Heal);
        }
        world
    }

    fn plan(&mut self, at: u64, due: Due) {
        self.ties += 1;
        self.due.push(Reverse((at, self.ties, due)));
    }

    /// Runs the world to its end.
    ///
    /// # Errors
    /// The first invariant that broke.
    pub fn run(mut self) -> Result<Summary, Failure> {
        let outcome = self.live();
        let seed = self.recipe.seed;
        match outcome {
            Ok(()) => Ok(Summary {
                events: self.events,
                connections: self.ledger.flows.len() as u64,
                bytes: self.ledger.read.iter().sum(),
                records: self.tap.records(0) + self.tap.records(1),
                micros: self.now,
                cut: self.pipes.iter().any(|pipe| pipe.harmed),
            }),
            Err(what) => Err(Failure { seed, what, trace: self.trace.text() }),
        }
    }

    fn live(&mut self) -> Result<(), String> {
        while self.step()? {
            let deadline = self.recipe.heal_at.saturating_add(SETTLE_US);
            if self.now > deadline {
                self.ledger.settle();
                let live = [0, 1].map(|s| self.ends[s].tunnel.session().live());
                return Err(self.ledger.fault.take().unwrap_or_else(|| {
                    format!("I4: after {SETTLE_US} us: live {live:?}, queued {}", self.queued)
                }));
            }
        }
        self.conclude()
    }

    /// One event; `false` when there is nothing more to come.
    pub(crate) fn step(&mut self) -> Result<bool, String> {
        let due = self.due.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        let turns = self.ends.iter().map(|end| end.turn_at).min().unwrap_or(u64::MAX);
        let pipes = self.pipes.iter().map(Pipe::next_at).min().unwrap_or(u64::MAX);
        let next = due.min(turns).min(pipes);
        if next == u64::MAX || self.is_settled() {
            return Ok(false);
        }
        self.now = self.now.max(next);
        self.events += 1;
        for (way, pipe) in self.pipes.iter_mut().enumerate() {
            pipe.advance(self.now, &mut self.rng);
            let late = self.rng.range(0, self.recipe.turn_late_us);
            let reader = &mut self.ends[1 - way];
            if pipe.can_read() && reader.over.is_none() {
                reader.turn_at = reader.turn_at.min(self.now + late);
            }
            let writer = &mut self.ends[way];
            if writer.blocked && pipe.can_write() && writer.over.is_none() {
                writer.turn_at = writer.turn_at.min(self.now + late);
            }
        }
        while self.due.peek().is_some_and(|Reverse((at, ..))| *at <= self.now) {
            if let Some(Reverse((_, _, due))) = self.due.pop() {
                self.happen(due);
            }
        }
        for side in [0, 1] {
            if self.ends[side].turn_at <= self.now && self.ends[side].over.is_none() {
                self.turn(side)?;
            }
        }
        if self.events > EVENTS_MAX {
            return Err("runs in circles".into());
        }
        self.ledger.fault.take().map_or(Ok(true), Err)
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Connect => {
                self.queued += 1;
                self.wake(0);
            }
            Due::App(side, id, uid) => self.app(side, StreamId(id), uid),
            Due::Dialled(index) => {
                let (id, uid, news) = self.outcomes[index];
                self.tell(1, id, uid, news);
            }
            Due::Drain => {
                let session = self.ends[0].tunnel.session_mut();
                session.go_away(GoAwayReason::Drain, 1_000);
                self.queued = 0;
                self.wake(0);
            }
            Due::Heal => self.heal(),
        }
    }

    fn wake(&mut self, side: usize) {
        let late = self.rng.range(0, self.recipe.turn_late_us);
        let end = &mut self.ends[side];
        if end.over.is_none() {
            end.turn_at = end.turn_at.min(self.now + late);
        }
    }

    fn tell(&mut self, side: usize, id: StreamId, uid: u64, news: News) {
        self.ends[side].plains.news.push_back((id, uid, news));
        self.wake(side);
    }

    fn app(&mut self, side: usize, id: StreamId, uid: u64) {
        let Some(conn) = self.ends[side].plains.get(id).filter(|conn| conn.uid == uid) else {
            return;
        };
        conn.scheduled = false;
        let step = conn.step();
        if let Some(us) = step.again_us {
            conn.scheduled = true;
            self.plan(self.now + us.max(1), Due::App(side, id.0, uid));
        }
        if step.writable {
            self.tell(side, id, uid, News::Writable);
        } else if step.readable {
            self.tell(side, id, uid, News::Readable);
        }
    }

    fn heal(&mut self) {
        self.healed = true;
        for pipe in &mut self.pipes {
            pipe.heal(self.now);
        }
        for side in [0, 1] {
            let plains = &mut self.ends[side].plains;
            let ids = (0..plains.conns.len() as u32).map(StreamId);
            for id in ids.collect::<Vec<_>>() {
                if let Some(conn) = plains.get(id) {
                    conn.heal();
                    plains.pokes.push(id);
                }
            }
            self.poked(side);
        }
    }

    /// Applications that something happened to go on soon.
    fn poked(&mut self, side: usize) {
        for (after, id, uid, news) in std::mem::take(&mut self.ends[side].plains.dials) {
            self.outcomes.push((id, uid, news));
            self.plan(self.now + after, Due::Dialled(self.outcomes.len() - 1));
        }
        while let Some(id) = self.ends[side].plains.pokes.pop() {
            let healed = self.healed;
            let Some(conn) = self.ends[side].plains.get(id) else { continue };
            if healed {
                conn.heal();
            }
            if !std::mem::replace(&mut conn.scheduled, true) {
                let uid = conn.uid;
                let at = self.now + self.rng.range(1, 20);
                self.plan(at, Due::App(side, id.0, uid));
            }
        }
    }

    fn turn(&mut self, side: usize) -> Result<(), String> {
        if side == 0 {
            self.connect();
        }
        let (dials, accepts) = self.pipes.split_at_mut(1);
        let (outgoing, incoming) = match side {
            0 => (&mut dials[0], &mut accepts[0]),
            _ => (&mut accepts[0], &mut dials[0]),
        };
        let around = &mut Around {
            recipe: &self.recipe,
            now: self.now,
            incoming,
            outgoing,
            ledger: &mut self.ledger,
            tap: &mut self.tap,
            rng: &mut self.rng,
        };
        let end = &mut self.ends[side];
        let outcome = end.turn(around);
        let outcome = outcome.err().or_else(|| {
            let ended = end.tunnel.session().ended() == Ended::Yes;
            (ended && end.tunnel.pending().is_empty()).then_some(Over::Carrier)
        });
        if let Some(over) = outcome {
            end.finish(over, around);
        }
        self.trace.note(self.now, side, "turn", || {
            let session = end.tunnel.session();
            let pending = end.tunnel.pending().len();
            format!(
                "live {:>4} undelivered {:>7} ring {:>7} pending {pending:>7} over {outcome:?}",
                session.live(),
                session.undelivered(),
                session.ring().next().0 - session.ring().base().0,
            )
        });
        if let Some(over) = outcome {
            self.justify(side, over)?;
        }
        self.poked(side);
        Ok(())
    }

    /// New connections get streams, as many as there may be.
    fn connect(&mut self) {
        while self.queued > 0 {
            let opened = self.ends[0].tunnel.session_mut().open(Instant(self.now));
            let Some(id) = opened else { break };
            self.queued -= 1;
            let uid = self.ledger.begin(id);
            let script = self.recipe.habits[0].script(&mut self.rng);
            self.ends[0].plains.insert(id, Conn::new(uid, script));
        }
        if self.ends[0].tunnel.session().is_going_away() {
            self.queued = 0;
        }
    }

    /// A tunnel ended: is there a reason to?
    fn justify(&mut self, side: usize, over: Over) -> Result<(), String> {
        let far = self.ends[1 - side].over;
        let harmed = self.pipes.iter().any(|pipe| pipe.harmed);
        let justified = match over {
            Over::Carrier => far.is_some() || harmed || self.is_closing(side),
            Over::Session(SessionError::Seal(_)) => {
                // I18: nothing at or after the changed byte was opened.
                let opened = self.ends[side].tunnel.session().counters().received_records;
                let pipe = &self.pipes[1 - side];
                if pipe.is_changed_below(opened) {
                    return Err(format!("I18: a changed record was opened ({opened} bytes)"));
                }
                harmed
            }
            Over::Session(SessionError::Silent) => harmed || self.recipe.may_fall_silent(),
            Over::Session(SessionError::Closed(CloseCode::Normal)) => true,
            Over::Session(_) => false,
        };
        if justified { Ok(()) } else { Err(format!("side {side} ended: {over:?}, far {far:?}")) }
    }

    fn is_closing(&self, side: usize) -> bool {
        self.healed && self.ends[side].tunnel.session().ended() == Ended::Yes
    }

    /// All connections were made and have come to their end at both sides.
    fn is_settled(&self) -> bool {
        let over = self.ends.iter().all(|end| end.over.is_some());
        let at_rest = self.ends.iter().all(|end| {
            end.over.is_none() && end.tunnel.session().live() == 0 && !end.blocked
        });
        over || (self.healed && self.queued == 0 && at_rest && self.tap.live() == 0)
    }

    /// What holds at the end.
    fn conclude(&mut self) -> Result<(), String> {
        if self.ends.iter().all(|end| end.over.is_none()) {
            self.ledger.settle();
            for end in &self.ends {
                let session = end.tunnel.session();
                let settings = session.settings();
                let least =
                    u64::from(settings.max_streams) * u64::from(settings.initial_credit());
                self.ledger.check(session.promised() == least, || {
                    format!("I10: {} still promised", session.promised())
                });
                self.ledger.check(session.undelivered() == 0, || "I4: inboxes are full".into());
            }
            for side in [0, 1] {
                let opened = self.ends[side].tunnel.session().counters().received_records;
                let changed = self.pipes[1 - side].is_changed_below(opened);
                self.ledger.check(!changed, || "I18: a change passed unnoticed".into());
            }
        } else {
            let held = self.ledger.held;
            self.ledger.check(held == [0, 0], || format!("connections outlive: {held:?}"));
        }
        self.ledger.fault.take().map_or(Ok(()), Err)
    }
}

/// Runs the world of a seed.
///
/// # Errors
/// The first invariant that broke.
pub fn run(seed: u64, trace: bool) -> Result<Summary, Failure> {
    World::new(Recipe::swarm(seed), trace).run()
}
