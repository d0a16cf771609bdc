//! What can go wrong.
//!
//! The variants are for the local log and for the caller's decision. A peer is told none of them:
//! before authentication it hears nothing at all, after it the carrier simply ends.

use std::fmt;

/// Why a handshake message or a record was not accepted or not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The bytes do not belong to this key and this place: the key differs, a byte was changed,
    /// dropped, repeated or moved, or the peer's public key is one that yields no secret.
    Refused,
    /// A length lies outside what the framing or the handshake allows. From the peer it means the
    /// same as [`SealError::Refused`]; from the caller it is a bug.
    Length,
    /// These keys have been used for as many records as they may be. A new carrier is needed.
    Exhausted,
    /// An earlier record failed to open, so that nothing further on this link can be trusted.
    Poisoned,
    /// The handshake library refused a call that is always legal: a bug on this side.
    Handshake,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SealError::Refused => "wrong key or changed bytes",
            SealError::Length => "length out of range",
            SealError::Exhausted => "keys used up, a new carrier is needed",
            SealError::Poisoned => "an earlier record failed to open",
            SealError::Handshake => "handshake state refused the call",
        })
    }
}

impl std::error::Error for SealError {}

impl From<snow::Error> for SealError {
    fn from(error: snow::Error) -> Self {
        // Decryption and key agreement are the only two steps that a peer's bytes can make fail;
        // the lengths are fixed by the types of our own arguments.
        if error == snow::Error::Decrypt || error == snow::Error::Dh {
            SealError::Refused
        } else {
            SealError::Handshake
        }
    }
}

/// Why the contents of a key file are not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The file has no contents.
    Empty,
    /// The file is shorter than [`KEY_FILE_MIN`](crate::KEY_FILE_MIN).
    TooShort {
        /// Length of the file in bytes.
        len: usize,
    },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Empty => f.write_str("key file is empty, make one with `sleeve keygen`"),
            KeyError::TooShort { len } => write!(
                f,
                "key file holds {len} bytes, at least {} random bytes are needed, make one with \
                 `sleeve keygen`",
                crate::KEY_FILE_MIN
            ),
        }
    }
}

impl std::error::Error for KeyError {}
