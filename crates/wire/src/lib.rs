//! What bytes mean: frames, the geometry of records, framing modes, hello payloads.
//!
//! Nothing here knows keys, sockets or time, and nothing allocates: frames are borrowed out of
//! the buffer that they arrived in and written into the caller's. The bytes are specified in
//! `PROTOCOL.md` (here: [`protocol`]); the marks "PROTOCOL n.m" in comments name its sections.
//!
//! Reading order: [`Frame`], [`Room`], [`Decoder`], [`Framing`], [`ClientHello`],
//! [`ServerHello`].
#![forbid(unsafe_code)]
#![deny(clippy::as_conversions, clippy::indexing_slicing)]

#[doc = include_str!("../PROTOCOL.md")]
pub mod protocol {}

mod code;
mod decode;
mod error;
mod frame;
mod framing;
mod hello;
mod room;
mod units;
mod varint;

pub use code::{CloseCode, GoAwayReason, ResetReason};
pub use decode::Decoder;
pub use error::WireError;
pub use frame::Frame;
pub use framing::{
    ADAPTIVE_PLAINTEXT_MAX, ADAPTIVE_RECORD_MAX, Framing, LENGTH_FIELD, PADDED_PLAINTEXT,
    PADDED_RECORD, TAG,
};
pub use hello::{
    ClientHello, FRAMING_ADAPTIVE, FRAMING_PADDED, HELLO_LEN, HelloStatus, REKEY_EXPONENT,
    REKEY_EXPONENT_MAX, REKEY_EXPONENT_MIN, SUITE_AES_256_GCM, ServerHello, VERSION,
};
pub use room::{Room, SHORT_DATA_MAX};
pub use units::{Credit, Offset, StreamId};
pub use varint::{VARINT_MAX, varint_len};
