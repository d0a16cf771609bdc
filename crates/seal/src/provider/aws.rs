//! The primitives from aws-lc.

use aws_lc_rs::aead::quic::{AES_256, HeaderProtectionKey};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use zeroize::Zeroizing;

use super::{NONCE, Provider};
use crate::error::SealError;
use crate::geometry::{LENGTH_FIELD, PUBLIC_KEY, TAG};

/// See [`Provider`].
pub(crate) struct Aws;

impl Provider for Aws {
    // "Less safe" means that the caller answers for nonces: `record` does, by counting.
    type Aead = LessSafeKey;
    // QUIC's header protection (RFC 9001, section 5.4.3) is one block of AES, cut to five bytes.
    type Mask = HeaderProtectionKey;
    type Private = PrivateKey;

    fn aead(key: &[u8; 32]) -> LessSafeKey {
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).expect("AES-256 keys have 32 bytes"))
    }

    fn seal(
        aead: &LessSafeKey,
        nonce: &[u8; NONCE],
        aad: &[u8],
        text: &mut [u8],
        tag: &mut [u8; TAG],
    ) -> Result<(), SealError> {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        aead.seal_in_place_scatter(nonce, Aad::from(aad), text, &[], tag)
            .map_err(|_| SealError::Length)
    }

    fn open(
        aead: &LessSafeKey,
        nonce: &[u8; NONCE],
        aad: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG],
    ) -> Result<(), SealError> {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        match aead.open_in_place_separate_tag(nonce, Aad::from(aad), tag, text) {
            Ok(_) => Ok(()),
            Err(_) => Err(SealError::Refused),
        }
    }

    fn mask(key: &[u8; 32]) -> HeaderProtectionKey {
        HeaderProtectionKey::new(&AES_256, key).expect("AES-256 keys have 32 bytes")
    }

    fn mask_of(mask: &HeaderProtectionKey, block: &[u8; 16]) -> [u8; LENGTH_FIELD] {
        let first = mask.new_mask(block).expect("a sample has 16 bytes");
        *first.first_chunk().expect("five bytes hold two")
    }

    fn private(entropy: &[u8; 32]) -> Result<PrivateKey, SealError> {
        PrivateKey::from_private_key(&X25519, entropy).map_err(|_| SealError::Handshake)
    }

    fn public(private: &PrivateKey) -> Result<[u8; PUBLIC_KEY], SealError> {
        let public = private.compute_public_key().map_err(|_| SealError::Handshake)?;
        public.as_ref().try_into().map_err(|_| SealError::Handshake)
    }

    fn agree(
        private: &PrivateKey,
        public: &[u8; PUBLIC_KEY],
    ) -> Result<Zeroizing<[u8; 32]>, SealError> {
        let peer = UnparsedPublicKey::new(&X25519, public);
        agree(private, peer, SealError::Refused, |shared| {
            let mut out = Zeroizing::new([0; 32]);
            out.copy_from_slice(shared);
            Ok(out)
        })
    }
}
