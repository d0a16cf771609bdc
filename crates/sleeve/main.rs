//! The program: reads the command line, makes a plan of it, and hands it to the engine.
//!
//! Nothing is decided here that another crate could decide. Reading order: `cli` (what may be
//! said), `plan` (what it means), `exit` (how it ends), then `keygen`, `ab`, `log` and `usage`.
#![forbid(unsafe_code)]

mod ab;
mod cli;
mod exit;
mod keygen;
mod log;
mod plan;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser as _;
use sleeve_config::Plan;
use tracing::debug;

use crate::cli::{Cli, Command, LogArgs};
use crate::exit::Failure;

fn main() -> ExitCode {
    let outcome = match Cli::try_parse() {
        Ok(cli) => obey(cli.command),
        Err(error) => usage::answer(&error),
    };
    exit::report(outcome)
}

fn obey(command: Command) -> Result<(), Failure> {
    match command {
        Command::Keygen(args) => keygen::run(args.file.as_deref()),
        Command::Server(args) => serve(plan::server(&args)?, &args.keys, &args.log),
        Command::Client(args) => serve(plan::client(&args)?, &args.keys, &args.log),
        Command::Ab(args) => ab::run(&args),
    }
}

fn serve(plan: Plan, files: &[PathBuf], log: &LogArgs) -> Result<(), Failure> {
    log::start(log);
    for (key, file) in plan.keys().iter().zip(files) {
        debug!(fingerprint = %key.fingerprint(), file = %file.display(), "key read");
    }
    Ok(sleeve_engine::run(plan)?)
}
