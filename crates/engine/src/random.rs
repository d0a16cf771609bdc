//! The randomness that the pure crates are given.

/// Random bytes of the kernel.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

/// Random bytes of the kernel.
pub(crate) fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("a kernel without randomness is none to keep secrets on");
}

/// A number below `bound`, which is small: the bias does not matter.
pub(crate) fn below(bound: u32) -> u32 {
    u32::from_le_bytes(bytes()) % bound.max(1)
}

/// Padding of a handshake message, as random as the rest.
pub(crate) fn padding(len: u16) -> Vec<u8> {
    let mut padding = vec![0; usize::from(len)];
    fill(&mut padding);
    padding
}
