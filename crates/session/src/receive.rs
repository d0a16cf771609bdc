//! What frames do.

use sleeve_seal::Side;
use sleeve_wire::{CloseCode, Credit, Decoder, Frame, Offset, ResetReason, StreamId, WireError};

use crate::error::SessionError;
use crate::local::{Local, Opened};
use crate::num::wide;
use crate::session::{Ended, Session};
use crate::stream::{Half, Owed, Plain, Stream};
use crate::time::Instant;
use crate::wipe::wipe;

/// Acknowledgements wait this long for a record that goes out anyway.
const ACKNOWLEDGE_US: u64 = 100_000;
/// Gathered data are written at this length.
const RUN_MAX: usize = 64 * 1024;

impl Session {
    /// Takes the frames of one record.
    ///
    /// # Errors
    /// Whatever the peer did wrong; the session is of no use after that.
    pub fn handle_record<L: Local>(
        &mut self,
        plaintext: &[u8],
        local: &mut L,
        now: Instant,
    ) -> Result<(), SessionError> {
        self.heard(now);
        let mut frames = Decoder::new(plaintext);
        let mut useful = false;
        loop {
            let before = frames.rest();
            let Some(frame) = frames.next() else { break };
            let frame = frame?;
            if self.ended == Ended::Yes {
                break;
            }
            if frame.is_reliable() {
                useful = true;
                self.count_reliable(wide(before - frames.rest()), now)?;
            } else if !self.account.charge(now) {
                return Err(SessionError::Calm);
            }
            self.handle_frame(frame, local, now)?;
        }
        // A record without a reliable frame is work for nothing, as empty ones are.
        if useful || self.account.charge(now) { Ok(()) } else { Err(SessionError::Calm) }
    }

    /// All records that have arrived were taken.
    pub fn end_of_input<L: Local>(&mut self, local: &mut L, now: Instant) {
        let Some(id) = self.run_of.take() else { return };
        let mut run = std::mem::take(&mut self.run);
        if self.streams[id.index()].live {
            self.deliver(id, &run, local, now);
        }
        wipe(&mut run);
        run.clear();
        self.run = run;
    }

    fn count_reliable(&mut self, bytes: u64, now: Instant) -> Result<(), SessionError> {
        self.received = self.received.checked_add(bytes).unwrap_or(Offset(self.received.0));
        self.unacknowledged += bytes;
        self.acknowledge_at.get_or_insert(now.plus(ACKNOWLEDGE_US));
        self.urgent |= self.unacknowledged >= self.acknowledge_bytes();
        Ok(())
    }

    fn handle_frame<L: Local>(
        &mut self,
        frame: Frame<'_>,
        local: &mut L,
        now: Instant,
    ) -> Result<(), SessionError> {
        if let Frame::Data { id, bytes } = frame {
            // Without a confirmation no stream is open.
            return self.on_data(id, bytes, local, now);
        }
        self.end_of_input(local, now);
        if self.awaits_confirmation() && frame != Frame::Confirm {
            return Err(SessionError::Protocol("frames before confirmation", StreamId(0)));
        }
        match frame {
            Frame::Data { .. } => Ok(()),
            Frame::Open { id, service } => self.on_open(id, service, local, now),
            Frame::Accepted { id } => self.on_accepted(id),
            Frame::Fin { id } => self.on_fin(id, local),
            Frame::Reset { id, reason } => self.on_reset(id, reason, local, now),
            Frame::Credit { id, increment } => self.on_credit(id, increment, now),
            Frame::MaxStreams { limit } => self.on_max_streams(limit, now),
            Frame::Closed { id } => self.on_closed(id, local),
            Frame::Ack { bytes } => self.on_ack(bytes),
            Frame::Ping { token } => {
                self.pong = Some(token);
                self.urgent = true;
                Ok(())
            }
            // Any byte is a sign of life, so that this one says nothing new.
            Frame::Pong { .. } => Ok(()),
            Frame::Confirm => self.on_confirm(),
            // The handshake answers every wish to resume with a new session, so that neither
            // of them can come.
            Frame::ConfirmResume { .. } | Frame::Resumed { .. } => {
                Err(SessionError::Protocol("resumption without agreement", StreamId(0)))
            }
            Frame::GoAway { .. } => {
                self.peer_goes_away = true;
                Ok(())
            }
            Frame::Close { code } => self.on_close(code),
        }
    }

    /// The live stream of a frame that may only come for one.
    fn known(&mut self, what: &'static str, id: StreamId) -> Result<&mut Stream, SessionError> {
        let stream = self.streams.get_mut(id.index()).filter(|s| s.live && !s.closed);
        stream.ok_or(SessionError::Protocol(what, id))
    }

    /// The live stream of a frame that the dialling side may have sent before it knew that the
    /// accepting side had ended with the stream: `None` then. In the other direction CLOSED is
    /// the last frame of a stream, so that there is no such case.
    fn perhaps_known(
        &mut self,
        what: &'static str,
        id: StreamId,
        now: Instant,
    ) -> Result<Option<&mut Stream>, SessionError> {
        let late = self.settings.side == Side::Accepts
            && id.0 < self.settings.max_streams
            && self.streams.get(id.index()).is_some_and(|s| !s.live);
        if late {
            let calm = self.account.charge(now);
            return if calm { Ok(None) } else { Err(SessionError::Calm) };
        }
        self.known(what, id).map(Some)
    }

    fn on_open<L: Local>(
        &mut self,
        id: StreamId,
        service: u16,
        local: &mut L,
        now: Instant,
    ) -> Result<(), SessionError> {
        if self.settings.side == Side::Dials {
            return Err(SessionError::Protocol("stream opened by the accepting side", id));
        }
        let live = self.streams.get(id.index()).is_some_and(|s| s.live);
        if live || id.0 >= self.settings.max_streams {
            return Err(SessionError::Protocol("stream opened twice or over the limit", id));
        }
        self.begin(id, Plain::None, now);
        if !self.opens.take(now) {
            self.lose(id, ResetReason::Limit, local);
            return Ok(());
        }
        match local.open(id, service) {
            Opened::Ready => {
                self.streams[id.index()].plain = Plain::Connecting;
                self.handle_connected(id, local, now);
            }
            Opened::Pending => self.streams[id.index()].plain = Plain::Connecting,
            Opened::Failed(reason) => self.lose(id, reason, local),
        }
        Ok(())
    }

    fn on_accepted(&mut self, id: StreamId) -> Result<(), SessionError> {
        if self.settings.side == Side::Accepts {
            return Err(SessionError::Protocol("acceptance by the dialling side", id));
        }
        let stream = self.known("acceptance of a stream that is not open", id)?;
        if std::mem::replace(&mut stream.accepted, true) {
            return Err(SessionError::Protocol("second acceptance", id));
        }
        Ok(())
    }

    fn on_data<L: Local>(
        &mut self,
        id: StreamId,
        bytes: &[u8],
        local: &mut L,
        now: Instant,
    ) -> Result<(), SessionError> {
        if self.run_of.is_some_and(|run| run != id) || self.run.len() + bytes.len() > RUN_MAX {
            self.end_of_input(local, now);
        }
        let stream = self.known("data for a stream that is not open", id)?;
        if stream.receiving != Half::Open {
            return Err(SessionError::Protocol("data after the end", id));
        }
        if !stream.receiver.receive(wide(bytes.len())) {
            return Err(SessionError::FlowControl(id));
        }
        let dropped = stream.plain == Plain::None;
        self.counters.received_data += wide(bytes.len());
        self.account.pay(wide(bytes.len()));
        if dropped {
            return Ok(());
        }
        // A copy is cheaper than a system call that wakes the reader for a part.
        self.run_of = Some(id);
        self.run.extend_from_slice(bytes);
        Ok(())
    }

    fn on_fin<L: Local>(&mut self, id: StreamId, local: &mut L) -> Result<(), SessionError> {
        let stream = self.known("end of a stream that is not open", id)?;
        if stream.receiving != Half::Open {
            return Err(SessionError::Protocol("second end", id));
        }
        stream.receiving = Half::Fin;
        self.settle(id, local);
        Ok(())
    }

    fn on_reset<L: Local>(
        &mut self,
        id: StreamId,
        reason: ResetReason,
        local: &mut L,
        now: Instant,
    ) -> Result<(), SessionError> {
        let side = self.settings.side;
        let Some(stream) = self.perhaps_known("reset of a stream that is not open", id, now)?
        else {
            return Ok(());
        };
        if stream.receiving == Half::Reset {
            return Err(SessionError::Protocol("second reset", id));
        }
        stream.receiving = Half::Reset;
        let answered = stream.sending != Half::Open;
        self.let_go(id, reason, local);
        self.counters.resets += 1;
        if !answered {
            self.streams[id.index()].sending = Half::Reset;
            // The accepting side's CLOSED says it all.
            if side == Side::Dials {
                self.owe(id, |owed| owed.reset = Some(ResetReason::Echo));
                self.urgent = true;
            }
        }
        self.settle(id, local);
        Ok(())
    }

    fn on_credit(
        &mut self,
        id: StreamId,
        increment: Credit,
        now: Instant,
    ) -> Result<(), SessionError> {
        if !self.account.charge(now) {
            return Err(SessionError::Calm);
        }
        let Some(stream) = self.perhaps_known("credit for a stream that is not open", id, now)?
        else {
            return Ok(());
        };
        stream.credit =
            stream.credit.checked_add(increment.0).ok_or(SessionError::FlowControl(id))?;
        self.list(id);
        Ok(())
    }

    fn on_max_streams(&mut self, limit: u32, now: Instant) -> Result<(), SessionError> {
        if !self.account.charge(now) {
            return Err(SessionError::Calm);
        }
        if self.settings.side == Side::Accepts || limit <= self.peer.max_streams {
            return Err(SessionError::Protocol("stream limit that does not rise", StreamId(0)));
        }
        self.peer.max_streams = limit;
        Ok(())
    }

    fn on_closed<L: Local>(&mut self, id: StreamId, local: &mut L) -> Result<(), SessionError> {
        let side = self.settings.side;
        let stream = self.known("end of a stream that is not open", id)?;
        // The accepting side ends with a stream only after the dialling side's last frame. What
        // was to follow that one, a reset after the end, has nobody left to read it.
        if side == Side::Accepts || !stream.said_last {
            return Err(SessionError::Protocol("stream closed too early", id));
        }
        if stream.receiving == Half::Open {
            if stream.sending != Half::Reset {
                return Err(SessionError::Protocol("stream closed without an end", id));
            }
            stream.receiving = Half::Reset;
        }
        stream.closed = true;
        stream.owed = Owed { listed: stream.owed.listed, ..Owed::default() };
        self.settle(id, local);
        Ok(())
    }

    fn on_ack(&mut self, bytes: u64) -> Result<(), SessionError> {
        if self.ring.acknowledge(bytes) { Ok(()) } else { Err(SessionError::Offset) }
    }

    fn on_confirm(&mut self) -> Result<(), SessionError> {
        if !self.unconfirmed || self.settings.side == Side::Dials {
            return Err(SessionError::Wire(WireError::UnknownFrame(0x13)));
        }
        self.unconfirmed = false;
        Ok(())
    }

    fn on_close(&mut self, code: CloseCode) -> Result<(), SessionError> {
        self.ended = Ended::Yes;
        Err(SessionError::Closed(code))
    }
}
