//! What a session is made with.

use sleeve_seal::Side;
use sleeve_wire::Framing;

/// This side's bounds. The defaults are the daemon's; the simulator shrinks them so that every
/// bound is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who opened the carrier: only that side opens streams.
    pub side: Side,
    /// The session's framing mode.
    pub framing: Framing,
    /// Streams that may be live at once, 1 to 4096: for the accepting side what it grants, for
    /// the dialling side what it uses at most.
    pub max_streams: u32,
    /// Bytes that this side may hold undelivered for all streams together.
    pub receive_pool: u64,
    /// Most bytes granted to one stream beyond what it delivered.
    pub window_max: u64,
    /// Most bytes of the retransmit ring.
    pub ring_max: u32,
    /// Microseconds without a byte after which a sign of life is asked for.
    pub keepalive_us: u64,
    /// Microseconds that the sign of life may take.
    pub keepalive_grace_us: u64,
    /// Streams that the peer may open per second in the long run.
    pub opens_per_second: u32,
}

/// Undelivered bytes for all streams of a session: half is promised as initial credit, half is
/// for streams that have shown to need more.
pub(crate) const RECEIVE_POOL: u64 = 32 * 1024 * 1024;
/// One stream's share at most: 4 MiB fill 1 Gbit/s over 33 ms.
pub(crate) const WINDOW_MAX: u64 = 4 * 1024 * 1024;
/// Unacknowledged bytes kept: 4 MiB last 40 ms at 100 MB/s.
pub(crate) const RING_MAX: u32 = 4 * 1024 * 1024;
/// Shorter than any middlebox forgets an idle connection (the shortest known takes 90 s).
pub(crate) const KEEPALIVE_US: u64 = 15_000_000;
pub(crate) const KEEPALIVE_GRACE_US: u64 = 5_000_000;
/// Above any rate at which one core can connect to a backend, so that only floods meet it.
pub(crate) const OPENS_PER_SECOND: u32 = 100_000;

impl Settings {
    /// The daemon's settings for one side of a session.
    #[must_use]
    pub const fn new(side: Side, framing: Framing, max_streams: u32) -> Self {
        Self {
            side,
            framing,
            max_streams,
            receive_pool: RECEIVE_POOL,
            window_max: WINDOW_MAX,
            ring_max: RING_MAX,
            keepalive_us: KEEPALIVE_US,
            keepalive_grace_us: KEEPALIVE_GRACE_US,
            opens_per_second: OPENS_PER_SECOND,
        }
    }

    /// Bytes that the peer may send on a new stream before anything is granted: half of the
    /// pool shared by all streams that may be live, at most 64 KiB. With the daemon's pool and
    /// bound of streams it is never under 4 KiB.
    #[must_use]
    pub fn initial_credit(&self) -> u32 {
        let share = self.receive_pool / 2 / u64::from(self.max_streams.max(1));
        u32::try_from(share.clamp(1, 64 * 1024)).unwrap_or(u32::MAX)
    }
}

/// What the peer's hello said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Streams that may be live at once; for the accepting side its own limit again.
    pub max_streams: u32,
    /// Bytes that this side may send on a new stream before anything is granted.
    pub initial_credit: u32,
    /// Bytes of the peer's retransmit ring: acknowledgements are owed well before it is full.
    pub ring_max: u32,
}
