//! A room holds whole frames or none, and never more than its buffer (PROTOCOL 4.1).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{ID_EDGES, decode, edges, encode, frame};
use proptest::prelude::*;
use sleeve_wire::{
    ADAPTIVE_PLAINTEXT_MAX, Frame, PADDED_PLAINTEXT, Room, SHORT_DATA_MAX, StreamId, varint_len,
};

static DATA: [u8; 16_365] = [0xDA; 16_365];

/// Byte `at` of what a fill writes.
fn pattern(at: usize) -> u8 {
    u8::try_from(at % 251).unwrap()
}

/// Fills a room of `size` bytes (between guards) with a data frame of `id`: at most `max` are
/// asked for, `fill` are there.
fn fill(size: usize, id: StreamId, max: usize, fill: usize) {
    const GUARD: usize = 16;
    let what = format!("size {size}, id {id}, max {max}, fill {fill}");
    let mut memory = vec![0xEE; size + 2 * GUARD];
    let mut room = Room::new(&mut memory[..size + GUARD], GUARD);
    let promised = room.data_max(id);
    let mut offered = None;
    let written = room
        .put_data(id, max, |place| {
            offered = Some(place.len());
            let len = fill.min(place.len());
            place.iter_mut().take(len).enumerate().for_each(|(at, b)| *b = pattern(at));
            len
        })
        .map(<[u8]>::to_vec);
    let room_used = room.used();
    let expected = fill.min(max).min(promised);
    let asked = max.min(promised);
    assert_eq!(offered, (asked > 0).then_some(asked), "{what}");
    match written {
        None => {
            assert_eq!(expected, 0, "{what}");
            assert_eq!(room_used, GUARD, "{what}");
        }
        Some(written) => {
            let bytes: Vec<u8> = (0..expected).map(pattern).collect();
            let frame = Frame::Data { id, bytes: &bytes };
            assert_eq!(decode(&written), Ok(vec![frame]), "{what}");
            assert_eq!(written, encode(&frame), "{what}");
            assert_eq!(room_used, GUARD + written.len(), "{what}");
            assert_eq!(&memory[GUARD..room_used], written, "{what}");
        }
    }
    assert!(memory[..GUARD].iter().all(|&b| b == 0xEE), "{what}: wrote before the room");
    assert!(memory[size + GUARD..].iter().all(|&b| b == 0xEE), "{what}: wrote behind the room");
}

#[test]
fn every_fill_around_the_border_of_short_and_long() {
    for id in ID_EDGES.map(StreamId) {
        let head = 1 + varint_len(u64::from(id.0));
        for size in (0..head + 5).chain(head + 120..head + 140) {
            for max in [0, 1, 127, 128, 129, 130, 131, 132, 133, 500] {
                for len in (0..4).chain(124..=140).filter(|len| *len <= max) {
                    fill(size, id, max, len);
                }
            }
        }
    }
}

#[test]
fn every_fill_of_whole_records() {
    let id = StreamId(7);
    for size in [PADDED_PLAINTEXT, 1430] {
        for len in 0..=size {
            fill(size, id, usize::MAX, len);
        }
    }
    for size in [ADAPTIVE_PLAINTEXT_MAX, 16_390, 40_000] {
        for len in (0..size).step_by(997).chain([127, 128, 129, size - 4, size - 3, size]) {
            fill(size, id, usize::MAX, len);
        }
    }
}

/// `data_max` is the largest length of data whose frame fits: neither one less nor one more.
#[test]
fn the_promise_is_exact() {
    for id in ID_EDGES.map(StreamId) {
        for size in (0..300).chain([1000, PADDED_PLAINTEXT, 4000, ADAPTIVE_PLAINTEXT_MAX]) {
            let mut buffer = vec![0; size];
            let promised = Room::new(&mut buffer, 0).data_max(id);
            let fits = |len: usize| {
                let long = if len > SHORT_DATA_MAX { 2 } else { 0 };
                len > 0 && 1 + varint_len(u64::from(id.0)) + long + len <= size
            };
            assert!(promised == 0 || fits(promised), "size {size}, id {id}: {promised}");
            assert!(!fits(promised + 1), "size {size}, id {id}: {promised}");
            let data = vec![1; promised + 1];
            let mut room = Room::new(&mut buffer, 0);
            assert_eq!(room.put(&Frame::Data { id, bytes: &data }), None, "one byte too many");
            assert_eq!(room.used(), 0);
            let put = room.put(&Frame::Data { id, bytes: &data[1..] });
            assert_eq!(put.is_some(), promised > 0);
        }
    }
}

#[test]
fn a_fill_that_claims_too_much_gets_what_it_was_given() {
    let mut buffer = [0; 64];
    let mut room = Room::new(&mut buffer, 0);
    let frame = room.put_data(StreamId(1), 10, |place| place.len() + 1000).unwrap();
    assert_eq!(decode(frame), Ok(vec![Frame::Data { id: StreamId(1), bytes: &[0; 10] }]));
}

/// Every frame in every size of room up to its own: it fits at its own and at no smaller one.
#[test]
fn a_frame_that_does_not_fit_leaves_the_room_as_it_was() {
    for frame in edges(&DATA) {
        let whole = encode(&frame);
        let step = (whole.len() / 64).max(1);
        for size in (0..whole.len()).filter(|size| size % step == 0 || whole.len() - size < 5) {
            let mut memory = vec![0xEE; whole.len() + 4];
            memory[..2].fill(0x55);
            let mut room = Room::new(&mut memory[..size + 2], 2);
            assert_eq!(room.put(&frame), None, "{frame:?} in {size}");
            assert_eq!((room.used(), room.left()), (2, size), "{frame:?} in {size}");
            assert_eq!(room.filled(), [0x55; 2]);
            assert!(memory[2..].iter().all(|&b| b == 0xEE), "{frame:?} in {size}");
            let mut room = Room::new(&mut memory[..size + 2], 2);
            // It can still be used.
            assert_eq!(room.put(&Frame::Confirm).is_some(), size > 0);
            assert!(memory[size + 2..].iter().all(|&b| b == 0xEE), "{frame:?} in {size}");
        }
        let mut memory = vec![0; whole.len()];
        assert_eq!(Room::new(&mut memory, 0).put(&frame), Some(&whole[..]));
    }
}

proptest! {
    /// A room is the sum of the frames that it took, and is never left.
    #[test]
    fn a_room_is_what_was_put_into_it(
        frames in proptest::collection::vec(frame(&DATA[..400]), 0..60),
        size in 0..1500_usize,
        used in 0..20_usize,
    ) {
        let used = used.min(size);
        let mut memory = vec![0xEE; size + 8];
        let mut room = Room::new(&mut memory[..size], used);
        let mut model = vec![0xEE; used];
        for frame in &frames {
            let left = room.left();
            let whole = encode(frame);
            let put = room.put(frame).map(<[u8]>::to_vec);
            prop_assert_eq!(put.is_some(), whole.len() <= left);
            if put.is_some() {
                model.extend(whole);
            }
            prop_assert_eq!(room.filled(), &model[..]);
            prop_assert_eq!(room.used() + room.left(), size);
        }
        prop_assert!(memory[size..].iter().all(|&b| b == 0xEE));
    }

    #[test]
    fn any_fill_of_any_room(size in 0..700_usize, id: u32, max in 0..700_usize, len in 0..700_usize) {
        fill(size, StreamId(id), max, len);
    }
}
