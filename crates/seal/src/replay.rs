//! Which first messages have been seen before.

use std::collections::BTreeSet;
use std::mem;

use crate::geometry::FIRST_FIXED;

/// Tags kept in one generation. Two generations of them take about 1 MiB. Of the latest 2^15
/// first messages all are known, of those before up to as many more. (PROTOCOL 2.2)
const GENERATION: usize = 1 << 15;

/// The tag of a first message: the first eight bytes of its ephemeral public key, which are fresh
/// for every honest one. That two honest ones among 2^16 share a tag has odds of one in 2^33.
#[must_use]
pub fn replay_tag(fixed: &[u8; FIRST_FIXED]) -> [u8; 8] {
    *fixed.first_chunk().expect("a first message begins with a public key")
}

/// Remembers first messages that were good, so that each is answered once.
///
/// It bounds what a repeated message can cost; nothing depends on it for safety, since a repetition
/// never leads to a link. It needs no clock. Insert a tag only after
/// [`Responder::read`](crate::Responder::read) has accepted the message: then strangers can neither
/// fill the filter nor use up the tag of a message that is still on its way.
#[derive(Debug, Default)]
pub struct ReplayFilter {
    present: BTreeSet<[u8; 8]>,
    previous: BTreeSet<[u8; 8]>,
}

impl ReplayFilter {
    /// An empty filter.
    #[must_use]
    pub fn new() -> ReplayFilter {
        ReplayFilter::default()
    }

    /// Remembers a tag; false if it was there already, which makes its message a repetition.
    #[must_use]
    pub fn insert(&mut self, tag: [u8; 8]) -> bool {
        if self.previous.contains(&tag) || !self.present.insert(tag) {
            return false;
        }
        if self.present.len() >= GENERATION {
            self.previous = mem::take(&mut self.present);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: usize) -> [u8; 8] {
        u64::try_from(number).unwrap().to_be_bytes()
    }

    #[test]
    fn a_tag_is_new_once() {
        let mut filter = ReplayFilter::new();
        assert!(filter.insert(tag(1)));
        assert!(!filter.insert(tag(1)));
        assert!(filter.insert(tag(2)));
        assert!(!filter.insert(tag(1)));
    }

    #[test]
    fn the_latest_generation_is_always_known() {
        let mut filter = ReplayFilter::new();
        for number in 0..3 * GENERATION {
            assert!(filter.insert(tag(number)));
            if let Some(old) = number.checked_sub(GENERATION - 1) {
                assert!(!filter.insert(tag(old)), "{old} forgotten at {number}");
            }
        }
    }

    #[test]
    fn memory_is_bounded_and_old_tags_are_forgotten() {
        let mut filter = ReplayFilter::new();
        for number in 0..5 * GENERATION {
            assert!(filter.insert(tag(number)));
            assert!(filter.present.len() + filter.previous.len() < 2 * GENERATION);
        }
        assert!(filter.insert(tag(0)));
    }
}
