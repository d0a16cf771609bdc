//! Whole runs, short ones.

use std::sync::atomic::Ordering;

use serde_json::Value;

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
