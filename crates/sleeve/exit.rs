//! How the program ends: one sentence on standard error, and a status.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use sleeve_config::ConfigError;
use sleeve_engine::EngineError;
use sleeve_lab::LabError;

use crate::keygen::KeygenError;

/// It failed while it ran.
const FAILED: u8 = 1;
/// The command line cannot be understood.
const USAGE: u8 = 2;
/// It can be understood, but not carried out: EX_CONFIG of sysexits.h, which a unit can name so
/// that a fault which only the operator can mend is not tried again and again.
const CONFIG: u8 = 78;

/// Why the program ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong in this way.
    Usage(String),
    /// There is no command; the help has been shown.
    NoCommand,
    /// The plan cannot be carried out.
    Config(ConfigError),
    /// The daemon did not start or did not go on.
    Engine(EngineError),
    /// No key could be made.
    Keygen(KeygenError),
    /// No measurement could be made.
    Lab(LabError),
    /// Standard output cannot be written.
    Output(io::Error),
}

impl Failure {
    fn status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::NoCommand | Self::Keygen(KeygenError::Terminal) => USAGE,
            Self::Lab(LabError::Option { .. }) => USAGE,
            Self::Config(_) => CONFIG,
            // Whoever reads the output has seen enough, as with `sleeve ab | head`.
            Self::Output(error) | Self::Lab(LabError::Output(error))
                if error.kind() == io::ErrorKind::BrokenPipe =>
            {
                0
            }
            Self::Engine(_) | Self::Keygen(_) | Self::Lab(_) | Self::Output(_) => FAILED,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::NoCommand => f.write_str("there is no command: see `sleeve help`"),
            Self::Config(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Keygen(error) => error.fmt(f),
            Self::Lab(error @ LabError::Option { .. }) => {
                write!(f, "{error}: see `sleeve help ab`")
            }
            Self::Lab(error) => error.fmt(f),
            Self::Output(error) => {
                write!(f, "cannot write to standard output ({error}): check where it leads")
            }
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<KeygenError> for Failure {
    fn from(error: KeygenError) -> Self {
        Self::Keygen(error)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

/// Says what went wrong, if anything did, and gives the status.
pub(crate) fn report(outcome: Result<(), Failure>) -> ExitCode {
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    let status = failure.status();
    if status != 0 && !matches!(failure, Failure::NoCommand) {
        let name = if colour() { "\x1b[1;31msleeve:\x1b[0m" } else { "sleeve:" };
        let line = format!("{name} {}\n", one_line(&failure.to_string()));
        // There is nobody left to be told that standard error cannot be written.
        io::stderr().write_all(line.as_bytes()).ok();
    }
    ExitCode::from(status)
}

/// Whether standard error is a terminal that may be coloured (no-color.org).
pub(crate) fn colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// What an operator typed may hold anything; it must not forge a second line of a log, nor reach
/// a terminal as commands.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(one_line("a\nb\x1b[31m\u{9b}ü"), "a\\nb\\u{1b}[31m\\u{9b}ü");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::Output(broken()).status(), 0);
        assert_eq!(Failure::Lab(LabError::Output(broken())).status(), 0);
        assert_eq!(Failure::Output(io::ErrorKind::StorageFull.into()).status(), 1);
    }
}
