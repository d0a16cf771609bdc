//! System calls that no crate wraps: the only place with unsafe code.
#![allow(unsafe_code, reason = "calls of the C library that no well-kept crate offers")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use sleeve_session::PathSample;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What the kernel counted for a TCP connection, both directions of this end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes of payload sent, repetitions included.
    pub(crate) bytes: u64,
    /// Segments sent, pure acknowledgements included.
    pub(crate) segments: u64,
}

/// `tcpi_delivery_rate_app_limited` is the lowest bit of the byte after the two window scales.
const APPLICATION_LIMITED_AT: usize = 7;

fn tcp_info(fd: impl AsFd) -> Option<(libc::tcp_info, bool)> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut len = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
    // SAFETY: `info` is writable for `len` bytes, and the kernel writes no more than that.
    let status = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if status != 0 {
        return None;
    }
    // SAFETY: `info` was zeroed, every bit pattern is a valid `tcp_info`, and so are its bytes.
    unsafe {
        let byte = info.as_ptr().cast::<u8>().add(APPLICATION_LIMITED_AT).read();
        Some((info.assume_init(), byte & 1 != 0))
    }
}

/// The state of the path, for the send rules. `None` if it is no TCP connection.
pub(crate) fn path(fd: impl AsFd) -> Option<PathSample> {
    let (info, application_limited) = tcp_info(fd)?;
    // The kernel says the largest number while it has seen no round trip.
    let shortest = if info.tcpi_min_rtt == u32::MAX { info.tcpi_rtt } else { info.tcpi_min_rtt };
    Some(PathSample {
        unsent: info.tcpi_notsent_bytes,
        unacknowledged: info.tcpi_unacked,
        round_trip_us: info.tcpi_rtt,
        round_trip_min_us: shortest,
        delivery_rate: info.tcpi_delivery_rate,
        application_limited,
    })
}

/// What went to the wire at this end. `None` if it is no TCP connection.
pub(crate) fn sent(fd: impl AsFd) -> Option<Sent> {
    let (info, _) = tcp_info(fd)?;
    Some(Sent { bytes: info.tcpi_bytes_sent, segments: u64::from(info.tcpi_segs_out) })
}

/// Takes over a descriptor that the process inherited for this purpose.
pub(crate) fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fcntl` with F_GETFD only asks; on a closed descriptor it fails.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and the service manager passed it to this process; the
    // caller takes each of them once.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a listener's connections readable only when that many bytes have come, or the end.
/// Accepted sockets inherit it.
pub(crate) fn set_receive_low_water(fd: impl AsFd, bytes: u16) -> io::Result<()> {
    let value = libc::c_int::from(bytes);
    let len = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(4);
    // SAFETY: `value` is readable for `len` bytes.
    let status = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            len,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Registers a descriptor with the runtime of this thread.
pub(crate) fn watch(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` always gives the same descriptor, and keeps it open for as long as it
    // lives; nothing here takes it out of the registration without ending that first.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(|e| e.into_parts().1)
}
