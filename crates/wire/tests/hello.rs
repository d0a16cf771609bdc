//! Hello payloads (PROTOCOL 2.3).

use proptest::prelude::*;
use sleeve_wire::{ClientHello, HELLO_LEN, HelloStatus, ServerHello, WireError};

const STATUSES: [HelloStatus; 7] = [
    HelloStatus::New,
    HelloStatus::Resumed,
    HelloStatus::UnknownSession,
    HelloStatus::Draining,
    HelloStatus::Version,
    HelloStatus::NoService,
    HelloStatus::NoFraming,
];

/// Bytes without a meaning in the dialling side's payload, and in the accepting side's.
const RESERVED_CLIENT: [std::ops::Range<usize>; 3] = [6..12, 14..16, 58..128];
const RESERVED_SERVER: [std::ops::Range<usize>; 2] = [5..12, 62..128];

prop_compose! {
    fn client()(
        choice in any::<([u8; 2], bool, [u8; 3], u16)>(),
        session: [u8; 16],
        numbers in any::<(u32, u32, u32, u16, u16, u64, u16)>(),
    ) -> ClientHello {
        let ([version_min, version_max], resume, [framings, suites, rekey_exponent], service) = choice;
        let (attempt, initial_credit, ring_max, keepalive_s, resume_window_s, unix_ms, pad_len) =
            numbers;
        ClientHello {
            version_min, version_max, resume, framings, suites, rekey_exponent, service, session,
            attempt, initial_credit, ring_max, keepalive_s, resume_window_s, unix_ms, pad_len,
        }
    }
}

prop_compose! {
    fn server()(
        status in proptest::sample::select(&STATUSES[..]),
        choice: [u8; 4],
        session: [u8; 16],
        epoch: [u8; 8],
        numbers in any::<(u32, u32, u32, u16, u16, u64, u16)>(),
    ) -> ServerHello {
        let [version, framing, suite, rekey_exponent] = choice;
        let (max_streams, initial_credit, ring_max, keepalive_s, resume_window_s, unix_ms, pad_len) =
            numbers;
        ServerHello {
            status, version, framing, suite, rekey_exponent, session, max_streams, initial_credit,
            ring_max, keepalive_s, resume_window_s, epoch, unix_ms, pad_len,
        }
    }
}

proptest! {
    #[test]
    fn the_dialling_sides_payload_is_read_back(hello in client()) {
        prop_assert_eq!(ClientHello::decode(&hello.encode()), Ok(hello));
    }

    #[test]
    fn the_accepting_sides_payload_is_read_back(hello in server()) {
        prop_assert_eq!(ServerHello::decode(&hello.encode()), Ok(hello));
    }

    /// Reserved bytes are zero when written and without effect when read; all others count.
    #[test]
    fn reserved_bytes_are_ignored(c in client(), s in server(), noise: [u8; 32], at in 0..HELLO_LEN) {
        let mut bytes = c.encode();
        for range in RESERVED_CLIENT {
            prop_assert!(bytes[range.clone()].iter().all(|&b| b == 0));
            bytes[range].iter_mut().zip(noise.iter().cycle()).for_each(|(b, n)| *b = *n);
        }
        prop_assert_eq!(ClientHello::decode(&bytes), Ok(c));
        if !RESERVED_CLIENT.iter().any(|range| range.contains(&at)) {
            bytes[at] ^= 1;
            prop_assert_ne!(ClientHello::decode(&bytes), Ok(c));
        }

        let mut bytes = s.encode();
        for range in RESERVED_SERVER {
            prop_assert!(bytes[range.clone()].iter().all(|&b| b == 0));
            bytes[range].iter_mut().zip(noise.iter().cycle()).for_each(|(b, n)| *b = *n);
        }
        prop_assert_eq!(ServerHello::decode(&bytes), Ok(s));
        if !RESERVED_SERVER.iter().any(|range| range.contains(&at)) {
            bytes[at] ^= 1;
            prop_assert_ne!(ServerHello::decode(&bytes), Ok(s));
        }
    }

    #[test]
    fn any_payload_is_understood_or_refused(bytes: [[u8; 32]; 4]) {
        let bytes: [u8; HELLO_LEN] = bytes.concat().try_into().unwrap();
        let known = bytes[2] < 2;
        prop_assert_eq!(ClientHello::decode(&bytes).is_ok(), known);
        let known = usize::from(bytes[0]) < STATUSES.len();
        prop_assert_eq!(ServerHello::decode(&bytes).is_ok(), known);
    }
}

#[test]
fn kinds_and_statuses_that_do_not_exist_are_refused() {
    let mut bytes = [0; HELLO_LEN];
    for kind in 0..=255_u8 {
        bytes[2] = kind;
        match kind {
            0 | 1 => assert_eq!(ClientHello::decode(&bytes).unwrap().resume, kind == 1),
            _ => assert_eq!(ClientHello::decode(&bytes), Err(WireError::Hello)),
        }
    }
    let mut bytes = [0; HELLO_LEN];
    for status in 0..=255_u8 {
        bytes[0] = status;
        match STATUSES.get(usize::from(status)) {
            Some(known) => assert_eq!(ServerHello::decode(&bytes).unwrap().status, *known),
            None => assert_eq!(ServerHello::decode(&bytes), Err(WireError::Hello)),
        }
    }
}
