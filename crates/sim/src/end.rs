//! One daemon: a tunnel, its plain connections, and the loop that drives them by the law of the
//! pump.

use sleeve_session::{Instant, PathSample, SessionError, Transmit, Tunnel};
use sleeve_wire::{CloseCode, Framing, ResetReason};

use crate::ledger::Ledger;
use crate::local::{Bench, News, Plains};
use crate::pipe::{Moved, Pipe};
use crate::recipe::{Probe, Recipe};
use crate::rng::Rng;
use crate::tap::{Sealed, Tap};

/// Bytes read from the carrier at once.
const READ: usize = 64 * 1024;
/// A record with that many bytes of frames less than it holds at most may have been full: the
/// next frame did not fit.
const NEARLY: usize = 24;
/// Frames that fill a segment.
const SEGMENT: usize = 1430;

/// How a daemon's tunnel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Carrier,
    Session(SessionError),
}

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) side: usize,
    pub(crate) tunnel: Tunnel,
    pub(crate) plains: Plains,
    inbound: Vec<u8>,
    held: usize,
    /// Bytes of records that the tap has read.
    tapped: u64,
    /// When its next turn is due.
    pub(crate) turn_at: u64,
    /// The carrier took no more.
    pub(crate) blocked: bool,
    pub(crate) over: Option<Over>,
    /// Since when bytes have been read and not sealed.
    waiting_since: Option<u64>,
    hold_since: Option<u64>,
    sample: Option<PathSample>,
    /// The longest half round trip seen: held bytes may wait so long.
    half_us: u64,
    /// Bytes of carrier read, for the bound of what is answered.
    pub(crate) heard: u64,
}

/// All that a turn touches besides the daemon itself.
pub(crate) struct Around<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) now: u64,
    pub(crate) incoming: &'a mut Pipe,
    pub(crate) outgoing: &'a mut Pipe,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) tap: &'a mut Tap,
    pub(crate) rng: &'a mut Rng,
}

macro_rules! bench {
    ($end:ident, $around:ident) => {
        &mut Bench {
            side: $end.side,
            plains: &mut $end.plains,
            ledger: &mut *$around.ledger,
            rng: &mut *$around.rng,
            habits: &$around.recipe.habits[$end.side],
            backends: &$around.recipe.backends,
        }
    };
}

impl End {
    pub(crate) fn new(side: usize, tunnel: Tunnel) -> Self {
        Self {
            side,
            tunnel,
            plains: Plains::default(),
            inbound: vec![0; READ],
            held: 0,
            tapped: 0,
            turn_at: 0,
            blocked: false,
            over: None,
            waiting_since: None,
            hold_since: None,
            sample: None,
            half_us: 0,
            heard: 0,
        }
    }

    /// One turn, as the daemon's pump takes it.
    pub(crate) fn turn(&mut self, around: &mut Around<'_>) -> Result<(), Over> {
        let now = Instant(around.now);
        self.receive(around)?;
        if now >= self.tunnel.timeout() {
            self.tunnel.handle_timeout(now).map_err(Over::Session)?;
        }
        self.take_news(around);
        self.transmit(around)?;
        self.check(around);
        let at = self.tunnel.timeout();
        around.ledger.check(at > now, || {
            format!("side {} wants to be woken at {}, now is {}", self.side, at.0, now.0)
        });
        let late = around.rng.range(0, around.recipe.timer_late_us);
        self.turn_at = at.0.saturating_add(late);
        if around.incoming.can_read() {
            self.turn_at = around.now + 1;
        }
        Ok(())
    }

    fn receive(&mut self, around: &mut Around<'_>) -> Result<(), Over> {
        for _ in 0..4 {
            let len = match around.incoming.read(&mut self.inbound[self.held..], around.rng) {
                Moved::Later => return Ok(()),
                Moved::Ended => return Err(Over::Carrier),
                Moved::Bytes(len) => len,
            };
            self.held += len;
            self.heard += len as u64;
            let now = Instant(around.now);
            let taken = self
                .tunnel
                .handle_carrier(&mut self.inbound[..self.held], bench!(self, around), now)
                .map_err(Over::Session)?;
            self.inbound.copy_within(taken..self.held, 0);
            self.held -= taken;
            // I12: whatever the applications do, all whole records are taken.
            around.ledger.check(self.held < 16 * 1024, || "I12: records were left".into());
        }
        Ok(())
    }

    fn take_news(&mut self, around: &mut Around<'_>) {
        let now = Instant(around.now);
        while let Some((id, uid, news)) = self.plains.news.pop_front() {
            if self.plains.get(id).is_none_or(|conn| conn.uid != uid) {
                continue;
            }
            match news {
                News::Readable => self.tunnel.mark_readable(id, bench!(self, around)),
                News::Writable => {
                    self.tunnel.handle_writable(id, bench!(self, around), now);
                    self.tunnel.mark_readable(id, bench!(self, around));
                }
                News::Connected => {
                    self.plains.dialled(id, uid);
                    let session = self.tunnel.session_mut();
                    session.handle_connected(id, bench!(self, around), now);
                    self.tunnel.mark_readable(id, bench!(self, around));
                }
                News::Refused(reason) => {
                    around.ledger.end(uid, self.side).refused = Some(reason);
                    let session = self.tunnel.session_mut();
                    session.handle_refused(id, reason, bench!(self, around));
                }
            }
        }
    }

    fn transmit(&mut self, around: &mut Around<'_>) -> Result<(), Over> {
        let now = Instant(around.now);
        loop {
            let path = match around.recipe.probe {
                Probe::Honest => Some(around.outgoing.path(around.incoming.delay_us())),
                Probe::Silent => None,
                Probe::Absurd => absurd(around.rng),
            };
            let mut asked = false;
            let before = *self.tunnel.session().counters();
            let transmit = self
                .tunnel
                .poll_transmit(bench!(self, around), now, &mut || {
                    asked = true;
                    path
                })
                .map_err(Over::Session)?;
            if asked {
                self.sample = path;
                let half = path.map_or(0, |p| u64::from(p.round_trip_us) / 2);
                self.half_us = self.half_us.max(half);
            }
            let held = before.holds_unsent + before.holds_queue;
            self.inspect(around, held);
            if transmit == Transmit::Idle {
                return Ok(());
            }
            self.blocked = false;
            while !self.tunnel.pending().is_empty() {
                match around.outgoing.write(self.tunnel.pending(), around.rng) {
                    Moved::Later => {
                        self.blocked = true;
                        return Ok(());
                    }
                    Moved::Ended => return Err(Over::Carrier),
                    Moved::Bytes(len) => self.tunnel.sent(len),
                }
            }
        }
    }

    /// Reads what was sealed just now.
    fn inspect(&mut self, around: &mut Around<'_>, held_before: u64) {
        let counters = *self.tunnel.session().counters();
        let new = (counters.sent_records - self.tapped) as usize;
        self.tapped = counters.sent_records;
        let pending = self.tunnel.pending();
        let sealed = match pending.len().checked_sub(new) {
            Some(from) => around.tap.read(self.side, &pending[from..], around.ledger),
            None => {
                around.ledger.blame(|| "sealed bytes are not pending".into());
                Vec::new()
            }
        };
        let holds = counters.holds_unsent + counters.holds_queue - held_before;
        self.check_records(around, &sealed);
        if !sealed.is_empty() {
            self.hold_since = None;
            self.waiting_since = None;
        }
        if holds > 0 {
            self.hold_since.get_or_insert(around.now);
        }
        let unsealed = around.ledger.read[self.side] - around.tap.data[self.side];
        if unsealed == 0 {
            self.waiting_since = None;
            return;
        }
        self.waiting_since.get_or_insert(around.now);
        // I20: what is read is sealed in the same turn unless the path is a reason to hold it.
        let free = self.tunnel.pending().is_empty();
        around.ledger.check(holds > 0 || !free, || format!("I20: {unsealed} bytes just stay"));
    }

    /// I22: a record that is not full goes only if the path is clear, or its time has come.
    fn check_records(&mut self, around: &mut Around<'_>, sealed: &[Sealed]) {
        let framing = around.recipe.settings[0].framing;
        let full = |record: &Sealed| {
            record.frames + NEARLY >= SEGMENT.min(framing.plaintext_max()) || record.closing
        };
        let Some((last, others)) = sealed.split_last() else { return };
        let gone = self.tunnel.session().ended() != sleeve_session::Ended::No;
        around.ledger.check(others.iter().all(full) || gone, || {
            format!("I22: partial records in the middle of a turn: {others:?}")
        });
        if full(last) || gone || around.recipe.probe != Probe::Honest {
            return;
        }
        let Some(sample) = self.sample else { return };
        let limit = match (framing, last.pressing) {
            (_, true) => 4.0,
            (Framing::Adaptive, false) => 2.0,
            (Framing::Padded, false) => 1.0,
        };
        let (srtt, least) = (f64::from(sample.round_trip_us), f64::from(sample.round_trip_min_us));
        let queued = f64::from(sample.unacknowledged) * (1.0 - least / srtt);
        let clear = sample.unsent == 0 && queued < limit + 1e-6;
        let longest = 500.max(u64::from(sample.round_trip_us) / 2);
        let due = self.hold_since.is_some_and(|at| around.now - at >= longest);
        around.ledger.check(clear || due, || {
            format!("I22: partial record of {} bytes on {sample:?}", last.frames)
        });
    }

    /// What holds after every turn.
    fn check(&mut self, around: &mut Around<'_>) {
        let session = self.tunnel.session();
        let settings = session.settings();
        let (side, ledger) = (self.side, &mut *around.ledger);
        ledger.check(session.live() <= settings.max_streams, || format!("I15: side {side}"));
        let held = ledger.held[side];
        ledger.check(held <= settings.max_streams, || {
            format!("I15: side {side} holds {held} connections")
        });
        let promised = session.promised();
        ledger.check(promised <= settings.receive_pool, || {
            format!("I10: side {side} promises {promised} of {}", settings.receive_pool)
        });
        let undelivered = session.undelivered();
        ledger.check(undelivered <= promised, || format!("I10: {undelivered} in inboxes"));
        let bound = memory_bound(settings, self.tunnel.unsent_max());
        let memory = self.tunnel.memory();
        ledger.check(memory <= bound, || format!("I10: side {side}: {memory} of {bound} bytes"));
        let counters = session.counters();
        if settings.framing == Framing::Padded {
            ledger.check(counters.sent_records == 1024 * counters.records, || "I17".into());
        }
        ledger.check(counters.records == around.tap.records(side), || "I16".into());
        // I20: held bytes leave in time, the lateness of timers apart.
        let longest = self.half_us.max(500) + around.recipe.timer_late_us + 4_000;
        if let Some(since) = self.waiting_since
            && self.tunnel.pending().is_empty()
        {
            let waits = around.now - since;
            ledger.check(waits <= longest, || format!("I20: side {side} holds for {waits} us"));
        }
    }

    /// The session is over: everything is let go of, the carrier is closed.
    pub(crate) fn finish(&mut self, over: Over, around: &mut Around<'_>) {
        self.over = Some(over);
        let now = Instant(around.now);
        if let Over::Session(e) = over
            && let Some(code) = e.close_code()
        {
            self.say(code, around);
        }
        around.ledger.over[self.side] = true;
        self.tunnel.session_mut().abort(ResetReason::Reset, bench!(self, around));
        let session = self.tunnel.session();
        let clean = session.live() == 0 && session.undelivered() == 0;
        around.ledger.check(clean, || "the end of a session left something".into());
        let held = around.ledger.held[self.side];
        around.ledger.check(held == 0, || format!("{held} connections outlive their session"));
        let lose = around.rng.chance(50);
        around.outgoing.end(lose && over == Over::Carrier);
        self.turn_at = u64::MAX;
        let _ = now;
    }

    /// Tells the peer why the session ends, if the carrier takes it.
    pub(crate) fn say(&mut self, code: CloseCode, around: &mut Around<'_>) {
        self.tunnel.session_mut().close(code);
        let _ = self.transmit(around);
    }
}

/// What a kernel would never say, or only on a very strange day.
fn absurd(rng: &mut Rng) -> Option<PathSample> {
    let mut number = || rng.pick(&[0, 1, 1_000, u32::MAX]);
    let sample = PathSample {
        unsent: number(),
        unacknowledged: number(),
        round_trip_us: number().min(10_000),
        round_trip_min_us: number(),
        delivery_rate: u64::from(number()) * 1000,
        application_limited: false,
    };
    rng.chance(80).then_some(sample)
}

/// I10: the formula of what a session keeps, whatever its peer sends.
pub(crate) fn memory_bound(settings: &sleeve_session::Settings, unsent_max: usize) -> usize {
    let narrow = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let record = 16 * 1024;
    // Sealed records, moved to the front when half of them are gone; the open one.
    let outbox = 2 * (unsent_max.max(256 * 1024) + 2 * record);
    // Powers of two, and at least a page.
    let ring = 2 * narrow(u64::from(settings.ring_max)).max(4096);
    // An inbox is up to twice as long as what it holds.
    let inboxes = 2 * narrow(settings.receive_pool);
    let gathered = 2 * (64 * 1024 + record);
    let streams = narrow(u64::from(settings.max_streams)) * 2 * (192 + 64);
    outbox + ring + inboxes + gathered + streams + 4096
}
