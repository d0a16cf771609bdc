//! The handshake: `Noise_NNpsk0_25519_AESGCM_SHA256`, a mark in front, padding behind.
//!
//! ```text
//! first message   e 32 | mark 16 | sealed hello 144 | padding    dialling side -> accepting side
//! reply           e 32 | sealed hello 144           | padding    accepting side -> dialling side
//! ```
//!
//! Each state is consumed by the step that leads out of it, so no step can be left out or repeated.
//!
//! What the mark and the paddings say is covered by no Noise message. They are hashed, together
//! with Noise's own handshake hash, into a transcript on which the traffic secrets depend: if a
//! single bit of them was changed on the way, the two sides hold different keys and the first
//! record is refused. (PROTOCOL 2.2)

use std::fmt;

use hkdf::Hkdf;
use sha2::{Digest as _, Sha256};
use snow::HandshakeState;
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};
use zeroize::Zeroizing;

use crate::error::SealError;
use crate::geometry::{
    FIRST_FIXED, HELLO_LEN, MARK, NOISE_MESSAGE, PADDING_MAX, PUBLIC_KEY, REPLY_FIXED, SEALED_HELLO,
};
use crate::keys::{Key, expand};
use crate::link::{Secrets, Side};
use crate::provider::Active;
use crate::resolver::Resolver;

/// The protocol's name as Noise spells it (Noise revision 34, section 8). It is hashed, so a peer
/// that means another pattern or another primitive does not get past the first message.
const NOISE: &str = "Noise_NNpsk0_25519_AESGCM_SHA256";

/// Keeps other uses of the same Noise protocol with the same key, and other major versions of this
/// one, apart (Noise revision 34, section 6). (PROTOCOL 2.2)
const PROLOGUE: &[u8] = b"sleeve/1\0";

/// Tells which of the keys a first message was made with, without telling anyone who watches.
///
/// All marks are computed and compared, in constant time and to the end, so that the time taken
/// depends on the number of keys only: neither whether nor which key fits can be measured.
#[must_use]
pub fn recognise(keys: &[Key], fixed: &[u8; FIRST_FIXED]) -> Option<usize> {
    let First { public, mark, sealed: _ } = First::split(fixed);
    // Zero stands for none, so that the choice is an arithmetic one.
    let mut hit = 0_u32;
    for (place, key) in (1_u32..).zip(keys) {
        hit.conditional_assign(&place, key.mark_of(public).ct_eq(mark));
    }
    usize::try_from(hit).ok()?.checked_sub(1)
}

/// The dialling side, having sent the first message and waiting for the reply.
pub struct Initiator {
    noise: HandshakeState,
    mark: [u8; MARK],
    padding: Vec<u8>,
}

impl Initiator {
    /// Starts a handshake and returns the whole first message, padding included.
    ///
    /// `ephemeral` is 32 fresh bytes of entropy; using them for a second handshake would tie the
    /// two together. `padding` must look random too, and its length is what the hello payload says.
    ///
    /// # Errors
    /// [`SealError::Length`] if there is more padding than [`PADDING_MAX`];
    /// [`SealError::Handshake`] is a bug.
    pub fn new(
        key: &Key,
        hello: &[u8; HELLO_LEN],
        ephemeral: &[u8; 32],
        padding: Vec<u8>,
    ) -> Result<(Initiator, Vec<u8>), SealError> {
        let mut noise = begin(key, ephemeral, Side::Dials)?;
        let written = write(&mut noise, hello, &padding)?;
        let (public, sealed) = split_noise(&written);
        let mark = key.mark_of(public);
        let mut message = Vec::with_capacity(FIRST_FIXED + padding.len());
        message.extend_from_slice(public);
        message.extend_from_slice(&mark);
        message.extend_from_slice(sealed);
        message.extend_from_slice(&padding);
        Ok((Initiator { noise, mark, padding }, message))
    }

    /// Reads the reply, as far as it is fixed; the hello payload in it tells how much padding
    /// follows. It proves that the peer holds the key now, and not merely once.
    ///
    /// # Errors
    /// [`SealError::Refused`] if the reply was made without the key, or for another first message.
    pub fn read_reply(mut self, fixed: &[u8; REPLY_FIXED]) -> Result<Replied, SealError> {
        let hello = read(&mut self.noise, fixed)?;
        Ok(Replied { sent: self, hello })
    }
}

/// The dialling side, having read the reply up to its padding.
pub struct Replied {
    sent: Initiator,
    hello: [u8; HELLO_LEN],
}

impl Replied {
    /// The accepting side's hello payload.
    #[must_use]
    pub fn hello(&self) -> &[u8; HELLO_LEN] {
        &self.hello
    }

    /// Ends the handshake with the padding of the reply.
    #[must_use]
    pub fn finish(self, padding: &[u8]) -> Secrets {
        let Initiator { noise, mark, padding: first } = self.sent;
        secrets(noise, [&mark, &first, padding])
    }
}

/// The accepting side, having read the first message up to its padding.
///
/// What it has read may be a repetition: only a first record proves that the peer holds the key
/// now, see [`Unconfirmed`](crate::Unconfirmed).
pub struct Responder {
    noise: HandshakeState,
    mark: [u8; MARK],
    hello: [u8; HELLO_LEN],
}

impl Responder {
    /// Reads a first message, as far as it is fixed, with the key that [`recognise`] found.
    ///
    /// `ephemeral` is 32 fresh bytes of entropy. No key agreement is done yet, so that a refusal
    /// costs little.
    ///
    /// # Errors
    /// [`SealError::Refused`] if the message was made without the key or was changed.
    pub fn read(
        key: &Key,
        fixed: &[u8; FIRST_FIXED],
        ephemeral: &[u8; 32],
    ) -> Result<Responder, SealError> {
        let First { public, mark, sealed } = First::split(fixed);
        let mut noise = begin(key, ephemeral, Side::Accepts)?;
        let mut message = [0; NOISE_MESSAGE];
        let (head, tail) = message
            .split_first_chunk_mut::<PUBLIC_KEY>()
            .expect("a Noise message begins with a public key");
        *head = *public;
        tail.copy_from_slice(sealed);
        let hello = read(&mut noise, &message)?;
        Ok(Responder { noise, mark: *mark, hello })
    }

    /// The dialling side's hello payload.
    #[must_use]
    pub fn hello(&self) -> &[u8; HELLO_LEN] {
        &self.hello
    }

    /// Makes the whole reply, padding included, and ends the handshake.
    ///
    /// `client_padding` is what followed the first message.
    ///
    /// # Errors
    /// [`SealError::Refused`] if the peer's public key yields no secret; [`SealError::Length`] if
    /// there is more padding than [`PADDING_MAX`].
    pub fn reply(
        mut self,
        client_padding: &[u8],
        hello: &[u8; HELLO_LEN],
        padding: Vec<u8>,
    ) -> Result<(Vec<u8>, Secrets), SealError> {
        let written = write(&mut self.noise, hello, &padding)?;
        let secrets = secrets(self.noise, [&self.mark, client_padding, &padding]);
        // The padding comes last on the wire, so its own buffer becomes the message.
        let mut message = padding;
        message.splice(..0, written);
        Ok((message, secrets))
    }
}

/// The parts of a first message.
struct First<'a> {
    public: &'a [u8; PUBLIC_KEY],
    mark: &'a [u8; MARK],
    sealed: &'a [u8; SEALED_HELLO],
}

impl<'a> First<'a> {
    fn split(fixed: &'a [u8; FIRST_FIXED]) -> First<'a> {
        fixed
            .split_first_chunk()
            .and_then(|(public, rest)| {
                let (mark, rest) = rest.split_first_chunk()?;
                Some(First { public, mark, sealed: rest.try_into().ok()? })
            })
            .expect("FIRST_FIXED is the sum of the three parts")
    }
}

fn split_noise(message: &[u8; NOISE_MESSAGE]) -> (&[u8; PUBLIC_KEY], &[u8]) {
    message.split_first_chunk().expect("a Noise message begins with a public key")
}

fn begin(key: &Key, ephemeral: &[u8; 32], side: Side) -> Result<HandshakeState, SealError> {
    let resolver = Resolver::<Active>::new(ephemeral);
    let builder = snow::Builder::with_resolver(NOISE.parse()?, Box::new(resolver))
        .prologue(PROLOGUE)?
        .psk(0, key.psk())?;
    Ok(match side {
        Side::Dials => builder.build_initiator()?,
        Side::Accepts => builder.build_responder()?,
    })
}

/// Writes a Noise message; refuses padding whose length the payload in it could not tell.
fn write(
    noise: &mut HandshakeState,
    hello: &[u8; HELLO_LEN],
    padding: &[u8],
) -> Result<[u8; NOISE_MESSAGE], SealError> {
    if padding.len() > PADDING_MAX {
        return Err(SealError::Length);
    }
    let mut message = [0; NOISE_MESSAGE];
    let written = noise.write_message(hello, &mut message)?;
    if written == NOISE_MESSAGE { Ok(message) } else { Err(SealError::Handshake) }
}

fn read(
    noise: &mut HandshakeState,
    message: &[u8; NOISE_MESSAGE],
) -> Result<[u8; HELLO_LEN], SealError> {
    let mut hello = [0; HELLO_LEN];
    let read = noise.read_message(message, &mut hello)?;
    if read == HELLO_LEN { Ok(hello) } else { Err(SealError::Handshake) }
}

/// Derives the traffic secrets from Split() (Noise revision 34, section 5.2) and the transcript.
fn secrets(mut noise: HandshakeState, foreign: [&[u8]; 3]) -> Secrets {
    let transcript = transcript(noise.get_handshake_hash(), foreign);
    let (c2s, s2c) = noise.dangerously_get_raw_split();
    let secret = |split: [u8; 32], label: &[u8]| {
        let split = Zeroizing::new(split);
        expand(&Hkdf::<Sha256>::new(Some(&transcript), split.as_slice()), label)
    };
    Secrets::new(secret(c2s, b"sleeve c2s"), secret(s2c, b"sleeve s2c"))
}

/// The hash of all that was said, Noise's own account first, then the bytes foreign to it: the mark
/// and the two paddings, each after its length in 64 bits, so that no byte can move from one to
/// another unnoticed.
fn transcript(noise_hash: &[u8], foreign: [&[u8]; 3]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"sleeve transcript");
    hash.update(noise_hash);
    for part in foreign {
        let len = u64::try_from(part.len()).expect("lengths in memory fit 64 bits");
        hash.update(len.to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").finish_non_exhaustive()
    }
}

impl fmt::Debug for Replied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replied").finish_non_exhaustive()
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").finish_non_exhaustive()
    }
}
