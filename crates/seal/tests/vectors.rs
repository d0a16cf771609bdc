//! Frozen bytes. Whatever changes one of them changes the protocol.
//!
//! The good ones are also made by the hand-written oracle; the bad ones are named after their
//! fault. `SEAL_VECTORS=write cargo test -p sleeve-seal --test vectors` writes them anew.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{Oracle, entropy, from_hex, handshake, hello, key, noise, to_hex};
use sleeve_seal::{Link, SealError, Secrets};
use sleeve_wire::Framing;

const EXPONENT: u8 = 3;
const FRAMINGS: [(&str, Framing); 2] =
    [("padded", Framing::Padded), ("adaptive", Framing::Adaptive)];

fn secret() -> [u8; 32] {
    entropy("vectors: secret of the dialling side")
}

fn other_secret() -> [u8; 32] {
    entropy("vectors: secret of the accepting side")
}

/// Compares a vector file with what the code says it is.
fn frozen(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(name);
    if std::env::var_os("SEAL_VECTORS").is_some_and(|value| value == "write") {
        std::fs::write(&path, made).unwrap();
    }
    let frozen = std::fs::read_to_string(&path).unwrap();
    for (number, (frozen, made)) in frozen.lines().zip(made.lines()).enumerate() {
        assert_eq!(frozen, made, "{name}, line {}", number + 1);
    }
    assert_eq!(frozen.lines().count(), made.lines().count(), "{name}");
}

fn text(framing: Framing, number: u64) -> Vec<u8> {
    let len = match framing {
        Framing::Padded => 1008,
        Framing::Adaptive => usize::try_from(1 + 5 * number).unwrap(),
    };
    noise(&format!("vectors: text {number}"), len)
}

/// Records 0 to 17: three generations at exponent 3.
fn records(framing: Framing, secret: &[u8; 32]) -> Vec<Vec<u8>> {
    let link = Secrets::from_bytes(*secret, other_secret()).dialled(framing, EXPONENT);
    let mut sealer = link.sealer;
    let record = |number| {
        let mut record = vec![0; framing.prefix()];
        record.extend_from_slice(&text(framing, number));
        record.extend_from_slice(&[0; 16]);
        sealer.seal(&mut record).unwrap();
        record
    };
    (0..18).map(record).collect()
}

#[test]
fn the_key_file_is_derived_from_as_frozen() {
    let mut made = String::from("# What a key file is turned into.\n");
    let (_, first) = Oracle::first(&entropy("vectors dials"), None, &[0; 128]);
    writeln!(made, "key file = {}", to_hex(&common::KEY_FILE)).unwrap();
    writeln!(made, "fingerprint = {}", key().fingerprint()).unwrap();
    let id = common::hkdf(&[], &common::KEY_FILE, "sleeve id");
    assert_eq!(to_hex(&id[..8]), key().fingerprint().to_string());
    writeln!(made, "public key = {}", to_hex(&first[..32])).unwrap();
    writeln!(made, "mark = {}", to_hex(&first[32..48])).unwrap();
    frozen("key.txt", &made);
}

#[test]
fn the_handshake_is_as_frozen() {
    let (first_padding, reply_padding) = (13, 29);
    let ours = handshake("vectors", first_padding, reply_padding);
    let first_padding = noise("vectors dials padding", first_padding);
    let reply_padding = noise("vectors accepts padding", reply_padding);

    let hellos = (hello("vectors dials"), hello("vectors accepts"));
    let entropies = (entropy("vectors dials"), entropy("vectors accepts"));
    let (_, first) = Oracle::first(&entropies.0, None, &hellos.0);
    let (mut oracle, _) = Oracle::read_first(&entropies.1, &first).unwrap();
    let reply = oracle.reply(None, &hellos.1);
    assert_eq!(ours.first, [&first[..], &first_padding].concat());
    assert_eq!(ours.reply, [&reply[..], &reply_padding].concat());
    let (c2s, s2c) = oracle.secrets(&first_padding, &reply_padding);

    let mut made = String::from(
        "# A whole handshake. The secrets and hashes are the hand-written oracle's.\n",
    );
    let transcript = oracle.transcript(&first_padding, &reply_padding);
    for (name, bytes) in [
        ("key file", &common::KEY_FILE[..]),
        ("dialling side's entropy", &entropies.0),
        ("dialling side's hello", &hellos.0),
        ("dialling side's padding", &first_padding),
        ("accepting side's entropy", &entropies.1),
        ("accepting side's hello", &hellos.1),
        ("accepting side's padding", &reply_padding),
        ("first message", &ours.first),
        ("reply", &ours.reply),
        ("noise handshake hash", &oracle.state.h),
        ("transcript", &transcript),
        ("c2s secret", &c2s),
        ("s2c secret", &s2c),
    ] {
        writeln!(made, "{name} = {}", to_hex(bytes)).unwrap();
    }

    // Secrets cannot be looked at; that they are the oracle's shows in the records made of them.
    let mut dialled = ours.dialled.dialled(Framing::Adaptive, EXPONENT);
    let mut accepted = ours.accepted.accepted(Framing::Adaptive, EXPONENT);
    let mut record = [&[0; 2][..], b"dials", &[0; 16]].concat();
    dialled.sealer.seal(&mut record).unwrap();
    assert_eq!(record, common::record(&c2s, EXPONENT, 0, true, b"dials"));
    writeln!(made, "dialling side's record of \"dials\" = {}", to_hex(&record)).unwrap();
    assert_eq!(accepted.record_len(&record), Ok(Some(23)));
    let (mut accepted, _) = accepted.confirm(&mut record).unwrap();
    let mut record = [&[0; 2][..], b"accepts", &[0; 16]].concat();
    accepted.sealer.seal(&mut record).unwrap();
    assert_eq!(record, common::record(&s2c, EXPONENT, 0, true, b"accepts"));
    writeln!(made, "accepting side's record of \"accepts\" = {}", to_hex(&record)).unwrap();
    frozen("handshake.txt", &made);
}

#[test]
fn records_are_as_frozen() {
    for (name, framing) in FRAMINGS {
        let mut made = format!(
            "# Records 0 to 17 in {name} framing, with new keys every 8 records.\nsecret = {}\n",
            to_hex(&secret())
        );
        for (number, record) in (0_u64..).zip(records(framing, &secret())) {
            let text = text(framing, number);
            let length_field = framing == Framing::Adaptive;
            assert_eq!(record, common::record(&secret(), EXPONENT, number, length_field, &text));
            // In padded framing those around the rekeying are enough.
            if length_field || [0, 7, 8, 15, 16].contains(&number) {
                writeln!(made, "text {number} = {}", to_hex(&text)).unwrap();
                writeln!(made, "record {number} = {}", to_hex(&record)).unwrap();
            }
        }
        frozen(&format!("records_{name}.txt"), &made);
    }
}

/// One bad stream: its name, how many of its records open, why the next does not, and its records.
struct Bad(&'static str, usize, SealError, Vec<Vec<u8>>);

fn changed(record: &[u8], at: usize, by: u8) -> Vec<u8> {
    let mut record = record.to_vec();
    record[at] ^= by;
    record
}

fn bad_streams(framing: Framing) -> Vec<Bad> {
    use SealError::{Length, Refused};
    let good = records(framing, &secret());
    let foreign = records(framing, &other_secret());
    let len = good[0].len();
    let take = |numbers: &[usize]| numbers.iter().map(|&n| good[n].clone()).collect::<Vec<_>>();
    // A length field whose mask does not belong to its place says something arbitrary, and mostly
    // something that is not the length of what follows.
    let misplaced = |padded: SealError| match framing {
        Framing::Padded => padded,
        Framing::Adaptive => Length,
    };
    let mut all = vec![
        Bad("bad_tag", 0, Refused, vec![changed(&good[0], len - 1, 0x80)]),
        Bad("bad_text", 0, Refused, vec![changed(&good[0], framing.prefix(), 1)]),
        Bad("truncated", 0, Length, vec![good[0][..len - 1].to_vec()]),
        Bad("extended", 0, Length, vec![[&good[0][..], &[0]].concat()]),
        Bad("empty", 0, Length, vec![vec![]]),
        Bad("swapped", 0, misplaced(Refused), take(&[1, 0])),
        Bad("duplicated", 1, misplaced(Refused), take(&[0, 0])),
        Bad("skipped", 1, misplaced(Refused), take(&[0, 2])),
        Bad("other_direction", 0, misplaced(Refused), vec![foreign[0].clone()]),
        // The first record of a generation again as the first of the next.
        Bad("other_generation", 8, misplaced(Refused), take(&[0, 1, 2, 3, 4, 5, 6, 7, 0])),
    ];
    if framing == Framing::Adaptive {
        let told = |number: usize, len: u16| {
            let clear = u16::try_from(good[number].len() - 2).unwrap() ^ len;
            let [high, low] = clear.to_be_bytes();
            changed(&changed(&good[number], 0, high), 1, low)
        };
        all.push(Bad("length_zero", 0, Length, vec![told(0, 0)]));
        all.push(Bad("length_without_text", 0, Length, vec![told(0, 16)]));
        all.push(Bad("length_one_less", 1, Length, vec![good[0].clone(), told(1, 21)]));
        all.push(Bad("length_one_more", 0, Length, vec![told(0, 18)]));
        all.push(Bad("length_above_the_most", 0, Length, vec![told(0, 16_383)]));
        // A repeated text under the length field that its place asks for.
        let repeated = [&told(1, 17)[..2], &good[0][2..]].concat();
        all.push(Bad("repeated_text", 1, Refused, vec![good[0].clone(), repeated]));
        all.push(Bad("length_unmasked", 0, Length, vec![unmasked(&good[0])]));
    }
    all
}

/// The record as it would be if the length were not masked.
fn unmasked(record: &[u8]) -> Vec<u8> {
    let clear = u16::try_from(record.len() - 2).unwrap().to_be_bytes();
    [&clear[..], &record[2..]].concat()
}

fn error_name(error: SealError) -> String {
    format!("{error:?}").to_lowercase()
}

#[test]
fn bad_records_are_as_frozen() {
    for (name, framing) in FRAMINGS {
        let mut made = format!(
            "# Streams of records in {name} framing that end badly, with new keys every 8 records.\n\
             # fault = how many records open | why the next one does not | the records\n\
             secret = {}\n",
            to_hex(&secret())
        );
        for Bad(fault, opened, error, records) in bad_streams(framing) {
            // Records known from the file of the good ones are named by their number.
            let good = self::records(framing, &secret());
            let shown = |record: &Vec<u8>| match good.iter().position(|known| known == record) {
                Some(number) => format!("#{number}"),
                None if record.is_empty() => "-".to_owned(),
                None => to_hex(record),
            };
            let records: Vec<String> = records.iter().map(shown).collect();
            let error = error_name(error);
            writeln!(made, "{fault} = {opened} | {error} | {}", records.join(",")).unwrap();
        }
        frozen(&format!("bad_records_{name}.txt"), &made);
        refused_as_frozen(name, framing);
    }
}

fn refused_as_frozen(name: &str, framing: Framing) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("vectors")
        .join(format!("bad_records_{name}.txt"));
    let file = std::fs::read_to_string(path).unwrap();
    let good = records(framing, &secret());
    let mut faults = 0;
    for line in file.lines().filter(|line| line.contains(" | ") && !line.starts_with('#')) {
        let (fault, rest) = line.split_once(" = ").unwrap();
        let [opened, error, records] = rest.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let opened: usize = opened.parse().unwrap();
        let (_, mut link) = Link::pair(secret(), other_secret(), framing, EXPONENT);
        for (place, record) in records.split(',').enumerate() {
            let mut record = match record.strip_prefix('#') {
                Some(number) => good[number.parse::<usize>().unwrap()].clone(),
                None if record == "-" => vec![],
                None => from_hex(record),
            };
            let outcome = link.opener.open(&mut record).map(|_| ()).map_err(error_name);
            let expected = match place {
                _ if place < opened => Ok(()),
                _ if place == opened => Err(error.to_owned()),
                _ => Err("poisoned".to_owned()),
            };
            assert_eq!(outcome, expected, "{name}, {fault}, record {place}");
        }
        faults += 1;
    }
    assert_eq!(faults, bad_streams(framing).len());
}
