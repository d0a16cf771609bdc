//! A seeded world for the pure crates: two tunnels, virtual time, models and oracles.
//!
//! One seed makes one [`Recipe`]: which faults, habits of applications and small constants there
//! are. [`World`] runs it: two daemons driven by the law of the pump, a carrier with rates,
//! delays, stalls, cuts and changed bytes, applications that write by the byte, never read, end
//! halfway or die. A ledger checks each plain connection against an in-memory pipe, a tap that
//! holds the keys checks every frame that is sealed, and each turn checks memory, limits and
//! times. The first thing that is not true ends the run as a [`Failure`] with its seed.
//!
//! It deliberately has no clock, no thread and no randomness but the seed's: the same seed gives
//! the same run on every machine. It is for tests only; nothing that ships depends on it.
//!
//! Reading order: [`Recipe`], [`World`], then [`hostile`] (a peer that holds the keys and breaks
//! the rules) and [`fuzz`] (the bodies of the fuzz targets).
#![forbid(unsafe_code)]

mod app;
mod bed;
mod end;
pub mod hostile;
mod ledger;
mod local;
mod model;
mod pipe;
mod recipe;
mod rng;
mod tap;
mod trace;
mod world;

pub use recipe::Recipe;
pub use rng::Rng;
pub use world::{Failure, Summary, World, run};
