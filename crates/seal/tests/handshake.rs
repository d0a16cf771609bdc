//! The handshake: both sides against each other and against a hand-written NNpsk0, and everything
//! that must not lead to a link.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::HashSet;

use common::{HELLO, Oracle, entropy, handshake, hello, key, noise};
use proptest::prelude::*;
use sleeve_seal::{
    FIRST_FIXED, Initiator, Key, Link, PADDING_MAX, Responder, SealError, Secrets, recognise,
};
use sleeve_wire::{Framing, REKEY_EXPONENT};

/// Sends one record each way; the error of whoever cannot read it.
fn talk(dialled: Secrets, accepted: Secrets, framing: Framing) -> Result<(Link, Link), SealError> {
    let mut dialled = dialled.dialled(framing, REKEY_EXPONENT);
    let accepted = accepted.accepted(framing, REKEY_EXPONENT);
    let mut record = vec![b'x'; framing.record_len(100)];
    dialled.sealer.seal(&mut record)?;
    let (mut accepted, text) = accepted.confirm(&mut record)?;
    assert!(text.iter().all(|&byte| byte == b'x'));
    let mut record = vec![b'y'; framing.record_len(100)];
    accepted.sealer.seal(&mut record)?;
    let text = dialled.opener.open(&mut record)?;
    assert!(text.iter().all(|&byte| byte == b'y'));
    Ok((dialled, accepted))
}

#[test]
fn two_sides_with_the_same_key_get_a_link() {
    for (framing, first, reply) in
        [(Framing::Padded, 832, 848), (Framing::Adaptive, 0, 0), (Framing::Adaptive, 17, 255)]
    {
        let made = handshake("plain", first, reply);
        assert_eq!((made.first.len(), made.reply.len()), (192 + first, 176 + reply));
        talk(made.dialled, made.accepted, framing).unwrap();
    }
}

#[test]
fn our_dialling_side_agrees_with_the_hand_written_accepting_side() {
    let (sent, first) = Initiator::new(&key(), &hello("d"), &entropy("d"), noise("p", 21)).unwrap();
    let (fixed, padding) = first.split_first_chunk::<FIRST_FIXED>().unwrap();
    let (mut oracle, read) = Oracle::read_first(&entropy("a"), fixed).unwrap();
    assert_eq!(read, hello("d"));
    let reply = oracle.reply(None, &hello("a"));
    let replied = sent.read_reply(reply.first_chunk().unwrap()).unwrap();
    assert_eq!(replied.hello(), &hello("a"));
    let (c2s, s2c) = oracle.secrets(padding, b"padding of the reply");
    let dialled = replied.finish(b"padding of the reply");
    talk(dialled, Secrets::from_bytes(c2s, s2c), Framing::Adaptive).unwrap();
}

#[test]
fn our_accepting_side_agrees_with_the_hand_written_dialling_side() {
    let (mut oracle, first) = Oracle::first(&entropy("d"), None, &hello("d"));
    let read = Responder::read(&key(), &first, &entropy("a")).unwrap();
    assert_eq!(read.hello(), &hello("d"));
    let (reply, accepted) = read.reply(b"first", &hello("a"), noise("p", 33)).unwrap();
    let (fixed, padding) = reply.split_at(176);
    assert_eq!(oracle.read_reply(fixed).unwrap(), hello("a"));
    let (c2s, s2c) = oracle.secrets(b"first", padding);
    talk(Secrets::from_bytes(c2s, s2c), accepted, Framing::Padded).unwrap();
}

#[test]
fn the_right_key_is_recognised_among_64() {
    let keys: Vec<Key> = (0..64).map(|n| Key::from_file_bytes(&[n; 32]).unwrap()).collect();
    for (place, key) in keys.iter().enumerate() {
        let (_, first) = Initiator::new(key, &[0; HELLO], &entropy("r"), vec![]).unwrap();
        let fixed = first.first_chunk().unwrap();
        assert_eq!(recognise(&keys, fixed), Some(place));
        assert_eq!(recognise(&[], fixed), None);
        let stranger = Key::from_file_bytes(&[99; 32]).unwrap();
        assert_eq!(recognise(&[stranger], fixed), None);
    }
}

#[test]
fn a_wrong_key_is_refused_on_both_sides() {
    let other = Key::from_file_bytes(&[9; 32]).unwrap();
    let (sent, first) = Initiator::new(&key(), &[1; HELLO], &entropy("d"), vec![]).unwrap();
    let fixed = first.first_chunk().unwrap();
    assert_eq!(Responder::read(&other, fixed, &entropy("a")).err(), Some(SealError::Refused));
    let (_, foreign) = Initiator::new(&other, &[1; HELLO], &entropy("d"), vec![]).unwrap();
    let read = Responder::read(&other, foreign.first_chunk().unwrap(), &entropy("a")).unwrap();
    let (reply, _) = read.reply(&[], &[2; HELLO], vec![]).unwrap();
    let refused = sent.read_reply(reply.first_chunk().unwrap());
    assert_eq!(refused.err(), Some(SealError::Refused));
}

/// A reply that answers another first message of the same key.
#[test]
fn a_reply_to_another_message_is_refused() {
    let (sent, _) = Initiator::new(&key(), &[1; HELLO], &entropy("one"), vec![]).unwrap();
    let (_, other) = Initiator::new(&key(), &[1; HELLO], &entropy("two"), vec![]).unwrap();
    let read = Responder::read(&key(), other.first_chunk().unwrap(), &entropy("a")).unwrap();
    let (reply, _) = read.reply(&[], &[2; HELLO], vec![]).unwrap();
    let refused = sent.read_reply(reply.first_chunk().unwrap());
    assert_eq!(refused.err(), Some(SealError::Refused));
}

/// Whoever repeats a recorded handshake to an accepting side gets a reply and no link.
#[test]
fn a_repeated_handshake_is_not_confirmed() {
    let made = handshake("recorded", 5, 6);
    let mut record = vec![0; 50];
    made.dialled.dialled(Framing::Adaptive, 20).sealer.seal(&mut record).unwrap();
    let (fixed, padding) = made.first.split_first_chunk().unwrap();
    let read = Responder::read(&key(), fixed, &entropy("fresh")).unwrap();
    let (_, accepted) = read.reply(padding, &[0; HELLO], vec![]).unwrap();
    assert!(accepted.accepted(Framing::Adaptive, 20).confirm(&mut record).is_err());
}

/// Points of small order: 0, 1, p - 1, p, p + 1, and the two of order eight.
fn small_points() -> [[u8; 32]; 7] {
    [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    ]
    .map(|point| common::from_hex(point).try_into().unwrap())
}

#[test]
fn a_public_key_that_yields_no_secret_is_refused_on_both_sides() {
    for point in small_points() {
        let (_, first) = Oracle::first(&entropy("d"), Some(point), &hello("d"));
        let read = Responder::read(&key(), &first, &entropy("a")).unwrap();
        let refused = read.reply(&[], &hello("a"), vec![]);
        assert_eq!(refused.err(), Some(SealError::Refused));

        let (sent, first) = Initiator::new(&key(), &hello("d"), &entropy("d"), vec![]).unwrap();
        let (mut oracle, _) = Oracle::read_first(&entropy("a"), &first).unwrap();
        let reply = oracle.reply(Some(point), &hello("a"));
        let refused = sent.read_reply(reply.first_chunk().unwrap());
        assert_eq!(refused.err(), Some(SealError::Refused));
    }
}

/// Runs a handshake whose messages pass through `alter`; none if it ends in two links.
fn altered(alter: impl Fn(usize, &mut Vec<u8>)) -> Option<SealError> {
    let keys = [key()];
    let (sent, mut first) =
        Initiator::new(&keys[0], &hello("d"), &entropy("d"), noise("dp", 9)).unwrap();
    alter(0, &mut first);
    let attempt = || {
        let (fixed, padding) = first.split_first_chunk().ok_or(SealError::Length)?;
        let place = recognise(&keys, fixed).ok_or(SealError::Refused)?;
        let read = Responder::read(&keys[place], fixed, &entropy("a"))?;
        let (mut reply, accepted) = read.reply(padding, &hello("a"), noise("ap", 11))?;
        alter(1, &mut reply);
        let (fixed, padding) = reply.split_first_chunk().ok_or(SealError::Length)?;
        let dialled = sent.read_reply(fixed)?.finish(padding);
        talk(dialled, accepted, Framing::Padded)
    };
    attempt().err()
}

/// I24: a changed bit anywhere in the handshake, in what was negotiated, in the mark or in the
/// padding, leads to no session.
#[test]
fn any_changed_bit_of_the_handshake_leads_to_no_link() {
    assert_eq!(altered(|_, _| {}), None);
    for (message, len) in [(0, 192 + 9), (1, 176 + 11)] {
        for bit in 0..len * 8 {
            // The top bit of a public key means nothing on the curve (RFC 7748, section 5), but
            // Noise hashes it.
            let flip = |number: usize, bytes: &mut Vec<u8>| {
                if number == message {
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
            };
            assert_eq!(altered(flip), Some(SealError::Refused), "message {message} bit {bit}");
        }
    }
}

/// I24: neither can bytes be taken from or added to the padding.
#[test]
fn padding_that_was_cut_or_lengthened_leads_to_no_link() {
    for message in [0, 1] {
        let cut = |number, bytes: &mut Vec<u8>| {
            if number == message {
                bytes.pop();
            }
        };
        assert_eq!(altered(cut), Some(SealError::Refused));
        let lengthened = |number, bytes: &mut Vec<u8>| {
            if number == message {
                bytes.push(0);
            }
        };
        assert_eq!(altered(lengthened), Some(SealError::Refused));
    }
}

/// The same bytes, divided otherwise between the two paddings, are another transcript.
#[test]
fn padding_cannot_move_from_one_message_to_the_other() {
    let (mut oracle, first) = Oracle::first(&entropy("d"), None, &hello("d"));
    let read = Responder::read(&key(), &first, &entropy("a")).unwrap();
    let (reply, accepted) = read.reply(b"ab", &hello("a"), b"c".to_vec()).unwrap();
    oracle.read_reply(reply.get(..176).unwrap()).unwrap();
    let (c2s, s2c) = oracle.secrets(b"a", b"bc");
    let outcome = talk(Secrets::from_bytes(c2s, s2c), accepted, Framing::Padded);
    assert_eq!(outcome.err(), Some(SealError::Refused));
}

#[test]
fn more_padding_than_can_be_told_is_refused() {
    let most = Initiator::new(&key(), &[0; HELLO], &[1; 32], vec![0; PADDING_MAX]);
    assert!(most.is_ok());
    let more = Initiator::new(&key(), &[0; HELLO], &[1; 32], vec![0; PADDING_MAX + 1]);
    assert_eq!(more.err(), Some(SealError::Length));
}

/// I25, smoke test: two whole conversations of the same key, with the same payloads and the same
/// plaintexts, have no eight bytes in common.
#[test]
fn two_conversations_share_no_eight_bytes() {
    for framing in [Framing::Padded, Framing::Adaptive] {
        let windows = |name: &str| -> HashSet<[u8; 8]> {
            let made = handshake(name, 40, 60);
            let mut wire = [made.first, made.reply].concat();
            let mut dialled = made.dialled.dialled(framing, 3);
            let accepted = made.accepted.accepted(framing, 3);
            let mut record = vec![0; framing.record_len(1)];
            dialled.sealer.seal(&mut record).unwrap();
            wire.extend_from_slice(&record);
            let (mut accepted, _) = accepted.confirm(&mut record).unwrap();
            for size in 1..40 {
                for sealer in [&mut dialled.sealer, &mut accepted.sealer] {
                    let mut record = vec![0; framing.record_len(size)];
                    sealer.seal(&mut record).unwrap();
                    wire.extend_from_slice(&record);
                }
            }
            let all: HashSet<[u8; 8]> =
                wire.windows(8).map(|window| window.try_into().unwrap()).collect();
            assert_eq!(all.len(), wire.len() - 7, "eight bytes repeat within a conversation");
            all
        };
        assert!(windows("one").is_disjoint(&windows("two")));
    }
}

#[test]
fn debug_of_secrets_shows_nothing() {
    assert_eq!(format!("{:?}", Secrets::from_bytes([1; 32], [2; 32])), "Secrets { .. }");
}

proptest! {
    /// Anything at all, read as a first message or as a reply, is refused without harm.
    #[test]
    fn arbitrary_messages_are_refused(first: [[u8; 32]; 6], reply: [[u8; 16]; 11]) {
        let first: [u8; 192] = first.concat().try_into().unwrap();
        let reply: [u8; 176] = reply.concat().try_into().unwrap();
        prop_assert_eq!(recognise(&[key()], &first), None);
        prop_assert!(Responder::read(&key(), &first, &[1; 32]).is_err());
        let (sent, _) = Initiator::new(&key(), &[0; HELLO], &[1; 32], vec![]).unwrap();
        prop_assert!(sent.read_reply(&reply).is_err());
    }
}
