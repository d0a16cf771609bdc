//! What has to be true of every plain connection: an in-memory pipe for each of its directions
//! (PROTOCOL 5.1.2). The first thing that is not true is kept.

use sleeve_wire::{ResetReason, StreamId};

/// How a side let go of a plain connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    Closed,
    Aborted(ResetReason),
}

/// One end of a connection, as the daemon beside it knows it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowEnd {
    pub(crate) opened: bool,
    /// Bytes read from the application.
    pub(crate) read: u64,
    /// The daemon has been told of the application's end of file.
    pub(crate) eof: bool,
    /// ... of its death.
    pub(crate) dead: bool,
    /// ... that there is no backend.
    pub(crate) refused: Option<ResetReason>,
    /// Bytes written to the application.
    pub(crate) taken: u64,
    /// End of file was shown to the application.
    pub(crate) shown: bool,
    pub(crate) gone: Option<Gone>,
    /// The daemon beside it sealed a RESET.
    pub(crate) reset: Option<ResetReason>,
}

/// Both ends of a connection, that of the dialling side first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) ends: [FlowEnd; 2],
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) flows: Vec<Flow>,
    /// The connection that has, or had last, each id.
    pub(crate) current: Vec<u64>,
    pub(crate) fault: Option<String>,
    /// Bytes read from all applications of a side.
    pub(crate) read: [u64; 2],
    /// Plain connections that a side holds.
    pub(crate) held: [u32; 2],
    /// The session of that side is over, so that everything may be aborted.
    pub(crate) over: [bool; 2],
}

impl Ledger {
    /// Keeps what is wrong first.
    pub(crate) fn blame(&mut self, what: impl FnOnce() -> String) {
        if self.fault.is_none() {
            self.fault = Some(what());
        }
    }

    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.blame(what);
        }
    }

    /// A new connection at the dialling side.
    pub(crate) fn begin(&mut self, id: StreamId) -> u64 {
        let uid = self.flows.len() as u64;
        self.flows.push(Flow::default());
        if self.current.len() <= id.index() {
            self.current.resize(id.index() + 1, 0);
        }
        self.current[id.index()] = uid;
        self.end(uid, 0).opened = true;
        self.held[0] += 1;
        uid
    }

    pub(crate) fn uid(&self, id: StreamId) -> Option<u64> {
        self.current.get(id.index()).copied()
    }

    pub(crate) fn end(&mut self, uid: u64, side: usize) -> &mut FlowEnd {
        &mut self.flows[uid as usize].ends[side]
    }

    pub(crate) fn ends(&self, uid: u64, side: usize) -> (FlowEnd, FlowEnd) {
        let flow = &self.flows[uid as usize];
        (flow.ends[side], flow.ends[1 - side])
    }

    /// I2: end of file after the other end's, and after all of its bytes.
    pub(crate) fn show_end(&mut self, uid: u64, side: usize) {
        let (own, far) = self.ends(uid, side);
        self.check(far.eof && own.taken == far.read, || {
            format!("I2: end of file after {} of {} bytes ({far:?})", own.taken, far.read)
        });
        self.check(!own.shown, || "I2: end of file shown twice".into());
        self.end(uid, side).shown = true;
    }

    pub(crate) fn close(&mut self, uid: u64, side: usize) {
        if !self.ends(uid, side).0.shown {
            self.show_end(uid, side);
        }
        let own = self.ends(uid, side).0;
        self.check(own.eof, || "closed while the application could still write".into());
        self.let_go(uid, side, Gone::Closed);
    }

    /// I3: a reset has a cause, and its reason is that of the cause.
    pub(crate) fn abort(&mut self, uid: u64, side: usize, reason: ResetReason) {
        let (own, far) = self.ends(uid, side);
        let caused = self.over[side]
            || (own.dead && reason == ResetReason::Reset)
            || own.refused == Some(reason)
            || (far.reset == Some(reason) && reason != ResetReason::Echo);
        self.check(caused, || format!("I3: side {side} reset {reason:?}: {own:?}, far {far:?}"));
        self.let_go(uid, side, Gone::Aborted(reason));
    }

    fn let_go(&mut self, uid: u64, side: usize, how: Gone) {
        let end = self.end(uid, side);
        let before = end.gone.replace(how);
        self.held[side] = self.held[side].saturating_sub(1);
        self.check(before.is_none(), || "a connection was let go twice".into());
    }

    /// I4, when time has passed and nothing failed: each connection ended, with all bytes or for
    /// a cause.
    pub(crate) fn settle(&mut self) {
        for uid in 0..self.flows.len() as u64 {
            let (dials, accepts) = self.ends(uid, 0);
            self.check(dials.gone.is_some(), || format!("I4: {uid} is held: {dials:?}"));
            self.check(!accepts.opened || accepts.gone.is_some(), || {
                format!("I4: backend of {uid} is held: {accepts:?}")
            });
            let caused = [dials, accepts].iter().any(|e| e.dead || e.refused.is_some())
                || accepts.reset == Some(ResetReason::Limit);
            self.check(
                caused || [dials, accepts].iter().all(|e| e.gone == Some(Gone::Closed)),
                || format!("I4: {uid} was reset without a cause: {dials:?} {accepts:?}"),
            );
            for (own, far) in [(dials, accepts), (accepts, dials)] {
                // Death or refusal before the end of file is never an orderly end.
                let lost = (far.dead && !far.eof) || far.refused.is_some();
                let orderly = own.shown || own.gone == Some(Gone::Closed);
                self.check(!(lost && orderly), || format!("I3: {uid} saw an end: {own:?} {far:?}"));
            }
        }
    }
}
