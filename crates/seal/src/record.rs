//! Records: the unit of protection.
//!
//! ```text
//! padded      plaintext 1008                              | tag 16     always 1024 bytes
//! adaptive    masked length 2 | plaintext 1 to 16366      | tag 16     length = plaintext + tag
//! ```
//!
//! A record's number is not on the wire: both sides count. So a record that was changed, dropped,
//! repeated or moved does not open, and the first one that does not open ends the link.
//! (PROTOCOL 2.3)

use std::fmt;

use zeroize::Zeroizing;

use crate::error::SealError;
use crate::geometry::{
    ADAPTIVE_PLAINTEXT_MAX, Framing, LENGTH_FIELD, PADDED_RECORD, REKEY_EXPONENT_MAX,
    REKEY_EXPONENT_MIN, TAG,
};
use crate::keys::expand_secret;
use crate::provider::{Active, NONCE, Provider};

/// Most records of one direction of a carrier: 2^40, at 16 KiB each 16 PiB. At the bound sealing
/// and opening are refused. Carriers are replaced for age long before; the bound keeps the counter far
/// from its end. (PROTOCOL 2.3)
pub const RECORDS_MAX: u64 = 1 << 40;

/// Seals the records of one direction, in their order.
pub struct Sealer {
    keys: Keys<Active>,
    framing: Framing,
}

impl Sealer {
    pub(crate) fn new(secret: Zeroizing<[u8; 32]>, framing: Framing, rekey_exponent: u8) -> Sealer {
        Sealer { keys: Keys::new(secret, rekey_exponent), framing }
    }

    /// Seals a record in place.
    ///
    /// `record` is the whole record as it goes on the wire, with the plaintext in its place: after
    /// room for the length field (adaptive) and before room for the tag. Neither allocates nor
    /// copies.
    ///
    /// # Errors
    /// [`SealError::Length`] if no record of this framing is that long; nothing was changed then.
    /// [`SealError::Exhausted`] after [`RECORDS_MAX`] records.
    pub fn seal(&mut self, record: &mut [u8]) -> Result<(), SealError> {
        self.keys.seal(self.framing, record)
    }

    /// How many records have been sealed.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.keys.seq
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("seq", &self.keys.seq).finish_non_exhaustive()
    }
}

/// Opens the records of one direction, in their order.
pub struct Opener {
    keys: Keys<Active>,
    framing: Framing,
    poisoned: bool,
}

impl Opener {
    pub(crate) fn new(secret: Zeroizing<[u8; 32]>, framing: Framing, rekey_exponent: u8) -> Opener {
        Opener { keys: Keys::new(secret, rekey_exponent), framing, poisoned: false }
    }

    /// How long the record at the start of `buffer` is on the wire; none if too little of it is
    /// there to tell. The length is checked here, before anyone waits for that many bytes, but it
    /// is not authentic before the record has been opened.
    ///
    /// # Errors
    /// [`SealError::Length`] if no record is that long; [`SealError::Poisoned`] from then on.
    pub fn record_len(&mut self, buffer: &[u8]) -> Result<Option<usize>, SealError> {
        if self.poisoned {
            return Err(SealError::Poisoned);
        }
        let len = self.keys.record_len(self.framing, buffer);
        self.poisoned = len.is_err();
        len
    }

    /// Opens a record in place and returns the part of it that is plaintext.
    ///
    /// `record` is exactly one record, as long as [`Opener::record_len`] says. If it does not open,
    /// it is overwritten, and no later record opens either.
    ///
    /// # Errors
    /// [`SealError::Refused`] or [`SealError::Length`] if this is not the record that the peer
    /// sealed at this place; [`SealError::Poisoned`] from then on. [`SealError::Exhausted`] after
    /// [`RECORDS_MAX`] records.
    pub fn open<'a>(&mut self, record: &'a mut [u8]) -> Result<&'a mut [u8], SealError> {
        if self.poisoned {
            return Err(SealError::Poisoned);
        }
        if let Err(error) = self.keys.open(self.framing, record) {
            self.poisoned = true;
            record.fill(0);
            return Err(error);
        }
        let end = record.len().saturating_sub(TAG);
        record.get_mut(self.framing.prefix()..end).ok_or(SealError::Length)
    }

    /// How many records have been opened.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.keys.seq
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener")
            .field("seq", &self.keys.seq)
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

/// The keys of one direction and the number of the next record.
///
/// Invariant: no two records are sealed under the same key and nonce. Within a generation the
/// number differs and so does the nonce; across generations the key does.
struct Keys<P: Provider> {
    /// The traffic secret of the present generation.
    secret: Zeroizing<[u8; 32]>,
    aead: P::Aead,
    mask: P::Mask,
    iv: Zeroizing<[u8; NONCE]>,
    /// Number of the next record, at most [`RECORDS_MAX`]. It goes on across generations.
    seq: u64,
    /// Records of a generation less one; a power of two less one.
    last_of_generation: u64,
    /// The mask of the next record's length field, if it was asked for before.
    length_mask: Option<[u8; LENGTH_FIELD]>,
}

impl<P: Provider> Keys<P> {
    fn new(secret: Zeroizing<[u8; 32]>, rekey_exponent: u8) -> Self {
        let exponent = rekey_exponent.clamp(REKEY_EXPONENT_MIN, REKEY_EXPONENT_MAX);
        Keys {
            aead: P::aead(&expand_secret(&secret, b"sleeve key")),
            mask: P::mask(&expand_secret(&secret, b"sleeve mask")),
            iv: expand_secret(&secret, b"sleeve iv"),
            secret,
            seq: 0,
            last_of_generation: (1 << exponent) - 1,
            length_mask: None,
        }
    }

    /// The nonce of the next record: the IV with the number on its last eight bytes (RFC 8446,
    /// section 5.3).
    fn nonce(&self) -> [u8; NONCE] {
        let mut nonce = *self.iv;
        for (byte, number) in nonce.iter_mut().skip(NONCE - 8).zip(self.seq.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }

    /// The length field of the next record, masked or unmasked: the two are the same operation.
    fn mask_length(&mut self, field: [u8; LENGTH_FIELD]) -> [u8; LENGTH_FIELD] {
        let mask = *self.length_mask.get_or_insert_with(|| {
            let mut block = [0; 16];
            *block.last_chunk_mut().expect("16 bytes hold 8") = self.seq.to_be_bytes();
            P::mask_of(&self.mask, &block)
        });
        let ([f0, f1], [m0, m1]) = (field, mask);
        [f0 ^ m0, f1 ^ m1]
    }

    /// Goes on to the next record, at the end of a generation with new keys. The old secret is
    /// overwritten at once, so that what it protected stays protected from whoever takes the
    /// memory later.
    fn advance(&mut self) {
        let ends_generation = self.seq & self.last_of_generation == self.last_of_generation;
        self.seq += 1;
        self.length_mask = None;
        if ends_generation {
            self.secret = expand_secret(&self.secret, b"sleeve rekey");
            self.aead = P::aead(&expand_secret(&self.secret, b"sleeve key"));
            self.mask = P::mask(&expand_secret(&self.secret, b"sleeve mask"));
            self.iv = expand_secret(&self.secret, b"sleeve iv");
        }
    }

    fn seal(&mut self, framing: Framing, record: &mut [u8]) -> Result<(), SealError> {
        if self.seq >= RECORDS_MAX {
            return Err(SealError::Exhausted);
        }
        let clear = clear_length(framing, record.len())?;
        let (body, tag) = record.split_last_chunk_mut().ok_or(SealError::Length)?;
        let nonce = self.nonce();
        let sealed = match framing {
            Framing::Padded => P::seal(&self.aead, &nonce, &[], body, tag),
            Framing::Adaptive => {
                let (field, text) = body.split_first_chunk_mut().ok_or(SealError::Length)?;
                *field = self.mask_length(clear);
                P::seal(&self.aead, &nonce, &clear, text, tag)
            }
        };
        // A nonce counts as used even if sealing with it failed half-way.
        self.advance();
        sealed
    }

    fn open(&mut self, framing: Framing, record: &mut [u8]) -> Result<(), SealError> {
        if self.seq >= RECORDS_MAX {
            return Err(SealError::Exhausted);
        }
        if self.record_len(framing, record)? != Some(record.len()) {
            return Err(SealError::Length);
        }
        let clear = clear_length(framing, record.len())?;
        let (body, tag) = record.split_last_chunk_mut().ok_or(SealError::Length)?;
        let nonce = self.nonce();
        match framing {
            Framing::Padded => P::open(&self.aead, &nonce, &[], body, tag)?,
            Framing::Adaptive => {
                let (_, text) =
                    body.split_first_chunk_mut::<LENGTH_FIELD>().ok_or(SealError::Length)?;
                P::open(&self.aead, &nonce, &clear, text, tag)?;
            }
        }
        self.advance();
        Ok(())
    }

    fn record_len(&mut self, framing: Framing, buffer: &[u8]) -> Result<Option<usize>, SealError> {
        match framing {
            Framing::Padded => Ok(Some(PADDED_RECORD)),
            Framing::Adaptive => {
                let Some(field) = buffer.first_chunk() else { return Ok(None) };
                let len = LENGTH_FIELD + usize::from(u16::from_be_bytes(self.mask_length(*field)));
                clear_length(framing, len)?;
                Ok(Some(len))
            }
        }
    }
}

/// The length field of a record that is `len` bytes long on the wire, before masking (in padded
/// framing there is none, and nothing is made of the value); an error if no record is that long.
fn clear_length(framing: Framing, len: usize) -> Result<[u8; LENGTH_FIELD], SealError> {
    match framing {
        Framing::Padded if len == PADDED_RECORD => Ok([0; LENGTH_FIELD]),
        Framing::Padded => Err(SealError::Length),
        Framing::Adaptive => {
            let covered = len.checked_sub(LENGTH_FIELD).ok_or(SealError::Length)?;
            if !(1 + TAG..=ADAPTIVE_PLAINTEXT_MAX + TAG).contains(&covered) {
                return Err(SealError::Length);
            }
            Ok(u16::try_from(covered).map_err(|_| SealError::Length)?.to_be_bytes())
        }
    }
}

#[cfg(test)]
mod tests;
