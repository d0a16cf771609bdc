//! Who is read next: deficit round robin over two lists (RFC 8290 section 4.2).

use std::collections::VecDeque;

use sleeve_wire::StreamId;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// In no list: nothing to read.
    #[default]
    Idle,
    /// Became readable after having been idle: before all greedy ones.
    Fresh,
    /// Used a quantum up, or rests one round after having been read empty.
    Waiting,
}

/// The two lists. A stream stands in at most one, once; its own [`Place`] says in which.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    fresh: VecDeque<StreamId>,
    waiting: VecDeque<StreamId>,
}

impl Schedule {
    /// Whether the stream in front is the only one.
    pub(crate) fn is_single(&self) -> bool {
        self.fresh.len() + self.waiting.len() == 1
    }

    /// Whether any stream has used a quantum up.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Places that memory is allocated for.
    pub(crate) fn memory(&self) -> usize {
        self.fresh.capacity() + self.waiting.capacity()
    }

    pub(crate) fn push_fresh(&mut self, id: StreamId) {
        self.fresh.push_back(id);
    }

    pub(crate) fn push_waiting(&mut self, id: StreamId) {
        self.waiting.push_back(id);
    }

    pub(crate) fn front(&self) -> Option<StreamId> {
        self.fresh.front().or_else(|| self.waiting.front()).copied()
    }

    pub(crate) fn pop(&mut self) -> Option<StreamId> {
        self.fresh.pop_front().or_else(|| self.waiting.pop_front())
    }
}
