//! One line in the log where a thousand would say the same.

use std::cell::Cell;

use sleeve_session::Instant;

/// A line of one kind is written at most this often.
const EVERY_US: u64 = 10_000_000;

/// Lets one event in ten seconds through and counts the rest.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    next: Cell<Instant>,
    silent: Cell<u64>,
}

impl Throttle {
    /// Whether this event is to be told, and how many before it were not.
    pub(crate) fn pass(&self, now: Instant) -> Option<u64> {
        if now < self.next.get() {
            self.silent.set(self.silent.get() + 1);
            return None;
        }
        self.next.set(now.plus(EVERY_US));
        Some(self.silent.replace(0))
    }
}
