//! Who may read the bytes: keys, the handshake, and records sealed and opened.
//!
//! A [`Key`] is made from a key file. Two sides that hold the same key run the handshake
//! ([`Initiator`] and [`Responder`]), each ends with [`Secrets`], and these become a [`Link`]: one
//! [`Sealer`] and one [`Opener`]. A link dies with its carrier; nothing here outlives it.
//!
//! ```text
//!  key file ── Key ──┬── Initiator ── Replied ──── Secrets ── Link
//!                    └── recognise ── Responder ── Secrets ── Unconfirmed ── Link
//! ```
//!
//! This crate deliberately has no clock, no socket, no thread and no source of randomness: entropy
//! is an argument of each call that needs it. It does not know what a record or a hello payload
//! says, and it writes no cryptographic primitive of its own. It never retries: after the first
//! failure an opener refuses everything.
//!
//! Reading order: [`Key`], [`recognise`], [`Initiator`], [`Responder`], [`Secrets`], [`Link`],
//! [`Sealer`], [`Opener`], [`ReplayFilter`].

#![forbid(unsafe_code)]
#![deny(missing_docs, clippy::indexing_slicing, clippy::as_conversions)]

mod error;
mod geometry;
mod handshake;
mod keys;
mod link;
mod provider;
mod record;
mod replay;
mod resolver;

pub use error::{KeyError, SealError};
pub use geometry::{FIRST_FIXED, PADDING_MAX, REPLY_FIXED};
pub use handshake::{Initiator, Replied, Responder, recognise};
pub use keys::{Fingerprint, KEY_FILE_MIN, Key};
pub use link::{Link, Secrets, Side, Unconfirmed};
pub use record::{Opener, RECORDS_MAX, Sealer};
pub use replay::{ReplayFilter, replay_tag};
