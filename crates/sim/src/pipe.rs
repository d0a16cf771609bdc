//! One direction of a carrier: a kernel's send queue, a link with a rate and a delay, and what
//! fate and adversaries do to the bytes.

use std::collections::VecDeque;

use sleeve_session::PathSample;

use crate::recipe::{Fault, Harm};
use crate::rng::Rng;

/// Bytes of a segment.
const SEGMENT: usize = 1448;

/// How a direction behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipePlan {
    /// Bytes per second.
    pub(crate) rate: u64,
    pub(crate) delay_us: u64,
    /// Bytes that the sending kernel holds unsent at most.
    pub(crate) unsent_max: usize,
    /// Percent of writes that are cut short.
    pub(crate) short_writes: u64,
    /// Largest segment, and largest piece that a read gives.
    pub(crate) piece: usize,
    /// Longest stall; 0 for none.
    pub(crate) stall_us: u64,
    /// Microseconds between stalls, at most.
    pub(crate) stall_every_us: u64,
}

impl Default for PipePlan {
    fn default() -> Self {
        Self {
            rate: 1_000_000_000,
            delay_us: 100,
            unsent_max: 1024 * 1024,
            short_writes: 0,
            piece: SEGMENT,
            stall_us: 0,
            stall_every_us: 1_000_000,
        }
    }
}

impl PipePlan {
    pub(crate) fn swarm(rng: &mut Rng) -> Self {
        let rough = rng.chance(40);
        Self {
            rate: rng.pick(&[20_000, 1_000_000, 12_500_000, 1_000_000_000]),
            delay_us: rng.pick(&[10, 100, 2_000, 50_000]),
            unsent_max: rng.pick(&[700, 6_000, 300_000]),
            short_writes: if rough { rng.range(1, 90) } else { 0 },
            piece: if rough { rng.pick(&[1, 7, 100, 1448]) } else { SEGMENT },
            stall_us: rng.pick(&[0, 0, 1_000, 400_000, 90_000_000]),
            stall_every_us: rng.pick(&[10_000, 3_000_000, 60_000_000]),
        }
    }
}

/// What a write or a read of a carrier gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    Bytes(usize),
    Later,
    Ended,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    plan: PipePlan,
    fault: Option<Fault>,
    unsent: VecDeque<u8>,
    /// When each segment arrives, and its bytes.
    flight: VecDeque<(u64, Vec<u8>)>,
    arrived: VecDeque<u8>,
    /// When the link has sent what it is sending.
    free_at: u64,
    stalled_until: u64,
    stall_at: u64,
    /// Bytes that left the sender's kernel.
    left: u64,
    /// What waited in the queue last, for the smoothed round trip.
    queueing_us: u64,
    /// The sender ended its direction, or the cut came.
    pub(crate) ended: bool,
    /// The fault has happened.
    pub(crate) harmed: bool,
    /// Bytes from here on may be others than those that were sent.
    changed_at: u64,
}

impl Pipe {
    pub(crate) fn new(plan: PipePlan, fault: Option<Fault>, rng: &mut Rng) -> Self {
        let stall_at =
            if plan.stall_us > 0 { rng.range(0, plan.stall_every_us) } else { u64::MAX };
        Self {
            plan,
            fault,
            unsent: VecDeque::new(),
            flight: VecDeque::new(),
            arrived: VecDeque::new(),
            free_at: 0,
            stalled_until: 0,
            stall_at,
            left: 0,
            queueing_us: 0,
            ended: false,
            harmed: false,
            changed_at: u64::MAX,
        }
    }

    /// No further fault, and a fast link.
    pub(crate) fn heal(&mut self, now: u64) {
        self.plan.stall_us = 0;
        self.stall_at = u64::MAX;
        self.stalled_until = now;
        self.plan.rate = self.plan.rate.max(10_000_000);
        self.free_at = self.free_at.min(now);
        if !self.harmed {
            self.fault = None;
        }
    }

    /// The sender closes; with `lose` what it has not sent is lost.
    pub(crate) fn end(&mut self, lose: bool) {
        if lose {
            self.unsent.clear();
            self.flight.clear();
        }
        self.ended = true;
    }

    pub(crate) fn write(&mut self, bytes: &[u8], rng: &mut Rng) -> Moved {
        if self.ended {
            return Moved::Ended;
        }
        let room = self.plan.unsent_max.saturating_sub(self.unsent.len());
        if room == 0 {
            return Moved::Later;
        }
        let mut len = room.min(bytes.len());
        if rng.chance(self.plan.short_writes) {
            len = rng.size(1, len);
        }
        self.unsent.extend(&bytes[..len]);
        Moved::Bytes(len)
    }

    pub(crate) fn can_write(&self) -> bool {
        self.ended || self.unsent.len() < self.plan.unsent_max / 2 + 1
    }

    pub(crate) fn read(&mut self, out: &mut [u8], rng: &mut Rng) -> Moved {
        if self.arrived.is_empty() {
            let over = self.ended && self.unsent.is_empty() && self.flight.is_empty();
            return if over { Moved::Ended } else { Moved::Later };
        }
        let mut len = self.arrived.len().min(out.len());
        if self.plan.piece < SEGMENT {
            len = len.min(rng.size(1, 20 * self.plan.piece));
        }
        let (front, back) = self.arrived.as_slices();
        let first = front.len().min(len);
        out[..first].copy_from_slice(&front[..first]);
        out[first..len].copy_from_slice(&back[..len - first]);
        self.arrived.drain(..len);
        Moved::Bytes(len)
    }

    pub(crate) fn can_read(&self) -> bool {
        !self.arrived.is_empty()
            || (self.ended && self.unsent.is_empty() && self.flight.is_empty())
    }

    /// When something happens by itself next.
    pub(crate) fn next_at(&self) -> u64 {
        let leaves = if self.unsent.is_empty() { u64::MAX } else { self.free_at };
        let arrives = self.flight.front().map_or(u64::MAX, |(at, _)| *at);
        let at = leaves.min(arrives);
        if at == u64::MAX { at } else { at.max(self.stalled_until) }
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, now: u64, rng: &mut Rng) {
        if now >= self.stall_at {
            self.stalled_until = now + rng.range(1, self.plan.stall_us);
            self.stall_at = self.stalled_until + rng.range(1, self.plan.stall_every_us);
        }
        if now < self.stalled_until {
            return;
        }
        while !self.unsent.is_empty() && self.free_at <= now {
            let piece = if self.plan.piece < SEGMENT {
                // One event for each byte would be a run of events only.
                rng.size(1, self.plan.piece).max(self.unsent.len() / 64)
            } else {
                SEGMENT
            };
            let len = piece.min(self.unsent.len());
            let bytes: Vec<u8> = self.unsent.drain(..len).collect();
            let took = (len as u64 * 1_000_000).div_ceil(self.plan.rate);
            self.free_at = self.free_at.max(now) + took;
            let at = self.free_at + self.plan.delay_us;
            let at = self.flight.back().map_or(at, |(before, _)| at.max(*before));
            self.queueing_us = (self.queueing_us * 7 + (at - now - self.plan.delay_us)) / 8;
            self.send(at, bytes);
        }
        while self.flight.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, bytes)) = self.flight.pop_front() {
                self.arrived.extend(&bytes);
            }
        }
    }

    fn send(&mut self, at: u64, mut bytes: Vec<u8>) {
        let from = self.left;
        self.left += bytes.len() as u64;
        if let Some(fault) = self.fault
            && (from..self.left).contains(&fault.at)
            && !self.harmed
        {
            self.harmed = true;
            let place = (fault.at - from) as usize;
            // A missing byte may be the same as the next one; eight in a row are not.
            self.changed_at = fault.at + 8;
            match fault.harm {
                Harm::Cut => {
                    bytes.truncate(place);
                    self.unsent.clear();
                    self.ended = true;
                }
                Harm::Flip => {
                    self.changed_at = fault.at;
                    bytes[place] ^= 1 << (fault.at % 8);
                }
                Harm::Repeat => {
                    self.changed_at = self.left + 8;
                    bytes.extend_from_within(place..);
                }
                Harm::Drop => {
                    bytes.remove(place);
                }
            }
        }
        self.flight.push_back((at, bytes));
    }

    /// Whether a changed byte can be among those below `offset`.
    pub(crate) fn is_changed_below(&self, offset: u64) -> bool {
        self.changed_at < offset
    }

    /// What the sender's kernel says, if the way back takes `back_us`.
    pub(crate) fn path(&self, back_us: u64) -> PathSample {
        let least = self.plan.delay_us + back_us;
        let short = |us: u64| u32::try_from(us).unwrap_or(u32::MAX);
        PathSample {
            unsent: short(self.unsent.len() as u64),
            unacknowledged: short(self.flight.len() as u64),
            round_trip_us: short(least + self.queueing_us),
            round_trip_min_us: short(least),
            delivery_rate: self.plan.rate,
            application_limited: self.unsent.is_empty(),
        }
    }

    pub(crate) fn delay_us(&self) -> u64 {
        self.plan.delay_us
    }
}
