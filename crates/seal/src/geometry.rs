//! Sizes of the handshake messages on the wire.

pub(crate) use sleeve_wire::{
    ADAPTIVE_PLAINTEXT_MAX, Framing, HELLO_LEN, LENGTH_FIELD, PADDED_RECORD, REKEY_EXPONENT_MAX,
    REKEY_EXPONENT_MIN, TAG,
};

/// Length in bytes of an X25519 public key (RFC 7748, section 5).
pub(crate) const PUBLIC_KEY: usize = 32;

/// Length in bytes of the mark by which a listener tells its key holders from strangers. A stranger
/// hits one of 64 keys by chance once in 2^122 attempts. (PROTOCOL 2.2)
pub(crate) const MARK: usize = 16;

/// Length in bytes of a hello payload with its tag.
pub(crate) const SEALED_HELLO: usize = HELLO_LEN + TAG;

/// Length in bytes of a Noise message here, both ways: a public key and a sealed hello payload.
pub(crate) const NOISE_MESSAGE: usize = PUBLIC_KEY + SEALED_HELLO;

/// Length in bytes of the first message without its padding; nothing is answered before that many
/// bytes have arrived. (PROTOCOL 2.2)
pub const FIRST_FIXED: usize = PUBLIC_KEY + MARK + SEALED_HELLO;

/// Length in bytes of the reply without its padding. (PROTOCOL 2.2)
pub const REPLY_FIXED: usize = NOISE_MESSAGE;

/// The most padding in bytes that a handshake message can carry: the hello payload tells its length
/// in 16 bits.
pub const PADDING_MAX: usize = 65_535;

const _: () = assert!(FIRST_FIXED == 192 && REPLY_FIXED == 176);
