//! The rules of PROTOCOL 5 as one side has to apply them to its peer's frames, written from the
//! document and not from the code.

use sleeve_seal::Side;
use sleeve_wire::{CloseCode, Frame, StreamId};

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has its effect, or none.
    Fine,
    /// The session ends, and the peer is told this code.
    Fault(CloseCode),
    /// The peer ended the session.
    Closed(CloseCode),
}

/// How far a direction is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Open,
    Fin,
    Reset,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    live: bool,
    used: bool,
    incoming: Way,
    accepted: bool,
    granted: u64,
    received: u64,
    credit: u64,
    /// This side sealed FIN or RESET; RESET.
    said_last: bool,
    said_reset: bool,
}

/// What one side knows of the session, seen from the wire.
#[derive(Debug)]
pub(crate) struct Model {
    side: Side,
    initial: u64,
    peer_initial: u64,
    max_streams: u32,
    peer_limit: u32,
    confirmed: bool,
    streams: Vec<Known>,
    /// Reliable bytes sealed and not acknowledged.
    unacknowledged: u64,
    /// Frames and records that carry nothing.
    pub(crate) charges: u64,
    /// Data that passed either way.
    pub(crate) data: u64,
}

impl Model {
    pub(crate) fn new(side: Side, initial: u64, peer_initial: u64, max_streams: u32) -> Self {
        Self {
            side,
            initial,
            peer_initial,
            max_streams,
            peer_limit: max_streams,
            confirmed: side == Side::Dials,
            streams: Vec::new(),
            unacknowledged: 0,
            charges: 0,
            data: 0,
        }
    }

    fn known(&mut self, id: StreamId) -> &mut Known {
        // Ids that no honest peer gives need no place of their own.
        let index = id.index().min(5000);
        if self.streams.len() <= index {
            self.streams.resize(index + 1, Known::default());
        }
        &mut self.streams[index]
    }

    pub(crate) fn begin(&mut self, id: StreamId) {
        let (granted, credit) = (self.initial, self.peer_initial);
        *self.known(id) = Known { live: true, used: true, granted, credit, ..Known::default() };
    }

    /// A frame that this side sealed.
    pub(crate) fn sealed(&mut self, frame: &Frame<'_>, len: u64) {
        if frame.is_reliable() {
            self.unacknowledged += len;
        }
        match *frame {
            Frame::Credit { id, increment } => self.known(id).granted += increment.0,
            Frame::Fin { id } => self.known(id).said_last = true,
            Frame::Reset { id, .. } => {
                self.known(id).said_last = true;
                self.known(id).said_reset = true;
            }
            Frame::Closed { id } => self.known(id).live = false,
            Frame::Data { bytes, .. } => self.data += bytes.len() as u64,
            Frame::Open { .. }
            | Frame::Accepted { .. }
            | Frame::MaxStreams { .. }
            | Frame::Ack { .. }
            | Frame::Ping { .. }
            | Frame::Pong { .. }
            | Frame::Confirm
            | Frame::ConfirmResume { .. }
            | Frame::Resumed { .. }
            | Frame::GoAway { .. }
            | Frame::Close { .. } => {}
        }
    }

    /// A frame of the peer.
    pub(crate) fn judge(&mut self, frame: &Frame<'_>) -> Verdict {
        let accepts = self.side == Side::Accepts;
        if !frame.is_reliable() {
            self.charges += 1;
        }
        if !self.confirmed && *frame != Frame::Confirm {
            return Verdict::Fault(CloseCode::Protocol);
        }
        let legal = match *frame {
            Frame::Open { id, .. } => {
                let legal = accepts && id.0 < self.max_streams && !self.known(id).live;
                if legal {
                    self.begin(id);
                }
                legal
            }
            Frame::Accepted { id } => {
                let known = self.known(id);
                let first = known.live && !std::mem::replace(&mut known.accepted, true);
                !accepts && first
            }
            Frame::Data { id, bytes } => return self.data(id, bytes.len() as u64),
            Frame::Fin { id } => {
                let known = self.known(id);
                let legal = known.live && known.incoming == Way::Open;
                known.incoming = Way::Fin;
                legal
            }
            Frame::Reset { id, .. } => self.reset(id),
            Frame::Credit { id, increment } => return self.credit(id, increment.0),
            Frame::MaxStreams { limit } => {
                self.charges += 1;
                let legal = !accepts && limit > self.peer_limit;
                self.peer_limit = limit;
                legal
            }
            Frame::Closed { id } => {
                let known = self.known(id);
                let ended = known.incoming != Way::Open || known.said_reset;
                let legal = !accepts && known.live && known.said_last && ended;
                known.live = false;
                legal
            }
            Frame::Ack { bytes } => {
                if bytes > self.unacknowledged {
                    return Verdict::Fault(CloseCode::Offset);
                }
                self.unacknowledged -= bytes;
                true
            }
            Frame::Ping { .. } | Frame::Pong { .. } | Frame::GoAway { .. } => true,
            Frame::Confirm => !std::mem::replace(&mut self.confirmed, true),
            Frame::ConfirmResume { .. } | Frame::Resumed { .. } => false,
            Frame::Close { code } => return Verdict::Closed(code),
        };
        if legal { Verdict::Fine } else { Verdict::Fault(CloseCode::Protocol) }
    }

    fn data(&mut self, id: StreamId, len: u64) -> Verdict {
        self.data += len;
        let known = self.known(id);
        if !known.live || known.incoming != Way::Open {
            return Verdict::Fault(CloseCode::Protocol);
        }
        known.received += len;
        if known.received > known.granted {
            return Verdict::Fault(CloseCode::FlowControl);
        }
        Verdict::Fine
    }

    /// PROTOCOL 5.1.5: the accepting side ignores what came too late.
    fn is_late(&mut self, id: StreamId) -> bool {
        let ours = self.side == Side::Accepts && id.0 < self.max_streams;
        let known = self.known(id);
        let late = ours && known.used && !known.live;
        self.charges += u64::from(late);
        late
    }

    fn reset(&mut self, id: StreamId) -> bool {
        if self.is_late(id) {
            return true;
        }
        let known = self.known(id);
        let legal = known.live && known.incoming != Way::Reset;
        known.incoming = Way::Reset;
        legal
    }

    fn credit(&mut self, id: StreamId, increment: u64) -> Verdict {
        self.charges += 1;
        if self.is_late(id) {
            return Verdict::Fine;
        }
        let known = self.known(id);
        if !known.live {
            return Verdict::Fault(CloseCode::Protocol);
        }
        match known.credit.checked_add(increment) {
            Some(credit) => known.credit = credit,
            None => return Verdict::Fault(CloseCode::FlowControl),
        }
        Verdict::Fine
    }

    /// Streams that hold an id.
    pub(crate) fn live(&self) -> usize {
        self.streams.iter().filter(|s| s.live).count()
    }
}
