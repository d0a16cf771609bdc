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

#[test]
fn siege() {
    let n: u64 = std::env::var("N").ok().and_then(|s| s.parse().ok()).unwrap_or(2000);
    let mut failures = std::collections::BTreeMap::<String, (u64, u64)>::new();
    let mut ops = 0;
    for seed in 0..n {
        let mut rng = sleeve_sim::Rng::new(seed);
        let mut data = vec![0; rng.size(20, 600)];
        rng.fill(&mut data);
        match std::panic::catch_unwind(|| sleeve_sim::hostile::play(&data)) {
            Ok(Ok(n)) => ops += n,
            Ok(Err(e)) => { failures.entry(e.chars().take(90).collect()).or_insert((seed, 0)).1 += 1; }
            Err(_) => { failures.entry("panic".into()).or_insert((seed, 0)).1 += 1; }
        }
    }
    println!("operations {ops}");
    for (k, v) in &failures { println!("{v:?} {k}"); }
    assert!(failures.is_empty());
}
