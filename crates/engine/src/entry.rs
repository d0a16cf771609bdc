//! Accepting: one loop for every kind of listener.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::SocketFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tracing::warn;

use crate::plain::Kind;
use crate::throttle::Throttle;
use crate::{clock, sys};

/// Out of descriptors or memory: accepting pauses for so long.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections accepted in a row before other tasks have a turn.
const ROW: usize = 64;

/// A listener of one worker.
#[derive(Debug)]
pub(crate) struct Entry {
    socket: AsyncFd<OwnedFd>,
    kind: Kind,
    text: String,
    throttle: Throttle,
}

impl Entry {
    pub(crate) fn new(socket: OwnedFd, text: String) -> io::Result<Self> {
        let kind = Kind::of(&socket);
        let socket = sys::watch(socket, Interest::READABLE)?;
        Ok(Self { socket, kind, text, throttle: Throttle::default() })
    }

    /// Accepts without end. `room` says whether `take` may be called once more; `freed` waits
    /// until it may. The kernel's queue holds whoever comes meanwhile.
    pub(crate) async fn run(
        self,
        room: impl Fn() -> bool,
        freed: impl AsyncFn(),
        mut take: impl FnMut(OwnedFd, Kind),
    ) {
        let mut row = 0;
        loop {
            if !room() {
                freed().await;
                continue;
            }
            row += 1;
            if row > ROW {
                row = 0;
                tokio::task::yield_now().await;
            }
            match self.accept().await {
                Ok(socket) => take(socket, self.kind),
                // Whoever connected has gone again.
                Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => {}
                Err(errno) => {
                    if let Some(silent) = self.throttle.pass(clock::now()) {
                        let error = io::Error::from(errno);
                        warn!(listen = %self.text, %error, silent, "accepting pauses");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn accept(&self) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        poll_fn(|cx| {
            loop {
                match rustix::net::accept_with(&self.socket, flags) {
                    Err(Errno::AGAIN) => {}
                    outcome => return Poll::Ready(outcome),
                }
                match self.socket.poll_read_ready(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(mut guard)) => guard.clear_ready(),
                    Poll::Ready(Err(_)) => return Poll::Ready(Err(Errno::BADF)),
                }
            }
        })
        .await
    }
}
