//! How bytes move: sockets, timers, threads.
//!
//! A [`Daemon`] binds its listeners and starts its workers. One worker is one thread with its
//! own runtime, its own sessions and its own listeners; nothing on the path of data is shared
//! between workers. Inside a worker one task, the pump, owns a tunnel, its carrier and its plain
//! connections; a request wakes no other task.
//!
//! What is absent: this crate knows no frame and decides nothing of the protocol. It tells the
//! tunnel what the sockets did and writes what the tunnel sealed.
#![deny(clippy::as_conversions)]

mod backend;
mod carrier;
mod client;
mod clock;
mod crowd;
mod daemon;
mod dial;
mod entry;
mod error;
mod gate;
mod hello;
mod linkup;
mod listen;
mod plain;
mod pump;
mod random;
mod ready;
mod run;
mod server;
mod sys;
mod throttle;
mod timer;

pub use crowd::Totals;
pub use daemon::Daemon;
pub use error::EngineError;
pub use run::{on_interrupt, run};
