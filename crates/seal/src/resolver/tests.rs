//! Published Noise vectors, run through our resolver on every provider.

use snow::{Builder, HandshakeState};

use super::*;
use crate::provider::{Active, Rust};

const VECTORS: &str = include_str!("../../vectors/noise_nnpsk0.txt");

fn vector(name: &str) -> Vec<u8> {
    let value = VECTORS
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .find_map(|(key, value)| (key == name).then_some(value))
        .unwrap_or_else(|| panic!("no vector {name}"));
    let digit = |at| u8::from_str_radix(value.get(at..at + 2).unwrap(), 16).unwrap();
    (0..value.len()).step_by(2).map(digit).collect()
}

fn state<P: Provider>(side: &str) -> HandshakeState {
    let ephemeral = vector(&format!("{side} ephemeral"));
    let resolver = Resolver::<P>::new(ephemeral.first_chunk().unwrap());
    let (prologue, psk) = (vector("prologue"), vector("psk"));
    let name = "Noise_NNpsk0_25519_AESGCM_SHA256".parse().unwrap();
    let builder = Builder::with_resolver(name, Box::new(resolver))
        .prologue(&prologue)
        .unwrap()
        .psk(0, psk.first_chunk().unwrap())
        .unwrap();
    let build =
        if side == "initiator" { Builder::build_initiator } else { Builder::build_responder };
    build(builder).unwrap()
}

fn agrees_with_published_vectors<P: Provider>() {
    let (mut initiator, mut responder) = (state::<P>("initiator"), state::<P>("responder"));
    for number in 1..=2 {
        let (writer, reader) = match number {
            1 => (&mut initiator, &mut responder),
            _ => (&mut responder, &mut initiator),
        };
        let payload = vector(&format!("payload {number}"));
        let (mut message, mut read) = ([0; 200], [0; 200]);
        let len = writer.write_message(&payload, &mut message).unwrap();
        let message = message.get(..len).unwrap();
        assert_eq!(message, vector(&format!("message {number}")));
        let len = reader.read_message(message, &mut read).unwrap();
        assert_eq!(read.get(..len).unwrap(), payload);
    }
    assert_eq!(initiator.get_handshake_hash(), vector("handshake hash"));
    assert_eq!(responder.get_handshake_hash(), vector("handshake hash"));
    let (first, second) = initiator.dangerously_get_raw_split();
    assert_eq!((first, second), responder.dangerously_get_raw_split());
    for (number, key, nonce) in [(3, first, 0), (4, second, 0), (5, first, 1), (6, second, 1)] {
        let mut text = vector(&format!("payload {number}"));
        let mut tag = [0; TAG];
        P::seal(&P::aead(&key), &nonce_of(nonce), &[], &mut text, &mut tag).unwrap();
        text.extend_from_slice(&tag);
        assert_eq!(text, vector(&format!("message {number}")));
    }
}

#[test]
fn published_vectors_hold_on_the_active_provider() {
    agrees_with_published_vectors::<Active>();
}

#[test]
fn published_vectors_hold_on_the_rust_provider() {
    agrees_with_published_vectors::<Rust>();
}

#[test]
fn entropy_is_handed_out_once() {
    let resolver = Resolver::<Active>::new(&[7; 32]);
    let mut rng = resolver.resolve_rng().unwrap();
    assert!(resolver.resolve_rng().is_none());
    let mut bytes = [0; 32];
    assert_eq!(rng.try_fill_bytes(&mut bytes), Ok(()));
    assert_eq!(bytes, [7; 32]);
    assert_eq!(rng.try_fill_bytes(&mut bytes), Err(snow::Error::Rng));
}

#[test]
fn a_private_key_cannot_be_had_back() {
    let mut dh = X25519::<Active> { pair: None, public: [0; 32] };
    dh.set(&[7; 32]);
    assert!(dh.pair.is_some());
    assert!(dh.privkey().is_empty());
    dh.set(&[7; 31]);
    assert!(dh.pair.is_none());
}
