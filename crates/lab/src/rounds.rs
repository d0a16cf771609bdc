//! The order of a run: rounds in which every link has its turn, so that what else the machine
//! does falls on all of them alike.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::folder::Folder;
use crate::link::{Contestant, Cost};
use crate::load::{self, Clients, LoadError, Sample};
use crate::responder::Responder;
use crate::workload::Workload;
use crate::{LabError, Options};

/// What a link does before it is measured: connections are made, buffers and windows grow.
const WARM_UP: Duration = Duration::from_millis(300);

/// One link under one number of clients, in one round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) operations_per_second: f64,
    /// Nanoseconds.
    pub(crate) p50: u64,
    /// Nanoseconds.
    pub(crate) p99: u64,
    pub(crate) cost: Cost,
}

/// One link under one number of clients.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) contestant: Contestant,
    pub(crate) clients: usize,
    /// One for each round that was measured.
    pub(crate) cells: Vec<Cell>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measurement {
    /// By number of clients, then by link.
    pub(crate) rows: Vec<Row>,
    /// The run was ended before its time.
    pub(crate) interrupted: bool,
}

/// Measures everything that the options ask for, or as much of it as there is time for before
/// the flag is set.
pub(crate) fn measure(options: &Options) -> Result<Measurement, LabError> {
    let setup = |what| move |source| LabError::Setup { what, source };
    let folder = Folder::create()
        .map_err(setup("cannot make a private folder for sockets (in TMPDIR, else /tmp)"))?;
    let responder = Responder::start(&folder.join("responder")).map_err(setup(
        "cannot start the responder (its socket is in TMPDIR, else /tmp, and the path of a \
             socket has at most 107 bytes)",
    ))?;
    let workload = Workload::new(options.command, options.size);
    let mut measurement = Measurement { rows: rows(options), interrupted: false };
    let bar = progress_bar(measurement.rows.len() * options.rounds);
    let run = Run { options, responder, folder, workload };
    let result = run.rounds(&mut measurement, &bar);
    bar.finish_and_clear();
    result.map(|()| measurement)
}

fn rows(options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for &clients in &options.clients {
        let tunnels = options.framings.iter().map(|&framing| Contestant::Tunnel(framing));
        for contestant in std::iter::once(Contestant::Direct).chain(tunnels) {
            rows.push(Row { contestant, clients, cells: Vec::new() });
        }
    }
    rows
}

/// A bar on standard error where somebody looks at it, else one that is never drawn.
fn progress_bar(steps: usize) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}")
        .expect("the template names only fields that exist");
    ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style)
}

struct Run<'a> {
    options: &'a Options,
    /// Before the folder: it goes first, and its socket lies in there.
    responder: Responder,
    folder: Folder,
    workload: Workload,
}

impl Run<'_> {
    fn rounds(&self, measurement: &mut Measurement, bar: &ProgressBar) -> Result<(), LabError> {
        if !self.prepare()? {
            measurement.interrupted = true;
            return Ok(());
        }
        for round in 1..=self.options.rounds {
            for row in &mut measurement.rows {
                let (name, clients) = (row.contestant.name(), row.clients);
                let rounds = self.options.rounds;
                let plural = if clients == 1 { "" } else { "s" };
                bar.set_message(format!(
                    "round {round} of {rounds}: {name}, {clients} client{plural}"
                ));
                let Some(cell) = self.cell(row.contestant, clients)? else {
                    measurement.interrupted = true;
                    return Ok(());
                };
                row.cells.push(cell);
                bar.inc(1);
            }
        }
        Ok(())
    }

    /// Puts the values in place that will be asked for; whether there was time for it.
    fn prepare(&self) -> Result<bool, LabError> {
        let Some(preparation) = self.workload.preparation() else { return Ok(true) };
        let endpoint = self.responder.unix();
        let done = load::once(endpoint, &preparation, &self.options.interrupted);
        Ok(unless_interrupted(done, "responder")?.is_some())
    }

    /// Measures one cell, unless it is interrupted.
    fn cell(&self, contestant: Contestant, clients: usize) -> Result<Option<Cell>, LabError> {
        if self.options.interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let name = contestant.name();
        let link = contestant.start(&self.responder, &self.folder)?;
        let connected =
            Clients::connect(link.endpoint(), &self.workload, clients, self.options.pipeline);
        let Some(mut clients) = unless_interrupted(connected, name)? else { return Ok(None) };
        let duration = Duration::from_secs_f64(self.options.seconds);
        let warm = clients.run(WARM_UP.min(duration), &self.options.interrupted);
        if unless_interrupted(warm, name)?.is_none() {
            return Ok(None);
        }
        let before = link.cost(&clients)?;
        let sample = clients.run(duration, &self.options.interrupted);
        let Some(sample) = unless_interrupted(sample, name)? else { return Ok(None) };
        let after = link.cost(&clients)?;
        Ok(Some(cell(&sample, after.since(&before))))
    }
}

fn cell(sample: &Sample, mut cost: Cost) -> Cell {
    cost.requests = sample.requests;
    cost.application_bytes = sample.bytes;
    Cell {
        operations_per_second: sample.requests as f64 / sample.elapsed.as_secs_f64(),
        p50: sample.latencies.value_at_quantile(0.50),
        p99: sample.latencies.value_at_quantile(0.99),
        cost,
    }
}

/// `None` when the flag was set; an error with the link's name when something went wrong.
fn unless_interrupted<T>(
    result: Result<T, LoadError>,
    link: &'static str,
) -> Result<Option<T>, LabError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(LoadError::Interrupted) => Ok(None),
        Err(LoadError::WrongReply { expected, got }) => {
            Err(LabError::WrongReply { link, expected, got })
        }
        Err(LoadError::Closed) => Err(LabError::Closed { link }),
        Err(LoadError::Stalled) => Err(LabError::Stalled { link }),
        Err(LoadError::Io(source)) => Err(LabError::Load { link, source }),
    }
}
