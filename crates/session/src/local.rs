//! The plain connections, as the session sees them.

use sleeve_wire::{ResetReason, StreamId};

/// What a plain connection gave when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// That many bytes, at least one; `more` if another read may find further ones.
    Data {
        /// Bytes written to the front of the room.
        len: usize,
        /// Whether the connection may hold more.
        more: bool,
    },
    /// Nothing at present.
    Empty,
    /// The other side ended its direction.
    Eof,
    /// The connection is dead.
    Reset,
}

/// What a plain connection did with bytes written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It took that many. If fewer than given, [`crate::Tunnel::handle_writable`] follows when
    /// it takes more.
    Taken(usize),
    /// The connection is dead.
    Reset,
}

/// What became of the wish for a backend connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It stands.
    Ready,
    /// [`crate::Tunnel::handle_connected`] or [`crate::Tunnel::handle_refused`] will tell.
    Pending,
    /// It cannot be had.
    Failed(ResetReason),
}

/// The plain connections of one session. Every method is called for a stream whose connection
/// is held, except `open`, which makes it; after `close` or `abort` it is not held any more.
pub trait Local {
    /// Makes the backend connection of a stream that the peer opened.
    fn open(&mut self, id: StreamId, service: u16) -> Opened;

    /// Reads at most `room.len()` bytes, without waiting.
    fn pull(&mut self, id: StreamId, room: &mut [u8]) -> Pulled;

    /// Writes, without waiting.
    fn push(&mut self, id: StreamId, bytes: &[u8]) -> Pushed;

    /// Shows end of file to the application: all that came before has been pushed.
    fn finish(&mut self, id: StreamId);

    /// Lets go of a connection whose both directions have ended.
    fn close(&mut self, id: StreamId);

    /// Lets go of a connection so that the application sees a reset.
    fn abort(&mut self, id: StreamId, reason: ResetReason);

    /// Whether the connection died, asked when it is not read: for lack of credit, or because
    /// it was read to its end (`drained`), when there is nothing left in it to be lost.
    fn is_dead(&mut self, id: StreamId, drained: bool) -> bool;
}
