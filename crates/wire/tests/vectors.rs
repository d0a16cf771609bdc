//! Frozen bytes. Whatever changes one of them changes the protocol.
//!
//! They were written by a program that shares nothing with this crate, from the tables of
//! PROTOCOL.md; the bad ones are named after their fault.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{decode, encode, to_hex, vectors};
use sleeve_wire::{
    ClientHello, CloseCode, Credit, Decoder, Frame, GoAwayReason, HELLO_LEN, HelloStatus, Offset,
    ResetReason, ServerHello, StreamId, VARINT_MAX, WireError,
};

/// 0, 1, 2 and so on.
fn counting(len: usize) -> Vec<u8> {
    (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

fn stream_frames(data: &[u8]) -> Vec<(String, Frame<'_>)> {
    let id = StreamId(5);
    let data = |id, len| Frame::Data { id: StreamId(id), bytes: &data[..len] };
    let mut all = vec![
        ("data_short_1", data(5, 1)),
        ("data_short_36", data(0, 36)),
        ("data_short_128", data(64, 128)),
        ("data_long_129", data(5, 129)),
        ("data_long_129_id_max", data(u32::MAX, 129)),
        ("open", Frame::Open { id, service: 0 }),
        ("open_id_64_service_max", Frame::Open { id: StreamId(64), service: u16::MAX }),
        ("accepted", Frame::Accepted { id }),
        ("fin", Frame::Fin { id: StreamId(16_384) }),
    ];
    let reasons = [
        ("reset_refused", ResetReason::Refused),
        ("reset_unreachable", ResetReason::Unreachable),
        ("reset_timeout", ResetReason::Timeout),
        ("reset_reset", ResetReason::Reset),
        ("reset_limit", ResetReason::Limit),
        ("reset_shutdown", ResetReason::Shutdown),
        ("reset_internal", ResetReason::Internal),
        ("reset_no_service", ResetReason::NoService),
        ("reset_echo", ResetReason::Echo),
    ];
    all.extend(reasons.map(|(name, reason)| (name, Frame::Reset { id, reason })));
    all.extend([
        ("credit_1", Frame::Credit { id, increment: Credit(1) }),
        ("credit_max", Frame::Credit { id: StreamId(4095), increment: Credit(VARINT_MAX) }),
        ("max_streams", Frame::MaxStreams { limit: 4096 }),
        ("closed", Frame::Closed { id }),
    ]);
    all.into_iter().map(|(name, frame)| (name.to_owned(), frame)).collect()
}

fn carrier_frames() -> Vec<(String, Frame<'static>)> {
    let proof: [u8; 32] = counting(32).try_into().unwrap();
    let mut all = vec![
        ("ack_1", Frame::Ack { bytes: 1 }),
        ("ack_16384", Frame::Ack { bytes: 16_384 }),
        ("ack_max", Frame::Ack { bytes: VARINT_MAX }),
        ("ping", Frame::Ping { token: 0x0102_0304 }),
        ("pong", Frame::Pong { token: 0xFFFE_FDFC }),
        ("confirm", Frame::Confirm),
        ("resumed", Frame::Resumed { offset: Offset(1 << 30), proof }),
        ("confirm_resume", Frame::ConfirmResume { offset: Offset(0), proof }),
    ];
    let go_away = |(name, reason)| (name, Frame::GoAway { reason, grace_ms: 30_000 });
    let reasons = [
        ("go_away_drain", GoAwayReason::Drain),
        ("go_away_rekey", GoAwayReason::Rekey),
        ("go_away_migrate", GoAwayReason::Migrate),
    ];
    all.extend(reasons.map(go_away));
    let codes = [
        ("close_normal", CloseCode::Normal),
        ("close_protocol", CloseCode::Protocol),
        ("close_flow_control", CloseCode::FlowControl),
        ("close_offset", CloseCode::Offset),
        ("close_calm", CloseCode::Calm),
        ("close_internal", CloseCode::Internal),
        ("close_superseded", CloseCode::Superseded),
        ("close_resume_window", CloseCode::ResumeWindow),
    ];
    all.extend(codes.map(|(name, code)| (name, Frame::Close { code })));
    all.into_iter().map(|(name, frame)| (name.to_owned(), frame)).collect()
}

#[test]
fn frames_are_as_frozen() {
    let data = counting(129);
    let ours = [stream_frames(&data), carrier_frames()].concat();
    let frozen = vectors("frames.txt");
    let (record, frames) = frozen.split_last().unwrap();
    assert_eq!(ours.len(), frames.len());
    for ((name, frame), (frozen_name, bytes)) in ours.iter().zip(frames) {
        assert_eq!(name, frozen_name);
        assert_eq!(to_hex(&encode(frame)), to_hex(bytes), "{name}");
        assert_eq!(decode(bytes), Ok(vec![*frame]), "{name}");
    }
    // The example of PROTOCOL 4.5, with its padding.
    let expected = vec![
        Frame::Open { id: StreamId(5), service: 0 },
        Frame::Data { id: StreamId(5), bytes: &data[..36] },
        Frame::Data { id: StreamId(7), bytes: &data[..36] },
        Frame::Ack { bytes: 16_384 },
    ];
    assert_eq!(record.0, "record_of_two_requests");
    assert_eq!(decode(&record.1), Ok(expected));
}

#[test]
fn bad_frames_are_refused_for_what_they_are_named_after() {
    for (name, bytes) in vectors("bad_frames.txt") {
        let (fault, _) = name.split_once('.').expect("a bad frame's name begins with its fault");
        let error = decode(&bytes).expect_err(&name);
        let kind = match error {
            WireError::Truncated => "truncated",
            WireError::NotMinimal => "not_minimal",
            WireError::UnknownFrame(_) => "unknown",
            WireError::OutOfRange => "out_of_range",
            WireError::Hello => "hello",
        };
        assert_eq!(kind, fault, "{name}");
        let mut frames = Decoder::new(&bytes);
        let good = frames.by_ref().take_while(Result::is_ok).count();
        assert_eq!(frames.next(), None, "{name}: nothing comes after a fault ({good} before it)");
    }
}

fn client_new() -> ClientHello {
    ClientHello {
        version_min: 1,
        version_max: 1,
        resume: false,
        framings: 3,
        suites: 1,
        rekey_exponent: 20,
        service: 0,
        session: std::array::from_fn(|n| 0x10 + u8::try_from(n).unwrap()),
        attempt: 0,
        initial_credit: 16_384,
        ring_max: 4 << 20,
        keepalive_s: 15,
        resume_window_s: 60,
        unix_ms: 1_767_225_600_000,
        pad_len: 832,
    }
}

fn server_new() -> ServerHello {
    ServerHello {
        status: HelloStatus::New,
        version: 1,
        framing: 1,
        suite: 1,
        rekey_exponent: 20,
        session: std::array::from_fn(|n| 0x10 + u8::try_from(n).unwrap()),
        max_streams: 1024,
        initial_credit: 16_384,
        ring_max: 4 << 20,
        keepalive_s: 15,
        resume_window_s: 60,
        epoch: std::array::from_fn(|n| 0x20 + u8::try_from(n).unwrap()),
        unix_ms: 1_767_225_600_000,
        pad_len: 848,
    }
}

fn client_all_ones() -> ClientHello {
    ClientHello {
        version_min: 255,
        version_max: 255,
        resume: true,
        framings: 255,
        suites: 255,
        rekey_exponent: 255,
        service: u16::MAX,
        session: [255; 16],
        attempt: u32::MAX,
        initial_credit: u32::MAX,
        ring_max: u32::MAX,
        keepalive_s: u16::MAX,
        resume_window_s: u16::MAX,
        unix_ms: u64::MAX,
        pad_len: u16::MAX,
    }
}

fn server_all_ones() -> ServerHello {
    ServerHello {
        status: HelloStatus::NoFraming,
        version: 255,
        framing: 255,
        suite: 255,
        rekey_exponent: 255,
        session: [255; 16],
        max_streams: u32::MAX,
        initial_credit: u32::MAX,
        ring_max: u32::MAX,
        keepalive_s: u16::MAX,
        resume_window_s: u16::MAX,
        epoch: [255; 8],
        unix_ms: u64::MAX,
        pad_len: u16::MAX,
    }
}

#[test]
fn hellos_are_as_frozen() {
    let client = |hello: ClientHello, bytes: &[u8; HELLO_LEN], name: &str| {
        assert_eq!(to_hex(&hello.encode()), to_hex(bytes), "{name}");
        assert_eq!(ClientHello::decode(bytes), Ok(hello), "{name}");
    };
    let server = |hello: ServerHello, bytes: &[u8; HELLO_LEN], name: &str| {
        assert_eq!(to_hex(&hello.encode()), to_hex(bytes), "{name}");
        assert_eq!(ServerHello::decode(bytes), Ok(hello), "{name}");
    };
    let frozen = vectors("hellos.txt");
    assert_eq!(frozen.len(), 6);
    for (name, bytes) in frozen {
        let bytes: [u8; HELLO_LEN] = bytes.try_into().expect("a payload has 128 bytes");
        match name.as_str() {
            "client.new" => client(client_new(), &bytes, &name),
            "client.all_ones" => client(client_all_ones(), &bytes, &name),
            "server.new" => server(server_new(), &bytes, &name),
            "server.all_ones" => server(server_all_ones(), &bytes, &name),
            "bad_client.kind" => assert_eq!(ClientHello::decode(&bytes), Err(WireError::Hello)),
            "bad_server.status" => assert_eq!(ServerHello::decode(&bytes), Err(WireError::Hello)),
            other => panic!("a vector that no test knows: {other}"),
        }
    }
}
