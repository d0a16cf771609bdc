//! A second, independent account of the protocol, written over the primitives themselves. It shares
//! no code with the crate under test; where the two agree, both follow the specification.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use aes::cipher::BlockCipherEncrypt as _;
use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use sleeve_seal::{FIRST_FIXED, Initiator, Key, Responder, Secrets};
use x25519_dalek::{PublicKey, StaticSecret};

pub(crate) const HELLO: usize = 128;

/// The contents of a key file, for tests.
pub(crate) const KEY_FILE: [u8; 40] = *b"forty bytes that nobody will call random";

pub(crate) fn key() -> Key {
    Key::from_file_bytes(&KEY_FILE).unwrap()
}

pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key).unwrap();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// HKDF of up to one block: RFC 5869, without its crate.
pub(crate) fn hkdf(salt: &[u8], input: &[u8], label: &str) -> [u8; 32] {
    expand(&hmac(salt, &[input]), label)
}

pub(crate) fn expand(prk: &[u8], label: &str) -> [u8; 32] {
    hmac(prk, &[label.as_bytes(), &[1]])
}

/// A byte string that looks random and is the same each time.
pub(crate) fn noise(name: &str, len: usize) -> Vec<u8> {
    let block = |number: u32| sha256(&[name.as_bytes(), &number.to_be_bytes()]);
    (0..).flat_map(block).take(len).collect()
}

pub(crate) fn entropy(name: &str) -> [u8; 32] {
    noise(name, 32).try_into().unwrap()
}

pub(crate) fn hello(name: &str) -> [u8; HELLO] {
    noise(name, HELLO).try_into().unwrap()
}

fn gcm(key: &[u8; 32]) -> Aes256Gcm {
    Aes256Gcm::new(key.into())
}

/// The symmetric state of Noise revision 34, section 5.2, with a key that serves one message.
#[derive(Clone)]
pub(crate) struct Symmetric {
    ck: [u8; 32],
    pub(crate) h: [u8; 32],
    k: [u8; 32],
}

impl Symmetric {
    fn start(psk: &[u8; 32]) -> Symmetric {
        let name = *b"Noise_NNpsk0_25519_AESGCM_SHA256";
        let mut state = Symmetric { ck: name, h: name, k: [0; 32] };
        state.mix_hash(b"sleeve/1\0");
        let temp = hmac(&state.ck, &[psk]);
        let first = hmac(&temp, &[&[1]]);
        let second = hmac(&temp, &[&first, &[2]]);
        state.k = hmac(&temp, &[&second, &[3]]);
        state.ck = first;
        state.mix_hash(&second);
        state
    }

    fn mix_hash(&mut self, data: &[u8]) {
        self.h = sha256(&[&self.h, data]);
    }

    fn two(&self, input: &[u8]) -> ([u8; 32], [u8; 32]) {
        let temp = hmac(&self.ck, &[input]);
        let first = hmac(&temp, &[&[1]]);
        (first, hmac(&temp, &[&first, &[2]]))
    }

    fn mix_key(&mut self, input: &[u8]) {
        (self.ck, self.k) = self.two(input);
    }

    fn ephemeral(&mut self, public: &[u8; 32]) {
        self.mix_hash(public);
        self.mix_key(public);
    }

    fn encrypt(&mut self, text: &[u8]) -> Vec<u8> {
        let payload = Payload { msg: text, aad: &self.h };
        let sealed = gcm(&self.k).encrypt((&[0; 12]).into(), payload).unwrap();
        self.mix_hash(&sealed);
        sealed
    }

    fn decrypt(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: sealed, aad: &self.h };
        let text = gcm(&self.k).decrypt((&[0; 12]).into(), payload).ok()?;
        self.mix_hash(sealed);
        Some(text)
    }
}

/// One side of the handshake by hand.
pub(crate) struct Oracle {
    pub(crate) state: Symmetric,
    private: StaticSecret,
    public: [u8; 32],
    mark: [u8; 16],
}

impl Oracle {
    fn keys() -> ([u8; 32], [u8; 32]) {
        (hkdf(&[], &KEY_FILE, "sleeve psk"), hkdf(&[], &KEY_FILE, "sleeve mark"))
    }

    fn mark(public: &[u8]) -> [u8; 16] {
        *hmac(&Oracle::keys().1, &[public, &[1]]).first_chunk().unwrap()
    }

    /// The dialling side; `public` overrides the key that belongs to the entropy.
    pub(crate) fn first(
        entropy: &[u8; 32],
        public: Option<[u8; 32]>,
        hello: &[u8; HELLO],
    ) -> (Oracle, [u8; FIRST_FIXED]) {
        let private = StaticSecret::from(*entropy);
        let public = public.unwrap_or_else(|| PublicKey::from(&private).to_bytes());
        let mut state = Symmetric::start(&Oracle::keys().0);
        state.ephemeral(&public);
        let sealed = state.encrypt(hello);
        let mark = Oracle::mark(&public);
        let message = [&public[..], &mark, &sealed].concat().try_into().unwrap();
        (Oracle { state, private, public, mark }, message)
    }

    /// The dialling side reads the reply.
    pub(crate) fn read_reply(&mut self, fixed: &[u8]) -> Option<Vec<u8>> {
        let (public, sealed) = fixed.split_first_chunk::<32>()?;
        self.state.ephemeral(public);
        let shared = self.private.diffie_hellman(&PublicKey::from(*public));
        self.state.mix_key(shared.as_bytes());
        self.state.decrypt(sealed)
    }

    /// The accepting side reads a first message.
    pub(crate) fn read_first(entropy: &[u8; 32], fixed: &[u8]) -> Option<(Oracle, Vec<u8>)> {
        let (public, rest) = fixed.split_first_chunk::<32>()?;
        let (mark, sealed) = rest.split_first_chunk::<16>()?;
        if *mark != Oracle::mark(public) {
            return None;
        }
        let mut state = Symmetric::start(&Oracle::keys().0);
        state.ephemeral(public);
        let hello = state.decrypt(sealed)?;
        let private = StaticSecret::from(*entropy);
        Some((Oracle { state, private, public: *public, mark: *mark }, hello))
    }

    /// The accepting side replies; `public` overrides the key that belongs to the entropy.
    pub(crate) fn reply(&mut self, public: Option<[u8; 32]>, hello: &[u8; HELLO]) -> Vec<u8> {
        let public = public.unwrap_or_else(|| PublicKey::from(&self.private).to_bytes());
        self.state.ephemeral(&public);
        let shared = self.private.diffie_hellman(&PublicKey::from(self.public));
        // Towards a public key of small order the other side's secret is zero whatever we hold.
        let small = PublicKey::from(public);
        let theirs = StaticSecret::from([1; 32]).diffie_hellman(&small);
        let shared = if theirs.was_contributory() { shared.to_bytes() } else { [0; 32] };
        self.state.mix_key(&shared);
        [&public[..], &self.state.encrypt(hello)].concat()
    }

    pub(crate) fn transcript(&self, first_padding: &[u8], reply_padding: &[u8]) -> [u8; 32] {
        let len = |part: &[u8]| u64::try_from(part.len()).unwrap().to_be_bytes();
        sha256(&[
            b"sleeve transcript",
            &self.state.h,
            &len(&self.mark),
            &self.mark,
            &len(first_padding),
            first_padding,
            &len(reply_padding),
            reply_padding,
        ])
    }

    /// The secrets of both directions, dialling side's first.
    pub(crate) fn secrets(
        &self,
        first_padding: &[u8],
        reply_padding: &[u8],
    ) -> ([u8; 32], [u8; 32]) {
        let transcript = self.transcript(first_padding, reply_padding);
        let (c2s, s2c) = self.state.two(&[]);
        (hkdf(&transcript, &c2s, "sleeve c2s"), hkdf(&transcript, &s2c, "sleeve s2c"))
    }
}

/// One record by hand, whatever came before it.
pub(crate) fn record(
    secret: &[u8; 32],
    exponent: u8,
    seq: u64,
    length_field: bool,
    text: &[u8],
) -> Vec<u8> {
    let secret = (0..seq >> exponent).fold(*secret, |old, _| expand(&old, "sleeve rekey"));
    let mut nonce: [u8; 12] = *expand(&secret, "sleeve iv").first_chunk().unwrap();
    nonce.iter_mut().skip(4).zip(seq.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
    let clear = u16::try_from(text.len() + 16).unwrap().to_be_bytes();
    let aad: &[u8] = if length_field { &clear } else { &[] };
    let sealed = gcm(&expand(&secret, "sleeve key"))
        .encrypt((&nonce).into(), Payload { msg: text, aad })
        .unwrap();
    let mut block = aes::Block::default();
    *block.last_chunk_mut().unwrap() = seq.to_be_bytes();
    aes::Aes256::new((&expand(&secret, "sleeve mask")).into()).encrypt_block(&mut block);
    let masked = [clear[0] ^ block[0], clear[1] ^ block[1]];
    if length_field { [&masked[..], &sealed].concat() } else { sealed }
}

/// A whole handshake with fixed entropy, between our own two sides.
pub(crate) struct Handshake {
    pub(crate) first: Vec<u8>,
    pub(crate) reply: Vec<u8>,
    pub(crate) dialled: Secrets,
    pub(crate) accepted: Secrets,
}

/// `name` chooses entropy, hello payloads and paddings.
pub(crate) fn handshake(name: &str, first_padding: usize, reply_padding: usize) -> Handshake {
    let key = key();
    let dials = format!("{name} dials");
    let accepts = format!("{name} accepts");
    let padding = noise(&format!("{dials} padding"), first_padding);
    let (sent, first) = Initiator::new(&key, &hello(&dials), &entropy(&dials), padding).unwrap();
    let (fixed, padding) = first.split_first_chunk().unwrap();
    let read = Responder::read(&key, fixed, &entropy(&accepts)).unwrap();
    assert_eq!(read.hello(), &hello(&dials));
    let reply_padding = noise(&format!("{accepts} padding"), reply_padding);
    let (reply, accepted) = read.reply(padding, &hello(&accepts), reply_padding).unwrap();
    let (fixed, padding) = reply.split_first_chunk().unwrap();
    let replied = sent.read_reply(fixed).unwrap();
    assert_eq!(replied.hello(), &hello(&accepts));
    let dialled = replied.finish(padding);
    Handshake { first, reply, dialled, accepted }
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().map(hex_digit).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => panic!("not a hexadecimal digit"),
    }
}
