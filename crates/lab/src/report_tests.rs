//! The report of fixed figures.

use super::*;
use crate::link::Cost;

fn row(contestant: Contestant, clients: usize, wire: u64, padding: u64, rates: &[f64]) -> Row {
    let cells = rates
        .iter()
        .map(|&operations_per_second| Cell {
            operations_per_second,
            p50: (clients as f64 / operations_per_second * 1e9) as u64,
            p99: (clients as f64 / operations_per_second * 2e9) as u64,
            cost: Cost {
                requests: 1000,
                application_bytes: 44_000,
                wire_bytes: wire * 1000,
                padding_bytes: padding * 1000,
                ..Cost::default()
            },
        })
        .collect();
    Row { contestant, clients, cells }
}

const ADAPTIVE: Contestant = Contestant::Tunnel(Framing::Adaptive);
const PADDED: Contestant = Contestant::Tunnel(Framing::Padded);

fn whole() -> Measurement {
    Measurement {
        rows: vec![
            row(Contestant::Direct, 1, 178, 0, &[20_000.0, 21_000.0, 20_500.0]),
            row(ADAPTIVE, 1, 190, 0, &[9_000.0, 10_000.0, 9_500.0]),
            row(PADDED, 1, 2_166, 1_960, &[8_000.0, 8_000.0, 8_000.0]),
            row(Contestant::Direct, 50, 180, 0, &[84_000.0, 100_000.0, 92_000.0]),
            row(ADAPTIVE, 50, 84, 0, &[80_000.0, 88_000.0, 84_000.0]),
            row(PADDED, 50, 260, 141, &[1_080_000.0, 70_000.0, 75_000.0]),
        ],
        interrupted: false,
    }
}

#[test]
fn the_table_aligns_and_the_verdict_follows_from_it() {
    let expected = "\
link      clients   ops/s    spread     p50      p99  wire B/req  padding
direct          1  20,500     4.9 %   49 µs    98 µs         178        -
adaptive        1   9,500    10.5 %  105 µs   211 µs         190    0.0 %
padded          1   8,000     0.0 %  125 µs   250 µs       2,166   90.5 %

direct         50  92,000    17.4 %  543 µs  1.09 ms         180        -
adaptive       50  84,000     9.5 %  595 µs  1.19 ms          84    0.0 %
padded         50  75,000  1346.7 %  667 µs  1.33 ms         260   54.2 %

Padding costs you 11.4 times the bytes of adaptive at 1 client and 3.1 times at 50 clients; at
50 clients adaptive does 0.91 times the operations of direct connections on 0.47 times their
bytes, padded 0.82 times on 1.44 times.

Measured: GET with values of 3 bytes, 1 request under way for each client, medians of 3 rounds
of 2 s, spread is (largest - smallest) / median of ops/s.
";
    let text = text(&Options::default(), &whole());
    assert_eq!(text.get(..expected.len()), Some(expected), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
}

#[test]
fn an_interrupted_run_reports_what_there_is() {
    let mut measurement = whole();
    measurement.interrupted = true;
    for row in &mut measurement.rows {
        row.cells.truncate(1);
    }
    measurement.rows[4].cells.clear();
    measurement.rows[5].cells.clear();
    let text = text(&Options::default(), &measurement);
    assert!(text.contains("Interrupted: 4 of 18 measurements were made."), "{text}");
    assert!(!text.contains("adaptive       50"), "{text}");
    assert!(
        verdict(&measurement).starts_with(
            "Padding costs you 11.4 times the bytes of adaptive at 1 client; at 1 client adaptive"
        ),
        "{text}"
    );
    measurement.rows.clear();
    let nothing = "No framing mode was measured, so there is nothing to compare.";
    assert_eq!(verdict(&measurement), nothing);
}

#[test]
fn one_mode_alone_is_compared_with_no_tunnel() {
    let mut measurement = whole();
    measurement.rows.retain(|row| row.contestant != PADDED);
    assert_eq!(
        verdict(&measurement),
        "At 50 clients adaptive does 0.91 times the operations of direct connections on 0.47 \
         times their bytes."
    );
}

#[test]
fn the_json_has_every_figure() {
    let text = json(&Options::default(), &whole());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], 1);
    assert_eq!(value["interrupted"], false);
    assert_eq!(value["conditions"]["command"], "GET");
    assert_eq!(value["conditions"]["size"], 3);
    assert_eq!(value["verdict"], verdict(&whole()).as_str());
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[5]["link"], "padded");
    assert_eq!(rows[5]["clients"], 50);
    assert_eq!(rows[5]["median"]["operations_per_second"], 75_000.0);
    assert_eq!(rows[5]["median"]["wire_bytes_per_request"], 260.0);
    assert_eq!(rows[5]["rounds"].as_array().unwrap().len(), 3);
    assert_eq!(rows[5]["rounds"][0]["padding_bytes"], 141_000);
    assert_eq!(rows[0]["median"]["p50_us"], 48.78);
}

#[test]
fn medians_and_numbers() {
    assert_eq!(median(vec![]), None);
    assert_eq!(median(vec![3.0]), Some(3.0));
    assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
    assert_eq!(grouped(0.0), "0");
    assert_eq!(grouped(999.4), "999");
    assert_eq!(grouped(1_000.0), "1,000");
    assert_eq!(grouped(1_234_567.0), "1,234,567");
    assert_eq!(duration(900.0), "0.9 µs");
    assert_eq!(duration(9_960.0), "10 µs");
    assert_eq!(duration(999_600.0), "1.00 ms");
    assert_eq!(duration(12_340_000.0), "12.3 ms");
    assert_eq!(duration(1_500_000_000.0), "1500 ms");
    assert_eq!(factor(0.954), "0.95");
    assert_eq!(factor(1.996), "2.0");
}
