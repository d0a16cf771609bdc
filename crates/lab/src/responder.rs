//! A server that speaks enough of Redis' protocol to be loaded: PING, ECHO, SET, GET and INCR.
//!
//! One thread, one epoll, as Redis has it. It exists so that `sleeve ab` needs nothing installed
//! and so that the far end costs little and always the same; it is no cache for anybody's data.
//! Memory is bounded: a connection holds at most one incomplete request and one batch of
//! replies, and is not read while replies wait; the values together stay below [`STORE_MAX`].

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::{self, JoinHandle};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::resp::{self, Request};
use crate::socket::{Endpoint, Received, receive, send};

/// Most bytes of keys and values together; a SET beyond it gets Redis' out-of-memory error. Four
/// times what the load's own keys need.
const STORE_MAX: usize = 64 * 1024 * 1024;
/// Bytes that an entry is counted with besides its key and value: what the table needs for it.
const ENTRY: usize = 64;
/// Bytes read at once.
const READ: usize = 64 * 1024;
/// Replies are written as soon as they reach so many bytes, so that a pipeline of small requests
/// for large values cannot pile up more than this and one value.
const REPLIES_MAX: usize = 256 * 1024;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;

const UNIX: u64 = 0;
const TCP: u64 = 1;
const STOP: u64 = 2;
/// Tokens from here on are connections.
const CONNECTIONS: u64 = 3;

/// A responder that runs until it is dropped.
pub(crate) struct Responder {
    unix: Endpoint,
    tcp: Endpoint,
    stop: OwnedFd,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Responder {
    /// Listens on the Unix socket `path` and on a free port of the loopback interface.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let unix = UnixListener::bind(path)?;
        unix.set_nonblocking(true)?;
        let tcp = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        tcp.set_nonblocking(true)?;
        let tcp_address = tcp.local_addr()?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &unix, EventData::new_u64(UNIX), EventFlags::IN)?;
        epoll::add(&epoll, &tcp, EventData::new_u64(TCP), EventFlags::IN)?;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let server = Server {
            epoll,
            unix,
            tcp,
            connections: Vec::new(),
            free: Vec::new(),
            store: Store { values: HashMap::new(), bytes: 0 },
            scratch: vec![0; READ],
            replies: Vec::new(),
        };
        let thread =
            thread::Builder::new().name("responder".to_owned()).spawn(move || server.run())?;
        Ok(Self {
            unix: Endpoint::Unix(path.to_owned()),
            tcp: Endpoint::Tcp(tcp_address),
            stop,
            thread: Some(thread),
        })
    }

    /// Its Unix socket.
    pub(crate) fn unix(&self) -> &Endpoint {
        &self.unix
    }

    /// Its TCP port.
    pub(crate) fn tcp(&self) -> &Endpoint {
        &self.tcp
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // The counter of a new eventfd is far from full, so that this cannot fail; if it did,
        // joining would wait for ever.
        let told = rustix::io::write(&self.stop, &1_u64.to_ne_bytes()).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| told) {
            // What ended the thread has been seen by its clients as the end of their connections.
            let _ended = thread.join();
        }
    }
}

/// One client.
struct Connection {
    socket: OwnedFd,
    /// Bytes that have arrived and are not answered yet; empty between whole requests.
    input: Vec<u8>,
    /// Replies that the socket did not take, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// The connection ends as soon as its output is written.
    closing: bool,
}

/// What becomes of a connection after an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    Write,
    Close,
}

struct Server {
    epoll: OwnedFd,
    unix: UnixListener,
    tcp: TcpListener,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    store: Store,
    scratch: Vec<u8>,
    replies: Vec<u8>,
}

impl Server {
    fn run(mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return Ok(()),
                    UNIX => self.accept_unix()?,
                    TCP => self.accept_tcp()?,
                    token => self.serve((token - CONNECTIONS) as usize)?,
                }
            }
        }
    }

    fn accept_unix(&mut self) -> io::Result<()> {
        while let Some((stream, _)) = unless_blocked(self.unix.accept())? {
            stream.set_nonblocking(true)?;
            self.insert(stream.into())?;
        }
        Ok(())
    }

    fn accept_tcp(&mut self) -> io::Result<()> {
        while let Some((stream, _)) = unless_blocked(self.tcp.accept())? {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            self.insert(stream.into())?;
        }
        Ok(())
    }

    fn insert(&mut self, socket: OwnedFd) -> io::Result<()> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        epoll::add(&self.epoll, &socket, token(index), EventFlags::IN)?;
        self.connections[index] = Some(Connection {
            socket,
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            closing: false,
        });
        Ok(())
    }

    fn serve(&mut self, index: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else {
            return Ok(());
        };
        let wrote = !connection.output.is_empty();
        let mut work = Work {
            connection,
            store: &mut self.store,
            scratch: &mut self.scratch,
            replies: &mut self.replies,
        };
        // A fault of one connection ends this connection and nothing else.
        let next = work.turn().unwrap_or(Next::Close);
        let socket = &work.connection.socket;
        match next {
            Next::Read if wrote => {
                epoll::modify(&self.epoll, socket, token(index), EventFlags::IN)?;
            }
            Next::Read => {}
            Next::Write if wrote => {}
            Next::Write => epoll::modify(&self.epoll, socket, token(index), EventFlags::OUT)?,
            Next::Close => {
                self.connections[index] = None;
                self.free.push(index);
            }
        }
        Ok(())
    }
}

fn token(index: usize) -> EventData {
    EventData::new_u64(CONNECTIONS + index as u64)
}

fn unless_blocked<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        // Also a connection that was gone before it was accepted: the event comes again if more
        // of them wait.
        Err(error)
            if error.kind() == io::ErrorKind::WouldBlock
                || error.kind() == io::ErrorKind::Interrupted
                || error.kind() == io::ErrorKind::ConnectionAborted =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// One connection's turn, with the buffers that all of them share.
struct Work<'a> {
    connection: &'a mut Connection,
    store: &'a mut Store,
    scratch: &'a mut [u8],
    replies: &'a mut Vec<u8>,
}

impl Work<'_> {
    /// Writes what waits, else reads once and answers everything complete in one write.
    fn turn(&mut self) -> io::Result<Next> {
        if !self.connection.output.is_empty() {
            return match self.flush()? {
                Next::Read => self.answer_kept(),
                other @ (Next::Write | Next::Close) => Ok(other),
            };
        }
        let length = match receive(&self.connection.socket, self.scratch)? {
            Received::Bytes(length) => length,
            Received::Nothing => return Ok(Next::Read),
            Received::End => return Ok(Next::Close),
        };
        if !self.connection.input.is_empty() {
            self.connection.input.extend_from_slice(&self.scratch[..length]);
            return self.answer_kept();
        }
        // The usual case, whole requests only: answered out of the shared buffer.
        let mut taken = 0;
        loop {
            let batch = answer(&self.scratch[taken..length], self.store, self.replies);
            taken += batch.taken;
            self.connection.closing = batch.fault;
            let next = self.write_replies()?;
            if next == Next::Read && batch.more {
                continue;
            }
            if next != Next::Close {
                self.connection.input.extend_from_slice(&self.scratch[taken..length]);
            }
            return Ok(next);
        }
    }

    /// Answers what stands in the connection's own buffer.
    fn answer_kept(&mut self) -> io::Result<Next> {
        let mut taken = 0;
        let next = loop {
            let batch = answer(&self.connection.input[taken..], self.store, self.replies);
            taken += batch.taken;
            self.connection.closing = batch.fault;
            let next = self.write_replies()?;
            if next != Next::Read || !batch.more {
                break next;
            }
        };
        self.connection.input.drain(..taken);
        if self.connection.input.is_empty() {
            self.connection.input = Vec::new();
        }
        Ok(next)
    }

    /// Writes the batch of replies; keeps what the socket does not take.
    fn write_replies(&mut self) -> io::Result<Next> {
        let mut next = if self.connection.closing { Next::Close } else { Next::Read };
        if !self.replies.is_empty() {
            match send(&self.connection.socket, self.replies)? {
                None => next = Next::Close,
                Some(length) if length < self.replies.len() => {
                    self.connection.output.extend_from_slice(&self.replies[length..]);
                    next = Next::Write;
                }
                Some(_) => {}
            }
            self.replies.clear();
            self.replies.shrink_to(2 * REPLIES_MAX);
        }
        Ok(next)
    }

    /// Writes what waits of earlier replies.
    fn flush(&mut self) -> io::Result<Next> {
        let connection = &mut *self.connection;
        let Some(length) = send(&connection.socket, &connection.output[connection.sent..])? else {
            return Ok(Next::Close);
        };
        connection.sent += length;
        if connection.sent < connection.output.len() {
            return Ok(Next::Write);
        }
        connection.output = Vec::new();
        connection.sent = 0;
        Ok(if connection.closing { Next::Close } else { Next::Read })
    }
}

/// How far a batch went.
struct Batch {
    /// Bytes of the requests that are answered.
    taken: usize,
    /// It ended because the replies are many; whole requests may be left.
    more: bool,
    /// It ended at bytes that are no request.
    fault: bool,
}

/// Appends the replies to the whole requests in `input`, up to [`REPLIES_MAX`].
fn answer(input: &[u8], store: &mut Store, replies: &mut Vec<u8>) -> Batch {
    let mut taken = 0;
    while replies.len() < REPLIES_MAX {
        match resp::parse(&input[taken..]) {
            Ok(Some((request, length))) => {
                store.execute(&request, replies);
                taken += length;
            }
            Ok(None) => {
                let fault = input.len() - taken > resp::REQUEST_MAX;
                return Batch { taken, more: false, fault };
            }
            Err(_) => {
                replies.extend_from_slice(b"-ERR Protocol error: only arrays of bulk strings\r\n");
                return Batch { taken, more: false, fault: true };
            }
        }
    }
    Batch { taken, more: true, fault: false }
}

/// Keys and values.
struct Store {
    values: HashMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl Store {
    fn execute(&mut self, request: &Request<'_>, replies: &mut Vec<u8>) {
        let arguments = request.arguments();
        let Some((name, arguments)) = arguments.split_first() else { return };
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match *arguments {
            [key] if is("GET") => match self.values.get(key) {
                Some(value) => resp::write_bulk(replies, value),
                None => replies.extend_from_slice(b"$-1\r\n"),
            },
            [key, value] if is("SET") => self.set(key, value, replies),
            [] if is("PING") => replies.extend_from_slice(b"+PONG\r\n"),
            [text] if is("PING") || is("ECHO") => resp::write_bulk(replies, text),
            [key] if is("INCR") => self.increment(key, replies),
            _ if ["GET", "SET", "PING", "ECHO", "INCR"].into_iter().any(is) => {
                replies.extend_from_slice(b"-ERR wrong number of arguments\r\n");
            }
            _ => replies.extend_from_slice(b"-ERR unknown command\r\n"),
        }
    }

    fn set(&mut self, key: &[u8], value: &[u8], replies: &mut Vec<u8>) {
        replies.extend_from_slice(if self.put(key, value) {
            b"+OK\r\n"
        } else {
            b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
        });
    }

    fn increment(&mut self, key: &[u8], replies: &mut Vec<u8>) {
        let old = match self.values.get(key) {
            None => Some(0),
            Some(value) => str::from_utf8(value).ok().and_then(|text| text.parse::<i64>().ok()),
        };
        let Some(new) = old.and_then(|number| number.checked_add(1)) else {
            replies.extend_from_slice(b"-ERR value is not an integer or out of range\r\n");
            return;
        };
        let new = new.to_string();
        if self.put(key, new.as_bytes()) {
            replies.extend_from_slice(format!(":{new}\r\n").as_bytes());
        } else {
            self.set(key, new.as_bytes(), replies);
        }
    }

    /// Stores a value unless the store would become too large. A value of the same length, which
    /// is what a load writes over and over, is put into the place of the old one.
    fn put(&mut self, key: &[u8], value: &[u8]) -> bool {
        if let Some(old) = self.values.get_mut(key) {
            let bytes = self.bytes - old.len() + value.len();
            if bytes > STORE_MAX {
                return false;
            }
            self.bytes = bytes;
            old.clear();
            old.extend_from_slice(value);
            old.shrink_to(2 * value.len());
            return true;
        }
        let bytes = self.bytes + ENTRY + key.len() + value.len();
        if bytes > STORE_MAX {
            return false;
        }
        self.bytes = bytes;
        self.values.insert(key.to_owned(), value.to_owned());
        true
    }
}

#[cfg(test)]
#[path = "responder_tests.rs"]
mod tests;
