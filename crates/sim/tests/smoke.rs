//! Many seeds, for a quick look.
#[test]
fn smoke() {
    let n: u64 = std::env::var("N").ok().and_then(|s| s.parse().ok()).unwrap_or(50);
    let base: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let trace = std::env::var("SIM_TRACE").is_ok();
    let mut failures = std::collections::BTreeMap::<String, (u64, u64, String)>::new();
    let t = std::time::Duration::default();
    let _ = t;
    let (mut ev, mut bytes) = (0, 0);
    for seed in base..base + n {
        match std::panic::catch_unwind(|| sleeve_sim::run(seed, trace)) {
            Ok(Ok(s)) => { ev += s.events; bytes += s.bytes; }
            Ok(Err(f)) => {
                let key: String = f.what.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
                let e = failures.entry(key).or_insert((seed, 0, f.to_string()));
                e.1 += 1;
            }
            Err(_) => { failures.entry("panic".into()).or_insert((seed, 0, String::new())).1 += 1; }
        }
    }
    println!("events {ev} bytes {bytes}");
    for (k, (seed, n, what)) in &failures { println!("== {n}x first {seed}: {k}\n{what}"); }
    assert!(failures.is_empty());
}
