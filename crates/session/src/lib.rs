//! What must arrive: streams, credit, the retransmit ring, scheduling.
//!
//! A [`Session`] carries the bytes of many plain connections and knows no keys; a [`Tunnel`] is
//! a session together with the keys of its present carrier. Neither knows sockets or time: the
//! plain connections are reached through the trait [`Local`], and every call says what time it
//! is. So the same code runs in the daemon, in the simulator and under the fuzzer.
//!
//! The law of the pump: tell the tunnel what happened ([`Tunnel::handle_carrier`],
//! [`Tunnel::mark_readable`], [`Tunnel::handle_writable`], [`Tunnel::handle_timeout`]), then ask
//! [`Tunnel::poll_transmit`] until it has nothing more, write [`Tunnel::pending`], and sleep
//! until [`Tunnel::timeout`].
//!
//! What is absent: no buffer between a plain connection and the record (bytes are read when a
//! record is filled), no queue of answers (what is owed to the peer is a flag of a stream or of
//! the session, turned into a frame when a record is filled).
#![forbid(unsafe_code)]
#![deny(clippy::as_conversions)]

mod batch;
mod budget;
mod counters;
mod error;
mod flow;
mod local;
mod num;
mod receive;
mod ring;
mod schedule;
mod session;
mod settings;
mod stream;
mod time;
mod transmit;
mod tunnel;
mod wipe;

pub use batch::PathSample;
pub use counters::Counters;
pub use error::SessionError;
pub use local::{Local, Opened, Pulled, Pushed};
pub use ring::Ring;
pub use session::{Ended, Session};
pub use settings::{Peer, Settings};
pub use time::Instant;
pub use tunnel::{Transmit, Tunnel};
