//! Why a measurement could not be made.

use std::fmt;
use std::io;

use sleeve_engine::EngineError;

/// Why a measurement could not be made. The text is one sentence for the operator.
#[derive(Debug)]
pub enum LabError {
    /// An option is outside of what can be measured.
    Option {
        /// The option, in words.
        option: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
    /// So many clients need more open files than the system permits.
    Descriptors {
        /// Descriptors that the run needs.
        needed: u64,
        /// Descriptors that a process may have here.
        allowed: u64,
    },
    /// Something that the lab needs for itself could not be had.
    Setup {
        /// What could not be done, and where to look.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A daemon could not be started.
    Daemon(EngineError),
    /// A client got other bytes than those that belong to its request.
    WrongReply {
        /// The link that was measured.
        link: &'static str,
        /// How the right bytes start, escaped.
        expected: String,
        /// How the bytes start that came, escaped.
        got: String,
    },
    /// A client's connection ended while it was measured.
    Closed {
        /// The link that was measured.
        link: &'static str,
    },
    /// Nothing came through a link for ten seconds.
    Stalled {
        /// The link that was measured.
        link: &'static str,
    },
    /// A system call of the load failed.
    Load {
        /// The link that was measured.
        link: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The report could not be written.
    Output(io::Error),
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option { option, allowed } => write!(f, "{option} must be {allowed}"),
            Self::Descriptors { needed, allowed } => write!(
                f,
                "this run needs {needed} open files and the system permits {allowed}: raise the \
                 hard limit (ulimit -Hn) or take fewer clients"
            ),
            Self::Setup { what, source } => write!(f, "{what}: {source}"),
            Self::Daemon(error) => write!(f, "cannot start a daemon of the lab: {error}"),
            Self::WrongReply { link, expected, got } => write!(
                f,
                "a client of the link `{link}` got a wrong reply, \"{got}\" in place of \
                 \"{expected}\": the figures would be worthless; please report this with the \
                 command line"
            ),
            Self::Closed { link } => write!(
                f,
                "the link `{link}` closed a client's connection while it was measured; run again \
                 with more logging to see which end did it"
            ),
            Self::Stalled { link } => write!(
                f,
                "nothing came through the link `{link}` for ten seconds; run again with more \
                 logging to see where it stopped"
            ),
            Self::Load { link, source } => {
                write!(f, "the load on the link `{link}` failed: {source}")
            }
            Self::Output(source) => write!(f, "cannot write the report: {source}"),
        }
    }
}

impl std::error::Error for LabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setup { source, .. } | Self::Load { source, .. } | Self::Output(source) => {
                Some(source)
            }
            Self::Daemon(error) => Some(error),
            Self::Option { .. }
            | Self::Descriptors { .. }
            | Self::WrongReply { .. }
            | Self::Closed { .. }
            | Self::Stalled { .. } => None,
        }
    }
}
