//! A key: what a key file is turned into.

use std::fmt;

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::geometry::{MARK, PUBLIC_KEY};

/// Least length in bytes of a key file. Whoever records a first message can try guesses against its
/// tag at leisure, so a key must have 256 bits of entropy; a passphrase has not.
pub const KEY_FILE_MIN: usize = 32;

/// A pre-shared key with everything that is derived from it.
///
/// Its secrets are erased when it is dropped, and its `Debug` form shows the fingerprint only.
pub struct Key {
    psk: Zeroizing<[u8; 32]>,
    mark: Zeroizing<[u8; 32]>,
    fingerprint: Fingerprint,
}

impl Key {
    /// Makes a key of the whole contents of a key file; each byte counts, a final newline too.
    ///
    /// The labels keep the derived secrets apart from each other, and from those that another
    /// program derives from the same file.
    ///
    /// # Errors
    /// [`KeyError`] if the file holds fewer than [`KEY_FILE_MIN`] bytes.
    pub fn from_file_bytes(file: &[u8]) -> Result<Key, KeyError> {
        match file.len() {
            0 => return Err(KeyError::Empty),
            len if len < KEY_FILE_MIN => return Err(KeyError::TooShort { len }),
            _ => {}
        }
        let root = Hkdf::<Sha256>::new(None, file);
        let mut id = [0; 8];
        id.copy_from_slice(expand::<8>(&root, b"sleeve id").as_slice());
        Ok(Key {
            psk: expand(&root, b"sleeve psk"),
            mark: expand(&root, b"sleeve mark"),
            fingerprint: Fingerprint(id),
        })
    }

    /// The name of this key in logs and metrics. It says nothing about the secrets.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn psk(&self) -> &[u8; 32] {
        &self.psk
    }

    /// The mark that a first message with this ephemeral public key carries. The trailing byte
    /// leaves room for other marks of the same key.
    pub(crate) fn mark_of(&self, public: &[u8; PUBLIC_KEY]) -> [u8; MARK] {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.mark.as_slice())
            .expect("HMAC takes keys of every length");
        mac.update(public);
        mac.update(&[0x01]);
        let whole = mac.finalize().into_bytes();
        *whole.first_chunk().expect("an HMAC-SHA256 has 32 bytes, a mark 16")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

/// The public name of a [`Key`], shown as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 8]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// HKDF-Expand (RFC 5869, section 2.3) with a label, erased after use.
pub(crate) fn expand<const N: usize>(prk: &Hkdf<Sha256>, label: &[u8]) -> Zeroizing<[u8; N]> {
    const { assert!(N <= 255 * 32, "HKDF-Expand gives at most 255 blocks of 32 bytes") }
    let mut out = Zeroizing::new([0; N]);
    prk.expand(label, out.as_mut_slice()).expect("N is at most 255 blocks");
    out
}

/// HKDF-Expand with a secret that is uniform already, which is why it needs no extraction.
pub(crate) fn expand_secret<const N: usize>(secret: &[u8; 32], label: &[u8]) -> Zeroizing<[u8; N]> {
    let prk = Hkdf::<Sha256>::from_prk(secret).expect("a secret is as long as a SHA-256 hash");
    expand(&prk, label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_too_short_are_no_keys() {
        assert_eq!(Key::from_file_bytes(b"").unwrap_err(), KeyError::Empty);
        assert_eq!(Key::from_file_bytes(&[7; 31]).unwrap_err(), KeyError::TooShort { len: 31 });
        assert!(Key::from_file_bytes(&[7; 32]).is_ok());
        assert!(Key::from_file_bytes(&[7; 100_000]).is_ok());
    }

    #[test]
    fn every_byte_of_the_file_counts() {
        let with = Key::from_file_bytes(&[b'k'; 64]).unwrap();
        let mut file = vec![b'k'; 64];
        file.push(b'\n');
        let without = Key::from_file_bytes(&file).unwrap();
        assert_ne!(with.fingerprint(), without.fingerprint());
        assert_ne!(with.psk(), without.psk());
        assert_ne!(with.mark_of(&[1; 32]), without.mark_of(&[1; 32]));
    }

    #[test]
    fn derived_secrets_are_apart() {
        let key = Key::from_file_bytes(&[9; 32]).unwrap();
        assert_ne!(key.psk, key.mark);
        assert_ne!(key.psk.first_chunk::<8>(), Some(&key.fingerprint.0));
        assert_ne!(key.mark.first_chunk::<8>(), Some(&key.fingerprint.0));
    }

    #[test]
    fn debug_shows_the_fingerprint_only() {
        let key = Key::from_file_bytes(&[9; 32]).unwrap();
        let shown = format!("{key:?}");
        assert_eq!(shown, format!("Key {{ fingerprint: {}, .. }}", key.fingerprint()));
        assert_eq!(key.fingerprint().to_string().len(), 16);
    }
}
