//! The figures as a table with a verdict, or as JSON.
//!
//! # The JSON
//!
//! One object. `"schema"` is 1; it changes when a field is removed or changes its meaning, not
//! when one is added. Times are in microseconds, rates in requests per second, bytes are those
//! of both directions together.
//!
//! | field | meaning |
//! |---|---|
//! | `schema` | 1 |
//! | `version` | of the program that measured |
//! | `conditions` | `command`, `size`, `pipeline`, `seconds`, `rounds` as asked for; `responder` (`"embedded"`), `wire` (`"loopback"`), `processors` of the machine, which everything shares |
//! | `interrupted` | `true`: some cells are missing |
//! | `rows` | one for each link and number of clients that was measured |
//! | `rows[].link`, `.clients` | `"direct"`, `"adaptive"` or `"padded"`; connections |
//! | `rows[].median` | `operations_per_second`, `p50_us`, `p99_us`, `wire_bytes_per_request`, `padding_share` (of the wire bytes, 0 to 1), each the median of the rounds |
//! | `rows[].spread` | (largest − smallest) / median of the rounds' operations per second; `null` for one round |
//! | `rows[].rounds` | the raw figures of each round: `operations_per_second`, `p50_us`, `p99_us`, `requests`, `application_bytes`, `record_bytes`, `padding_bytes`, `records`, `write_calls`, `wire_bytes`, `segments`; what a direct connection does not have is 0 |
//! | `verdict` | the sentence below the table |

use std::fmt::Write as _;
use std::num::NonZero;

use serde_json::{Value, json};
use sleeve_wire::Framing;

use crate::Options;
use crate::link::Contestant;
use crate::rounds::{Cell, Measurement, Row};

/// Columns of a terminal that the sentences keep to.
const WIDTH: usize = 96;
const SCHEMA: u32 = 1;
const HEADINGS: [&str; 8] =
    ["link", "clients", "ops/s", "spread", "p50", "p99", "wire B/req", "padding"];

/// The table, the verdict and what has to be known to read them.
pub(crate) fn text(options: &Options, measurement: &Measurement) -> String {
    let mut out = table(measurement);
    out.push('\n');
    wrap(&mut out, &verdict(measurement));
    out.push('\n');
    for note in notes(options, measurement, processors()) {
        wrap(&mut out, &note);
    }
    out
}

/// The same and the raw figures, for programs.
pub(crate) fn json(options: &Options, measurement: &Measurement) -> String {
    let rows: Vec<Value> = measurement.rows.iter().filter_map(json_row).collect();
    let document = json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "conditions": {
            "command": options.command.name(),
            "size": options.size,
            "pipeline": options.pipeline,
            "seconds": options.seconds,
            "rounds": options.rounds,
            "responder": "embedded",
            "wire": "loopback",
            "processors": processors(),
        },
        "interrupted": measurement.interrupted,
        "rows": rows,
        "verdict": verdict(measurement),
    });
    format!("{document:#}\n")
}

fn json_row(row: &Row) -> Option<Value> {
    let figures = Figures::of(row)?;
    let rounds: Vec<Value> = row.cells.iter().map(json_cell).collect();
    Some(json!({
        "link": row.contestant.name(),
        "clients": row.clients,
        "median": {
            "operations_per_second": figures.operations,
            "p50_us": figures.p50 / 1e3,
            "p99_us": figures.p99 / 1e3,
            "wire_bytes_per_request": figures.wire,
            "padding_share": figures.padding,
        },
        "spread": figures.spread,
        "rounds": rounds,
    }))
}

fn json_cell(cell: &Cell) -> Value {
    let cost = &cell.cost;
    json!({
        "operations_per_second": cell.operations_per_second,
        "p50_us": cell.p50 as f64 / 1e3,
        "p99_us": cell.p99 as f64 / 1e3,
        "requests": cost.requests,
        "application_bytes": cost.application_bytes,
        "record_bytes": cost.record_bytes,
        "padding_bytes": cost.padding_bytes,
        "records": cost.records,
        "write_calls": cost.write_calls,
        "wire_bytes": cost.wire_bytes,
        "segments": cost.segments,
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// A row in medians of its rounds.
struct Figures {
    operations: f64,
    /// Unknown with one round.
    spread: Option<f64>,
    /// Nanoseconds.
    p50: f64,
    /// Nanoseconds.
    p99: f64,
    /// Bytes for a request.
    wire: f64,
    /// Share of these bytes.
    padding: f64,
}

impl Figures {
    /// The figures of a row; none if no round of it was measured.
    fn of(row: &Row) -> Option<Self> {
        let over = |figure: fn(&Cell) -> f64| median(row.cells.iter().map(figure).collect());
        let operations = over(|cell| cell.operations_per_second)?;
        Some(Self {
            operations,
            spread: spread(&row.cells, operations),
            p50: over(|cell| cell.p50 as f64)?,
            p99: over(|cell| cell.p99 as f64)?,
            wire: over(|cell| cell.cost.wire_bytes_per_request())?,
            padding: over(|cell| cell.cost.padding_share())?,
        })
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}

fn spread(cells: &[Cell], median: f64) -> Option<f64> {
    if cells.len() < 2 {
        return None;
    }
    let rates = || cells.iter().map(|cell| cell.operations_per_second);
    let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
    Some((most - least) / median)
}

/// The names to the left, the figures to the right, a blank line between numbers of clients.
fn table(measurement: &Measurement) -> String {
    let mut lines: Vec<[String; 8]> = vec![HEADINGS.map(str::to_owned)];
    let mut last = None;
    for row in &measurement.rows {
        let Some(figures) = Figures::of(row) else { continue };
        if last.is_some_and(|clients| clients != row.clients) {
            lines.push(Default::default());
        }
        last = Some(row.clients);
        lines.push(line(row, &figures));
    }
    let mut widths = [0; HEADINGS.len()];
    for line in &lines {
        for (width, field) in widths.iter_mut().zip(line) {
            *width = field.chars().count().max(*width);
        }
    }
    let mut out = String::new();
    for [link, figures @ ..] in &lines {
        let mut text = format!("{link:<0$}", widths[0]);
        for (figure, width) in figures.iter().zip(&widths[1..]) {
            text.push_str("  ");
            text.extend(std::iter::repeat_n(' ', width - figure.chars().count()));
            text.push_str(figure);
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

fn line(row: &Row, figures: &Figures) -> [String; 8] {
    let none = || "-".to_owned();
    let padding = match row.contestant {
        Contestant::Direct => none(),
        Contestant::Tunnel(_) => format!("{:.1} %", figures.padding * 100.0),
    };
    [
        row.contestant.name().to_owned(),
        row.clients.to_string(),
        grouped(figures.operations),
        figures.spread.map_or_else(none, |spread| format!("{:.1} %", spread * 100.0)),
        duration(figures.p50),
        duration(figures.p99),
        grouped(figures.wire),
        padding,
    ]
}

/// A whole number with commas between thousands.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in the unit that leaves two or three digits.
fn duration(nanoseconds: f64) -> String {
    let microseconds = nanoseconds / 1e3;
    let milliseconds = microseconds / 1e3;
    if microseconds < 9.95 {
        format!("{microseconds:.1} µs")
    } else if microseconds < 999.5 {
        format!("{microseconds:.0} µs")
    } else if milliseconds < 9.995 {
        format!("{milliseconds:.2} ms")
    } else if milliseconds < 99.95 {
        format!("{milliseconds:.1} ms")
    } else {
        format!("{milliseconds:.0} ms")
    }
}

/// One sentence: what padding costs, and what either mode does beside direct connections.
fn verdict(measurement: &Measurement) -> String {
    let counts = client_counts(measurement);
    let prices: Vec<(usize, f64)> = counts
        .iter()
        .filter_map(|&clients| Some((clients, padding_price(measurement, clients)?)))
        .collect();
    let compared = counts.iter().rev().find_map(|&clients| beside_direct(measurement, clients));
    let price = (!prices.is_empty()).then(|| {
        let mut text = String::from("Padding costs you ");
        for (index, (clients, times)) in prices.iter().enumerate() {
            text.push_str(match index {
                0 => "",
                _ if index + 1 == prices.len() => " and ",
                _ => ", ",
            });
            let bytes = if index == 0 { " the bytes of adaptive" } else { "" };
            write!(text, "{} times{bytes} at {}", factor(*times), count(*clients, "client"))
                .expect("writing to a string cannot fail");
        }
        text
    });
    match (price, compared) {
        (Some(price), Some(compared)) => format!("{price}; {compared}."),
        (Some(price), None) => format!("{price}."),
        (None, Some(compared)) => {
            let mut letters = compared.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            format!("{}{}.", first.map(String::from).unwrap_or_default(), letters.as_str())
        }
        (None, None) => "No framing mode was measured, so there is nothing to compare.".to_owned(),
    }
}

/// The numbers of clients, each once, smallest first.
fn client_counts(measurement: &Measurement) -> Vec<usize> {
    let mut counts: Vec<usize> = measurement.rows.iter().map(|row| row.clients).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn find(measurement: &Measurement, contestant: Contestant, clients: usize) -> Option<Figures> {
    let mut rows = measurement.rows.iter();
    Figures::of(rows.find(|row| row.contestant == contestant && row.clients == clients)?)
}

fn padding_price(measurement: &Measurement, clients: usize) -> Option<f64> {
    let padded = find(measurement, Contestant::Tunnel(Framing::Padded), clients)?;
    let adaptive = find(measurement, Contestant::Tunnel(Framing::Adaptive), clients)?;
    (adaptive.wire > 0.0).then(|| padded.wire / adaptive.wire)
}

fn beside_direct(measurement: &Measurement, clients: usize) -> Option<String> {
    let direct = find(measurement, Contestant::Direct, clients)?;
    let mut text = String::new();
    for framing in [Framing::Adaptive, Framing::Padded] {
        let contestant = Contestant::Tunnel(framing);
        let Some(tunnel) = find(measurement, contestant, clients) else { continue };
        let name = contestant.name();
        let operations = factor(tunnel.operations / direct.operations);
        let bytes = factor(tunnel.wire / direct.wire);
        text.push_str(&if text.is_empty() {
            let people = count(clients, "client");
            format!(
                "at {people} {name} does {operations} times the operations of direct \
                 connections on {bytes} times their bytes"
            )
        } else {
            format!(", {name} {operations} times on {bytes} times")
        });
    }
    (!text.is_empty()).then_some(text)
}

/// A ratio in two or three digits.
fn factor(ratio: f64) -> String {
    if ratio < 1.995 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}

fn notes(options: &Options, measurement: &Measurement, processors: usize) -> Vec<String> {
    let times = if options.rounds == 1 {
        format!("once for {} s", options.seconds)
    } else {
        format!(
            "medians of {} rounds of {} s, spread is (largest - smallest) / median of ops/s",
            options.rounds, options.seconds
        )
    };
    let mut notes = vec![
        format!(
            "Measured: {} with values of {}, {} under way for each client, {times}.",
            options.command.name(),
            count(options.size, "byte"),
            count(options.pipeline, "request"),
        ),
        format!(
            "An embedded responder answers. It, the load and both daemons share this machine's \
             processors ({processors}), and the wire is the loopback interface, which has no \
             limit: expect other speeds from a network, and with them other numbers of requests \
             that share a record.",
        ),
        "direct: a TCP connection from each client to the responder. wire B/req: both directions, \
         with the IPv4 and TCP headers of the segments that the kernel counted. padding: its \
         share of these bytes."
            .to_owned(),
    ];
    if measurement.interrupted {
        let measured: usize = measurement.rows.iter().map(|row| row.cells.len()).sum();
        let planned = measurement.rows.len() * options.rounds;
        notes.insert(0, format!("Interrupted: {measured} of {planned} measurements were made."));
    }
    notes
}

/// A number with its noun.
fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Appends a paragraph in lines of at most [`WIDTH`] columns.
fn wrap(out: &mut String, text: &str) {
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
