//! The byte stream between two daemons.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sleeve_session::PathSample;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::sys::{self, Sent};

/// Data that are not acknowledged for so long mean that the path is dead (RFC 5482).
const USER_TIMEOUT: Duration = Duration::from_secs(10);

/// A TCP connection to the other daemon.
#[derive(Debug)]
pub(crate) struct Carrier {
    stream: TcpStream,
    /// What TCP_NOTSENT_LOWAT was set to last.
    unsent_max: usize,
}

impl Carrier {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_user_timeout(Some(USER_TIMEOUT))?;
        Ok(Self { stream, unsent_max: 0 })
    }

    /// Reads into `buffer`; 0 is the end.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    /// Bounds what the kernel holds unsent, so that what is read late is sent soon.
    pub(crate) fn set_unsent_max(&mut self, bytes: usize) {
        // Small changes are not worth a system call.
        if bytes.abs_diff(self.unsent_max) * 4 > self.unsent_max {
            self.unsent_max = bytes;
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            // Without it the kernel holds more: slower for small data, and as right as before.
            let _ = SockRef::from(&self.stream).set_tcp_notsent_lowat(bytes);
        }
    }

    pub(crate) fn path(&self) -> Option<PathSample> {
        sys::path(&self.stream)
    }

    pub(crate) fn sent(&self) -> Option<Sent> {
        sys::sent(&self.stream)
    }
}
