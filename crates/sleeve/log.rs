//! The log: lines on standard error, as text or as JSON.

use std::fmt;
use std::io;

use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::cli::{LogArgs, LogFormat, LogLevel};
use crate::exit::colour;

/// Starts logging.
pub(crate) fn start(args: &LogArgs) {
    let log = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(filter(args.level))
        .with_target(false)
        // It would say that standard error cannot be written, on standard error, and panic.
        .log_internal_errors(false)
        .with_ansi(colour());
    match args.format {
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).init(),
        LogFormat::Text if in_journal() => {
            let lines = Format::default().without_time().with_level(false).with_target(false);
            log.event_format(Journal(lines)).init();
        }
        LogFormat::Text => log.init(),
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Whether standard error is the journal. systemd says which file that is, because programs that
/// a service starts inherit the variable, but may write to another one (systemd.exec(5)).
fn in_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(status) = rustix::fs::fstat(io::stderr()) else { return false };
    stream == format!("{}:{}", status.st_dev, status.st_ino)
}

/// Lines for the journal: it keeps the time itself, and takes the weight as a number in front
/// (sd-daemon(3)).
struct Journal(Format<Full, ()>);

impl<S, N> FormatEvent<S, N> for Journal
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write!(writer, "<{}>", priority(*event.metadata().level()))?;
        self.0.format_event(context, writer, event)
    }
}

/// The weight in the numbers of syslog(3).
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}
