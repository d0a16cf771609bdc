//! When a record that is not full goes out (PROTOCOL 5.3).

use sleeve_wire::Framing;

use crate::time::Instant;

/// What the carrier's kernel knows of the path, asked when a record that is not full waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSample {
    /// Bytes that the kernel has not sent yet.
    pub unsent: u32,
    /// Segments sent and not acknowledged.
    pub unacknowledged: u32,
    /// Smoothed round trip, microseconds; 0 if unknown.
    pub round_trip_us: u32,
    /// Shortest round trip seen lately, microseconds; 0 if unknown.
    pub round_trip_min_us: u32,
    /// Bytes per second that the path delivered; 0 if unknown.
    pub delivery_rate: u64,
    /// The rate was bounded by what there was to send.
    pub application_limited: bool,
}

/// Samples older than this are taken again.
const SAMPLE_FRESH_US: u64 = 50;
/// While records are full nothing but sizes depends on the path: a look now and then will do.
const SAMPLE_RARELY_US: u64 = 10_000;
/// A held record is looked at again after this or half a round trip, whichever is shorter...
const LOOK_US: u64 = 500;
/// ... and sent after this or half a round trip, whichever is longer.
const HOLD_US: u64 = 500;
/// A record holds what the path carries in this time, so that small data behind it wait no longer.
const RECORD_US: u64 = 250;
/// The kernel holds unsent what the path carries in this time.
const UNSENT_US: u64 = 500;
/// A segment of Ethernet carries this much of a record: a record of that length is full.
const SEGMENT: usize = 1430;
/// Bounds of what the kernel may hold unsent.
const UNSENT_MAX: usize = 256 * 1024;

/// The verdict on a record that is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Send,
    /// Bytes of before are still in the kernel.
    HoldUnsent,
    /// Segments of before stand in a queue of the path.
    HoldQueue,
}

#[derive(Debug)]
pub(crate) struct Batch {
    framing: Framing,
    sample: Option<PathSample>,
    sampled_at: Instant,
    held_since: Option<Instant>,
    look_at: Option<Instant>,
    /// Bytes per second; `None` until the path has shown its limit.
    rate: Option<u64>,
    round_trip_us: Option<u64>,
}

impl Batch {
    pub(crate) const fn new(framing: Framing) -> Self {
        Self {
            framing,
            sample: None,
            sampled_at: Instant(0),
            held_since: None,
            look_at: None,
            rate: None,
            round_trip_us: None,
        }
    }

    /// Most bytes of frames in the next record.
    pub(crate) fn record_plaintext(&self) -> usize {
        match (self.framing, self.rate) {
            (Framing::Padded, _) => self.framing.plaintext_max(),
            (Framing::Adaptive, None) => self.framing.plaintext_max(),
            (Framing::Adaptive, Some(rate)) => {
                carried(rate, RECORD_US).clamp(SEGMENT, self.framing.plaintext_max())
            }
        }
    }

    /// Bytes that the kernel may hold unsent.
    pub(crate) fn unsent_max(&self) -> usize {
        let least = 2 * self.framing.record_len(self.record_plaintext());
        self.rate.map_or(UNSENT_MAX, |rate| carried(rate, UNSENT_US).clamp(least, UNSENT_MAX))
    }

    /// Bytes that a stream may send before the next one's turn: a record, or, where the path
    /// carries more in the time that small data may wait, a share of that. Data of one stream
    /// that stay together are read and written by fewer system calls at the far side.
    pub(crate) fn quantum(&self) -> usize {
        self.record_plaintext().max(self.unsent_max() / 4)
    }

    /// Whether a record with that many bytes of frames needs no decision.
    pub(crate) fn is_full(&self, plaintext: usize) -> bool {
        self.framing == Framing::Adaptive && plaintext >= SEGMENT
    }

    /// A record was sealed: what was known of the path is history.
    pub(crate) fn sealed(&mut self, now: Instant, probe: &mut dyn FnMut() -> Option<PathSample>) {
        self.held_since = None;
        self.look_at = None;
        if now.since(self.sampled_at) >= SAMPLE_RARELY_US {
            self.take_sample(now, probe);
        }
        self.sample = None;
    }

    /// Looks at the path.
    fn take_sample(&mut self, now: Instant, probe: &mut dyn FnMut() -> Option<PathSample>) {
        self.sample = probe();
        self.sampled_at = now;
        let round_trip = self.sample.map(|s| u64::from(s.round_trip_us)).filter(|&us| us > 0);
        self.round_trip_us = round_trip.or(self.round_trip_us);
        let Some(sample) = self.sample.filter(|s| s.delivery_rate > 0) else { return };
        let seen = sample.delivery_rate;
        self.rate = match self.rate {
            // What little there was to send says nothing of what the path could have carried.
            None if sample.application_limited => None,
            None => Some(seen),
            Some(rate) if sample.application_limited => Some(rate.max(seen)),
            Some(rate) => Some(rate - rate / 8 + seen / 8),
        };
    }

    /// Decides about a record that is not full at the end of a turn (rule A1 is that this is
    /// asked only then). `pressing`: it opens or ends streams, whose sides have nothing else to
    /// do than to wait for it.
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        pressing: bool,
        probe: &mut dyn FnMut() -> Option<PathSample>,
    ) -> Verdict {
        if self.sample.is_none() || now.since(self.sampled_at) > SAMPLE_FRESH_US {
            self.take_sample(now, probe);
        }
        let Some(sample) = self.sample else { return Verdict::Send };
        let half = u64::from(sample.round_trip_us) / 2;
        if self.held_since.is_some_and(|at| now.since(at) >= HOLD_US.max(half)) {
            return Verdict::Send;
        }
        let verdict = self.judge(&sample, pressing);
        if verdict != Verdict::Send {
            let since = *self.held_since.get_or_insert(now);
            let look = now.plus(LOOK_US.min(half.max(1)));
            self.look_at = Some(look.min(since.plus(HOLD_US.max(half))));
        }
        verdict
    }

    fn judge(&self, sample: &PathSample, pressing: bool) -> Verdict {
        // Rule A2.
        if sample.unsent > 0 {
            return Verdict::HoldUnsent;
        }
        // Rule A3: of the segments under way, the share (srtt - min) / srtt stands in queues.
        let known = sample.round_trip_min_us > 0;
        let queueing =
            if known { sample.round_trip_us.saturating_sub(sample.round_trip_min_us) } else { 0 };
        let queued = u64::from(sample.unacknowledged) * u64::from(queueing);
        let limit = match (self.framing, pressing) {
            (_, true) => 4,
            (Framing::Adaptive, false) => 2,
            (Framing::Padded, false) => 1,
        };
        if queued > 0 && queued >= limit * u64::from(sample.round_trip_us) {
            return Verdict::HoldQueue;
        }
        Verdict::Send
    }

    /// When a held record is to be looked at again.
    pub(crate) const fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// The smoothed round trip, microseconds, if it is known.
    pub(crate) const fn round_trip_us(&self) -> Option<u64> {
        self.round_trip_us
    }
}

/// Bytes that a path of `rate` carries in `us` microseconds.
fn carried(rate: u64, us: u64) -> usize {
    crate::num::narrow(rate.saturating_mul(us) / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(unacknowledged: u32, round_trip_us: u32) -> PathSample {
        PathSample {
            unacknowledged,
            round_trip_us,
            round_trip_min_us: 200,
            ..PathSample::default()
        }
    }

    #[test]
    fn an_idle_path_is_never_waited_for() {
        for framing in [Framing::Adaptive, Framing::Padded] {
            let mut batch = Batch::new(framing);
            for now in 0..100 {
                let verdict = batch.decide(Instant(now * 60), false, &mut || Some(queue(1, 300)));
                assert_eq!(verdict, Verdict::Send);
                assert_eq!(batch.look_at(), None);
            }
            assert_eq!(batch.decide(Instant(9000), false, &mut || None), Verdict::Send);
        }
    }

    #[test]
    fn a_queue_holds_but_not_for_ever() {
        let mut batch = Batch::new(Framing::Adaptive);
        let mut probe = || Some(queue(10, 4000));
        let start = 1_000;
        assert_eq!(batch.decide(Instant(start), false, &mut probe), Verdict::HoldQueue);
        assert_eq!(batch.look_at(), Some(Instant(start + 500)));
        assert_eq!(batch.decide(Instant(start + 1999), false, &mut probe), Verdict::HoldQueue);
        assert_eq!(batch.look_at(), Some(Instant(start + 2000)));
        assert_eq!(batch.decide(Instant(start + 2000), false, &mut probe), Verdict::Send);
    }

    #[test]
    fn bytes_in_the_kernel_hold() {
        let mut batch = Batch::new(Framing::Padded);
        let mut unsent = PathSample { unsent: 1, ..queue(1, 200) };
        assert_eq!(batch.decide(Instant(0), false, &mut || Some(unsent)), Verdict::HoldUnsent);
        unsent.unsent = 0;
        assert_eq!(batch.decide(Instant(100), false, &mut || Some(unsent)), Verdict::Send);
    }

    #[test]
    fn sizes_follow_the_rate() {
        let mut batch = Batch::new(Framing::Adaptive);
        assert_eq!(batch.record_plaintext(), Framing::Adaptive.plaintext_max());
        let slow = PathSample { delivery_rate: 12_500_000, ..queue(1, 300) };
        batch.decide(Instant(0), false, &mut || Some(slow));
        assert_eq!(batch.record_plaintext(), 3125);
        assert_eq!(batch.unsent_max(), 2 * (3125 + 18));
        let idle = PathSample { delivery_rate: 1_000, application_limited: true, ..slow };
        batch.decide(Instant(1000), false, &mut || Some(idle));
        assert_eq!(batch.record_plaintext(), 3125);
    }
}
