//! A session joined with the keys of its present carrier.

use sleeve_seal::Link;
use sleeve_wire::{Room, TAG};

use crate::batch::{Batch, PathSample, Verdict};
use crate::error::SessionError;
use crate::local::Local;
use crate::num::wide;
use crate::session::{Ended, Session};
use crate::time::Instant;
use crate::transmit::Fill;
use crate::wipe::wipe;

/// Sealed bytes kept allocated while there is nothing to send.
const KEPT: usize = 64 * 1024;

/// What [`Tunnel::poll_transmit`] left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Nothing to write; ask again after the next event or at [`Tunnel::timeout`].
    Idle,
    /// [`Tunnel::pending`] is to be written, then ask again.
    Write,
}

/// Bytes for the carrier: `sent..sealed` are records to be written, from `sealed` on lies the
/// open record, of which `open` bytes are frames.
#[derive(Debug, Default)]
struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
    sealed: usize,
    open: usize,
    /// Most bytes of frames in the open record.
    room: usize,
}

/// A session and its link. It owns the bytes for the carrier and never waits: what cannot be
/// written stays in [`Tunnel::pending`], and nothing further is read meanwhile.
#[derive(Debug)]
pub struct Tunnel {
    session: Session,
    link: Link,
    out: Outbox,
    batch: Batch,
}

impl Drop for Outbox {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

impl Tunnel {
    /// Joins a session with a carrier whose handshake is done.
    #[must_use]
    pub fn new(session: Session, link: Link) -> Self {
        let batch = Batch::new(session.settings.framing);
        Self { session, link, out: Outbox::default(), batch }
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to open streams, mark them, or end it.
    pub const fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Takes bytes that arrived; says how many of them made whole records. The rest is to be
    /// given again, with more after it.
    ///
    /// # Errors
    /// Whatever the peer did wrong; the tunnel is of no use after that.
    pub fn handle_carrier<L: Local>(
        &mut self,
        buffer: &mut [u8],
        local: &mut L,
        now: Instant,
    ) -> Result<usize, SessionError> {
        self.session.heard(now);
        let mut taken = 0;
        while let Some(len) = self.link.opener.record_len(&buffer[taken..])? {
            let Some(record) = buffer.get_mut(taken..taken + len) else { break };
            let plaintext = self.link.opener.open(record)?;
            self.session.counters.received_records += wide(len);
            self.session.handle_record(plaintext, local, now)?;
            taken += len;
            if self.session.ended == Ended::Yes {
                break;
            }
        }
        self.session.end_of_input(local, now);
        Ok(taken)
    }

    /// A plain connection may have something to read, or have died.
    pub fn mark_readable<L: Local>(&mut self, id: sleeve_wire::StreamId, local: &mut L) {
        self.session.mark_readable(id, local);
    }

    /// A plain connection takes bytes again.
    pub fn handle_writable<L: Local>(
        &mut self,
        id: sleeve_wire::StreamId,
        local: &mut L,
        now: Instant,
    ) {
        self.session.handle_writable(id, local, now);
    }

    /// Time passed.
    ///
    /// # Errors
    /// [`SessionError::Silent`] when nothing arrived since a sign of life was asked for.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), SessionError> {
        if self.out.sent == self.out.sealed && self.out.open == 0 && self.out.bytes.len() > KEPT {
            self.out = Outbox::default();
        }
        if self.session.is_silent(now) {
            self.session.slim();
        }
        self.session.handle_timeout(now)
    }

    /// When [`Tunnel::handle_timeout`] and [`Tunnel::poll_transmit`] have to be called if
    /// nothing else happens.
    #[must_use]
    pub fn timeout(&self) -> Instant {
        if !self.pending().is_empty() {
            // All that waits for a record waits for the carrier first.
            return self.session.life_timeout();
        }
        self.batch
            .look_at()
            .map_or_else(|| self.session.timeout(), |at| at.min(self.session.timeout()))
    }

    /// Sealed records that wait to be written.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.out.bytes[self.out.sent..self.out.sealed]
    }

    /// The carrier took the first `len` bytes of [`Tunnel::pending`].
    pub fn sent(&mut self, len: usize) {
        let out = &mut self.out;
        out.sent = (out.sent + len).min(out.sealed);
        let prefix = self.session.settings.framing.prefix();
        let end = if out.open > 0 { out.sealed + prefix + out.open } else { out.sealed };
        // On a carrier that is never written empty the rest moves as well, when the move costs no
        // more than what was written: the outbox would grow without end otherwise.
        if out.sent >= end - out.sent || out.sent == out.sealed {
            out.bytes.copy_within(out.sent..end, 0);
            out.sealed -= out.sent;
            out.sent = 0;
        }
    }

    /// Bytes of memory that the tunnel has allocated, its fixed part apart.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.out.bytes.capacity() + self.session.memory()
    }

    /// Bytes that the carrier's kernel should hold unsent at most.
    #[must_use]
    pub fn unsent_max(&self) -> usize {
        self.batch.unsent_max()
    }

    /// Reads the plain connections into records and seals those that are to go. `probe` asks
    /// the kernel about the path and is called only when a record that is not full waits.
    ///
    /// # Errors
    /// [`SessionError::Seal`] when the keys may seal no more.
    pub fn poll_transmit<L: Local>(
        &mut self,
        local: &mut L,
        now: Instant,
        probe: &mut dyn FnMut() -> Option<PathSample>,
    ) -> Result<Transmit, SessionError> {
        // A carrier that takes no more is a reason to read no more.
        while self.out.sealed - self.out.sent < self.batch.unsent_max() {
            let fill = self.fill(local, now);
            let full = fill == Fill::Full || self.batch.is_full(self.out.open);
            if self.out.open == 0 {
                break;
            }
            if !full && !self.may_go(now, probe) {
                break;
            }
            self.seal(now, probe)?;
            if fill == Fill::Drained {
                break;
            }
        }
        Ok(if self.pending().is_empty() { Transmit::Idle } else { Transmit::Write })
    }

    fn fill<L: Local>(&mut self, local: &mut L, now: Instant) -> Fill {
        let framing = self.session.settings.framing;
        let out = &mut self.out;
        if out.open == 0 {
            out.room = self.batch.record_plaintext();
            self.session.quantum = i32::try_from(self.batch.quantum()).unwrap_or(i32::MAX);
        }
        let start = out.sealed + framing.prefix();
        let end = out.sealed + framing.record_len(framing.plaintext_max().min(out.room));
        if out.bytes.len() < end {
            out.bytes.resize(end, 0);
        }
        let mut room = Room::new(&mut out.bytes[start..end - TAG], out.open);
        let fill = self.session.fill(&mut room, local, now);
        out.open = room.used();
        fill
    }

    fn may_go(&mut self, now: Instant, probe: &mut dyn FnMut() -> Option<PathSample>) -> bool {
        if self.session.ended != Ended::No {
            return true;
        }
        let verdict = self.batch.decide(now, self.session.pressing, probe);
        match verdict {
            Verdict::Send => {}
            Verdict::HoldUnsent => self.session.counters.holds_unsent += 1,
            Verdict::HoldQueue => self.session.counters.holds_queue += 1,
        }
        verdict == Verdict::Send
    }

    fn seal(
        &mut self,
        now: Instant,
        probe: &mut dyn FnMut() -> Option<PathSample>,
    ) -> Result<(), SessionError> {
        let framing = self.session.settings.framing;
        let out = &mut self.out;
        let len = framing.record_len(out.open);
        let record = &mut out.bytes[out.sealed..out.sealed + len];
        let padding = len - framing.prefix() - out.open - TAG;
        record[framing.prefix() + out.open..len - TAG].fill(0);
        self.link.sealer.seal(record)?;
        let counters = &mut self.session.counters;
        counters.records += 1;
        counters.sent_records += wide(len);
        counters.sent_frames += wide(out.open);
        counters.sent_padding += wide(padding);
        out.sealed += len;
        out.open = 0;
        self.session.pressing = false;
        self.batch.sealed(now, probe);
        if let Some(us) = self.batch.round_trip_us() {
            self.session.round_trip_us = us;
        }
        Ok(())
    }
}
