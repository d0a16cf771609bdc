//! QUIC's variable-length integers (RFC 9000 section 16), minimal encoding required.

use crate::WireError;

/// The largest value that a variable-length integer can carry: 2^62 - 1.
pub const VARINT_MAX: u64 = (1 << 62) - 1;

/// Bytes that `value` takes on the wire: 1, 2, 4 or 8.
#[must_use]
pub const fn varint_len(value: u64) -> usize {
    match value {
        0..=0x3F => 1,
        0x40..=0x3FFF => 2,
        0x4000..=0x3FFF_FFFF => 4,
        _ => 8,
    }
}

/// Writes `value` at the start of `out`; `None` if it does not fit there or is over
/// [`VARINT_MAX`].
pub(crate) fn put(out: &mut [u8], value: u64) -> Option<usize> {
    if value > VARINT_MAX {
        return None;
    }
    let len = varint_len(value);
    let tag: u64 = match len {
        1 => 0,
        2 => 1 << 14,
        4 => 2 << 30,
        _ => 3 << 62,
    };
    let bytes = (value | tag).to_be_bytes();
    out.get_mut(..len)?.copy_from_slice(bytes.get(8 - len..)?);
    Some(len)
}

/// Reads one integer from the start of `bytes`: the value and what follows it.
///
/// # Errors
/// [`WireError::Truncated`] if it ends early, [`WireError::NotMinimal`] if a shorter encoding of
/// the same value exists.
pub(crate) fn take(bytes: &[u8]) -> Result<(u64, &[u8]), WireError> {
    let (&first, _) = bytes.split_first().ok_or(WireError::Truncated)?;
    if first < 0x40 {
        return Ok((u64::from(first), bytes.get(1..).unwrap_or_default()));
    }
    let len = 1_usize << (first >> 6);
    let (head, rest) = bytes.split_at_checked(len).ok_or(WireError::Truncated)?;
    let value = head.iter().fold(0_u64, |v, b| (v << 8) | u64::from(*b));
    let value = value & (VARINT_MAX >> (64 - 8 * len));
    if varint_len(value) == len { Ok((value, rest)) } else { Err(WireError::NotMinimal) }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// The sample encodings of RFC 9000 appendix A.1.
    #[test]
    fn samples_of_rfc_9000() {
        let samples: [(&[u8], u64); 4] = [
            (&[0xC2, 0x19, 0x7C, 0x5E, 0xFF, 0x14, 0xE8, 0x8C], 151_288_809_941_952_652),
            (&[0x9D, 0x7F, 0x3E, 0x7D], 494_878_333),
            (&[0x7B, 0xBD], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, value) in samples {
            assert_eq!(take(bytes), Ok((value, &[][..])));
            let mut out = [0; 8];
            assert_eq!(put(&mut out, value), Some(bytes.len()));
            assert_eq!(&out[..bytes.len()], bytes);
        }
    }

    #[test]
    fn bounds() {
        for v in [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, VARINT_MAX] {
            let mut out = [0; 8];
            let n = put(&mut out, v).unwrap();
            assert_eq!(n, varint_len(v));
            assert_eq!(take(&out[..n]), Ok((v, &[][..])));
            assert_eq!(take(&out[..n - 1]), Err(WireError::Truncated));
            assert_eq!(put(&mut out[..n - 1], v), None);
        }
        assert_eq!(put(&mut [0; 8], VARINT_MAX + 1), None);
        assert_eq!(take(&[0x40, 0x25]), Err(WireError::NotMinimal));
        assert_eq!(take(&[0x80, 0, 0x3F, 0xFF]), Err(WireError::NotMinimal));
    }
}
