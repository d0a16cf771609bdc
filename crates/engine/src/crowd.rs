//! The tunnels of one worker.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use sleeve_session::Counters;
use tokio::sync::Notify;

use crate::pump::{End, Handle, Pump};

/// What passed through a daemon since it began: totals over all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What the sessions counted.
    pub session: Counters,
    /// System calls that wrote to carriers.
    pub writes: u64,
    /// Bytes that the kernel sent on carriers, TCP headers not counted, repetitions counted.
    pub tcp_bytes: u64,
    /// Segments that the kernel sent on carriers, pure acknowledgements counted.
    pub tcp_segments: u64,
}

impl Totals {
    /// Adds another daemon's or worker's totals.
    pub fn add(&mut self, other: &Self) {
        self.session.add(&other.session);
        self.writes += other.writes;
        self.tcp_bytes += other.tcp_bytes;
        self.tcp_segments += other.tcp_segments;
    }
}

/// The living pumps, and the totals of those that ended.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    handles: RefCell<Vec<Rc<Handle>>>,
    ended: Cell<Totals>,
    /// Told when a pump ends or has a free stream again.
    pub(crate) changed: Rc<Notify>,
}

impl Crowd {
    /// Runs a pump to its end.
    pub(crate) async fn run(&self, pump: Pump, handle: Rc<Handle>) -> End {
        self.handles.borrow_mut().push(Rc::clone(&handle));
        let end = pump.run().await;
        self.handles.borrow_mut().retain(|h| !Rc::ptr_eq(h, &handle));
        let mut totals = self.ended.get();
        totals.add(&of(&handle));
        self.ended.set(totals);
        self.changed.notify_waiters();
        end
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.handles.borrow().is_empty()
    }

    /// Asks all for their end once their streams have ended.
    pub(crate) fn drain(&self, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        for handle in self.handles.borrow().iter() {
            handle.drain(grace_ms);
        }
    }

    /// Ends all at once.
    pub(crate) fn stop(&self) {
        for handle in self.handles.borrow().iter() {
            handle.stop();
        }
    }

    /// Waits for the last one's end.
    pub(crate) async fn emptied(&self) {
        loop {
            let changed = self.changed.notified();
            if self.is_empty() {
                return;
            }
            changed.await;
        }
    }

    pub(crate) async fn totals(&self) -> Totals {
        for handle in self.handles.borrow().iter() {
            of(handle);
        }
        // The pumps ask the kernel in their next turn.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let mut totals = self.ended.get();
        for handle in self.handles.borrow().iter() {
            totals.add(&of(handle));
        }
        totals
    }
}

fn of(handle: &Handle) -> Totals {
    let (session, writes, sent) = handle.counters();
    Totals { session, writes, tcp_bytes: sent.bytes, tcp_segments: sent.segments }
}
