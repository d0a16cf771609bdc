//! A timer finer than the runtime's, which counts whole milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use sleeve_session::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::sys;

/// Wakes its task at a moment, or earlier. It is set again only when it would ring too late, so
/// that deadlines which move away, as most do, cost no system call.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
    rings_at: Option<Instant>,
}

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { fd: sys::watch(fd, Interest::READABLE)?, rings_at: None })
    }

    /// Makes sure that the task is woken at `at` if nothing wakes it before.
    pub(crate) fn wake_at(
        &mut self,
        cx: &mut Context<'_>,
        at: Instant,
        now: Instant,
    ) -> io::Result<()> {
        while let Poll::Ready(guard) = self.fd.poll_read_ready(cx) {
            guard?.clear_ready();
            self.rings_at = None;
        }
        if self.rings_at.is_some_and(|rings| rings <= at) {
            return Ok(());
        }
        // A zero would switch the timer off.
        let us = at.since(now).max(1);
        let value = Timespec {
            tv_sec: i64::try_from(us / 1_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(us % 1_000_000 * 1_000).unwrap_or(0),
        };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once)?;
        self.rings_at = Some(at);
        Ok(())
    }
}
