//! What the kernel sent for a TCP connection, asked through its socket diagnostics.
//!
//! This is the information of `TCP_INFO`, by way of a netlink socket: the same request that
//! `ss -ti` makes. Anybody may ask it for the connections of the own network namespace.

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, getpeername, getsockname,
    netlink, recv, send, socket_with,
};

/// Most payload bytes of a segment on Ethernet: 1500 less IPv4's 20 and TCP's 32 bytes.
const SEGMENT: u64 = 1448;
/// The `TCP_MAXSEG` that makes loopback's segments as large: it counts the 12 bytes of the time
/// stamps in.
pub(crate) const TCP_MAXSEG: u16 = 1460;
/// Bytes of the headers of a segment: IPv4 without options 20, TCP with time stamps 32.
pub(crate) const HEADERS: u64 = 52;

/// `SOCK_DIAG_BY_FAMILY`: one connection, named by its two addresses.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
const FAMILY_IPV4: u8 = 2;
const PROTOCOL_TCP: u8 = 6;
/// `INET_DIAG_INFO`: the attribute that holds a `struct tcp_info`.
const INFO: u16 = 2;
/// Bytes of `struct nlmsghdr` and, behind it, `struct inet_diag_msg`.
const HEADER: usize = 16;
const MESSAGE: usize = 72;

/// What went over one or more connections, both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Payload bytes.
    pub(crate) bytes: u64,
    /// Segments, those without payload too.
    pub(crate) segments: u64,
}

impl Usage {
    /// Bytes with headers.
    pub(crate) fn wire_bytes(&self) -> u64 {
        self.bytes + self.segments * HEADERS
    }
}

/// A netlink socket for such questions.
pub(crate) struct Diagnostics(OwnedFd);

impl Diagnostics {
    pub(crate) fn open() -> io::Result<Self> {
        let protocol = Some(netlink::SOCK_DIAG);
        let flags = SocketFlags::CLOEXEC;
        Ok(Self(socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?))
    }

    /// What went over all these connections since they were opened.
    pub(crate) fn sum<F: AsFd>(&self, sockets: impl Iterator<Item = F>) -> io::Result<Usage> {
        let mut sum = Usage::default();
        for socket in sockets {
            let usage = self.usage(socket)?;
            sum.bytes += usage.bytes;
            sum.segments += usage.segments;
        }
        Ok(sum)
    }

    fn usage(&self, socket: impl AsFd) -> io::Result<Usage> {
        let local = SocketAddrV4::try_from(getsockname(&socket)?)?;
        let peer = getpeername(&socket)?.ok_or(io::ErrorKind::NotConnected)?;
        let peer = SocketAddrV4::try_from(peer)?;
        send(&self.0, &question(local, peer), SendFlags::empty())?;
        let mut answer = [0_u8; 2048];
        let (_, length) = recv(&self.0, &mut answer, RecvFlags::empty())?;
        answer
            .get(..length)
            .and_then(information)
            .and_then(read)
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// `struct nlmsghdr`, then `struct inet_diag_req_v2`.
fn question(local: SocketAddrV4, peer: SocketAddrV4) -> Vec<u8> {
    let mut body = vec![FAMILY_IPV4, PROTOCOL_TCP, 1 << (INFO - 1), 0];
    // All states.
    body.extend_from_slice(&u32::MAX.to_ne_bytes());
    body.extend_from_slice(&local.port().to_be_bytes());
    body.extend_from_slice(&peer.port().to_be_bytes());
    for address in [local, peer] {
        body.extend_from_slice(&address.ip().octets());
        body.extend_from_slice(&[0; 12]);
    }
    // Any interface, and no cookie to check.
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(&[0xff; 8]);
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    message.extend_from_slice(&REQUEST.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&body);
    message
}

/// The `struct tcp_info` in an answer.
fn information(answer: &[u8]) -> Option<&[u8]> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != BY_FAMILY {
        return None;
    }
    let mut attributes = answer.get(HEADER + MESSAGE..)?;
    loop {
        let length = usize::from(u16::from_ne_bytes(attributes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(attributes.get(2..4)?.try_into().ok()?);
        if kind == INFO {
            return attributes.get(4..length);
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
}

/// The counters in a `struct tcp_info`, at the offsets that the kernel's interface fixes.
fn read(info: &[u8]) -> Option<Usage> {
    let long = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
    let word =
        |at: usize| Some(u64::from(u32::from_ne_bytes(info.get(at..at + 4)?.try_into().ok()?)));
    let (bytes_in, bytes_out) = (long(128)?, long(200)?);
    let (segments_out, segments_in) = (word(136)?, word(140)?);
    let (data_in, data_out) = (word(152)?, word(156)?);
    Some(Usage {
        bytes: bytes_in + bytes_out,
        segments: ethernet(segments_in, data_in, bytes_in)
            + ethernet(segments_out, data_out, bytes_out),
    })
}

/// Segments of one direction as Ethernet would need them. The loopback interface carries up to
/// 64 KiB in one; a segment that is larger than [`SEGMENT`] counts as what it would be cut into.
fn ethernet(segments: u64, with_data: u64, bytes: u64) -> u64 {
    segments.saturating_sub(with_data) + with_data.max(bytes.div_ceil(SEGMENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn the_kernel_counts_what_was_sent() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let diagnostics = Diagnostics::open().unwrap();
        let before = diagnostics.sum([&near].into_iter()).unwrap();
        near.write_all(&[1; 1000]).unwrap();
        far.read_exact(&mut [0; 1000]).unwrap();
        far.write_all(&[2; 100]).unwrap();
        near.read_exact(&mut [0; 100]).unwrap();
        let after = diagnostics.sum([&near].into_iter()).unwrap();
        assert_eq!(after.bytes - before.bytes, 1100);
        let segments = after.segments - before.segments;
        assert!((2..=4).contains(&segments), "{segments} segments");
    }

    #[test]
    fn large_segments_count_as_ethernets() {
        assert_eq!(ethernet(5, 3, 3 * SEGMENT), 5);
        assert_eq!(ethernet(5, 1, 65_536), 4 + 46);
        assert_eq!(ethernet(1, 0, 0), 1);
    }

    #[test]
    fn an_answer_cut_short_is_no_answer() {
        let mut answer = vec![0_u8; HEADER + MESSAGE + 4 + 208];
        answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        answer[88..90].copy_from_slice(&212_u16.to_ne_bytes());
        answer[90..92].copy_from_slice(&INFO.to_ne_bytes());
        let whole = answer.len();
        assert_eq!(information(&answer).and_then(read), Some(Usage::default()));
        for cut in 0..whole {
            assert_eq!(information(&answer[..cut]).and_then(read), None);
        }
        // An error message of the kernel has another kind.
        answer[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(information(&answer), None);
    }
}
