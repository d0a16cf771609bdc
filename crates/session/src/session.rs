//! What survives carriers: streams and the bytes between them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use sleeve_seal::Side;
use sleeve_wire::{CloseCode, GoAwayReason, Offset, ResetReason, StreamId};

use crate::budget::{Account, Bucket};
use crate::counters::Counters;
use crate::error::SessionError;
use crate::flow::{Grant, Pool, Receiver};
use crate::local::{Local, Pushed};
use crate::num::{narrow, wide};
use crate::ring::Ring;
use crate::schedule::{Place, Schedule};
use crate::settings::{Peer, Settings};
use crate::stream::{Half, Inbox, Owed, Plain, Stream};
use crate::time::Instant;

/// A grant that is not urgent waits this long for a record that goes out anyway.
const SOON_US: u64 = 1_000;

/// An acknowledgement has a record of its own at the latest after this much.
const ACKNOWLEDGE_ALONE: u64 = 256 * 1024;

/// How a session came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Not yet.
    No,
    /// A CLOSE has to be sent first.
    Closing,
    /// Nothing more is sent or received.
    Yes,
}

/// A session: the streams, what they owe, and the reliable stream of frames beneath them. It
/// speaks frames in clear text; [`crate::Tunnel`] joins it with the keys of a carrier.
#[derive(Debug)]
pub struct Session {
    pub(crate) settings: Settings,
    pub(crate) peer: Peer,
    pub(crate) streams: Vec<Stream>,
    /// Ids below `streams.len()` that no live stream has; the lowest is given first.
    free: BinaryHeap<Reverse<u32>>,
    pub(crate) live: u32,
    pub(crate) schedule: Schedule,
    /// Bytes that a stream may send before the next one's turn.
    pub(crate) quantum: i32,
    /// Streams that owe frames, each once.
    pub(crate) owing: VecDeque<StreamId>,
    pub(crate) ring: Ring,
    /// Bytes of the ring that data leave free for the frames that streams owe.
    pub(crate) reserve: usize,
    pub(crate) pool: Pool,
    pub(crate) account: Account,
    pub(crate) opens: Bucket,
    /// Where the received reliable stream ends.
    pub(crate) received: Offset,
    /// Bytes of it that are not acknowledged, and when they have to be.
    pub(crate) unacknowledged: u64,
    pub(crate) acknowledge_at: Option<Instant>,
    /// The accepting side's first frame has to be CONFIRM; the dialling side owes it.
    pub(crate) unconfirmed: bool,
    pub(crate) pong: Option<u32>,
    pub(crate) ping: Option<u32>,
    pub(crate) go_away: Option<(GoAwayReason, u64)>,
    /// GOAWAY has been sent on this carrier.
    pub(crate) peer_told: bool,
    /// The peer wants no further streams.
    pub(crate) peer_goes_away: bool,
    pub(crate) close: Option<CloseCode>,
    pub(crate) ended: Ended,
    /// Something is owed that is worth a record of its own.
    pub(crate) urgent: bool,
    /// Something is owed that is worth one by then.
    pub(crate) soon_at: Option<Instant>,
    /// Frames that open or end streams went into the open record.
    pub(crate) pressing: bool,
    pub(crate) heard_at: Instant,
    pub(crate) pinged_at: Option<Instant>,
    pub(crate) round_trip_us: u64,
    /// Consecutive DATA of one stream, gathered into one write.
    pub(crate) run: Vec<u8>,
    pub(crate) run_of: Option<StreamId>,
    pub(crate) counters: Counters,
}

impl Session {
    /// A session that begins.
    #[must_use]
    pub fn new(settings: Settings, peer: Peer, now: Instant) -> Self {
        let initial = settings.initial_credit();
        let ring_max = narrow(u64::from(settings.ring_max));
        let reserve = narrow(u64::from(settings.max_streams) * 24 + 4096).min(ring_max / 2);
        Self {
            peer,
            streams: Vec::new(),
            free: BinaryHeap::new(),
            live: 0,
            schedule: Schedule::default(),
            quantum: 1008,
            owing: VecDeque::new(),
            ring: Ring::new(ring_max),
            reserve,
            pool: Pool::new(settings.receive_pool / 2, u64::from(initial), settings.window_max),
            account: Account::new(now),
            opens: Bucket::new(
                settings.opens_per_second,
                settings.max_streams.saturating_mul(2),
                now,
            ),
            received: Offset(0),
            unacknowledged: 0,
            acknowledge_at: None,
            unconfirmed: true,
            pong: None,
            ping: None,
            go_away: None,
            peer_told: false,
            peer_goes_away: false,
            close: None,
            ended: Ended::No,
            urgent: settings.side == Side::Dials,
            soon_at: None,
            pressing: false,
            heard_at: now,
            pinged_at: None,
            round_trip_us: 1_000,
            run: Vec::new(),
            run_of: None,
            counters: Counters::default(),
            settings,
        }
    }

    /// The session's bounds.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Streams whose id is in use.
    #[must_use]
    pub const fn live(&self) -> u32 {
        self.live
    }

    /// Totals so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The frames that the peer has not acknowledged.
    #[must_use]
    pub const fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Where the received reliable stream ends.
    #[must_use]
    pub const fn received(&self) -> Offset {
        self.received
    }

    /// Whether and how the session ended.
    #[must_use]
    pub const fn ended(&self) -> Ended {
        self.ended
    }

    /// Whether the peer has asked for no further streams, or this side has.
    #[must_use]
    pub const fn is_going_away(&self) -> bool {
        self.peer_goes_away || self.go_away.is_some()
    }

    /// Bytes that plain connections have not taken yet.
    #[must_use]
    pub fn undelivered(&self) -> u64 {
        let inboxes = self.streams.iter().filter_map(|s| s.inbox.as_ref());
        inboxes.map(|inbox| wide(inbox.rest().len())).sum()
    }

    /// Bytes granted to the peer and not delivered yet, over all streams: what may have to be
    /// stored. Never more than the receive pool.
    #[must_use]
    pub fn promised(&self) -> u64 {
        u64::from(self.settings.max_streams) * self.pool.initial + self.pool.used()
    }

    /// Bytes of memory that the session has allocated, its fixed part apart.
    #[must_use]
    pub fn memory(&self) -> usize {
        let inboxes = self.streams.iter().filter_map(|s| s.inbox.as_ref());
        let inboxes: usize = inboxes.map(|inbox| inbox.memory()).sum();
        let streams = self.streams.capacity() * size_of::<Stream>();
        let lists = self.owing.capacity() + self.free.capacity() + self.schedule.memory();
        inboxes + streams + 4 * lists + self.ring.memory() + self.run.capacity()
    }

    /// Whether a further stream can be opened.
    #[must_use]
    pub fn can_open(&self) -> bool {
        self.ended == Ended::No
            && !self.is_going_away()
            && self.live < self.settings.max_streams.min(self.peer.max_streams)
    }

    /// Opens a stream for a plain connection that stands; `None` if there may be no more.
    pub fn open(&mut self, now: Instant) -> Option<StreamId> {
        if self.settings.side != Side::Dials || !self.can_open() {
            return None;
        }
        let id = match self.free.pop() {
            Some(Reverse(id)) => StreamId(id),
            None => StreamId(u32::try_from(self.streams.len()).ok()?),
        };
        self.begin(id, Plain::Open, now);
        self.owe(id, |owed| owed.open = true);
        self.urgent = true;
        Some(id)
    }

    /// Puts a live stream into the table.
    pub(crate) fn begin(&mut self, id: StreamId, plain: Plain, now: Instant) {
        if id.index() >= self.streams.len() {
            self.streams.resize_with(id.index() + 1, Stream::default);
        }
        // The lists may still name the id of an earlier stream; what they find is this one,
        // which is asked once more than it need be.
        let before = &self.streams[id.index()];
        let (place, listed) = (before.place, before.owed.listed);
        self.streams[id.index()] = Stream {
            live: true,
            place,
            owed: Owed { listed, ..Owed::default() },
            plain,
            credit: sleeve_wire::Credit(u64::from(self.peer.initial_credit)),
            receiver: Receiver::new(&self.pool, now),
            ..Stream::default()
        };
        self.live += 1;
        self.counters.opened += 1;
    }

    /// Gives the id of a stream free.
    pub(crate) fn free(&mut self, id: StreamId) {
        let stream = &mut self.streams[id.index()];
        stream.receiver.abandon(&mut self.pool);
        let (place, listed) = (stream.place, stream.owed.listed);
        *stream = Stream { place, owed: Owed { listed, ..Owed::default() }, ..Stream::default() };
        self.live -= 1;
        if self.settings.side == Side::Dials {
            self.free.push(Reverse(id.0));
        }
    }

    /// Notes a frame that a stream owes.
    pub(crate) fn owe(&mut self, id: StreamId, note: impl FnOnce(&mut Owed)) {
        let owed = &mut self.streams[id.index()].owed;
        note(owed);
        if !owed.listed {
            owed.listed = true;
            self.owing.push_back(id);
        }
    }

    pub(crate) fn soon(&mut self, now: Instant) {
        let at = now.plus(SOON_US);
        self.soon_at = Some(self.soon_at.map_or(at, |t| t.min(at)));
    }

    /// Received bytes of the reliable stream that are worth an acknowledgement of their own:
    /// well before the peer's ring is full, and soon enough that the ring stays in its cache.
    pub(crate) fn acknowledge_bytes(&self) -> u64 {
        u64::from(self.peer.ring_max / 4).clamp(1, ACKNOWLEDGE_ALONE)
    }

    /// Whether the peer still has to prove that it holds the keys.
    pub(crate) fn awaits_confirmation(&self) -> bool {
        self.unconfirmed && self.settings.side == Side::Accepts
    }

    fn stream(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(id.index()).filter(|s| s.live)
    }

    /// A plain connection may have something to read, or have died.
    pub fn mark_readable<L: Local>(&mut self, id: StreamId, local: &mut L) {
        let Some(stream) = self.stream(id) else { return };
        if stream.is_read() {
            stream.readable = true;
            self.list(id);
        } else if matches!(stream.plain, Plain::Open | Plain::Finished) && local.is_dead(id, true) {
            // Read to its end, it would otherwise be missed only when it is next written to.
            self.lose(id, ResetReason::Reset, local);
        }
    }

    /// Puts a stream that can be read into the schedule.
    pub(crate) fn list(&mut self, id: StreamId) {
        let quantum = self.quantum;
        let stream = &mut self.streams[id.index()];
        if stream.place == Place::Idle && stream.readable && stream.is_read() {
            stream.place = Place::Fresh;
            stream.deficit = quantum;
            self.schedule.push_fresh(id);
        }
    }

    /// A plain connection takes bytes again.
    pub fn handle_writable<L: Local>(&mut self, id: StreamId, local: &mut L, now: Instant) {
        if self.stream(id).is_some() {
            self.drain_inbox(id, local, now);
        }
    }

    /// A backend connection stands.
    pub fn handle_connected<L: Local>(&mut self, id: StreamId, local: &mut L, now: Instant) {
        let Some(stream) = self.stream(id) else { return };
        if stream.plain != Plain::Connecting {
            return;
        }
        stream.plain = Plain::Open;
        self.owe(id, |owed| owed.accepted = true);
        self.soon(now);
        self.drain_inbox(id, local, now);
    }

    /// A backend connection cannot be had.
    pub fn handle_refused<L: Local>(&mut self, id: StreamId, reason: ResetReason, local: &mut L) {
        if self.stream(id).is_some_and(|s| s.plain != Plain::None) {
            self.lose(id, reason, local);
        }
    }

    /// The plain connection of a stream is dead, or has to be given up.
    pub(crate) fn lose<L: Local>(&mut self, id: StreamId, reason: ResetReason, local: &mut L) {
        let stream = &mut self.streams[id.index()];
        let over = stream.is_over();
        self.let_go(id, reason, local);
        let stream = &mut self.streams[id.index()];
        if !over && !stream.closed {
            stream.sending = Half::Reset;
            self.owe(id, |owed| {
                owed.fin = false;
                owed.reset = Some(reason);
            });
            self.urgent = true;
            self.counters.resets += 1;
        }
        self.settle(id, local);
    }

    /// Drops the plain connection with a reset, and all that waited for it.
    pub(crate) fn let_go<L: Local>(&mut self, id: StreamId, reason: ResetReason, local: &mut L) {
        let stream = &mut self.streams[id.index()];
        stream.inbox = None;
        stream.readable = false;
        stream.owed.credit = false;
        stream.receiver.abandon(&mut self.pool);
        if stream.plain != Plain::None {
            stream.plain = Plain::None;
            local.abort(id, reason);
        }
    }

    /// Writes data to a plain connection; what it does not take waits in the stream's inbox.
    pub(crate) fn deliver<L: Local>(
        &mut self,
        id: StreamId,
        bytes: &[u8],
        local: &mut L,
        now: Instant,
    ) {
        let stream = &mut self.streams[id.index()];
        if stream.plain == Plain::None {
            return;
        }
        if stream.inbox.is_some() || stream.plain == Plain::Connecting {
            stream.inbox.get_or_insert_with(Box::<Inbox>::default).push(bytes);
            return;
        }
        match local.push(id, bytes) {
            Pushed::Taken(len) => {
                let len = len.min(bytes.len());
                if len < bytes.len() {
                    stream.inbox.get_or_insert_with(Box::<Inbox>::default).push(&bytes[len..]);
                }
                self.delivered(id, len, now);
            }
            Pushed::Reset => self.lose(id, ResetReason::Reset, local),
        }
    }

    fn drain_inbox<L: Local>(&mut self, id: StreamId, local: &mut L, now: Instant) {
        let stream = &mut self.streams[id.index()];
        if !matches!(stream.plain, Plain::Open | Plain::Finished) {
            return;
        }
        let mut delivered = 0;
        if let Some(inbox) = stream.inbox.as_mut() {
            match local.push(id, inbox.rest()) {
                Pushed::Taken(len) => {
                    delivered = len.min(inbox.rest().len());
                    inbox.take(delivered);
                    if inbox.rest().is_empty() {
                        stream.inbox = None;
                    }
                }
                Pushed::Reset => return self.lose(id, ResetReason::Reset, local),
            }
        }
        self.delivered(id, delivered, now);
        self.settle(id, local);
    }

    fn delivered(&mut self, id: StreamId, len: usize, now: Instant) {
        let stream = &mut self.streams[id.index()];
        stream.receiver.deliver(wide(len), self.round_trip_us, &mut self.pool, now);
        if stream.receiving != Half::Open {
            return;
        }
        match stream.receiver.grant_due(&self.pool).1 {
            Grant::None => {}
            Grant::Soon => {
                self.owe(id, |owed| owed.credit = true);
                self.soon(now);
            }
            Grant::Now => {
                self.owe(id, |owed| owed.credit = true);
                self.urgent = true;
            }
        }
    }

    /// Takes the steps towards a stream's end that its state allows.
    pub(crate) fn settle<L: Local>(&mut self, id: StreamId, local: &mut L) {
        let stream = &mut self.streams[id.index()];
        let over = stream.is_over();
        if stream.receiving == Half::Fin && stream.inbox.is_none() {
            match (stream.plain, over) {
                // Closing shows end of file as well.
                (Plain::Open | Plain::Finished, true) => {
                    stream.plain = Plain::None;
                    local.close(id);
                }
                (Plain::Open, false) => {
                    stream.plain = Plain::Finished;
                    local.finish(id);
                }
                (Plain::Finished | Plain::Connecting | Plain::None, _) => {}
            }
        }
        if !over {
            return;
        }
        if stream.plain != Plain::None {
            return;
        }
        match self.settings.side {
            Side::Accepts => {
                self.owe(id, |owed| owed.closed = true);
                self.urgent = true;
            }
            Side::Dials if stream.closed => self.free(id),
            Side::Dials => {}
        }
    }

    /// Asks the peer for no further streams; what is left after `grace_ms` will be ended.
    pub fn go_away(&mut self, reason: GoAwayReason, grace_ms: u64) {
        if self.go_away.is_none() {
            self.go_away = Some((reason, grace_ms));
            self.urgent = true;
        }
    }

    /// Ends the session: the peer is told `code` as soon as a record can be written.
    pub fn close(&mut self, code: CloseCode) {
        if self.ended == Ended::No {
            self.close = Some(code);
            self.ended = Ended::Closing;
            self.urgent = true;
        }
    }

    /// Gives memory back that only traffic needs.
    pub(crate) fn slim(&mut self) {
        self.ring.shrink();
        self.run = Vec::new();
    }

    /// Resets every plain connection: the session is over.
    pub fn abort<L: Local>(&mut self, reason: ResetReason, local: &mut L) {
        self.ended = Ended::Yes;
        for index in 0..self.streams.len() {
            let Ok(id) = u32::try_from(index).map(StreamId) else { break };
            if self.stream(id).is_some() {
                self.let_go(id, reason, local);
                self.free(id);
            }
        }
    }

    /// When [`Session::handle_timeout`] has to be called.
    #[must_use]
    pub fn timeout(&self) -> Instant {
        let owed = [self.acknowledge_at, self.soon_at];
        owed.into_iter().flatten().fold(self.life_timeout(), Instant::min)
    }

    /// The same, as far as it concerns whether the peer lives.
    pub(crate) fn life_timeout(&self) -> Instant {
        match self.pinged_at {
            Some(at) => at.plus(self.settings.keepalive_grace_us),
            None => self.heard_at.plus(self.settings.keepalive_us),
        }
    }

    /// Whether nothing has come for so long that a sign of life is asked for.
    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        now.since(self.heard_at) >= self.settings.keepalive_us
    }

    /// Time passed.
    ///
    /// # Errors
    /// [`SessionError::Silent`] when nothing arrived since a sign of life was asked for.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), SessionError> {
        match self.pinged_at {
            Some(at) if now.since(at) >= self.settings.keepalive_grace_us => {
                return Err(SessionError::Silent);
            }
            None if now.since(self.heard_at) >= self.settings.keepalive_us => {
                self.pinged_at = Some(now);
                self.ping = Some(u32::try_from(now.0 & 0xFFFF_FFFF).unwrap_or(0));
                self.urgent = true;
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Bytes arrived from the peer, whatever they mean.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard_at = now;
        self.pinged_at = None;
    }
}
