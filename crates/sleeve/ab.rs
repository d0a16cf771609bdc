//! `sleeve ab`.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sleeve_config::Framing;
use sleeve_lab::Options;

use crate::cli::{AbArgs, AbCommand, LogArgs, LogFormat, LogLevel};
use crate::exit::Failure;

/// Measures and prints the report.
pub(crate) fn run(args: &AbArgs) -> Result<(), Failure> {
    // Both daemons run in this process; what they say at each start and stop is of no interest.
    crate::log::start(&LogArgs { level: LogLevel::Warn, format: LogFormat::Text });
    let options = options(args);
    end_at_interrupt(&options.interrupted);
    Ok(sleeve_lab::run(&options, &mut io::stdout())?)
}

fn options(args: &AbArgs) -> Options {
    let modes = [Framing::Adaptive, Framing::Padded];
    Options {
        clients: args.clients.clone(),
        framings: modes.into_iter().filter(|mode| args.framing.agrees_to(*mode)).collect(),
        command: match args.command {
            AbCommand::Get => sleeve_lab::Command::Get,
            AbCommand::Set => sleeve_lab::Command::Set,
        },
        pipeline: args.pipeline,
        size: args.size,
        seconds: args.duration.as_secs_f64(),
        rounds: args.rounds,
        json: args.json,
        interrupted: Arc::default(),
    }
}

/// The first interrupt ends the measurement, with a report of what there is; the second one ends
/// the program.
fn end_at_interrupt(flag: &Arc<AtomicBool>) {
    let flag = Arc::clone(flag);
    sleeve_engine::on_interrupt(move || {
        if flag.swap(true, Ordering::Relaxed) {
            process::exit(1);
        }
    });
}
