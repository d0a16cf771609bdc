//! The primitives from the pure Rust crates.

use aes::Aes256;
use aes::cipher::BlockCipherEncrypt as _;
use aes_gcm::aead::AeadInOut as _;
use aes_gcm::{Aes256Gcm, KeyInit as _};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::{NONCE, Provider};
use crate::error::SealError;
use crate::geometry::{LENGTH_FIELD, PUBLIC_KEY, TAG};

/// See [`Provider`].
pub(crate) struct Rust;

impl Provider for Rust {
    type Aead = Aes256Gcm;
    type Mask = Aes256;
    type Private = StaticSecret;

    fn aead(key: &[u8; 32]) -> Aes256Gcm {
        Aes256Gcm::new(key.into())
    }

    fn seal(
        aead: &Aes256Gcm,
        nonce: &[u8; NONCE],
        aad: &[u8],
        text: &mut [u8],
        tag: &mut [u8; TAG],
    ) -> Result<(), SealError> {
        let made = aead
            .encrypt_inout_detached(nonce.into(), aad, text.into())
            .map_err(|_| SealError::Length)?;
        *tag = made.into();
        Ok(())
    }

    fn open(
        aead: &Aes256Gcm,
        nonce: &[u8; NONCE],
        aad: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG],
    ) -> Result<(), SealError> {
        aead.decrypt_inout_detached(nonce.into(), aad, text.into(), tag.into())
            .map_err(|_| SealError::Refused)
    }

    fn mask(key: &[u8; 32]) -> Aes256 {
        Aes256::new(key.into())
    }

    fn mask_of(mask: &Aes256, block: &[u8; 16]) -> [u8; LENGTH_FIELD] {
        let mut block = (*block).into();
        mask.encrypt_block(&mut block);
        *block.first_chunk().expect("a block has 16 bytes")
    }

    fn private(entropy: &[u8; 32]) -> Result<StaticSecret, SealError> {
        Ok(StaticSecret::from(*entropy))
    }

    fn public(private: &StaticSecret) -> Result<[u8; PUBLIC_KEY], SealError> {
        Ok(PublicKey::from(private).to_bytes())
    }

    fn agree(
        private: &StaticSecret,
        public: &[u8; PUBLIC_KEY],
    ) -> Result<Zeroizing<[u8; 32]>, SealError> {
        let shared = private.diffie_hellman(&PublicKey::from(*public));
        Ok(Zeroizing::new(shared.to_bytes()))
    }
}
