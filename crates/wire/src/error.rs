//! What can be wrong with bytes.

use std::fmt;

/// Why bytes have no meaning. Every one of them ends the session: after authentication only a
/// broken or hostile peer sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// A frame ends after the record.
    Truncated,
    /// A number or a length in a longer form than it needs.
    NotMinimal,
    /// A first byte that no frame has.
    UnknownFrame(u8),
    /// A number outside the values that its field has.
    OutOfRange,
    /// A hello of a kind, version or mode that does not exist.
    Hello,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("frame crosses the end of its record"),
            Self::NotMinimal => f.write_str("number not in its shortest form"),
            Self::UnknownFrame(t) => write!(f, "unknown frame type {t:#04x}"),
            Self::OutOfRange => f.write_str("number out of its range"),
            Self::Hello => f.write_str("hello with unknown values"),
        }
    }
}

impl std::error::Error for WireError {}
