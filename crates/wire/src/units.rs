//! Numbers with a meaning: which stream, where in a stream, how much may be sent.

use std::fmt;

/// Which stream of a session. The dialling side gives the lowest free one, so that ids stay
/// below the stream limit and most of them take one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The id as an index into a table of streams.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A position in a session's reliable stream, in bytes of encoded reliable frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(pub u64);

impl Offset {
    /// The position `bytes` further on; `None` past the end of the number.
    #[must_use]
    pub fn checked_add(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }

    /// How far `self` lies after `earlier`; `None` if it lies before it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }
}

/// Bytes of stream data that the receiver has allowed in all, since the stream opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Credit(pub u64);

impl Credit {
    /// The allowance after a grant of `increment`; `None` past the end of the number.
    #[must_use]
    pub fn checked_add(self, increment: u64) -> Option<Self> {
        self.0.checked_add(increment).map(Self)
    }

    /// What may be sent after `sent` bytes; 0 if nothing.
    #[must_use]
    pub fn left_after(self, sent: u64) -> u64 {
        self.0.saturating_sub(sent)
    }
}
