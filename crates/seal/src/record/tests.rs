//! What needs a look at keys and counters; everything else is tested from outside.

use std::collections::BTreeSet;

use super::*;
use crate::provider::Rust;

fn keys<P: Provider>(exponent: u8) -> Keys<P> {
    Keys::new(Zeroizing::new([3; 32]), exponent)
}

fn record(framing: Framing, text: usize) -> Vec<u8> {
    vec![0x5a; framing.record_len(text)]
}

/// One side on one provider, the other on the other, in step over several generations.
fn cross<S: Provider, O: Provider>(framing: Framing, sizes: &[usize]) {
    let (mut sealing, mut opening) = (keys::<S>(3), keys::<O>(3));
    for &size in sizes {
        let mut sealed = record(framing, size);
        sealing.seal(framing, &mut sealed).unwrap();
        assert_eq!(opening.record_len(framing, &sealed), Ok(Some(sealed.len())));
        opening.open(framing, &mut sealed).unwrap();
        let text = sealed.get(framing.prefix()..sealed.len() - TAG).unwrap();
        assert!(text.iter().all(|&byte| byte == 0x5a), "{size}");
    }
}

#[test]
fn what_one_provider_seals_the_other_opens() {
    let mut sizes: Vec<usize> = (1..=130).collect();
    for edge in [255, 256, 1008, 1024, 1430, 4096, 8191, 8192, 16_365, 16_366] {
        sizes.extend([edge - 1, edge]);
    }
    cross::<Active, Rust>(Framing::Adaptive, &sizes);
    cross::<Rust, Active>(Framing::Adaptive, &sizes);
    cross::<Active, Rust>(Framing::Padded, &[1008; 30]);
    cross::<Rust, Active>(Framing::Padded, &[1008; 30]);
}

/// I16: no two records are sealed under the same key and nonce, rekeying included.
#[test]
fn no_key_and_nonce_serve_twice() {
    for exponent in [3, 4, 6] {
        let mut keys = keys::<Active>(exponent);
        let (mut pairs, mut secrets) = (BTreeSet::new(), BTreeSet::new());
        for number in 0..1000 {
            assert_eq!(keys.seq, number);
            assert!(pairs.insert((*keys.secret, keys.nonce())));
            secrets.insert(*keys.secret);
            let mut record = record(Framing::Adaptive, 1);
            keys.seal(Framing::Adaptive, &mut record).unwrap();
        }
        let generations = 1000_usize.div_ceil(1 << exponent);
        assert_eq!(secrets.len(), generations);
        let aead_keys: BTreeSet<[u8; 32]> =
            secrets.iter().map(|secret| *expand_secret(secret, b"sleeve key")).collect();
        assert_eq!(aead_keys.len(), generations);
    }
}

/// I16 for a call that seals nothing: it changes neither the record nor the counter.
#[test]
fn a_refused_length_uses_no_nonce() {
    let mut keys = keys::<Active>(3);
    for len in [0, 1, 2, 17, 18, 16_385, 70_000] {
        let mut record = vec![0x5a; len];
        assert_eq!(keys.seal(Framing::Adaptive, &mut record), Err(SealError::Length));
        assert!(record.iter().all(|&byte| byte == 0x5a));
    }
    for len in [0, 15, 16, 1023, 1025] {
        let mut record = vec![0x5a; len];
        assert_eq!(keys.seal(Framing::Padded, &mut record), Err(SealError::Length));
        assert!(record.iter().all(|&byte| byte == 0x5a));
    }
    assert_eq!(keys.seq, 0);
}

#[test]
fn the_last_record_is_the_last() {
    for framing in [Framing::Padded, Framing::Adaptive] {
        let (mut sealing, mut opening) = (keys::<Active>(20), keys::<Active>(20));
        sealing.seq = RECORDS_MAX - 1;
        opening.seq = RECORDS_MAX - 1;
        let mut last = record(framing, 100);
        sealing.seal(framing, &mut last).unwrap();
        opening.open(framing, &mut last).unwrap();
        assert_eq!(sealing.seal(framing, &mut last), Err(SealError::Exhausted));
        assert_eq!(opening.open(framing, &mut last), Err(SealError::Exhausted));
        assert_eq!(sealing.seq, RECORDS_MAX);
    }
}

#[test]
fn exponents_out_of_range_are_moved_to_the_nearer_end() {
    for (asked, got) in [(0, 3), (2, 3), (3, 3), (20, 20), (24, 24), (25, 24), (255, 24)] {
        assert_eq!(keys::<Active>(asked).last_of_generation, (1 << got) - 1);
    }
}

#[test]
fn debug_shows_no_secret() {
    let sealer = Sealer::new(Zeroizing::new([3; 32]), Framing::Padded, 20);
    assert_eq!(format!("{sealer:?}"), "Sealer { seq: 0, .. }");
    let opener = Opener::new(Zeroizing::new([3; 32]), Framing::Padded, 20);
    assert_eq!(format!("{opener:?}"), "Opener { seq: 0, poisoned: false, .. }");
}
