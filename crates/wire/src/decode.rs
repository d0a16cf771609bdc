//! Frames out of a record's plaintext.

use crate::frame::{
    ACCEPTED, ACK, CLOSE, CLOSED, CONFIRM, CONFIRM_RESUME, CREDIT, DATA, DATA_SHORT, FIN, GO_AWAY,
    MAX_STREAMS, OPEN, PAD, PING, PONG, RESET, RESUMED,
};
use crate::room::SHORT_DATA_MAX;
use crate::varint::take;
use crate::{
    CloseCode, Credit, Frame, GoAwayReason, Offset, ResetReason, StreamId, VARINT_MAX, WireError,
};

/// Walks the frames of one record. After an error it yields nothing more: the record's carrier
/// is lost, whatever else it holds.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// A decoder over the whole plaintext of a record.
    #[must_use]
    pub const fn new(plaintext: &'a [u8]) -> Self {
        Self { rest: plaintext }
    }

    /// Bytes that are not decoded yet.
    #[must_use]
    pub const fn rest(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Decoder<'a> {
    type Item = Result<Frame<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, body) = self.rest.split_first()?;
        if kind == PAD {
            self.rest = &[];
            return None;
        }
        match decode(kind, body) {
            Ok((frame, rest)) => {
                self.rest = rest;
                Some(Ok(frame))
            }
            Err(e) => {
                self.rest = &[];
                Some(Err(e))
            }
        }
    }
}

type Decoded<'a> = Result<(Frame<'a>, &'a [u8]), WireError>;

fn decode(kind: u8, body: &[u8]) -> Decoded<'_> {
    if kind >= DATA_SHORT {
        let (id, rest) = id(body)?;
        return data(id, usize::from(kind & !DATA_SHORT) + 1, rest);
    }
    match kind {
        DATA => long_data(body),
        OPEN => {
            let (id, rest) = id(body)?;
            let (service, rest) = number(rest)?;
            Ok((Frame::Open { id, service }, rest))
        }
        ACCEPTED => id(body).map(|(id, rest)| (Frame::Accepted { id }, rest)),
        FIN => id(body).map(|(id, rest)| (Frame::Fin { id }, rest)),
        CLOSED => id(body).map(|(id, rest)| (Frame::Closed { id }, rest)),
        RESET => {
            let (id, rest) = id(body)?;
            let (reason, rest) = byte(rest)?;
            Ok((Frame::Reset { id, reason: ResetReason::try_from(reason)? }, rest))
        }
        CREDIT => {
            let (id, rest) = id(body)?;
            let (increment, rest) = positive(rest)?;
            Ok((Frame::Credit { id, increment: Credit(increment) }, rest))
        }
        MAX_STREAMS => number(body).map(|(limit, rest)| (Frame::MaxStreams { limit }, rest)),
        ACK..=CONFIRM_RESUME => carrier_frame(kind, body),
        _ => Err(WireError::UnknownFrame(kind)),
    }
}

fn carrier_frame(kind: u8, body: &[u8]) -> Decoded<'_> {
    match kind {
        ACK => positive(body).map(|(bytes, rest)| (Frame::Ack { bytes }, rest)),
        PING => token(body).map(|(token, rest)| (Frame::Ping { token }, rest)),
        PONG => token(body).map(|(token, rest)| (Frame::Pong { token }, rest)),
        CONFIRM => Ok((Frame::Confirm, body)),
        CONFIRM_RESUME => {
            let (offset, proof, rest) = resume_point(body)?;
            Ok((Frame::ConfirmResume { offset, proof }, rest))
        }
        RESUMED => {
            let (offset, proof, rest) = resume_point(body)?;
            Ok((Frame::Resumed { offset, proof }, rest))
        }
        GO_AWAY => {
            let (reason, rest) = byte(body)?;
            let (grace_ms, rest) = take(rest)?;
            Ok((Frame::GoAway { reason: GoAwayReason::try_from(reason)?, grace_ms }, rest))
        }
        CLOSE => {
            let (code, rest) = byte(body)?;
            Ok((Frame::Close { code: CloseCode::try_from(code)? }, rest))
        }
        _ => Err(WireError::UnknownFrame(kind)),
    }
}

fn long_data(body: &[u8]) -> Decoded<'_> {
    let (id, rest) = id(body)?;
    let (len, rest) = take(rest)?;
    match usize::try_from(len).map_err(|_| WireError::Truncated)? {
        // An empty frame would be work for nothing.
        0 => Err(WireError::OutOfRange),
        1..=SHORT_DATA_MAX => Err(WireError::NotMinimal),
        len => data(id, len, rest),
    }
}

fn data(id: StreamId, len: usize, rest: &[u8]) -> Decoded<'_> {
    let (bytes, rest) = rest.split_at_checked(len).ok_or(WireError::Truncated)?;
    Ok((Frame::Data { id, bytes }, rest))
}

fn id(body: &[u8]) -> Result<(StreamId, &[u8]), WireError> {
    number(body).map(|(id, rest)| (StreamId(id), rest))
}

fn number<T: TryFrom<u64>>(body: &[u8]) -> Result<(T, &[u8]), WireError> {
    let (value, rest) = take(body)?;
    Ok((T::try_from(value).map_err(|_| WireError::OutOfRange)?, rest))
}

fn positive(body: &[u8]) -> Result<(u64, &[u8]), WireError> {
    match take(body)? {
        (value @ 1..=VARINT_MAX, rest) => Ok((value, rest)),
        _ => Err(WireError::OutOfRange),
    }
}

fn byte(body: &[u8]) -> Result<(u64, &[u8]), WireError> {
    let (&byte, rest) = body.split_first().ok_or(WireError::Truncated)?;
    Ok((u64::from(byte), rest))
}

fn token(body: &[u8]) -> Result<(u32, &[u8]), WireError> {
    let (bytes, rest) = body.split_first_chunk().ok_or(WireError::Truncated)?;
    Ok((u32::from_be_bytes(*bytes), rest))
}

fn resume_point(body: &[u8]) -> Result<(Offset, [u8; 32], &[u8]), WireError> {
    let (offset, rest) = take(body)?;
    let (proof, rest) = rest.split_first_chunk().ok_or(WireError::Truncated)?;
    Ok((Offset(offset), *proof, rest))
}
