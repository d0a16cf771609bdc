//! Which plain connections of a session have something to tell.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};

use sleeve_wire::StreamId;

/// Streams in one word of the set.
const WORD: u32 = 64;

/// A set of streams that the runtime's driver fills, from the same thread, and the pump empties.
/// One wake-up of the pump serves all that became ready in one turn.
#[derive(Debug)]
pub(crate) struct Ready {
    words: Box<[AtomicU64]>,
    told: AtomicBool,
    pump: OnceLock<Waker>,
}

impl Ready {
    pub(crate) fn new(streams: u32) -> Arc<Self> {
        let words = (0..streams.div_ceil(WORD)).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self { words, told: AtomicBool::new(false), pump: OnceLock::new() })
    }

    /// Whom to wake; a task's waker stays the same for its life.
    pub(crate) fn set_pump(&self, waker: &Waker) {
        self.pump.get_or_init(|| waker.clone());
    }

    /// The waker to be given to the sockets of a stream.
    pub(crate) fn waker(self: &Arc<Self>, id: StreamId) -> Waker {
        Waker::from(Arc::new(StreamWaker { ready: Arc::clone(self), id }))
    }

    fn insert(&self, id: StreamId) {
        let Some(word) = self.words.get(id.index() / 64) else { return };
        word.fetch_or(1 << (id.0 % WORD), Ordering::Relaxed);
        if !self.told.swap(true, Ordering::AcqRel)
            && let Some(pump) = self.pump.get()
        {
            pump.wake_by_ref();
        }
    }

    /// Empties the set into `each`.
    pub(crate) fn drain(&self, mut each: impl FnMut(StreamId)) {
        if !self.told.swap(false, Ordering::AcqRel) {
            return;
        }
        for (index, word) in (0_u32..).zip(&self.words) {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::Relaxed);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                each(StreamId(index * WORD + bit));
            }
        }
    }
}

#[derive(Debug)]
struct StreamWaker {
    ready: Arc<Ready>,
    id: StreamId,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.insert(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ready_stream_is_seen_once() {
        let ready = Ready::new(200);
        let wakers: Vec<Waker> = (0..200).map(|id| ready.waker(StreamId(id))).collect();
        for id in [0, 63, 64, 65, 199, 64] {
            wakers[id].wake_by_ref();
        }
        let mut seen = Vec::new();
        ready.drain(|id| seen.push(id.0));
        assert_eq!(seen, [0, 63, 64, 65, 199]);
        ready.drain(|id| panic!("stream {id} seen twice"));
    }
}
