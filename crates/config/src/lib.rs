//! What the operator said, understood and checked: addresses, settings, key files, the plan.
//!
//! A [`Plan`] is all that the engine has to know. The program parses text into its parts
//! ([`Address`], [`Setting`], [`Framings`]), reads the keys ([`load_keys`]), puts the plan together
//! and has it checked ([`Plan::check`]); what is wrong becomes one sentence that ends with what to
//! do next.
//!
//! ```text
//!  text ── Address, Setting, Framings ──┐
//!  key files ── load_keys ──────────────┴── Plan ── check ── engine
//! ```
//!
//! This crate deliberately does not know where the text came from, opens no socket and resolves no
//! name, so that a plan stands although name servers and peers are down. It never falls back: what
//! it cannot understand is an error, not a default. The key files are the only thing it reads.
//!
//! Reading order: [`Plan`], [`Address`], [`Setting`], [`load_keys`], [`ConfigError`].
#![forbid(unsafe_code)]
#![deny(clippy::as_conversions)]

mod address;
mod error;
mod keys;
mod overlap;
mod plan;
mod setting;

pub use address::{Address, AddressError, Host, UNIX_PATH_MAX};
pub use error::ConfigError;
pub use keys::{KEY_FILE_MAX, KEYS_MAX, load_keys};
pub use plan::{ClientPlan, Common, Framings, Plan, ServerPlan};
pub use setting::{Setting, SettingError, count, duration, framing};

pub use sleeve_seal::{Fingerprint, Key};
pub use sleeve_wire::Framing;
