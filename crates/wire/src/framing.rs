//! How records are sized (PROTOCOL 3).

use std::fmt;

/// Bytes of a padded record on the wire: small enough for one segment of any Ethernet path.
pub const PADDED_RECORD: usize = 1024;
/// Bytes of an AEAD tag.
pub const TAG: usize = 16;
/// Bytes of frames and padding in a padded record.
pub const PADDED_PLAINTEXT: usize = PADDED_RECORD - TAG;
/// Bytes of the masked length in front of an adaptive record.
pub const LENGTH_FIELD: usize = 2;
/// Most bytes of an adaptive record on the wire.
pub const ADAPTIVE_RECORD_MAX: usize = 16 * 1024;
/// Most bytes of frames in an adaptive record; at least one.
pub const ADAPTIVE_PLAINTEXT_MAX: usize = ADAPTIVE_RECORD_MAX - LENGTH_FIELD - TAG;

/// The framing mode of a session, fixed for its life: frames that were cut for one mode need not
/// fit into the records of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Every record has exactly [`PADDED_RECORD`] bytes, the handshake's messages too.
    Padded,
    /// A record is as long as its frames, plus 18 bytes.
    Adaptive,
}

impl Framing {
    /// Bytes of a record in front of its frames.
    #[must_use]
    pub const fn prefix(self) -> usize {
        match self {
            Self::Padded => 0,
            Self::Adaptive => LENGTH_FIELD,
        }
    }

    /// Most bytes of frames in one record.
    #[must_use]
    pub const fn plaintext_max(self) -> usize {
        match self {
            Self::Padded => PADDED_PLAINTEXT,
            Self::Adaptive => ADAPTIVE_PLAINTEXT_MAX,
        }
    }

    /// Most bytes of one record on the wire.
    #[must_use]
    pub const fn record_max(self) -> usize {
        match self {
            Self::Padded => PADDED_RECORD,
            Self::Adaptive => ADAPTIVE_RECORD_MAX,
        }
    }

    /// Bytes on the wire of a record with `plaintext` bytes of frames.
    #[must_use]
    pub const fn record_len(self, plaintext: usize) -> usize {
        match self {
            Self::Padded => PADDED_RECORD,
            Self::Adaptive => LENGTH_FIELD + plaintext + TAG,
        }
    }

    /// The word of the command line and of the logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Padded => "padded",
            Self::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
