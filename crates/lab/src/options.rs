//! What to measure.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sleeve_wire::Framing;

use crate::LabError;
use crate::resp::ARGUMENT_MAX;

/// Most clients: each needs four descriptors, and Linux' usual hard limit is above ten thousand.
const CLIENTS_MAX: usize = 2000;
/// Most numbers of clients in one run.
const CLIENT_COUNTS_MAX: usize = 16;
const PIPELINE_MAX: usize = 10_000;
const ROUNDS_MAX: usize = 100;
/// Less than this is mostly the first and the last request.
const SECONDS_MIN: f64 = 0.05;
const SECONDS_MAX: f64 = 600.0;
/// Most bytes of values in the requests that all clients have under way at once. A run ends when
/// they are answered, so this bounds how long it takes longer than it was asked to.
const UNDER_WAY_MAX: usize = 1024 * 1024 * 1024;

/// Descriptors of a client: its own socket, the accepted one at the client end, the one that the
/// server end opens, the one that the responder accepts.
const DESCRIPTORS_PER_CLIENT: u64 = 4;
/// Descriptors of everything else, generously.
const DESCRIPTORS_ELSE: u64 = 256;

/// The command of which the load consists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Command {
    /// A short request, the value in the reply.
    #[default]
    Get,
    /// The value in the request, a short reply.
    Set,
}

impl Command {
    /// The command as Redis spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Set => "SET",
        }
    }
}

/// What to measure, and how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// Numbers of clients, each a connection of its own; 1 to 2000. Default 1 and 50.
    pub clients: Vec<usize>,
    /// Framing modes to measure beside the direct connection. Default both.
    pub framings: Vec<Framing>,
    /// The command. Default GET.
    pub command: Command,
    /// Requests that a client sends before it waits for replies; 1 to 10,000. Default 1.
    pub pipeline: usize,
    /// Bytes of a value, 1 to 1 MiB. Default 3, as redis-benchmark has it.
    pub size: usize,
    /// Measured time of each link, number of clients and round; 0.05 to 600. Default 2.
    pub seconds: f64,
    /// Rounds, 1 to 100; the report has their medians. Default 3.
    pub rounds: usize,
    /// Print JSON in place of the table.
    pub json: bool,
    /// Set it, for instance at a signal, to end the run; what has been measured is printed.
    pub interrupted: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clients: vec![1, 50],
            framings: vec![Framing::Adaptive, Framing::Padded],
            command: Command::Get,
            pipeline: 1,
            size: 3,
            seconds: 2.0,
            rounds: 3,
            json: false,
            interrupted: Arc::default(),
        }
    }
}

impl Options {
    /// Whether all of it can be measured.
    pub(crate) fn check(&self) -> Result<(), LabError> {
        let most = self.most_clients();
        let faults = [
            (
                !(1..=CLIENT_COUNTS_MAX).contains(&self.clients.len()),
                "the numbers of clients",
                "one to 16 numbers",
            ),
            (
                self.clients.iter().any(|count| !(1..=CLIENTS_MAX).contains(count)),
                "a number of clients",
                "from 1 to 2000",
            ),
            (repeats(&self.clients), "the numbers of clients", "different from each other"),
            (repeats(&self.framings), "the framing modes", "different from each other"),
            (!(1..=PIPELINE_MAX).contains(&self.pipeline), "the pipeline", "from 1 to 10000"),
            (!(1..=ARGUMENT_MAX).contains(&self.size), "the size of a value", "1 byte to 1 MiB"),
            (
                most.saturating_mul(self.pipeline).saturating_mul(self.size) > UNDER_WAY_MAX,
                "clients times pipeline times size",
                "at most 1 GiB",
            ),
            (
                !(SECONDS_MIN..=SECONDS_MAX).contains(&self.seconds),
                "the seconds of a measurement",
                "from 0.05 to 600",
            ),
            (!(1..=ROUNDS_MAX).contains(&self.rounds), "the rounds", "from 1 to 100"),
        ];
        match faults.into_iter().find(|(wrong, ..)| *wrong) {
            Some((_, option, allowed)) => Err(LabError::Option { option, allowed }),
            None => Ok(()),
        }
    }

    /// Raises this process' own limit of open files as far as the clients need it.
    pub(crate) fn permit_descriptors(&self) -> Result<(), LabError> {
        let needed = self.most_clients() as u64 * DESCRIPTORS_PER_CLIENT + DESCRIPTORS_ELSE;
        let limit = getrlimit(Resource::Nofile);
        if limit.current.is_none_or(|current| current >= needed) {
            return Ok(());
        }
        let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised).map_err(|_| LabError::Descriptors {
            needed,
            allowed: limit.maximum.or(limit.current).unwrap_or(u64::MAX),
        })
    }

    fn most_clients(&self) -> usize {
        self.clients.iter().copied().max().unwrap_or(0)
    }
}

fn repeats<T: PartialEq>(items: &[T]) -> bool {
    items.iter().enumerate().any(|(index, item)| items[..index].contains(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_measured() {
        assert!(Options::default().check().is_ok());
    }

    #[test]
    fn what_cannot_be_measured_is_named() {
        let with = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().map_err(|error| error.to_string())
        };
        let error = |text: &str| Err(text.to_owned());
        assert_eq!(with(|o| o.clients = vec![2000]), Ok(()));
        assert_eq!(
            with(|o| o.clients = vec![2001]),
            error("a number of clients must be from 1 to 2000")
        );
        assert!(with(|o| o.clients = vec![0]).is_err());
        assert!(with(|o| o.clients = vec![]).is_err());
        assert!(with(|o| o.clients = vec![5, 7, 5]).is_err());
        assert!(with(|o| o.framings = vec![Framing::Padded; 2]).is_err());
        assert_eq!(with(|o| o.framings = vec![]), Ok(()));
        assert!(with(|o| o.pipeline = 0).is_err());
        assert!(with(|o| o.pipeline = 10_001).is_err());
        assert!(with(|o| o.size = 0).is_err());
        assert!(with(|o| o.size = ARGUMENT_MAX + 1).is_err());
        assert_eq!(
            with(|o| (o.size, o.pipeline) = (ARGUMENT_MAX, 21)),
            error("clients times pipeline times size must be at most 1 GiB")
        );
        assert!(with(|o| o.seconds = 0.0).is_err());
        assert!(with(|o| o.seconds = f64::NAN).is_err());
        assert!(with(|o| o.seconds = f64::INFINITY).is_err());
        assert!(with(|o| o.rounds = 0).is_err());
        assert!(with(|o| o.rounds = 101).is_err());
    }
}
