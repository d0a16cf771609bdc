//! Reliable frames that the peer has not acknowledged.

use sleeve_wire::Offset;

use crate::num::{narrow, wide};
use crate::wipe::wipe;

/// An idle session keeps a ring of this size; a larger one is given back.
const KEPT: usize = 64 * 1024;
/// The smallest ring that holds anything.
const LEAST: usize = 16 * 1024;

/// The encoded reliable frames from the first unacknowledged byte to the last one framed. It
/// never drops any: whoever fills it asks [`Ring::left`] first and waits.
#[derive(Debug)]
pub struct Ring {
    /// A power of two long, or empty.
    bytes: Vec<u8>,
    /// Where in `bytes` the first kept byte lies; below its length.
    head: usize,
    /// Bytes kept; `len <= max`.
    len: usize,
    max: usize,
    base: Offset,
}

impl Ring {
    /// An empty ring that never holds more than `max` bytes.
    #[must_use]
    pub const fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), head: 0, len: 0, max, base: Offset(0) }
    }

    /// Bytes that can still be kept.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.max - self.len
    }

    /// Bytes of memory allocated.
    pub(crate) const fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Offset of the first byte that is kept.
    #[must_use]
    pub const fn base(&self) -> Offset {
        self.base
    }

    /// Offset after the last byte that is kept.
    #[must_use]
    pub fn next(&self) -> Offset {
        Offset(self.base.0 + wide(self.len))
    }

    /// Keeps a frame. The caller has seen that it fits.
    pub(crate) fn push(&mut self, frame: &[u8]) {
        debug_assert!(frame.len() <= self.left(), "the ring's bound is kept by its caller");
        if frame.is_empty() {
            return;
        }
        if self.len + frame.len() > self.bytes.len() {
            self.grow(self.len + frame.len());
        }
        let at = (self.head + self.len) & (self.bytes.len() - 1);
        let first = frame.len().min(self.bytes.len() - at);
        self.bytes[at..at + first].copy_from_slice(&frame[..first]);
        self.bytes[..frame.len() - first].copy_from_slice(&frame[first..]);
        self.len += frame.len();
    }

    /// Forgets `bytes` that the peer has; `false` if it claims more than was sent.
    #[must_use]
    pub(crate) fn acknowledge(&mut self, bytes: u64) -> bool {
        if bytes > wide(self.len) {
            return false;
        }
        let bytes = narrow(bytes);
        self.base = Offset(self.base.0 + wide(bytes));
        self.len -= bytes;
        // The place used last is the one that the processor still has at hand.
        self.head = if self.len == 0 { 0 } else { (self.head + bytes) & (self.bytes.len() - 1) };
        true
    }

    /// Gives memory back if nothing is kept.
    pub(crate) fn shrink(&mut self) {
        if self.len == 0 && self.bytes.len() > KEPT {
            wipe(&mut self.bytes);
            self.bytes = Vec::new();
        }
    }

    /// What is kept, in order, in two pieces.
    #[must_use]
    pub fn contents(&self) -> (&[u8], &[u8]) {
        let first = self.len.min(self.bytes.len() - self.head);
        (&self.bytes[self.head..self.head + first], &self.bytes[..self.len - first])
    }

    fn grow(&mut self, needed: usize) {
        let mut bytes = vec![0; needed.next_power_of_two().max(LEAST)];
        let (a, b) = self.contents();
        bytes[..a.len()].copy_from_slice(a);
        bytes[a.len()..a.len() + b.len()].copy_from_slice(b);
        wipe(&mut self.bytes);
        self.bytes = bytes;
        self.head = 0;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ring: &Ring) -> Vec<u8> {
        let (a, b) = ring.contents();
        [a, b].concat()
    }

    #[test]
    fn keeps_order_across_wraps_and_growth() {
        let mut ring = Ring::new(20_000);
        let mut model: Vec<u8> = Vec::new();
        let mut byte = 0_u8;
        for step in 0..4000_usize {
            let len = (step * 7919) % 900;
            if len <= ring.left() {
                let frame: Vec<u8> = (0..len)
                    .map(|_| {
                        byte = byte.wrapping_add(1);
                        byte
                    })
                    .collect();
                ring.push(&frame);
                model.extend(frame);
            }
            let ack = (step * 104_729) % (model.len() + 1);
            assert!(ring.acknowledge(wide(ack)));
            model.drain(..ack);
            assert_eq!(all(&ring), model);
            assert_eq!(ring.next().since(ring.base()), Some(wide(model.len())));
        }
    }

    #[test]
    fn refuses_what_was_never_sent() {
        let mut ring = Ring::new(100);
        ring.push(&[1, 2, 3]);
        assert!(!ring.acknowledge(4));
        assert_eq!(all(&ring), [1, 2, 3]);
        assert!(ring.acknowledge(3));
        assert!(!ring.acknowledge(1));
    }
}
