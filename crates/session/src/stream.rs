//! One plain connection and its counterpart at the far side.

use sleeve_wire::{Credit, ResetReason};

use crate::flow::Receiver;
use crate::schedule::Place;
use crate::wipe::wipe;

/// How far one direction of a stream has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Half {
    /// Data may follow.
    #[default]
    Open,
    /// All data passed.
    Fin,
    /// Aborted.
    Reset,
}

/// The plain connection of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plain {
    /// Let go, or never had.
    #[default]
    None,
    /// The backend has not answered yet.
    Connecting,
    /// Read and written.
    Open,
    /// Written no more: end of file has been shown.
    Finished,
}

/// Frames that a stream owes; each goes out at most once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Owed {
    pub(crate) open: bool,
    pub(crate) accepted: bool,
    pub(crate) fin: bool,
    pub(crate) reset: Option<ResetReason>,
    pub(crate) credit: bool,
    pub(crate) closed: bool,
    /// In the session's list of streams that owe something.
    pub(crate) listed: bool,
}

/// Bytes that arrived and that the plain connection did not take yet, oldest first. Wiped when
/// the stream lets go of them.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Bytes at the front of `bytes` that are delivered.
    taken: usize,
}

impl Inbox {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // Growth by reallocation would leave copies of plaintext behind.
        if self.bytes.len() + bytes.len() > self.bytes.capacity() {
            let kept = self.rest().len() + bytes.len();
            let mut bigger = Vec::with_capacity(kept.next_power_of_two());
            bigger.extend_from_slice(self.rest());
            wipe(&mut self.bytes);
            self.bytes = bigger;
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes of memory allocated.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }

    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    pub(crate) fn take(&mut self, len: usize) {
        self.taken += len;
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

/// A stream's state; its index in the session's table is its id.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Between OPEN and CLOSED; all else is meaningless otherwise.
    pub(crate) live: bool,
    /// CLOSED has come from the accepting side, so that only the plain connection is left.
    pub(crate) closed: bool,
    /// FIN or RESET has gone into a record: the accepting side may end with the stream.
    pub(crate) said_last: bool,
    /// ACCEPTED has come.
    pub(crate) accepted: bool,
    pub(crate) plain: Plain,
    pub(crate) sending: Half,
    pub(crate) receiving: Half,
    pub(crate) place: Place,
    /// The plain connection may have something to read.
    pub(crate) readable: bool,
    pub(crate) owed: Owed,
    /// Bytes that may still be read in this round.
    pub(crate) deficit: i32,
    /// Bytes sent; `sent <= credit`.
    pub(crate) sent: u64,
    pub(crate) credit: Credit,
    pub(crate) receiver: Receiver,
    pub(crate) inbox: Option<Box<Inbox>>,
}

impl Stream {
    /// Both directions have their last frame, sent or owed in front of CLOSED.
    pub(crate) fn is_over(&self) -> bool {
        self.sending != Half::Open && self.receiving != Half::Open
    }

    /// Whether the plain connection is to be read at all.
    pub(crate) fn is_read(&self) -> bool {
        self.live
            && self.sending == Half::Open
            && matches!(self.plain, Plain::Open | Plain::Finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_stream_is_small() {
        assert!(size_of::<Stream>() <= 192, "{}", size_of::<Stream>());
    }

    #[test]
    fn an_inbox_keeps_order() {
        let mut inbox = Inbox::default();
        let (mut next_in, mut next_out) = (0_u8, 0_u8);
        for step in 0..2000_usize {
            let bytes: Vec<u8> = (0..step % 37)
                .map(|_| {
                    next_in = next_in.wrapping_add(1);
                    next_in
                })
                .collect();
            inbox.push(&bytes);
            let n = (step * 31) % (inbox.rest().len() + 1);
            for &b in &inbox.rest()[..n] {
                next_out = next_out.wrapping_add(1);
                assert_eq!(b, next_out);
            }
            inbox.take(n);
        }
    }
}
