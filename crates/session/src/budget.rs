//! Bounds on work that costs the peer nothing.

use crate::time::Instant;

/// What a peer may owe before its session is closed.
const DEBT_MAX: i64 = 20_000;
/// Control frames per second that are free.
const FREE_PER_SECOND: u64 = 2_000;
/// Data pay for control frames: 4 for each 256 bytes, in either direction.
const PAID_PER_BYTE_SHIFT: u32 = 6;

/// The account of frames that carry nothing. DATA, and the frames that each stream has once
/// (OPEN, ACCEPTED, FIN, RESET, CLOSED), are bounded elsewhere and cost nothing here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    balance: i64,
    paid_at: Instant,
    /// Data bytes that have not made a whole unit yet.
    rest: u64,
}

impl Account {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { balance: 0, paid_at: now, rest: 0 }
    }

    /// Data passed.
    pub(crate) fn pay(&mut self, bytes: u64) {
        self.rest += bytes;
        let units = self.rest >> PAID_PER_BYTE_SHIFT;
        self.rest -= units << PAID_PER_BYTE_SHIFT;
        self.balance = (self.balance + i64::try_from(units).unwrap_or(DEBT_MAX)).min(DEBT_MAX);
    }

    /// A frame that carries nothing arrived; `false` if it was one too many.
    #[must_use]
    pub(crate) fn charge(&mut self, now: Instant) -> bool {
        self.balance -= 1;
        if self.balance >= -DEBT_MAX {
            return true;
        }
        let free = now.since(self.paid_at) * FREE_PER_SECOND / 1_000_000;
        if free > 0 {
            self.balance += i64::try_from(free).unwrap_or(DEBT_MAX).min(2 * DEBT_MAX);
            self.paid_at = now;
        }
        self.balance >= -DEBT_MAX
    }
}

/// A token bucket for new streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    tokens: u64,
    burst: u64,
    per_second: u64,
    filled_at: Instant,
}

impl Bucket {
    pub(crate) fn new(per_second: u32, burst: u32, now: Instant) -> Self {
        let burst = u64::from(burst);
        Self { tokens: burst, burst, per_second: u64::from(per_second), filled_at: now }
    }

    /// Takes one token if there is one.
    #[must_use]
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let new = now.since(self.filled_at).saturating_mul(self.per_second) / 1_000_000;
        if new > 0 {
            self.tokens = self.tokens.saturating_add(new).min(self.burst);
            // What is left of a token is not lost.
            self.filled_at = self.filled_at.plus(new * 1_000_000 / self.per_second);
        }
        let had = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        had
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_ends_and_honest_traffic_does_not() {
        let mut account = Account::new(Instant(0));
        let flood = (0..100_000).take_while(|_| account.charge(Instant(1000))).count();
        assert!((20_000..=20_002).contains(&flood), "{flood}");

        let mut account = Account::new(Instant(0));
        for second in 0..100 {
            for _ in 0..2_000 {
                assert!(account.charge(Instant(second * 1_000_000)));
            }
        }
        // One CREDIT for each 2 KiB of data, as fast as you like.
        let mut account = Account::new(Instant(0));
        for _ in 0..1_000_000 {
            account.pay(2048);
            assert!(account.charge(Instant(0)));
        }
    }

    #[test]
    fn tokens_come_back() {
        let mut bucket = Bucket::new(10, 3, Instant(0));
        assert_eq!((0..5).filter(|_| bucket.take(Instant(0))).count(), 3);
        assert_eq!((0..5).filter(|_| bucket.take(Instant(200_000))).count(), 2);
        assert_eq!((0..5).filter(|_| bucket.take(Instant(9_000_000))).count(), 3);
    }
}
