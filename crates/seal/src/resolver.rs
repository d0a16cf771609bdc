//! The primitives as the Noise library wants to see them.

use std::cell::Cell;
use std::marker::PhantomData;

use sha2::{Digest as _, Sha256};
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::geometry::{PUBLIC_KEY, TAG};
use crate::provider::{NONCE, Provider};

/// Hands out the provider's primitives, and the caller's entropy once.
pub(crate) struct Resolver<P> {
    entropy: Cell<Option<Zeroizing<[u8; 32]>>>,
    provider: PhantomData<fn() -> P>,
}

impl<P: Provider> Resolver<P> {
    pub(crate) fn new(ephemeral: &[u8; 32]) -> Self {
        let entropy = Cell::new(Some(Zeroizing::new(*ephemeral)));
        Resolver { entropy, provider: PhantomData }
    }
}

impl<P: Provider> CryptoResolver for Resolver<P> {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        let entropy = self.entropy.take()?;
        Some(Box::new(Once(Some(entropy))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        (*choice == DHChoice::Curve25519)
            .then(|| -> Box<dyn Dh> { Box::new(X25519::<P> { pair: None, public: [0; 32] }) })
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        (*choice == HashChoice::SHA256).then(|| -> Box<dyn Hash> { Box::new(Sha(Sha256::new())) })
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        (*choice == CipherChoice::AESGCM)
            .then(|| -> Box<dyn Cipher> { Box::new(AesGcm::<P> { key: None }) })
    }
}

/// The caller's entropy: good for one private key. A second one made of the same bytes would be the
/// first one again, so asking twice is an error.
struct Once(Option<Zeroizing<[u8; 32]>>);

impl Random for Once {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        let entropy = self.0.take().ok_or(snow::Error::Rng)?;
        if dest.len() != entropy.len() {
            return Err(snow::Error::Rng);
        }
        dest.copy_from_slice(entropy.as_slice());
        Ok(())
    }
}

struct X25519<P: Provider> {
    pair: Option<P::Private>,
    public: [u8; PUBLIC_KEY],
}

impl<P: Provider> X25519<P> {
    fn load(&mut self, private: &[u8; 32]) -> Result<(), snow::Error> {
        let pair = P::private(private).map_err(|_| snow::Error::Rng)?;
        self.public = P::public(&pair).map_err(|_| snow::Error::Rng)?;
        self.pair = Some(pair);
        Ok(())
    }
}

impl<P: Provider> Dh for X25519<P> {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        PUBLIC_KEY
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, privkey: &[u8]) {
        self.pair = None;
        if let Ok(private) = privkey.try_into() {
            // Without a pair the agreement fails, which is all that this signature leaves to do.
            self.load(private).ok();
        }
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), snow::Error> {
        let mut private = Zeroizing::new([0; 32]);
        rng.try_fill_bytes(private.as_mut_slice())?;
        self.load(&private)
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    /// Empty: a handshake never asks for it, and so it cannot be had.
    fn privkey(&self) -> &[u8] {
        &[]
    }

    fn dh(&self, pubkey: &[u8], out: &mut [u8]) -> Result<(), snow::Error> {
        // The library hands over a buffer that is wide enough for the longest curve it knows.
        let public = pubkey.first_chunk().ok_or(snow::Error::Dh)?;
        let out = out.first_chunk_mut::<32>().ok_or(snow::Error::Dh)?;
        let pair = self.pair.as_ref().ok_or(snow::Error::Dh)?;
        let shared = P::agree(pair, public).map_err(|_| snow::Error::Dh)?;
        // A public key of small order makes the secret zero whatever ours is (RFC 7748, section
        // 6.1): whoever sends one wants the outcome not to depend on us.
        if bool::from(shared.ct_eq(&[0; 32])) {
            return Err(snow::Error::Dh);
        }
        *out = *shared;
        Ok(())
    }
}

struct Sha(Sha256);

impl Hash for Sha {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        let hash: [u8; 32] = self.0.finalize_reset().into();
        *out.first_chunk_mut().expect("the library's buffers hold 64 bytes") = hash;
    }
}

struct AesGcm<P: Provider> {
    key: Option<P::Aead>,
}

/// Noise's nonce for AESGCM: 32 zero bits, then the counter, big-endian (Noise revision 34, section
/// 12.4).
fn nonce_of(counter: u64) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    *nonce.last_chunk_mut().expect("12 bytes hold 8") = counter.to_be_bytes();
    nonce
}

impl<P: Provider> Cipher for AesGcm<P> {
    fn name(&self) -> &'static str {
        "AESGCM"
    }

    fn set(&mut self, key: &[u8; 32]) {
        self.key = Some(P::aead(key));
    }

    fn encrypt(&self, nonce: u64, authtext: &[u8], plaintext: &[u8], out: &mut [u8]) -> usize {
        let key = self.key.as_ref().expect("the library sets a key before it encrypts");
        let (text, rest) = out
            .split_at_mut_checked(plaintext.len())
            .expect("the library checks the room before it encrypts");
        let tag = rest.first_chunk_mut().expect("the library checks the room for the tag too");
        text.copy_from_slice(plaintext);
        P::seal(key, &nonce_of(nonce), authtext, text, tag)
            .expect("Noise messages are far below the limits of AES-GCM");
        plaintext.len() + TAG
    }

    fn decrypt(
        &self,
        nonce: u64,
        authtext: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, snow::Error> {
        let key = self.key.as_ref().ok_or(snow::Error::Decrypt)?;
        let (sealed, tag) = ciphertext.split_last_chunk().ok_or(snow::Error::Decrypt)?;
        let text = out.get_mut(..sealed.len()).ok_or(snow::Error::Decrypt)?;
        text.copy_from_slice(sealed);
        P::open(key, &nonce_of(nonce), authtext, text, tag).map_err(|_| snow::Error::Decrypt)?;
        Ok(text.len())
    }
}

#[cfg(test)]
mod tests;
