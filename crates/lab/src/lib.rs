//! What framing costs, seen on this machine: the laboratory behind `sleeve ab`.
//!
//! [`run`] starts a responder that speaks Redis' protocol, both daemons of a tunnel for each
//! framing mode, and a closed-loop load; it lets them run in turn, round after round, and prints
//! a table: operations per second, latencies, bytes on the wire for each request and how many of
//! them are padding. A row `direct` shows the same load without a tunnel, in the same run.
//!
//! ```text
//!            a client                both daemons, in this process               the responder
//! direct     load ------------------------- TCP, loopback --------------------------> responder
//! tunnels    load --Unix--> client end ==== TCP, loopback ==== server end --Unix--> responder
//! ```
//!
//! All of it shares the processors of one machine, and the report says so. It emulates no
//! network, and it needs neither a Redis nor root.
//!
//! Reading order: [`Options`], `rounds` (the order of a run), `link` and `pair` (what is
//! measured), `load` and `responder` (the two ends), `report`.
#![forbid(unsafe_code)]

mod error;
mod folder;
mod link;
mod load;
mod options;
mod pair;
mod report;
mod resp;
mod responder;
mod rounds;
mod socket;
mod tcp;
mod workload;

use std::io;

pub use error::LabError;
pub use options::{Command, Options};

/// Measures what the options ask for and writes the report to `out`.
///
/// It takes about `rounds × clients × (framings + 1) × (seconds + 0.3)` seconds. When the
/// options' flag is set meanwhile, the report is made of what has been measured until then.
pub fn run(options: &Options, out: &mut dyn io::Write) -> Result<(), LabError> {
    options.check()?;
    options.permit_descriptors()?;
    let measurement = rounds::measure(options)?;
    let text = if options.json {
        report::json(options, &measurement)
    } else {
        report::text(options, &measurement)
    };
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(LabError::Output)
}

#[cfg(test)]
mod tests;
