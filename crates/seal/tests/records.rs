//! Records: what an opener must never give away, whatever happens on the way.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use sleeve_seal::{Link, Opener, SealError, Sealer, Side};
use sleeve_wire::{ADAPTIVE_PLAINTEXT_MAX, Framing, PADDED_PLAINTEXT};

const EXPONENT: u8 = 3;

fn pair(framing: Framing) -> (Sealer, Opener) {
    let (dials, accepts) = Link::pair([0xc2; 32], [0x52; 32], framing, EXPONENT);
    assert_eq!((dials.side(), accepts.side()), (Side::Dials, Side::Accepts));
    (dials.sealer, accepts.opener)
}

fn sealed(sealer: &mut Sealer, framing: Framing, text: &[u8]) -> Vec<u8> {
    let mut record = vec![0; framing.record_len(text.len())];
    record[framing.prefix()..][..text.len()].copy_from_slice(text);
    sealer.seal(&mut record).unwrap();
    record
}

/// Reads records off a byte stream until it ends or one is refused; what was opened, and why it
/// ended.
fn read(opener: &mut Opener, mut stream: &[u8]) -> (Vec<Vec<u8>>, Option<SealError>) {
    let mut texts = vec![];
    loop {
        let len = match opener.record_len(stream) {
            Ok(Some(len)) if len <= stream.len() => len,
            Ok(_) => return (texts, None),
            Err(error) => return (texts, Some(error)),
        };
        let (record, rest) = stream.split_at(len);
        let mut record = record.to_vec();
        match opener.open(&mut record) {
            Ok(text) => texts.push(text.to_vec()),
            Err(error) => {
                assert!(record.iter().all(|&byte| byte == 0), "a refused record is overwritten");
                return (texts, Some(error));
            }
        }
        stream = rest;
    }
}

/// The records' texts of a test, each different; padded ones are filled up.
fn texts(framing: Framing, sizes: &[usize]) -> Vec<Vec<u8>> {
    let size = |size: usize| match framing {
        Framing::Padded => PADDED_PLAINTEXT,
        Framing::Adaptive => size,
    };
    let text = |(number, &len): (usize, &usize)| common::noise(&number.to_string(), size(len));
    sizes.iter().enumerate().map(text).collect()
}

fn records(framing: Framing, texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mut sealer, _) = pair(framing);
    texts.iter().map(|text| sealed(&mut sealer, framing, text)).collect()
}

/// I18: of a stream that was changed from record `first` on, an opener gives the records before it
/// and nothing else, now or later.
fn nothing_is_given_away(framing: Framing, texts: &[Vec<u8>], stream: &[u8], first: usize) {
    let (_, mut opener) = pair(framing);
    let (got, error) = read(&mut opener, stream);
    assert_eq!(got, texts[..first]);
    if error.is_some() {
        assert_eq!(opener.record_len(stream), Err(SealError::Poisoned));
        for record in &mut records(framing, texts) {
            assert_eq!(opener.open(record), Err(SealError::Poisoned));
        }
    }
}

fn framings() -> impl Strategy<Value = Framing> {
    prop_oneof![Just(Framing::Padded), Just(Framing::Adaptive)]
}

/// Enough records to cross a generation or two.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![1..64_usize, 1..4000_usize], 2..20)
}

proptest! {
    #[test]
    fn an_unchanged_stream_arrives_whole(framing in framings(), sizes in sizes()) {
        let texts = texts(framing, &sizes);
        let (_, mut opener) = pair(framing);
        let got = read(&mut opener, &records(framing, &texts).concat());
        prop_assert_eq!(opener.seq(), u64::try_from(texts.len()).unwrap());
        prop_assert_eq!(got, (texts, None));
    }

    /// I18
    #[test]
    fn a_flipped_bit(
        framing in framings(),
        sizes in sizes(),
        at: prop::sample::Index,
        bit in 0..8_u32,
    ) {
        let texts = texts(framing, &sizes);
        let records = records(framing, &texts);
        let mut stream = records.concat();
        let at = at.index(stream.len());
        stream[at] ^= 1 << bit;
        let mut end = 0;
        let hit = records.iter().position(|record| {
            end += record.len();
            at < end
        });
        nothing_is_given_away(framing, &texts, &stream, hit.unwrap());
    }

    /// I18
    #[test]
    fn bytes_cut_out(
        framing in framings(),
        sizes in sizes(),
        at: prop::sample::Index,
        len in 1..3000_usize,
    ) {
        let texts = texts(framing, &sizes);
        let records = records(framing, &texts);
        let mut stream = records.concat();
        let at = at.index(stream.len());
        let end = (at + len).min(stream.len());
        let whole = {
            let mut end = 0;
            records.iter().take_while(|record| { end += record.len(); end <= at }).count()
        };
        stream.drain(at..end);
        nothing_is_given_away(framing, &texts, &stream, whole);
    }

    /// I18
    #[test]
    fn two_records_swapped(
        framing in framings(),
        sizes in sizes(),
        one: prop::sample::Index,
        other: prop::sample::Index,
    ) {
        let texts = texts(framing, &sizes);
        let mut records = records(framing, &texts);
        let (one, other) = (one.index(records.len()), other.index(records.len()));
        prop_assume!(one != other);
        records.swap(one, other);
        nothing_is_given_away(framing, &texts, &records.concat(), one.min(other));
    }

    /// I18
    #[test]
    fn a_record_repeated(
        framing in framings(),
        sizes in sizes(),
        which: prop::sample::Index,
        later: prop::sample::Index,
    ) {
        let texts = texts(framing, &sizes);
        let mut records = records(framing, &texts);
        let which = which.index(records.len());
        let to = which + 1 + later.index(records.len() - which);
        records.insert(to, records[which].clone());
        nothing_is_given_away(framing, &texts, &records.concat(), to);
    }

    /// I18
    #[test]
    fn a_record_dropped(framing in framings(), sizes in sizes(), which: prop::sample::Index) {
        let texts = texts(framing, &sizes);
        let mut records = records(framing, &texts);
        let which = which.index(records.len());
        records.remove(which);
        nothing_is_given_away(framing, &texts, &records.concat(), which);
    }

    #[test]
    fn arbitrary_bytes_open_nothing(framing in framings(), stream in vec(any::<u8>(), 0..3000)) {
        let (_, mut opener) = pair(framing);
        let (texts, _) = read(&mut opener, &stream);
        prop_assert!(texts.is_empty());
    }

    /// A record handed over with more or fewer bytes than it has.
    #[test]
    fn a_record_of_the_wrong_extent(
        framing in framings(),
        size in 1..2000_usize,
        len in 0..2100_usize,
    ) {
        let texts = texts(framing, &[size]);
        let mut record = records(framing, &texts).concat();
        prop_assume!(len != record.len());
        record.resize(len, 0);
        let (_, mut opener) = pair(framing);
        prop_assert_eq!(opener.open(&mut record), Err(SealError::Length));
        prop_assert_eq!(opener.open(&mut record), Err(SealError::Poisoned));
    }
}

#[test]
fn a_record_of_the_other_direction_is_refused() {
    for framing in [Framing::Padded, Framing::Adaptive] {
        let (mut dials, _) = Link::pair([0xc2; 32], [0x52; 32], framing, EXPONENT);
        let mut record = sealed(&mut dials.sealer, framing, &vec![1; framing.plaintext_max()]);
        assert!(dials.opener.open(&mut record).is_err());
    }
}

#[test]
fn the_length_is_known_from_two_bytes_and_asking_again_changes_nothing() {
    let (mut sealer, mut opener) = pair(Framing::Adaptive);
    for len in [1, 2, 500, ADAPTIVE_PLAINTEXT_MAX] {
        let mut record = sealed(&mut sealer, Framing::Adaptive, &vec![7; len]);
        assert_eq!(opener.record_len(&[]), Ok(None));
        assert_eq!(opener.record_len(&record[..1]), Ok(None));
        for _ in 0..3 {
            assert_eq!(opener.record_len(&record[..2]), Ok(Some(record.len())));
            assert_eq!(opener.record_len(&record), Ok(Some(record.len())));
        }
        assert_eq!(opener.open(&mut record).unwrap().len(), len);
    }
}

/// All 65,536 values that a length field can have once it is unmasked: those from 17 to 16382 are
/// waited for, the others end the link at once.
#[test]
fn the_length_is_checked_before_anything_is_waited_for() {
    let (mut sealer, _) = pair(Framing::Adaptive);
    let record = sealed(&mut sealer, Framing::Adaptive, &[0]);
    let mask = [record[0], record[1] ^ 17];
    for len in 0..=u16::MAX {
        let [high, low] = len.to_be_bytes();
        let (_, mut opener) = pair(Framing::Adaptive);
        let told = opener.record_len(&[high ^ mask[0], low ^ mask[1]]);
        if (17..=16_382).contains(&len) {
            assert_eq!(told, Ok(Some(2 + usize::from(len))));
        } else {
            assert_eq!(told, Err(SealError::Length));
            assert_eq!(opener.record_len(&record), Err(SealError::Poisoned));
        }
    }
}

#[test]
fn the_first_refusal_is_the_last_word() {
    let (mut sealer, mut opener) = pair(Framing::Padded);
    let text = [3; PADDED_PLAINTEXT];
    let mut bad = sealed(&mut sealer, Framing::Padded, &text);
    let mut good = bad.clone();
    bad[1023] ^= 1;
    assert_eq!(opener.open(&mut bad), Err(SealError::Refused));
    assert_eq!(opener.open(&mut good), Err(SealError::Poisoned));
    assert_eq!(opener.record_len(&good), Err(SealError::Poisoned));
    assert_eq!(opener.seq(), 0);
}

/// Both directions, many generations, all sizes from the smallest to the largest of a record.
#[test]
fn what_is_sealed_opens_across_generations() {
    for framing in [Framing::Padded, Framing::Adaptive] {
        let (mut dials, mut accepts) = Link::pair([1; 32], [2; 32], framing, EXPONENT);
        for step in 0..200 {
            let len = match framing {
                Framing::Padded => PADDED_PLAINTEXT,
                Framing::Adaptive => 1 + step * (ADAPTIVE_PLAINTEXT_MAX - 1) / 199,
            };
            let text = vec![u8::try_from(step).unwrap(); len];
            let mut there = sealed(&mut dials.sealer, framing, &text);
            assert_eq!(accepts.opener.open(&mut there).unwrap(), text);
            let mut back = sealed(&mut accepts.sealer, framing, &text);
            assert_eq!(dials.opener.open(&mut back).unwrap(), text);
        }
        assert_eq!((dials.sealer.seq(), dials.opener.seq()), (200, 200));
    }
}
