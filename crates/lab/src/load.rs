//! A closed-loop load: every client sends its batch, waits for all replies, sends the next.
//!
//! One thread drives all clients by one epoll, so that fifty clients are really fifty
//! connections and not fifty threads that wait for a processor. It has to be cheap, because it
//! shares the machine with what it measures: one read and one write for a batch that fits into
//! the sockets, one look at the clock, no allocation.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::socket::{Endpoint, Received, receive, send};
use crate::workload::Workload;

/// Bytes read at once, and written at once when a batch has several requests.
const CHUNK: usize = 64 * 1024;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// How often the flag that interrupts a run is looked at while nothing happens.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// A link on which nothing moves for so long is stuck. Far above any latency that a machine
/// under load shows, and short enough to wait for.
const STALL: Duration = Duration::from_secs(10);
/// The longest latency that is told apart: more than [`STALL`] cannot occur in a batch of one.
const LATENCY_MAX: u64 = 60_000_000_000;
/// Bytes of a wrong reply that an error shows.
const SHOWN: usize = 48;

/// Why a run ended before its time.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// The flag was set.
    Interrupted,
    /// A reply was not the one that belongs to the request.
    WrongReply { expected: String, got: String },
    /// A connection ended.
    Closed,
    /// Nothing moved for ten seconds.
    Stalled,
    /// A system call failed.
    Io(io::Error),
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for LoadError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// What a run measured.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Requests that were answered.
    pub(crate) requests: u64,
    /// Bytes of these requests and their replies.
    pub(crate) bytes: u64,
    /// From the first request to the last reply.
    pub(crate) elapsed: Duration,
    /// From a batch's first byte to each of its replies, in nanoseconds.
    pub(crate) latencies: Histogram<u64>,
}

/// Connected clients.
pub(crate) struct Clients<'a> {
    workload: &'a Workload,
    /// Requests that a client sends before it waits for their replies.
    pipeline: u64,
    epoll: OwnedFd,
    clients: Vec<Client>,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// One connection; its counters are running numbers of requests.
struct Client {
    socket: OwnedFd,
    /// `answered <= sent <= batch_end <= answered + pipeline`
    batch_end: u64,
    batch_start: Instant,
    sent: u64,
    /// Bytes of request `sent` that are written already.
    sent_part: usize,
    answered: u64,
    /// Bytes of the reply to request `answered` that have arrived already.
    answered_part: usize,
    /// The socket was full: an event tells when the rest can be written.
    blocked: bool,
}

impl<'a> Clients<'a> {
    pub(crate) fn connect(
        endpoint: &Endpoint,
        workload: &'a Workload,
        count: usize,
        pipeline: usize,
    ) -> Result<Self, LoadError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut clients = Vec::with_capacity(count);
        for index in 0..count {
            let socket = endpoint.connect()?;
            epoll::add(&epoll, &socket, EventData::new_u64(index as u64), EventFlags::IN)?;
            // Clients start at different keys, so that those who ask at the same time do not ask
            // for the same.
            let first = (index * workload.keys() / count) as u64;
            clients.push(Client {
                socket,
                batch_end: first,
                batch_start: Instant::now(),
                sent: first,
                sent_part: 0,
                answered: first,
                answered_part: 0,
                blocked: false,
            });
        }
        Ok(Self {
            workload,
            pipeline: pipeline as u64,
            epoll,
            clients,
            input: vec![0; CHUNK],
            output: Vec::with_capacity(2 * CHUNK),
        })
    }

    /// The connections.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.clients.iter().map(|client| client.socket.as_fd())
    }

    /// Runs for `duration` and until the last reply has arrived; the connections stay open.
    pub(crate) fn run(
        &mut self,
        duration: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Sample, LoadError> {
        let start = Instant::now();
        let mut turn = Turn {
            workload: self.workload,
            pipeline: self.pipeline,
            epoll: &self.epoll,
            input: &mut self.input,
            output: &mut self.output,
            deadline: start + duration,
            active: self.clients.len(),
            last: start,
            requests: 0,
            bytes: 0,
            latencies: Histogram::new_with_bounds(1, LATENCY_MAX, 3)
                .expect("bounds and digits are ones that the histogram documents as valid"),
        };
        for (index, client) in self.clients.iter_mut().enumerate() {
            turn.start_batch(client, index, Instant::now())?;
        }
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        while turn.active > 0 {
            if interrupted.load(Ordering::Relaxed) {
                return Err(LoadError::Interrupted);
            }
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&LOOK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if events.is_empty() && turn.last.elapsed() > STALL {
                return Err(LoadError::Stalled);
            }
            for event in &events {
                let index = event.data.u64() as usize;
                turn.handle(&mut self.clients[index], index, event.flags)?;
            }
        }
        Ok(Sample {
            requests: turn.requests,
            bytes: turn.bytes,
            elapsed: turn.last - start,
            latencies: turn.latencies,
        })
    }
}

/// What a run needs besides the client whose turn it is.
struct Turn<'a> {
    workload: &'a Workload,
    pipeline: u64,
    epoll: &'a OwnedFd,
    input: &'a mut Vec<u8>,
    output: &'a mut Vec<u8>,
    deadline: Instant,
    /// Clients that have a batch under way.
    active: usize,
    /// When bytes arrived last.
    last: Instant,
    requests: u64,
    bytes: u64,
    latencies: Histogram<u64>,
}

impl Turn<'_> {
    fn handle(
        &mut self,
        client: &mut Client,
        index: usize,
        flags: EventFlags,
    ) -> Result<(), LoadError> {
        if flags.contains(EventFlags::OUT) {
            self.write(client, index)?;
        }
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return Ok(());
        }
        let length = match receive(&client.socket, self.input)? {
            Received::Bytes(length) => length,
            Received::Nothing => return Ok(()),
            Received::End => return Err(LoadError::Closed),
        };
        let now = Instant::now();
        self.last = now;
        self.verify(client, length, now)?;
        if client.answered < client.batch_end {
            Ok(())
        } else if now < self.deadline {
            self.start_batch(client, index, now)
        } else {
            self.active -= 1;
            Ok(())
        }
    }

    fn start_batch(
        &mut self,
        client: &mut Client,
        index: usize,
        now: Instant,
    ) -> Result<(), LoadError> {
        client.batch_start = now;
        client.batch_end += self.pipeline;
        self.write(client, index)
    }

    /// Writes as much of the batch as the socket takes.
    fn write(&mut self, client: &mut Client, index: usize) -> Result<(), LoadError> {
        while client.sent < client.batch_end {
            let single = client.sent + 1 == client.batch_end;
            let chunk = if single {
                &self.workload.request(client.sent)[client.sent_part..]
            } else {
                self.gather(client)
            };
            let length = chunk.len();
            let Some(taken) = send(&client.socket, chunk)? else {
                return Err(LoadError::Closed);
            };
            self.advance(client, taken);
            if taken < length {
                return self.set_blocked(client, index, true);
            }
        }
        self.set_blocked(client, index, false)
    }

    /// Puts the next requests of a batch side by side, up to a chunk.
    fn gather(&mut self, client: &Client) -> &[u8] {
        self.output.clear();
        let mut part = client.sent_part;
        for number in client.sent..client.batch_end {
            let request = &self.workload.request(number)[part..];
            let room = CHUNK - self.output.len();
            self.output.extend_from_slice(&request[..request.len().min(room)]);
            if self.output.len() == CHUNK {
                break;
            }
            part = 0;
        }
        self.output
    }

    /// Notes that the socket took so many bytes.
    fn advance(&mut self, client: &mut Client, taken: usize) {
        self.bytes += taken as u64;
        let mut left = taken;
        while left > 0 {
            let rest = self.workload.request(client.sent).len() - client.sent_part;
            if left < rest {
                client.sent_part += left;
                return;
            }
            left -= rest;
            client.sent += 1;
            client.sent_part = 0;
        }
    }

    fn set_blocked(
        &mut self,
        client: &mut Client,
        index: usize,
        blocked: bool,
    ) -> Result<(), LoadError> {
        if client.blocked != blocked {
            client.blocked = blocked;
            let flags = if blocked { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(self.epoll, &client.socket, EventData::new_u64(index as u64), flags)?;
        }
        Ok(())
    }

    /// Compares what has arrived with what has to arrive.
    fn verify(
        &mut self,
        client: &mut Client,
        length: usize,
        now: Instant,
    ) -> Result<(), LoadError> {
        let latency = (now - client.batch_start).as_nanos() as u64;
        let mut got = &self.input[..length];
        self.bytes += length as u64;
        while !got.is_empty() {
            if client.answered == client.sent {
                return Err(wrong(b"", got));
            }
            let expected = &self.workload.reply(client.answered)[client.answered_part..];
            let common = expected.len().min(got.len());
            if got[..common] != expected[..common] {
                return Err(wrong(expected, got));
            }
            got = &got[common..];
            client.answered_part += common;
            if common == expected.len() {
                client.answered += 1;
                client.answered_part = 0;
                self.requests += 1;
                self.latencies.saturating_record(latency);
            }
        }
        Ok(())
    }
}

fn wrong(expected: &[u8], got: &[u8]) -> LoadError {
    let show = |bytes: &[u8]| bytes[..bytes.len().min(SHOWN)].escape_ascii().to_string();
    LoadError::WrongReply { expected: show(expected), got: show(got) }
}

/// Sends every request of the workload once, in order, over one connection.
pub(crate) fn once(
    endpoint: &Endpoint,
    workload: &Workload,
    interrupted: &AtomicBool,
) -> Result<(), LoadError> {
    let mut client = Clients::connect(endpoint, workload, 1, workload.keys())?;
    client.run(Duration::ZERO, interrupted).map(|_| ())
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
