//! What a seed makes of the world: which faults and applications there are, and how small the
//! constants.

use sleeve_seal::Side;
use sleeve_session::{Peer, Settings};
use sleeve_wire::Framing;

use crate::app::Habits;
use crate::pipe::PipePlan;
use crate::rng::Rng;

/// What the kernel says of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// As it is.
    Honest,
    /// Nothing.
    Silent,
    /// Anything.
    Absurd,
}

/// What an adversary, or fate, does to the carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// The carrier ends after that many bytes of a direction.
    Cut,
    /// One bit of that byte is changed.
    Flip,
    /// Bytes up to that one are inserted again.
    Repeat,
    /// Some bytes from that one on are missing.
    Drop,
}

/// A harm, its direction and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) harm: Harm,
    pub(crate) direction: usize,
    pub(crate) at: u64,
}

/// How backends behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backends {
    /// Percent that refuse at once, percent that do so later.
    pub(crate) fail: u64,
    pub(crate) refuse: u64,
    /// Percent that stand at once; the others connect later.
    pub(crate) ready: u64,
    pub(crate) connect_us: u64,
}

/// A whole world, drawn from a seed.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The seed it was drawn from.
    pub seed: u64,
    pub(crate) settings: [Settings; 2],
    pub(crate) rekey: u8,
    pub(crate) pipes: [PipePlan; 2],
    pub(crate) probe: Probe,
    pub(crate) timer_late_us: u64,
    pub(crate) turn_late_us: u64,
    pub(crate) fault: Option<Fault>,
    pub(crate) connections: u64,
    /// Microseconds between new connections, at most.
    pub(crate) apart_us: u64,
    pub(crate) habits: [Habits; 2],
    pub(crate) backends: Backends,
    /// Faults stop and applications come to their end at this time.
    pub(crate) heal_at: u64,
    /// The dialling side asks for no further streams at this time.
    pub(crate) drain_at: Option<u64>,
}

impl Recipe {
    /// The world of a seed: each fault and habit is in it or not, each constant is the daemon's
    /// or a small one.
    #[must_use]
    pub fn swarm(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let framing = rng.pick(&[Framing::Padded, Framing::Adaptive]);
        let heal_at = rng.pick(&[200_000, 1_000_000, 5_000_000, 200_000_000]);
        let fault = rng.chance(25).then(|| Fault {
            harm: rng.pick(&[Harm::Cut, Harm::Flip, Harm::Repeat, Harm::Drop]),
            direction: rng.size(0, 1),
            at: rng.pick(&[40, 3_000, 60_000]) * rng.range(1, 1000) / 1000,
        });
        let settings = settings(rng, framing);
        let refusing = rng.chance(30);
        Self {
            seed,
            settings,
            rekey: rng.pick(&[3, 3, 5, 20]),
            pipes: [PipePlan::swarm(rng), PipePlan::swarm(rng)],
            probe: rng.pick(&[Probe::Honest, Probe::Honest, Probe::Silent, Probe::Absurd]),
            timer_late_us: rng.pick(&[0, 1_000, 100_000]),
            turn_late_us: rng.pick(&[0, 0, 20, 3_000]),
            fault,
            connections: rng.pick(&[1, 3, 10, 40]),
            apart_us: rng.pick(&[0, 100, 20_000]),
            habits: [Habits::swarm(rng), Habits::swarm(rng)],
            backends: Backends {
                fail: if refusing { rng.range(0, 30) } else { 0 },
                refuse: if refusing { rng.range(0, 30) } else { 0 },
                ready: rng.pick(&[0, 50, 100]),
                connect_us: rng.pick(&[100, 10_000, 2_000_000]),
            },
            heal_at,
            drain_at: rng.chance(15).then(|| rng.range(0, heal_at)),
        }
    }

    /// A calm world for measurements: fast hosts, a known path, nobody misbehaves.
    #[must_use]
    pub fn calm(framing: Framing, rate: u64, delay_us: u64) -> Self {
        let pipe = PipePlan { rate, delay_us, ..PipePlan::default() };
        Self {
            seed: 1,
            settings: [Side::Dials, Side::Accepts].map(|side| Settings::new(side, framing, 1024)),
            rekey: 20,
            pipes: [pipe, pipe],
            probe: Probe::Honest,
            timer_late_us: 0,
            turn_late_us: 0,
            fault: None,
            connections: 0,
            apart_us: 0,
            habits: [Habits::default(); 2],
            backends: Backends { fail: 0, refuse: 0, ready: 100, connect_us: 100 },
            heal_at: u64::MAX,
            drain_at: None,
        }
    }

    /// What each side knows of the other by the handshake.
    pub(crate) fn peers(&self) -> [Peer; 2] {
        let [dials, accepts] = &self.settings;
        let peer = |of: &Settings| Peer {
            max_streams: accepts.max_streams,
            initial_credit: of.initial_credit(),
            ring_max: of.ring_max,
        };
        [peer(accepts), peer(dials)]
    }

    /// Whether stalls may be taken for the peer's death.
    pub(crate) fn may_fall_silent(&self) -> bool {
        let life = |s: &Settings| s.keepalive_us + s.keepalive_grace_us;
        let least = self.settings.iter().map(life).min().unwrap_or(0);
        // Two stalls one after the other are as one of their sum.
        self.pipes.iter().any(|pipe| 3 * pipe.stall_us + 200_000 > least.min(5_000_000))
    }
}

fn settings(rng: &mut Rng, framing: Framing) -> [Settings; 2] {
    let small = rng.chance(60);
    let opens_per_second = if rng.chance(15) { rng.range(1, 20) as u32 } else { 100_000 };
    let accepted = if small { rng.pick(&[1, 4, 4, 16]) } else { 1024 };
    [Side::Dials, Side::Accepts].map(|side| {
        let mut s = Settings::new(side, framing, accepted);
        s.opens_per_second = opens_per_second;
        if side == Side::Dials && rng.chance(30) {
            s.max_streams = rng.pick(&[2, 8, 2048]);
        }
        if small {
            s.receive_pool = rng.pick(&[16 * 1024, 64 * 1024, 1024 * 1024]);
            s.receive_pool = s.receive_pool.max(2 * u64::from(s.max_streams));
            s.window_max = rng.pick(&[1024, 8 * 1024, 4 * 1024 * 1024]);
        }
        if rng.chance(50) {
            s.ring_max = rng.pick(&[4 * 1024, 20_000, 128 * 1024]);
        }
        s
    })
}
