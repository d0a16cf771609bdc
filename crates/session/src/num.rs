//! Numbers between the widths of memory and of the wire, without `as`.

/// A length in memory as a number of bytes; on no machine larger than 64 bits.
pub(crate) fn wide(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// A number of bytes as a length in memory, cut at what memory can address.
pub(crate) fn narrow(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
