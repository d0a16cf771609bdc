//! What the peer may send: credit for one stream, and the pool that bounds all of them.

use sleeve_wire::Credit;

use crate::time::Instant;

/// A stream that has shown to carry more than requests gets this much at once: values of 64 KiB
/// and a few more in the pipeline then never wait for credit.
const FIRST_WINDOW: u64 = 256 * 1024;
/// Round trips are taken for at least this long: shorter ones cannot be told from the turns of
/// an event loop.
const ROUND_TRIP_MIN_US: u64 = 1_000;

/// The half of the receive pool that is not promised as initial credit.
///
/// Invariant: the sum over all streams of `granted - delivered` beyond the initial credit is
/// `used <= max`, so that together with the initial credit of all streams that may be live it
/// never exceeds the receive pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    max: u64,
    used: u64,
    /// Streams that hold a part of `used`.
    holders: u64,
    pub(crate) initial: u64,
    pub(crate) window_max: u64,
}

impl Pool {
    pub(crate) const fn new(max: u64, initial: u64, window_max: u64) -> Self {
        Self { max, used: 0, holders: 0, initial, window_max }
    }

    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    fn change(&mut self, before: u64, after: u64) {
        let (before, after) =
            (before.saturating_sub(self.initial), after.saturating_sub(self.initial));
        self.used = self.used + after - before;
        self.holders = self.holders + u64::from(after > 0) - u64::from(before > 0);
    }

    /// Most bytes that a stream with `outstanding` may be raised to: its fair share of what is
    /// left.
    fn ceiling(&self, outstanding: u64) -> u64 {
        let own = outstanding.saturating_sub(self.initial);
        let others = self.holders - u64::from(own > 0);
        let free = self.max - self.used + own;
        self.initial + free.min((self.max / (others + 1)).max(own))
    }
}

/// Whether a grant is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    /// Nothing worth a frame.
    None,
    /// With the next record.
    Soon,
    /// The sender is nearly out: at once.
    Now,
}

/// The receiving direction of one stream, in bytes since it opened.
///
/// Invariant: `delivered <= received <= granted`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Receiver {
    pub(crate) granted: Credit,
    received: u64,
    delivered: u64,
    /// What `granted - delivered` is kept at.
    window: u64,
    /// Bytes delivered since `tuned_at`.
    lately: u64,
    tuned_at: Instant,
}

impl Receiver {
    pub(crate) fn new(pool: &Pool, now: Instant) -> Self {
        Self {
            granted: Credit(pool.initial),
            window: FIRST_WINDOW.clamp(pool.initial.min(pool.window_max), pool.window_max),
            tuned_at: now,
            ..Self::default()
        }
    }

    /// Bytes granted and not yet delivered: what may have to be stored.
    pub(crate) fn outstanding(&self) -> u64 {
        self.granted.left_after(self.delivered)
    }

    /// Data arrived; `false` if it is more than was granted.
    #[must_use]
    pub(crate) fn receive(&mut self, bytes: u64) -> bool {
        self.received += bytes;
        self.received <= self.granted.0
    }

    /// Data went to the plain connection.
    pub(crate) fn deliver(
        &mut self,
        bytes: u64,
        round_trip_us: u64,
        pool: &mut Pool,
        now: Instant,
    ) {
        let before = self.outstanding();
        self.delivered += bytes;
        debug_assert!(self.delivered <= self.received, "only what arrived is delivered");
        pool.change(before, self.outstanding());
        self.lately += bytes;
        let round_trip = round_trip_us.max(ROUND_TRIP_MIN_US);
        let elapsed = now.since(self.tuned_at);
        if elapsed >= round_trip {
            self.tune(round_trip, elapsed, pool);
            self.tuned_at = now;
        }
    }

    /// Twice what was delivered in a round trip, as Linux sizes its receive buffers; at most
    /// doubled at a time, and back to the start after ten idle round trips.
    fn tune(&mut self, round_trip: u64, elapsed: u64, pool: &Pool) {
        let first = FIRST_WINDOW.clamp(pool.initial.min(pool.window_max), pool.window_max);
        let wanted = 2 * self.lately.saturating_mul(round_trip) / elapsed;
        self.window = if elapsed > 10 * round_trip {
            first
        } else {
            wanted.min(2 * self.window).clamp(first, pool.window_max.max(first))
        };
        self.lately = 0;
    }

    /// What can be granted now, and how urgent it is.
    pub(crate) fn grant_due(&self, pool: &Pool) -> (u64, Grant) {
        let outstanding = self.outstanding();
        let window = self.window.min(pool.ceiling(outstanding)).max(pool.initial);
        let amount = window.saturating_sub(outstanding);
        let remaining = self.granted.left_after(self.received);
        let untouched = self.granted.0 == pool.initial && self.received < pool.initial / 2;
        // A reader that takes byte after byte is not worth a frame for each.
        let least = 1024.min(pool.initial / 4).max(1);
        if amount < least || untouched {
            (0, Grant::None)
        } else if remaining < window / 4 {
            (amount, Grant::Now)
        } else if amount >= window / 2 {
            (amount, Grant::Soon)
        } else {
            (0, Grant::None)
        }
    }

    /// Grants `amount`, which [`Receiver::grant_due`] found to be there.
    pub(crate) fn grant(&mut self, amount: u64, pool: &mut Pool) {
        let before = self.outstanding();
        self.granted = Credit(self.granted.0 + amount);
        pool.change(before, self.outstanding());
    }

    /// The stream is over: its share goes back, and what still arrives is measured against what
    /// was granted but kept nowhere.
    pub(crate) fn abandon(&mut self, pool: &mut Pool) {
        let before = self.outstanding();
        pool.change(before, 0);
        self.delivered = self.granted.0;
        self.received = self.received.min(self.granted.0);
    }
}
