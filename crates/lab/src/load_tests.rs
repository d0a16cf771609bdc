//! The load against a responder, and against servers that misbehave.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use super::*;
use crate::Command;
use crate::folder::Folder;
use crate::responder::Responder;

static GO: AtomicBool = AtomicBool::new(false);

/// Serves one connection with `behave` and runs one client against it.
fn against(behave: fn(UnixStream, Vec<u8>)) -> Result<Sample, LoadError> {
    let folder = Folder::create().unwrap();
    let path = folder.join("server");
    let listener = UnixListener::bind(&path).unwrap();
    let workload = Workload::new(Command::Get, 5);
    let request = workload.request(0).len();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = vec![0; request];
        stream.read_exact(&mut bytes).unwrap();
        behave(stream, bytes);
    });
    let mut clients = Clients::connect(&Endpoint::Unix(path), &workload, 1, 1).unwrap();
    let result = clients.run(Duration::ZERO, &GO);
    drop(clients);
    server.join().unwrap();
    result
}

/// Keeps the connection until the client ends it.
fn hold(mut stream: UnixStream) {
    let _end = stream.read_to_end(&mut Vec::new());
}

/// The reply to the first request of a load with values of five bytes.
const RIGHT: &[u8] = b"$5\r\n00000\r\n";

#[test]
fn the_right_reply_passes_however_it_is_cut() {
    let sample = against(|mut stream, request| {
        assert_eq!(request, b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n");
        for byte in RIGHT {
            stream.write_all(&[*byte]).unwrap();
        }
        hold(stream);
    })
    .unwrap();
    assert_eq!((sample.requests, sample.latencies.len()), (1, 1));
    assert_eq!(sample.bytes, 36 + RIGHT.len() as u64);
}

#[test]
fn a_wrong_reply_fails_the_run() {
    let result = against(|mut stream, _| {
        stream.write_all(b"$5\r\n00001\r\n").unwrap();
        hold(stream);
    });
    let Err(LoadError::WrongReply { expected, got }) = result else { panic!("{result:?}") };
    assert_eq!(expected, r"$5\r\n00000\r\n");
    assert_eq!(got, r"$5\r\n00001\r\n");
}

#[test]
fn a_reply_too_many_fails_the_run() {
    let result = against(|mut stream, _| {
        stream.write_all(&[RIGHT, RIGHT].concat()).unwrap();
        hold(stream);
    });
    let Err(LoadError::WrongReply { expected, got }) = result else { panic!("{result:?}") };
    assert_eq!((expected.as_str(), got.as_str()), ("", r"$5\r\n00000\r\n"));
}

#[test]
fn an_end_in_the_middle_of_a_reply_fails_the_run() {
    let result = against(|mut stream, _| stream.write_all(&RIGHT[..6]).unwrap());
    assert!(matches!(result, Err(LoadError::Closed)), "{result:?}");
}

#[test]
fn the_flag_ends_a_run_that_would_wait() {
    let folder = Folder::create().unwrap();
    let path = folder.join("server");
    let _silent = UnixListener::bind(&path).unwrap();
    let workload = Workload::new(Command::Get, 5);
    let mut clients = Clients::connect(&Endpoint::Unix(path), &workload, 2, 1).unwrap();
    let interrupted = AtomicBool::new(true);
    let result = clients.run(Duration::from_secs(600), &interrupted);
    assert!(matches!(result, Err(LoadError::Interrupted)), "{result:?}");
}

/// Commands, sizes and pipelines whose batches exceed any socket buffer, so that writes stop in
/// the middle of a request and go on after an event.
#[test]
fn every_batch_is_answered_in_full() {
    let folder = Folder::create().unwrap();
    let responder = Responder::start(&folder.join("responder")).unwrap();
    for (size, pipeline, count) in [(1, 1, 1), (3, 100, 7), (100_000, 50, 3), (1 << 20, 4, 2)] {
        for command in [Command::Set, Command::Get] {
            let workload = Workload::new(command, size);
            if let Some(preparation) = workload.preparation() {
                once(responder.unix(), &preparation, &GO).unwrap();
            }
            for endpoint in [responder.unix(), responder.tcp()] {
                let mut clients = Clients::connect(endpoint, &workload, count, pipeline).unwrap();
                let sample = clients.run(Duration::from_millis(20), &GO).unwrap();
                let batch = (pipeline * count) as u64;
                assert!(sample.requests >= batch, "{size} {pipeline} {count}");
                assert_eq!(sample.requests % pipeline as u64, 0);
                assert_eq!(sample.requests, sample.latencies.len());
                let again = clients.run(Duration::ZERO, &GO).unwrap();
                assert_eq!(again.requests, batch);
            }
        }
    }
}
