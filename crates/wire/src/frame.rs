//! The frames of PROTOCOL 4.

use crate::{CloseCode, Credit, GoAwayReason, Offset, ResetReason, StreamId};

pub(crate) const PAD: u8 = 0x00;
pub(crate) const DATA: u8 = 0x01;
pub(crate) const OPEN: u8 = 0x02;
pub(crate) const ACCEPTED: u8 = 0x03;
pub(crate) const FIN: u8 = 0x04;
pub(crate) const RESET: u8 = 0x05;
pub(crate) const CREDIT: u8 = 0x06;
pub(crate) const MAX_STREAMS: u8 = 0x07;
pub(crate) const CLOSED: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const PING: u8 = 0x11;
pub(crate) const PONG: u8 = 0x12;
pub(crate) const CONFIRM: u8 = 0x13;
pub(crate) const RESUMED: u8 = 0x14;
pub(crate) const GO_AWAY: u8 = 0x15;
pub(crate) const CLOSE: u8 = 0x16;
pub(crate) const CONFIRM_RESUME: u8 = 0x17;
/// First bytes from here on are DATA with a length of 1 to 128 in the low seven bits.
pub(crate) const DATA_SHORT: u8 = 0x80;

/// One unit of meaning, borrowed from the record that carries it.
///
/// Reliable frames are counted by the session's offsets, kept until acknowledged and sent again
/// after a resume; the others concern one carrier only and are rebuilt from state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Bytes of a stream; never empty. Reliable.
    Data {
        /// Whose bytes.
        id: StreamId,
        /// 1 to [`crate::ADAPTIVE_PLAINTEXT_MAX`] bytes.
        bytes: &'a [u8],
    },
    /// The dialling side opens a stream. Reliable.
    Open {
        /// The lowest id that is free.
        id: StreamId,
        /// Which backend; 0 is the only one of version 1.
        service: u16,
    },
    /// The backend's connection stands; nothing waits for this. Reliable.
    Accepted {
        /// Which stream.
        id: StreamId,
    },
    /// No more data in this direction. Reliable.
    Fin {
        /// Which stream.
        id: StreamId,
    },
    /// The stream is aborted, in both directions. Reliable.
    Reset {
        /// Which stream.
        id: StreamId,
        /// Why.
        reason: ResetReason,
    },
    /// More may be sent on this stream. Reliable.
    Credit {
        /// Which stream.
        id: StreamId,
        /// Bytes added to the allowance; at least 1.
        increment: Credit,
    },
    /// The accepting side's new limit of live streams; only ever more than before. Reliable.
    MaxStreams {
        /// Streams that may be live at once.
        limit: u32,
    },
    /// The accepting side has ended with the stream: its id is free again. Reliable.
    Closed {
        /// Which stream.
        id: StreamId,
    },
    /// Bytes of the reliable stream processed since the last such frame on this carrier.
    Ack {
        /// At least 1.
        bytes: u64,
    },
    /// Asks for a sign of life.
    Ping {
        /// Comes back in the answer.
        token: u32,
    },
    /// The sign of life.
    Pong {
        /// The question's token.
        token: u32,
    },
    /// The dialling side proves that it holds the keys of a new session.
    Confirm,
    /// The same for a resumed session.
    ConfirmResume {
        /// Where the sender's received reliable stream ends.
        offset: Offset,
        /// Keyed by the session's secret and bound to this handshake.
        proof: [u8; 32],
    },
    /// The accepting side's answer to it.
    Resumed {
        /// Where the sender's received reliable stream ends.
        offset: Offset,
        /// Keyed by the session's secret and bound to this handshake.
        proof: [u8; 32],
    },
    /// No further streams on this session, please.
    GoAway {
        /// Why.
        reason: GoAwayReason,
        /// After that many milliseconds the sender ends what is left.
        grace_ms: u64,
    },
    /// The session is over.
    Close {
        /// Why.
        code: CloseCode,
    },
}

impl Frame<'_> {
    /// Whether the frame is part of the session's reliable stream.
    #[must_use]
    pub const fn is_reliable(&self) -> bool {
        match self {
            Self::Data { .. }
            | Self::Open { .. }
            | Self::Accepted { .. }
            | Self::Fin { .. }
            | Self::Reset { .. }
            | Self::Credit { .. }
            | Self::MaxStreams { .. }
            | Self::Closed { .. } => true,
            Self::Ack { .. }
            | Self::Ping { .. }
            | Self::Pong { .. }
            | Self::Confirm
            | Self::ConfirmResume { .. }
            | Self::Resumed { .. }
            | Self::GoAway { .. }
            | Self::Close { .. } => false,
        }
    }
}
