//! What the test programs of this crate share.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::path::Path;

use proptest::prelude::*;
use sleeve_wire::{
    CloseCode, Credit, Decoder, Frame, GoAwayReason, Offset, ResetReason, Room, StreamId,
    VARINT_MAX, WireError,
};

/// Where a varint grows by a byte or by two, and its ends.
pub(crate) const VARINT_EDGES: [u64; 10] =
    [0, 1, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, VARINT_MAX - 1, VARINT_MAX];

/// The same for ids.
pub(crate) const ID_EDGES: [u32; 8] = [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, u32::MAX];

/// A frame's bytes.
pub(crate) fn encode(frame: &Frame<'_>) -> Vec<u8> {
    let mut buffer = vec![0xEE; 20_000];
    Room::new(&mut buffer, 0).put(frame).expect("the buffer holds every frame").to_vec()
}

/// All frames of a record, or its first fault.
pub(crate) fn decode(record: &[u8]) -> Result<Vec<Frame<'_>>, WireError> {
    Decoder::new(record).collect()
}

/// Every kind of frame, with each value that is an edge of its field.
pub(crate) fn edges(data: &[u8]) -> Vec<Frame<'_>> {
    let mut frames = vec![Frame::Confirm];
    for id in ID_EDGES.map(StreamId) {
        let data = [1, 2, 127, 128, 129, 130, 16_365].map(|n| data.get(..n).expect("enough data"));
        frames.extend(data.map(|bytes| Frame::Data { id, bytes }));
        frames.extend([0, 63, 64, u16::MAX].map(|service| Frame::Open { id, service }));
        frames.extend([Frame::Accepted { id }, Frame::Fin { id }, Frame::Closed { id }]);
        frames.extend(ResetReason::ALL.iter().map(|&reason| Frame::Reset { id, reason }));
        let increments = VARINT_EDGES.into_iter().filter(|&v| v > 0).map(Credit);
        frames.extend(increments.map(|increment| Frame::Credit { id, increment }));
    }
    frames.extend(ID_EDGES.map(|limit| Frame::MaxStreams { limit }));
    for number in VARINT_EDGES {
        if number > 0 {
            frames.push(Frame::Ack { bytes: number });
        }
        let (offset, proof) = (Offset(number), [0xA5; 32]);
        frames.extend([Frame::ConfirmResume { offset, proof }, Frame::Resumed { offset, proof }]);
        let go_away = |&reason| Frame::GoAway { reason, grace_ms: number };
        frames.extend(GoAwayReason::ALL.iter().map(go_away));
    }
    for token in [0, 1, u32::MAX] {
        frames.extend([Frame::Ping { token }, Frame::Pong { token }]);
    }
    frames.extend(CloseCode::ALL.iter().map(|&code| Frame::Close { code }));
    frames
}

fn varint() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![0..64_u64, 64..16_384_u64, 16_384..(1_u64 << 30), (1_u64 << 30)..=VARINT_MAX]
}

fn id() -> impl Strategy<Value = StreamId> + Clone {
    prop_oneof![0..64_u32, 64..16_384_u32, any::<u32>()].prop_map(StreamId)
}

/// A frame with any legal values; data are borrowed from `data`.
pub(crate) fn frame(data: &'static [u8]) -> impl Strategy<Value = Frame<'static>> {
    let reason = proptest::sample::select(ResetReason::ALL);
    let away = proptest::sample::select(GoAwayReason::ALL);
    let code = proptest::sample::select(CloseCode::ALL);
    let at_least_one = varint().prop_map(|v| v.max(1));
    let point = (varint(), any::<[u8; 32]>()).prop_map(|(o, proof)| (Offset(o), proof));
    let len = prop_oneof![1..140_usize, 1..=data.len()];
    prop_oneof![
        4 => (id(), len).prop_map(move |(id, len)| Frame::Data {
            id,
            bytes: data.get(..len).expect("the lengths end with the data"),
        }),
        1 => (id(), any::<u16>()).prop_map(|(id, service)| Frame::Open { id, service }),
        1 => id().prop_map(|id| Frame::Accepted { id }),
        1 => id().prop_map(|id| Frame::Fin { id }),
        1 => id().prop_map(|id| Frame::Closed { id }),
        1 => (id(), reason).prop_map(|(id, reason)| Frame::Reset { id, reason }),
        1 => (id(), at_least_one.clone())
            .prop_map(|(id, n)| Frame::Credit { id, increment: Credit(n) }),
        1 => any::<u32>().prop_map(|limit| Frame::MaxStreams { limit }),
        1 => at_least_one.prop_map(|bytes| Frame::Ack { bytes }),
        1 => any::<u32>().prop_map(|token| Frame::Ping { token }),
        1 => any::<u32>().prop_map(|token| Frame::Pong { token }),
        1 => Just(Frame::Confirm),
        1 => point.clone().prop_map(|(offset, proof)| Frame::ConfirmResume { offset, proof }),
        1 => point.prop_map(|(offset, proof)| Frame::Resumed { offset, proof }),
        1 => (away, varint()).prop_map(|(reason, grace_ms)| Frame::GoAway { reason, grace_ms }),
        1 => code.prop_map(|code| Frame::Close { code }),
    ]
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    assert_eq!(digits.len() % 2, 0, "hexadecimal digits come in pairs: {hex}");
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    digits.chunks(2).map(|pair| byte(pair).expect("hexadecimal digits")).collect()
}

/// The lines `name = hex` of a vector file.
pub(crate) fn vectors(file: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(file);
    let text = std::fs::read_to_string(&path).expect("the vector file can be read");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let split = |line: &str| {
        let (name, hex) = line.split_once(" = ").expect("a line is `name = hex`");
        (name.to_owned(), from_hex(hex))
    };
    lines.map(split).collect()
}
