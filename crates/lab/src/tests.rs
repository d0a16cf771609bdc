//! Whole runs, short ones.

use std::sync::atomic::Ordering;

use serde_json::Value;
use sleeve_wire::Framing;

use super::*;

fn short() -> Options {
    Options { clients: vec![1, 5], framings: vec![], seconds: 0.1, rounds: 1, ..Options::default() }
}

fn run_json(options: &Options) -> Value {
    let mut out = Vec::new();
    run(&Options { json: true, ..options.clone() }, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn direct_connections_are_measured_from_end_to_end() {
    for command in [Command::Get, Command::Set] {
        let report = run_json(&Options { command, rounds: 2, ..short() });
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row["link"], "direct");
            let median = &row["median"];
            assert!(median["operations_per_second"].as_f64().unwrap() > 100.0, "{row}");
            let bytes = median["wire_bytes_per_request"].as_f64().unwrap();
            // A request, a reply and at least a segment's headers for each of them.
            assert!((148.0..400.0).contains(&bytes), "{row}");
            assert_eq!(median["padding_share"], 0.0);
            assert!(median["p50_us"].as_f64() <= median["p99_us"].as_f64());
            let raw = &row["rounds"][1];
            let requests = raw["requests"].as_u64().unwrap();
            let per_request = match command {
                Command::Get => 36 + 9,
                Command::Set => 45 + 5,
            };
            assert_eq!(raw["application_bytes"].as_u64().unwrap(), requests * per_request);
        }
    }
}

/// One request under way: nothing can share its record, so the price of padding is whole records.
#[test]
fn tunnels_are_measured_from_end_to_end() {
    let framings = vec![Framing::Adaptive, Framing::Padded];
    let report = run_json(&Options { framings, ..short() });
    let rows = report["rows"].as_array().unwrap();
    let named = |row: &&Value, link| row["link"] == link && row["clients"] == 1;
    let raw = |link| &rows.iter().find(|row| named(row, link)).unwrap()["rounds"][0];
    let per_request = |link, figure: &str| {
        let raw = raw(link);
        raw[figure].as_f64().unwrap() / raw["requests"].as_f64().unwrap()
    };
    assert_eq!(rows.len(), 6);
    let (adaptive, padded) = ("adaptive", "padded");
    assert!(per_request(padded, "wire_bytes") > 2.0 * 1024.0, "{report}");
    // The counters are those of the last turn, so a request more or less may be in them.
    assert!(per_request(padded, "record_bytes") > 2.0 * 1000.0, "{report}");
    assert!(per_request(padded, "padding_bytes") > 1800.0, "{report}");
    assert!(per_request(adaptive, "wire_bytes") < 300.0, "{report}");
    assert_eq!(per_request(adaptive, "padding_bytes"), 0.0);
    for link in [adaptive, padded] {
        // What the daemons say they sent is what the kernel says.
        assert!(per_request(link, "wire_bytes") > per_request(link, "record_bytes"), "{report}");
        assert!(per_request(link, "records") >= 1.9, "{report}");
        assert!(per_request(link, "segments") >= 1.9, "{report}");
    }
    assert!(report["verdict"].as_str().unwrap().starts_with("Padding costs you "), "{report}");
}

#[test]
fn a_run_that_is_interrupted_at_once_prints_an_empty_report() {
    let options = short();
    options.interrupted.store(true, Ordering::Relaxed);
    let report = run_json(&options);
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["rows"].as_array().unwrap().len(), 0);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let options = Options { clients: vec![1], seconds: 0.05, ..short() };
    assert!(matches!(run(&options, &mut Full), Err(LabError::Output(_))));
}
