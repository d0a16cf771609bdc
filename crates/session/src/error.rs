//! Why a tunnel ends.

use std::fmt;

use sleeve_seal::SealError;
use sleeve_wire::{CloseCode, StreamId, WireError};

/// What ends a tunnel. Bytes of a peer can cause every one of them and nothing worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// A record did not open, or no further one may be sealed.
    Seal(SealError),
    /// The bytes inside a record have no meaning.
    Wire(WireError),
    /// A frame that is not allowed for this stream or session at this point.
    Protocol(&'static str, StreamId),
    /// More data than was granted.
    FlowControl(StreamId),
    /// An acknowledgement of bytes that were never sent.
    Offset,
    /// More control frames than any honest peer sends.
    Calm,
    /// Nothing at all arrived although a sign of life was asked for.
    Silent,
    /// The peer ended the session.
    Closed(CloseCode),
}

impl SessionError {
    /// What the peer is told; `None` if nothing can or need be said.
    #[must_use]
    pub const fn close_code(self) -> Option<CloseCode> {
        match self {
            // No alert after a bad record: an attacker in the middle would learn from it.
            Self::Seal(_) | Self::Silent | Self::Closed(_) => None,
            Self::Wire(_) | Self::Protocol(..) => Some(CloseCode::Protocol),
            Self::FlowControl(_) => Some(CloseCode::FlowControl),
            Self::Offset => Some(CloseCode::Offset),
            Self::Calm => Some(CloseCode::Calm),
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seal(e) => write!(f, "record refused: {e}"),
            Self::Wire(e) => write!(f, "peer broke the protocol: {e}"),
            Self::Protocol(what, id) => write!(f, "peer broke the protocol: {what} (stream {id})"),
            Self::FlowControl(id) => write!(f, "peer sent more than its credit (stream {id})"),
            Self::Offset => f.write_str("peer acknowledged bytes that were never sent"),
            Self::Calm => f.write_str("peer floods the session with control frames"),
            Self::Silent => f.write_str("peer does not answer"),
            Self::Closed(code) => write!(f, "peer closed the session ({code:?})"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<SealError> for SessionError {
    fn from(e: SealError) -> Self {
        Self::Seal(e)
    }
}

impl From<WireError> for SessionError {
    fn from(e: WireError) -> Self {
        Self::Wire(e)
    }
}
