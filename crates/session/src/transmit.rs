//! Filling a record: a fixed list of stages.

use sleeve_seal::Side;
use sleeve_wire::{Credit, Frame, ResetReason, Room, StreamId};

use crate::local::{Local, Pulled};
use crate::num::{narrow, wide};
use crate::schedule::Place;
use crate::session::{Ended, Session};
use crate::stream::{Half, Owed};
use crate::time::Instant;

/// Most bytes of a reliable frame without data.
const CONTROL_MAX: usize = 24;
/// Bytes of a DATA frame besides the data, at most.
const DATA_HEAD: usize = 8;
/// Fewest bytes worth a DATA frame at the end of a record.
const DATA_LEAST: usize = 3;
/// Acknowledgements of less wait for their time, even if a record goes out.
const ACKNOWLEDGE_BYTES: u64 = 16 * 1024;
/// A sender treats less credit than this as none, so that a receiver that grants by the byte
/// cannot make it send by the byte (RFC 813's silly windows).
const CREDIT_LEAST: u64 = 1024;

/// Whether a record can take more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// There is more to say than fits.
    Full,
    /// All has been said for the time being.
    Drained,
}

impl Session {
    /// Appends what is owed and what can be read to an open record.
    pub(crate) fn fill<L: Local>(
        &mut self,
        room: &mut Room<'_>,
        local: &mut L,
        now: Instant,
    ) -> Fill {
        if self.ended != Ended::No {
            return self.stage_close(room);
        }
        self.urgent |= self.soon_at.is_some_and(|at| at <= now);
        if self.stage_carrier(room, now) == Fill::Full {
            return Fill::Full;
        }
        if self.urgent && self.stage_owed(room) == Fill::Full {
            return Fill::Full;
        }
        if self.stage_data(room, local) == Fill::Full {
            return Fill::Full;
        }
        // What is not urgent rides along with what is.
        if self.urgent || room.used() > 0 {
            self.stage_acknowledge(room, now);
            return self.stage_owed(room);
        }
        Fill::Drained
    }

    fn stage_close(&mut self, room: &mut Room<'_>) -> Fill {
        if let Some(code) = self.close {
            if room.put(&Frame::Close { code }).is_none() {
                return Fill::Full;
            }
            self.close = None;
            self.ended = Ended::Yes;
        }
        Fill::Drained
    }

    /// Frames of the carrier's scope that are worth a record of their own.
    fn stage_carrier(&mut self, room: &mut Room<'_>, now: Instant) -> Fill {
        if self.unconfirmed && self.settings.side == Side::Dials {
            if room.put(&Frame::Confirm).is_none() {
                return Fill::Full;
            }
            self.unconfirmed = false;
        }
        let due = self.acknowledge_at.is_some_and(|at| at <= now)
            || self.unacknowledged >= self.acknowledge_bytes();
        if due && !self.acknowledge(room) {
            return Fill::Full;
        }
        if let Some(token) = self.pong
            && room.put(&Frame::Pong { token }).is_some()
        {
            self.pong = None;
        }
        if let Some(token) = self.ping
            && room.put(&Frame::Ping { token }).is_some()
        {
            self.ping = None;
        }
        if let Some((reason, grace_ms)) = self.go_away
            && !self.peer_told
            && room.put(&Frame::GoAway { reason, grace_ms }).is_some()
        {
            self.peer_told = true;
        }
        if self.pong.is_some() || self.ping.is_some() { Fill::Full } else { Fill::Drained }
    }

    fn stage_acknowledge(&mut self, room: &mut Room<'_>, now: Instant) {
        let enough = ACKNOWLEDGE_BYTES.min(u64::from(self.peer.ring_max / 8)).max(1);
        if self.unacknowledged >= enough || self.acknowledge_at.is_some_and(|at| at <= now) {
            self.acknowledge(room);
        }
    }

    /// Acknowledges all that was received; `false` if there is no room for that.
    fn acknowledge(&mut self, room: &mut Room<'_>) -> bool {
        let bytes = self.unacknowledged;
        if bytes > 0 && room.put(&Frame::Ack { bytes }).is_none() {
            return false;
        }
        self.unacknowledged = 0;
        self.acknowledge_at = None;
        true
    }

    /// The frames that streams owe.
    fn stage_owed(&mut self, room: &mut Room<'_>) -> Fill {
        while let Some(&id) = self.owing.front() {
            if room.left() < CONTROL_MAX {
                return Fill::Full;
            }
            // Only acknowledgements make place; they bring the turn back.
            if self.ring.left() < CONTROL_MAX {
                self.urgent = true;
                self.soon_at = None;
                return Fill::Drained;
            }
            if !self.put_owed(id, room) {
                self.owing.pop_front();
                self.streams[id.index()].owed.listed = false;
            }
        }
        self.urgent = false;
        self.soon_at = None;
        Fill::Drained
    }

    /// Puts one frame that a stream owes; `false` if there is none.
    fn put_owed(&mut self, id: StreamId, room: &mut Room<'_>) -> bool {
        let stream = &mut self.streams[id.index()];
        let owed = &mut stream.owed;
        let frame = match *owed {
            Owed { open: true, .. } => {
                owed.open = false;
                Frame::Open { id, service: 0 }
            }
            Owed { accepted: true, .. } => {
                owed.accepted = false;
                Frame::Accepted { id }
            }
            Owed { credit: true, .. } => {
                owed.credit = false;
                let (amount, _) = stream.receiver.grant_due(&self.pool);
                if amount == 0 || stream.receiving != Half::Open {
                    return true;
                }
                stream.receiver.grant(amount, &mut self.pool);
                Frame::Credit { id, increment: Credit(amount) }
            }
            Owed { fin: true, .. } => {
                owed.fin = false;
                Frame::Fin { id }
            }
            Owed { reset: Some(reason), .. } => {
                owed.reset = None;
                Frame::Reset { id, reason }
            }
            Owed { closed: true, .. } => {
                owed.closed = false;
                Frame::Closed { id }
            }
            _ => return false,
        };
        stream.said_last |= matches!(frame, Frame::Fin { .. } | Frame::Reset { .. });
        let free = matches!(frame, Frame::Closed { .. });
        self.pressing |= !matches!(frame, Frame::Credit { .. } | Frame::Accepted { .. });
        let put = room.put(&frame).expect("room for any control frame was seen to be left");
        self.ring.push(put);
        if free {
            self.free(id);
        }
        true
    }

    /// Data, read from the plain connections in their turns.
    fn stage_data<L: Local>(&mut self, room: &mut Room<'_>, local: &mut L) -> Fill {
        let quantum = self.quantum;
        while let Some(id) = self.schedule.front() {
            let alone = self.schedule.is_single();
            let stream = &mut self.streams[id.index()];
            if !stream.readable || !stream.is_read() {
                self.unlist(id);
                continue;
            }
            if room.data_max(id) < DATA_LEAST {
                return Fill::Full;
            }
            if stream.deficit <= 0 && !alone {
                stream.deficit += quantum;
                stream.place = Place::Waiting;
                self.schedule.pop();
                self.schedule.push_waiting(id);
                continue;
            }
            let credit = stream.credit.left_after(stream.sent);
            if credit < CREDIT_LEAST.min(u64::from(self.peer.initial_credit / 4)).max(1) {
                self.unlist(id);
                if local.is_dead(id, false) {
                    self.lose(id, ResetReason::Reset, local);
                }
                continue;
            }
            let ring = self.ring.left().saturating_sub(self.reserve + DATA_HEAD);
            if ring == 0 {
                return Fill::Drained;
            }
            let turn =
                if alone { usize::MAX } else { usize::try_from(stream.deficit).unwrap_or(0) };
            self.pull(id, ring.min(turn).min(narrow(credit)), room, local);
        }
        Fill::Drained
    }

    fn unlist(&mut self, id: StreamId) {
        self.schedule.pop();
        self.streams[id.index()].place = Place::Idle;
    }

    /// Reads the stream in front, at most `max` bytes.
    fn pull<L: Local>(&mut self, id: StreamId, max: usize, room: &mut Room<'_>, local: &mut L) {
        let alone = self.schedule.is_single();
        let mut pulled = Pulled::Empty;
        let frame = room.put_data(id, max, |place| {
            pulled = local.pull(id, place);
            match pulled {
                Pulled::Data { len, .. } => len,
                Pulled::Empty | Pulled::Eof | Pulled::Reset => 0,
            }
        });
        if let Some(frame) = frame {
            self.ring.push(frame);
        }
        let stream = &mut self.streams[id.index()];
        match pulled {
            Pulled::Data { len, more } => {
                stream.sent += wide(len);
                // Alone on the carrier a stream takes nothing from others.
                let cost = if alone { 0 } else { i32::try_from(len).unwrap_or(i32::MAX) };
                stream.deficit = stream.deficit.saturating_sub(cost);
                stream.readable = more;
                self.counters.sent_data += wide(len);
                self.counters.messages += 1;
                self.account.pay(wide(len));
                if !more {
                    self.rest(id);
                }
            }
            Pulled::Empty => {
                stream.readable = false;
                self.rest(id);
            }
            Pulled::Eof => {
                stream.readable = false;
                stream.sending = Half::Fin;
                self.unlist(id);
                self.owe(id, |owed| owed.fin = true);
                self.urgent = true;
                self.settle(id, local);
            }
            Pulled::Reset => {
                self.unlist(id);
                self.lose(id, ResetReason::Reset, local);
            }
        }
    }

    /// The stream in front was read empty. While greedy ones wait it stays in their list for a
    /// round: it may not come back at once as a fresh one and starve them.
    fn rest(&mut self, id: StreamId) {
        self.unlist(id);
        if self.schedule.has_waiting() {
            self.streams[id.index()].place = Place::Waiting;
            self.schedule.push_waiting(id);
        }
    }
}
