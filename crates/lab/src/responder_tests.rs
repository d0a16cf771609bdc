//! The responder over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;
use crate::folder::Folder;
use crate::resp::{ARGUMENT_MAX, write_bulk, write_request};

/// Far above what any answer here takes; a test that waits for it fails.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

fn start() -> (Folder, Responder) {
    let folder = Folder::create().unwrap();
    let responder = Responder::start(&folder.join("responder")).unwrap();
    (folder, responder)
}

fn unix(responder: &Responder) -> UnixStream {
    let Endpoint::Unix(path) = responder.unix() else { panic!("not a Unix socket") };
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(PATIENCE).unwrap();
    stream.set_write_timeout(PATIENCE).unwrap();
    stream
}

fn tcp(responder: &Responder) -> TcpStream {
    let Endpoint::Tcp(address) = responder.tcp() else { panic!("not a TCP port") };
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(PATIENCE).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Reads as many bytes as `expected` has and compares them.
fn expect(stream: &mut impl Read, expected: &[u8]) {
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(got.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
fn commands_are_answered_as_redis_answers_them() {
    let (_folder, responder) = start();
    let cases: [(&[&[u8]], &[u8]); 16] = [
        (&[b"PING"], b"+PONG\r\n"),
        (&[b"ping", b"text"], b"$4\r\ntext\r\n"),
        (&[b"ECHO", b"\r\n"], b"$2\r\n\r\n\r\n"),
        (&[b"GET", b"key"], b"$-1\r\n"),
        (&[b"SET", b"key", b"value"], b"+OK\r\n"),
        (&[b"Get", b"key"], b"$5\r\nvalue\r\n"),
        (&[b"SET", b"key", b""], b"+OK\r\n"),
        (&[b"GET", b"key"], b"$0\r\n\r\n"),
        (&[b"INCR", b"count"], b":1\r\n"),
        (&[b"INCR", b"count"], b":2\r\n"),
        (&[b"SET", b"count", b"9223372036854775807"], b"+OK\r\n"),
        (&[b"INCR", b"count"], b"-ERR value is not an integer or out of range\r\n"),
        (&[b"INCR", b"key"], b"-ERR value is not an integer or out of range\r\n"),
        (&[b"GET"], b"-ERR wrong number of arguments\r\n"),
        (&[b"SET", b"key", b"value", b"EX", b"1"], b"-ERR wrong number of arguments\r\n"),
        (&[b"CONFIG", b"GET", b"save"], b"-ERR unknown command\r\n"),
    ];
    let mut stream = unix(&responder);
    for (arguments, reply) in cases {
        let mut request = Vec::new();
        write_request(&mut request, arguments);
        stream.write_all(&request).unwrap();
        expect(&mut stream, reply);
    }
}

#[test]
fn any_segmentation_gives_the_same_answers() {
    let (_folder, responder) = start();
    let mut requests = Vec::new();
    let mut replies = Vec::new();
    for number in 0..20_u8 {
        let value = vec![b'a' + number; usize::from(number) * 3];
        write_request(&mut requests, &[b"SET", &[number], &value]);
        replies.extend_from_slice(b"+OK\r\n");
        write_request(&mut requests, &[b"GET", &[number]]);
        write_bulk(&mut replies, &value);
    }
    for piece in [1, 2, 3, 7, 64, requests.len()] {
        let mut stream = tcp(&responder);
        for bytes in requests.chunks(piece) {
            stream.write_all(bytes).unwrap();
        }
        expect(&mut stream, &replies);
    }
}

#[test]
fn large_values_go_in_and_out() {
    let (_folder, responder) = start();
    let value: Vec<u8> = (0..ARGUMENT_MAX).map(|index| (index % 251) as u8).collect();
    let mut request = Vec::new();
    write_request(&mut request, &[b"SET", b"large", &value]);
    write_request(&mut request, &[b"GET", b"large"]);
    let mut stream = unix(&responder);
    stream.write_all(&request).unwrap();
    let mut reply = b"+OK\r\n".to_vec();
    write_bulk(&mut reply, &value);
    expect(&mut stream, &reply);
}

/// A client that asks for more than it reads is served as it reads, and nobody else waits.
#[test]
fn a_reader_that_stops_stops_itself_only() {
    const ASKED: usize = 200;
    let (_folder, responder) = start();
    let value = vec![b'v'; ARGUMENT_MAX];
    let mut request = Vec::new();
    write_request(&mut request, &[b"SET", b"large", &value]);
    let mut slow = unix(&responder);
    slow.write_all(&request).unwrap();
    expect(&mut slow, b"+OK\r\n");
    request.clear();
    (0..ASKED).for_each(|_| write_request(&mut request, &[b"GET", b"large"]));
    slow.write_all(&request).unwrap();

    let mut other = tcp(&responder);
    other.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
    expect(&mut other, b"+PONG\r\n");

    let mut reply = Vec::new();
    write_bulk(&mut reply, &value);
    for _ in 0..ASKED {
        let mut got = vec![0; reply.len()];
        slow.read_exact(&mut got).unwrap();
        assert!(got == reply);
    }
    slow.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
    expect(&mut slow, b"+PONG\r\n");
}

#[test]
fn bytes_that_are_no_request_end_the_connection_after_the_replies() {
    let (_folder, responder) = start();
    let mut stream = unix(&responder);
    stream.write_all(b"*1\r\n$4\r\nPING\r\nnonsense\r\n*1\r\n$4\r\nPING\r\n").unwrap();
    expect(&mut stream, b"+PONG\r\n-ERR Protocol error: only arrays of bulk strings\r\n");
    let mut rest = Vec::new();
    // Bytes that were not read make the end of a Unix socket a reset.
    let _end = stream.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    let mut next = unix(&responder);
    next.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
    expect(&mut next, b"+PONG\r\n");
}

#[test]
fn the_store_is_bounded() {
    let mut store = Store { values: HashMap::new(), bytes: 0 };
    let value = vec![b'v'; ARGUMENT_MAX];
    let stored = (0..1000_u32).take_while(|key| store.put(&key.to_be_bytes(), &value)).count();
    assert_eq!(stored, STORE_MAX / ARGUMENT_MAX - 1);
    assert!(store.put(&0_u32.to_be_bytes(), b"small") && store.put(b"another", &value));
    let held: usize = store.values.iter().map(|(key, value)| key.len() + value.len() + ENTRY).sum();
    assert_eq!(store.bytes, held);
    let mut replies = Vec::new();
    store.set(b"one too many", &value, &mut replies);
    assert!(replies.starts_with(b"-OOM "));
}

#[test]
fn replies_are_written_before_they_pile_up() {
    let mut store = Store { values: HashMap::new(), bytes: 0 };
    assert!(store.put(b"large", &vec![b'v'; ARGUMENT_MAX]));
    let mut requests = Vec::new();
    (0..100).for_each(|_| write_request(&mut requests, &[b"GET", b"large"]));
    let mut replies = Vec::new();
    let batch = answer(&requests, &mut store, &mut replies);
    assert!(batch.more && !batch.fault && batch.taken < requests.len());
    assert!(replies.len() < REPLIES_MAX + ARGUMENT_MAX + 64);
}
