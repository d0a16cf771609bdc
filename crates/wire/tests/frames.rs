//! I19: what is written is read back, and nothing else has a meaning (PROTOCOL 4).

mod common;

use common::{decode, edges, encode, frame};
use proptest::prelude::*;
use sleeve_wire::{
    Credit, Decoder, Frame, GoAwayReason, Offset, Room, StreamId, VARINT_MAX, WireError, varint_len,
};

static DATA: [u8; 16_365] = {
    let mut data = [0; 16_365];
    let mut at = 0;
    while at < data.len() {
        // A pattern whose period is no power of two, so that a shift by a few bytes shows.
        data[at] = b"sleeve wire"[at % 11];
        at += 1;
    }
    data
};

#[test]
fn every_kind_and_edge_is_read_back() {
    for frame in edges(&DATA) {
        let bytes = encode(&frame);
        let mut frames = Decoder::new(&bytes);
        assert_eq!(frames.next(), Some(Ok(frame)));
        assert_eq!(frames.rest(), 0, "{frame:?}");
        assert_eq!(frames.next(), None);
    }
}

#[test]
fn a_frame_cut_anywhere_is_truncated() {
    for frame in edges(&DATA) {
        let bytes = encode(&frame);
        // Nothing at all is no frame; every other prefix is the start of one.
        let step = (bytes.len() / 64).max(1);
        for cut in (1..bytes.len()).filter(|cut| cut % step == 0 || *cut < 20) {
            let mut frames = Decoder::new(&bytes[..cut]);
            assert_eq!(frames.next(), Some(Err(WireError::Truncated)), "{frame:?} cut at {cut}");
            assert_eq!(frames.next(), None, "nothing follows a fault");
        }
    }
}

#[test]
fn unknown_first_bytes_are_named() {
    for kind in (0x09..0x10).chain(0x18..0x80_u8) {
        let record = [kind, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(decode(&record), Err(WireError::UnknownFrame(kind)));
    }
}

/// All encodings of `value` that are longer than need be.
fn too_long(value: u64) -> Vec<Vec<u8>> {
    let long = |len: usize, tag: u8| {
        let mut bytes = value.to_be_bytes()[8 - len..].to_vec();
        bytes[0] |= tag;
        bytes
    };
    let forms = [(2, 0x40), (4, 0x80), (8, 0xC0)];
    let longer = forms.into_iter().filter(|(len, _)| *len > varint_len(value));
    longer.map(|(len, tag)| long(len, tag)).collect()
}

#[test]
fn numbers_are_minimal_in_every_field() {
    // What stands before and after the number in a frame that is right otherwise.
    let fields: [(&[u8], &[u8]); 17] = [
        (&[0x80], b"x"),
        (&[0x01], &[0x40, 0x81]),
        (&[0x01, 0x05], &DATA),
        (&[0x02], &[0]),
        (&[0x02, 0x05], &[]),
        (&[0x03], &[]),
        (&[0x04], &[]),
        (&[0x05], &[4]),
        (&[0x06], &[1]),
        (&[0x06, 0x05], &[]),
        (&[0x07], &[]),
        (&[0x08], &[]),
        (&[0x10], &[]),
        (&[0x14], &[0; 32]),
        (&[0x15, 0x00], &[]),
        (&[0x17], &[0; 32]),
        (&[0xFF, 0x05], &[0x80; 127]),
    ];
    for (before, after) in &fields[..16] {
        for value in [0, 1, 63, 64, 16_383, 16_384, (1 << 30) - 1] {
            for number in too_long(value) {
                let record = [before, number.as_slice(), after].concat();
                assert_eq!(decode(&record), Err(WireError::NotMinimal), "{record:02x?}");
            }
        }
    }
    // The first byte's length is no number of that kind: nothing of it can be too long.
    let (before, after) = fields[16];
    assert_eq!(decode(&[before, b"x", after].concat()).unwrap().len(), 1);
}

#[test]
fn data_is_never_empty_and_never_longer_written_than_need_be() {
    assert_eq!(decode(&[0x01, 0x05, 0x00]), Err(WireError::OutOfRange));
    for len in 1..=128_u8 {
        let mut record = vec![0x01, 0x05];
        if len < 64 {
            record.push(len);
        } else {
            record.extend([0x40, len]);
        }
        record.extend(std::iter::repeat_n(b'x', usize::from(len)));
        assert_eq!(decode(&record), Err(WireError::NotMinimal), "{len}");
    }
    let record = [&[0x01, 0x05, 0x40, 129][..], &DATA[..129]].concat();
    let data = Frame::Data { id: StreamId(5), bytes: &DATA[..129] };
    assert_eq!(decode(&record), Ok(vec![data]));
}

#[test]
fn zeros_and_numbers_out_of_range_are_refused() {
    let id_of_33_bits = [0xC0, 0, 0, 1, 0, 0, 0, 0];
    let record = |before: &[u8], after: &[u8]| [before, after].concat();
    let bad = [
        record(&[0x10], &[0]),
        record(&[0x06, 0x05], &[0]),
        record(&[0x80], &[&id_of_33_bits[..], b"x"].concat()),
        record(&[0x04], &id_of_33_bits),
        record(&[0x07], &id_of_33_bits),
        // A service of 17 bits.
        record(&[0x02, 0x05], &[0x80, 1, 0, 0]),
        record(&[0x05, 0x05], &[0]),
        record(&[0x05, 0x05], &[10]),
        record(&[0x05, 0x05], &[255]),
        record(&[0x15, 3], &[0]),
        record(&[0x16], &[8]),
    ];
    for record in bad {
        assert_eq!(decode(&record), Err(WireError::OutOfRange), "{record:02x?}");
    }
}

#[test]
fn frames_that_nobody_may_read_are_not_written() {
    let id = StreamId(5);
    let (offset, proof) = (Offset(VARINT_MAX + 1), [0; 32]);
    let bad = [
        Frame::Data { id, bytes: &[] },
        Frame::Ack { bytes: 0 },
        Frame::Ack { bytes: VARINT_MAX + 1 },
        Frame::Credit { id, increment: Credit(0) },
        Frame::Credit { id, increment: Credit(u64::MAX) },
        Frame::ConfirmResume { offset, proof },
        Frame::Resumed { offset, proof },
        Frame::GoAway { reason: GoAwayReason::Drain, grace_ms: u64::MAX },
    ];
    let mut buffer = [0xEE; 256];
    for frame in bad {
        let mut room = Room::new(&mut buffer, 3);
        assert_eq!(room.put(&frame), None, "{frame:?}");
        assert_eq!(room.used(), 3);
    }
}

#[test]
fn padding_ends_a_record_whatever_it_holds() {
    assert_eq!(decode(&[]), Ok(vec![]));
    assert_eq!(decode(&[0]), Ok(vec![]));
    assert_eq!(decode(&[0x13, 0, 0x7F, 0xFF]), Ok(vec![Frame::Confirm]));
}

#[test]
fn the_reliable_frames_are_those_of_the_table() {
    let mut reliable = [false; 256];
    for frame in edges(&DATA) {
        let first = encode(&frame)[0];
        let seen = &mut reliable[usize::from(first)];
        *seen |= frame.is_reliable();
        assert_eq!(*seen, !(0x10..0x80).contains(&first), "{frame:?}");
    }
}

proptest! {
    /// I19 for whole records: any sequence of frames, as many as fit, comes back.
    #[test]
    fn a_record_is_read_back(
        frames in proptest::collection::vec(frame(&DATA), 0..40),
        len in 0..16_366_usize,
        padded: bool,
    ) {
        let mut buffer = vec![0; len];
        let mut room = Room::new(&mut buffer, 0);
        let kept: Vec<Frame<'_>> =
            frames.into_iter().filter(|frame| room.put(frame).is_some()).collect();
        let used = room.used();
        let record = if padded { &buffer[..] } else { &buffer[..used] };
        prop_assert_eq!(decode(record), Ok(kept));
    }

    /// Any bytes: no panic, an end, and whatever was understood is written the same way again.
    #[test]
    fn any_bytes_are_understood_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        understood_or_refused(&bytes)?;
    }

    /// Bytes that look like frames get deeper into the decoder.
    #[test]
    fn a_changed_record_is_understood_or_refused(
        frames in proptest::collection::vec(frame(&DATA[..300]), 1..12),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut record: Vec<u8> = frames.iter().flat_map(encode).collect();
        for (place, byte) in changes {
            let at = place.index(record.len());
            record[at] = byte;
        }
        understood_or_refused(&record)?;
    }
}

fn understood_or_refused(bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut frames = Decoder::new(bytes);
    let mut rest = frames.rest();
    while let Some(frame) = frames.next() {
        let Ok(frame) = frame else {
            prop_assert_eq!(frames.next(), None);
            break;
        };
        prop_assert!(frames.rest() < rest, "each frame takes at least a byte");
        let from = bytes.len() - rest;
        rest = frames.rest();
        // There is one encoding of each frame.
        prop_assert_eq!(encode(&frame), &bytes[from..bytes.len() - rest]);
    }
    Ok(())
}
