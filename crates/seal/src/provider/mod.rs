//! The primitives, from either of two libraries.
//!
//! Feature `aws-lc` chooses aws-lc (faster by 2 to 3 at records and key agreement); without it the
//! pure Rust crates serve. Both speak the same bytes: tests seal with one and open with the other.

#[cfg(feature = "aws-lc")]
mod aws;
// Beside aws-lc the Rust crates are only wanted as the second opinion of the tests.
#[cfg(any(test, not(feature = "aws-lc")))]
mod rust;

#[cfg(feature = "aws-lc")]
pub(crate) use aws::Aws;
#[cfg(any(test, not(feature = "aws-lc")))]
pub(crate) use rust::Rust;

#[cfg(feature = "aws-lc")]
pub(crate) type Active = Aws;
#[cfg(not(feature = "aws-lc"))]
pub(crate) type Active = Rust;

use zeroize::Zeroizing;

use crate::error::SealError;
use crate::geometry::{LENGTH_FIELD, PUBLIC_KEY, TAG};

/// Length in bytes of an AES-GCM nonce (RFC 5116, section 5.2).
pub(crate) const NONCE: usize = 12;

/// AES-256-GCM, one block of AES-256, and X25519. Chosen at compile time, so no call is indirect.
pub(crate) trait Provider: 'static {
    /// An AES-256-GCM key, erased when dropped.
    type Aead: Send + Sync;
    /// An AES-256 key for masks of length fields, erased when dropped.
    type Mask: Send + Sync;
    /// An X25519 private key, erased when dropped.
    type Private: Send + Sync;

    fn aead(key: &[u8; 32]) -> Self::Aead;

    /// Encrypts in place and writes the tag.
    fn seal(
        aead: &Self::Aead,
        nonce: &[u8; NONCE],
        aad: &[u8],
        text: &mut [u8],
        tag: &mut [u8; TAG],
    ) -> Result<(), SealError>;

    /// Decrypts in place. What `text` holds after a failure is undefined.
    fn open(
        aead: &Self::Aead,
        nonce: &[u8; NONCE],
        aad: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG],
    ) -> Result<(), SealError>;

    fn mask(key: &[u8; 32]) -> Self::Mask;

    /// The first bytes of the encrypted block.
    fn mask_of(mask: &Self::Mask, block: &[u8; 16]) -> [u8; LENGTH_FIELD];

    fn private(entropy: &[u8; 32]) -> Result<Self::Private, SealError>;

    fn public(private: &Self::Private) -> Result<[u8; PUBLIC_KEY], SealError>;

    /// The shared secret, which the caller has yet to check for being all zero.
    fn agree(
        private: &Self::Private,
        public: &[u8; PUBLIC_KEY],
    ) -> Result<Zeroizing<[u8; 32]>, SealError>;
}

#[cfg(test)]
#[cfg(feature = "aws-lc")]
mod tests;
