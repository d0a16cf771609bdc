//! Plain connections without applications: what they give and take is set from outside.

use std::collections::VecDeque;

use sleeve_session::{Local, Opened, Pulled, Pushed};
use sleeve_wire::{ResetReason, StreamId};

/// One plain connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plain {
    /// Bytes that can be read.
    pub(crate) gives: usize,
    pub(crate) ended: bool,
    pub(crate) dead: bool,
    /// Bytes that it takes before it is full.
    pub(crate) takes: usize,
    pub(crate) connecting: bool,
}

#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) plains: Vec<Option<Plain>>,
    /// What becomes of the next wishes for a backend, and then of all.
    pub(crate) openings: VecDeque<Opened>,
    pub(crate) opens: u64,
    pub(crate) fault: Option<String>,
    /// What a new connection takes.
    pub(crate) takes: usize,
}

impl Bed {
    pub(crate) fn new(takes: usize) -> Self {
        Self { plains: Vec::new(), openings: VecDeque::new(), opens: 0, fault: None, takes }
    }

    pub(crate) fn insert(&mut self, id: StreamId, plain: Plain) {
        if self.plains.len() <= id.index() {
            self.plains.resize(id.index() + 1, None);
        }
        if self.plains[id.index()].replace(plain).is_some() {
            self.fault.get_or_insert(format!("{id} made twice"));
        }
    }

    pub(crate) fn get(&mut self, id: StreamId) -> Option<&mut Plain> {
        self.plains.get_mut(id.index()).and_then(Option::as_mut)
    }

    /// Connections that are held.
    pub(crate) fn held(&self) -> usize {
        self.plains.iter().flatten().count()
    }

    fn named(&mut self, id: StreamId, what: &str) -> Option<&mut Plain> {
        if self.get(id).is_none() {
            self.fault.get_or_insert(format!("{what} of {id}, which is not held"));
        }
        self.get(id)
    }

    fn remove(&mut self, id: StreamId, what: &str) {
        if self.named(id, what).is_some() {
            self.plains[id.index()] = None;
        }
    }
}

impl Local for Bed {
    fn open(&mut self, id: StreamId, _service: u16) -> Opened {
        self.opens += 1;
        let opened = self.openings.pop_front().unwrap_or(Opened::Ready);
        let connecting = match opened {
            Opened::Ready => false,
            Opened::Pending => true,
            Opened::Failed(_) => return opened,
        };
        let takes = self.takes;
        self.insert(id, Plain { takes, connecting, ..Plain::default() });
        opened
    }

    fn pull(&mut self, id: StreamId, room: &mut [u8]) -> Pulled {
        let Some(plain) = self.named(id, "pull") else { return Pulled::Reset };
        let len = plain.gives.min(room.len());
        room[..len].fill(b'x');
        match (plain.dead, len, plain.ended) {
            (true, ..) => Pulled::Reset,
            (false, 0, true) => Pulled::Eof,
            (false, 0, false) => Pulled::Empty,
            (false, len, _) => {
                plain.gives -= len;
                Pulled::Data { len, more: plain.gives > 0 || plain.ended }
            }
        }
    }

    fn push(&mut self, id: StreamId, bytes: &[u8]) -> Pushed {
        let Some(plain) = self.named(id, "push") else { return Pushed::Reset };
        if plain.dead {
            return Pushed::Reset;
        }
        let len = plain.takes.min(bytes.len());
        plain.takes -= len;
        let early = plain.connecting;
        if early {
            self.fault.get_or_insert(format!("push of {id}, which does not stand"));
        }
        Pushed::Taken(len)
    }

    fn finish(&mut self, id: StreamId) {
        self.named(id, "finish");
    }

    fn close(&mut self, id: StreamId) {
        self.remove(id, "close");
    }

    fn abort(&mut self, id: StreamId, _reason: ResetReason) {
        self.remove(id, "abort");
    }

    fn is_dead(&mut self, id: StreamId, _drained: bool) -> bool {
        self.named(id, "is_dead").is_none_or(|plain| plain.dead)
    }
}
