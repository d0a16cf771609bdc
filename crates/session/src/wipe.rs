//! Plaintext does not stay in memory that is given back.

/// Overwrites plaintext. Keys are erased by zeroize, byte by byte; for whole buffers that would
/// cost more than sealing them. Whoever reads the buffer afterwards, as far as the compiler can
/// tell, gets zeros.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    std::hint::black_box(bytes);
}
