//! Frames into a record's buffer.

use crate::frame::{
    ACCEPTED, ACK, CLOSE, CLOSED, CONFIRM, CONFIRM_RESUME, CREDIT, DATA, DATA_SHORT, FIN, GO_AWAY,
    MAX_STREAMS, OPEN, PING, PONG, RESET, RESUMED,
};
use crate::varint::{put, varint_len};
use crate::{Frame, StreamId};

/// Most bytes of a DATA frame whose length is part of its first byte.
pub const SHORT_DATA_MAX: usize = 128;
/// Most bytes of a longer one: its length takes two bytes. No record holds that many.
const LONG_DATA_MAX: usize = (1 << 14) - 1;
/// Most bytes of any other frame: a type, a number and a proof.
const CONTROL_MAX: usize = 1 + 8 + 32;

/// The free part of an open record's plaintext. Frames are appended or not at all: a frame that
/// does not fit leaves the room as it was. What is behind the frames has no meaning before the
/// record is closed: a `fill` may have written there.
#[derive(Debug)]
pub struct Room<'a> {
    buffer: &'a mut [u8],
    used: usize,
}

impl<'a> Room<'a> {
    /// A room over `buffer`, of which `used` bytes hold frames already.
    #[must_use]
    pub fn new(buffer: &'a mut [u8], used: usize) -> Self {
        debug_assert!(used <= buffer.len(), "a room cannot hold more than its buffer");
        Self { buffer, used }
    }

    /// Bytes that hold frames.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Bytes that are free.
    #[must_use]
    pub fn left(&self) -> usize {
        self.buffer.len() - self.used
    }

    /// The frames so far.
    #[must_use]
    pub fn filled(&self) -> &[u8] {
        self.buffer.get(..self.used).unwrap_or_default()
    }

    /// Appends a frame; the bytes it was written as, or `None` if it does not fit. A frame that
    /// no [`Decoder`](crate::Decoder) would take (empty data, a zero where one is not allowed, a
    /// number over [`VARINT_MAX`](crate::VARINT_MAX)) does not fit anywhere.
    pub fn put(&mut self, frame: &Frame<'_>) -> Option<&[u8]> {
        if let Frame::Data { id, bytes } = frame {
            if bytes.len() > self.data_max(*id) {
                return None;
            }
            return self.put_data(*id, bytes.len(), |room| {
                room.copy_from_slice(bytes);
                bytes.len()
            });
        }
        let mut whole = [0; CONTROL_MAX];
        let mut out = Writer { out: &mut whole, at: 0 };
        encode(&mut out, frame)?;
        let (from, to) = (self.used, self.used + out.at);
        self.buffer.get_mut(from..to)?.copy_from_slice(whole.get(..to - from)?);
        self.used = to;
        self.buffer.get(from..to)
    }

    /// Most bytes of data that one more DATA frame of `id` can hold here.
    #[must_use]
    pub fn data_max(&self, id: StreamId) -> usize {
        let left = self.left().saturating_sub(1 + varint_len(u64::from(id.0)));
        if left > SHORT_DATA_MAX + 2 {
            (left - 2).min(LONG_DATA_MAX)
        } else {
            left.min(SHORT_DATA_MAX)
        }
    }

    /// Appends a DATA frame of at most `max` bytes whose bytes `fill` writes in place (a socket
    /// is read there). `fill` says how many it wrote; with 0 nothing is appended. The frame's
    /// bytes, or `None` if there is none.
    pub fn put_data(
        &mut self,
        id: StreamId,
        max: usize,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Option<&[u8]> {
        let max = max.min(self.data_max(id));
        if max == 0 {
            return None;
        }
        let (from, head) = (self.used, 1 + varint_len(u64::from(id.0)));
        // A length over 128 takes two bytes after the id: its place is left free, and taken
        // back by a short move when the data turn out to be few.
        let body = from + head + if max > SHORT_DATA_MAX { 2 } else { 0 };
        let len = fill(self.buffer.get_mut(body..body + max)?).min(max);
        if len == 0 {
            return None;
        }
        let short = len <= SHORT_DATA_MAX;
        if short && body != from + head {
            self.buffer.copy_within(body..body + len, from + head);
        }
        let mut out = Writer { out: self.buffer.get_mut(from..)?, at: 0 };
        if short {
            out.byte(DATA_SHORT | u8::try_from(len - 1).ok()?)?;
            out.id(id)?;
        } else {
            out.byte(DATA)?;
            out.id(id)?;
            out.number(u64::try_from(len).ok()?)?;
        }
        self.used += out.at + len;
        self.buffer.get(from..self.used)
    }
}

struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn byte(&mut self, byte: u8) -> Option<()> {
        *self.out.get_mut(self.at)? = byte;
        self.at += 1;
        Some(())
    }

    fn number(&mut self, value: u64) -> Option<()> {
        self.at += put(self.out.get_mut(self.at..)?, value)?;
        Some(())
    }

    fn positive(&mut self, value: u64) -> Option<()> {
        if value == 0 { None } else { self.number(value) }
    }

    fn id(&mut self, id: StreamId) -> Option<()> {
        self.number(u64::from(id.0))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    fn simple(&mut self, kind: u8, id: StreamId) -> Option<()> {
        self.byte(kind)?;
        self.id(id)
    }
}

fn encode(out: &mut Writer<'_>, frame: &Frame<'_>) -> Option<()> {
    match *frame {
        // Written by `put_data`, which knows both forms.
        Frame::Data { .. } => None,
        Frame::Open { id, service } => {
            out.simple(OPEN, id)?;
            out.number(u64::from(service))
        }
        Frame::Accepted { id } => out.simple(ACCEPTED, id),
        Frame::Fin { id } => out.simple(FIN, id),
        Frame::Reset { id, reason } => {
            out.simple(RESET, id)?;
            out.byte(reason.number())
        }
        Frame::Credit { id, increment } => {
            out.simple(CREDIT, id)?;
            out.positive(increment.0)
        }
        Frame::MaxStreams { limit } => {
            out.byte(MAX_STREAMS)?;
            out.number(u64::from(limit))
        }
        Frame::Closed { id } => out.simple(CLOSED, id),
        Frame::Ack { bytes } => {
            out.byte(ACK)?;
            out.positive(bytes)
        }
        Frame::Ping { token } => {
            out.byte(PING)?;
            out.bytes(&token.to_be_bytes())
        }
        Frame::Pong { token } => {
            out.byte(PONG)?;
            out.bytes(&token.to_be_bytes())
        }
        Frame::Confirm => out.byte(CONFIRM),
        Frame::ConfirmResume { offset, ref proof } => {
            out.byte(CONFIRM_RESUME)?;
            out.number(offset.0)?;
            out.bytes(proof)
        }
        Frame::Resumed { offset, ref proof } => {
            out.byte(RESUMED)?;
            out.number(offset.0)?;
            out.bytes(proof)
        }
        Frame::GoAway { reason, grace_ms } => {
            out.byte(GO_AWAY)?;
            out.byte(reason.number())?;
            out.number(grace_ms)
        }
        Frame::Close { code } => {
            out.byte(CLOSE)?;
            out.byte(code.number())
        }
    }
}
