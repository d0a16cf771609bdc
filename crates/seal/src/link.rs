//! From the secrets of a finished handshake to a link.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::SealError;
use crate::geometry::Framing;
use crate::record::{Opener, Sealer};

/// Which side of a carrier one is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The side that opened the carrier and sent the first message.
    Dials,
    /// The side that accepted the carrier and replied.
    Accepts,
}

/// The two traffic secrets of one carrier, erased when dropped.
pub struct Secrets {
    /// Dialling side to accepting side.
    c2s: Zeroizing<[u8; 32]>,
    /// Accepting side to dialling side.
    s2c: Zeroizing<[u8; 32]>,
}

impl Secrets {
    pub(crate) fn new(c2s: Zeroizing<[u8; 32]>, s2c: Zeroizing<[u8; 32]>) -> Secrets {
        Secrets { c2s, s2c }
    }

    /// Secrets that no handshake made: for simulations, benches and vectors. First the secret of
    /// the dialling side's records, then that of the accepting side's.
    #[must_use]
    pub fn from_bytes(c2s: [u8; 32], s2c: [u8; 32]) -> Secrets {
        Secrets::new(Zeroizing::new(c2s), Zeroizing::new(s2c))
    }

    /// The link of the dialling side. The reply has proved that the peer holds the key.
    ///
    /// Keys are replaced every 2^`rekey_exponent` records. Both sides must name the same exponent;
    /// one outside [`REKEY_EXPONENT_MIN`](sleeve_wire::REKEY_EXPONENT_MIN) to
    /// [`REKEY_EXPONENT_MAX`](sleeve_wire::REKEY_EXPONENT_MAX) is moved to the nearer end.
    #[must_use]
    pub fn dialled(self, framing: Framing, rekey_exponent: u8) -> Link {
        self.link(Side::Dials, framing, rekey_exponent)
    }

    /// The link of the accepting side, which is not one before it is confirmed. For the exponent
    /// see [`Secrets::dialled`].
    #[must_use]
    pub fn accepted(self, framing: Framing, rekey_exponent: u8) -> Unconfirmed {
        Unconfirmed(self.link(Side::Accepts, framing, rekey_exponent))
    }

    fn link(self, side: Side, framing: Framing, rekey_exponent: u8) -> Link {
        let (sealing, opening) = match side {
            Side::Dials => (self.c2s, self.s2c),
            Side::Accepts => (self.s2c, self.c2s),
        };
        Link {
            sealer: Sealer::new(sealing, framing, rekey_exponent),
            opener: Opener::new(opening, framing, rekey_exponent),
            side,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The keys of one carrier, both directions.
///
/// That there is a link means that the peer has proved to hold the key on this very carrier: the
/// dialling side saw a reply to its own first message, the accepting side a first record. There is
/// no other way to one but [`Link::pair`], whose two ends know each other.
#[derive(Debug)]
pub struct Link {
    /// Seals what is sent.
    pub sealer: Sealer,
    /// Opens what is received.
    pub opener: Opener,
    side: Side,
}

impl Link {
    /// The dialling and the accepting end of a link that no handshake made: for simulations and
    /// benches. The same secrets must not be used for two pairs whose records both leave a process.
    #[must_use]
    pub fn pair(
        c2s: [u8; 32],
        s2c: [u8; 32],
        framing: Framing,
        rekey_exponent: u8,
    ) -> (Link, Link) {
        let end = |side| Secrets::from_bytes(c2s, s2c).link(side, framing, rekey_exponent);
        (end(Side::Dials), end(Side::Accepts))
    }

    /// Which side of the carrier this is.
    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }
}

/// The accepting side's link before the peer has proved anything.
///
/// A first message may be a repetition of an old one. Its sender then cannot make a first record,
/// since that takes the private key behind the message. Until one has opened there is nothing to
/// send with and no session to be had.
#[derive(Debug)]
pub struct Unconfirmed(Link);

impl Unconfirmed {
    /// How long the first record is; see [`Opener::record_len`].
    ///
    /// # Errors
    /// [`SealError::Length`] if the record cannot be one.
    pub fn record_len(&mut self, buffer: &[u8]) -> Result<Option<usize>, SealError> {
        self.0.opener.record_len(buffer)
    }

    /// Opens the first record in place and returns the link with the record's plaintext.
    ///
    /// # Errors
    /// As [`Opener::open`]; the link is gone then.
    pub fn confirm(mut self, record: &mut [u8]) -> Result<(Link, &mut [u8]), SealError> {
        let text = self.0.opener.open(record)?;
        Ok((self.0, text))
    }
}
