//! Applications and backends: what they write and read at their end of a plain connection, when,
//! and how they come to an end.

use crate::rng::{Rng, mix};

/// The bytes that one end of a connection writes: any loss, repetition or exchange shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content(u64);

impl Content {
    pub(crate) fn new(uid: u64, side: usize) -> Self {
        Self(mix(uid * 2 + side as u64))
    }

    /// The bytes from offset `at` on.
    pub(crate) fn fill(self, mut at: u64, mut out: &mut [u8]) {
        while !out.is_empty() {
            let word = mix(self.0 ^ (at / 8)).to_le_bytes();
            let word = &word[(at % 8) as usize..];
            let (head, rest) = out.split_at_mut(word.len().min(out.len()));
            head.copy_from_slice(&word[..head.len()]);
            at += head.len() as u64;
            out = rest;
        }
    }

    /// Whether these are the bytes from offset `at` on.
    pub(crate) fn matches(self, mut at: u64, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let word = mix(self.0 ^ (at / 8)).to_le_bytes();
            let word = &word[(at % 8) as usize..];
            let (head, rest) = bytes.split_at(word.len().min(bytes.len()));
            if head != &word[..head.len()] {
                return false;
            }
            at += head.len() as u64;
            bytes = rest;
        }
        true
    }
}

/// How an application ends its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// End of file when all is written; goes on reading.
    Finish,
    /// End of file when all is written and the other one has ended.
    FinishLast,
    /// Dies when it has written and read that many bytes.
    Reset(u64),
}

/// What one application does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) total: u64,
    pub(crate) chunk: u64,
    pub(crate) every_us: u64,
    /// Says nothing before it has read that many bytes.
    pub(crate) after: u64,
    /// Bytes it reads at a time; 0: it never reads.
    pub(crate) read_chunk: u64,
    pub(crate) read_every_us: u64,
    pub(crate) ending: Ending,
    /// Room of the kernel's buffers, towards the daemon and from it.
    pub(crate) room: [u64; 2],
    /// Percent of writes by the daemon that are cut short.
    pub(crate) short: u64,
    /// The kernel says that there may be more when there is none.
    pub(crate) pessimist: bool,
}

/// What applications of one side do, each in its own way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    bulk: u64,
    silent: u64,
    bytewise: bool,
    never_read: u64,
    slow_read: u64,
    resets: u64,
    small_rooms: bool,
    waits: u64,
    pessimist: bool,
    pause_us: u64,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            bulk: 0,
            silent: 0,
            bytewise: false,
            never_read: 0,
            slow_read: 0,
            resets: 0,
            small_rooms: false,
            waits: 0,
            pessimist: false,
            pause_us: 0,
        }
    }
}

impl Habits {
    pub(crate) fn swarm(rng: &mut Rng) -> Self {
        let mut some = |most: u64| if rng.chance(40) { rng.range(1, most) } else { 0 };
        Self {
            bulk: some(50),
            silent: some(50),
            never_read: some(50),
            slow_read: some(80),
            resets: some(60),
            waits: some(80),
            bytewise: some(1) == 1,
            small_rooms: some(1) == 1,
            pessimist: some(1) == 1,
            pause_us: some(20_000),
        }
    }

    /// One application.
    pub(crate) fn script(&self, rng: &mut Rng) -> Script {
        let bulk = rng.chance(self.bulk);
        let total = match (bulk, rng.chance(self.silent)) {
            (true, _) => rng.range(10_000, 150_000),
            (false, true) => 0,
            (false, false) => rng.pick(&[1, 36, 500, 4_000]) * rng.range(1, 3),
        };
        let chunk = match (bulk, self.bytewise) {
            (true, _) => rng.range(500, 20_000),
            (false, true) => 1 + total / 50,
            (false, false) => rng.range(20, 2_000),
        };
        let ending = match (rng.chance(self.resets), rng.chance(50)) {
            (true, _) => Ending::Reset(rng.range(0, 3_000)),
            (false, true) => Ending::Finish,
            (false, false) => Ending::FinishLast,
        };
        let room = if self.small_rooms { [300, 40] } else { [100_000, 65_536] };
        Script {
            total,
            chunk,
            every_us: if bulk { self.pause_us / 100 } else { self.pause_us },
            after: if rng.chance(self.waits) { rng.range(1, 50) } else { 0 },
            read_chunk: match (rng.chance(self.never_read), rng.chance(self.slow_read)) {
                (true, _) => 0,
                (false, true) => rng.range(1, 3_000),
                (false, false) => u64::MAX,
            },
            read_every_us: rng.range(0, self.pause_us),
            ending,
            room,
            short: if self.small_rooms { 50 } else { 0 },
            pessimist: self.pessimist,
        }
    }
}
