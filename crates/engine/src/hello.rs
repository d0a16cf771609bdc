//! What this daemon says and agrees to in the handshake.

use std::time::{SystemTime, UNIX_EPOCH};

use sleeve_config::Framings;
use sleeve_seal::{FIRST_FIXED, REPLY_FIXED, Side};
use sleeve_session::{Peer, Settings};
use sleeve_wire::{
    ClientHello, FRAMING_ADAPTIVE, FRAMING_PADDED, Framing, HelloStatus, PADDED_RECORD,
    REKEY_EXPONENT, REKEY_EXPONENT_MAX, REKEY_EXPONENT_MIN, SUITE_AES_256_GCM, ServerHello,
    VERSION,
};

use crate::random;

/// Longest padding of a handshake message in adaptive mode: it hides which message it is.
const PADDING_RANDOM: u32 = 256;

fn bit(framing: Framing) -> u8 {
    match framing {
        Framing::Padded => FRAMING_PADDED,
        Framing::Adaptive => FRAMING_ADAPTIVE,
    }
}

/// Bytes after a handshake message of `fixed` bytes.
fn pad_len(framing: Framing, fixed: usize) -> u16 {
    let len = match framing {
        Framing::Padded => u32::try_from(PADDED_RECORD - fixed).unwrap_or(0),
        Framing::Adaptive => random::below(PADDING_RANDOM),
    };
    u16::try_from(len).unwrap_or(0)
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn keepalive_s(settings: &Settings) -> u16 {
    u16::try_from(settings.keepalive_us / 1_000_000).unwrap_or(u16::MAX)
}

/// The dialling side's payload.
pub(crate) fn client(settings: &Settings, instance: [u8; 16]) -> ClientHello {
    ClientHello {
        version_min: VERSION,
        version_max: VERSION,
        resume: false,
        framings: bit(settings.framing),
        suites: SUITE_AES_256_GCM,
        rekey_exponent: REKEY_EXPONENT,
        service: 0,
        session: instance,
        attempt: 0,
        initial_credit: settings.initial_credit(),
        ring_max: settings.ring_max,
        keepalive_s: keepalive_s(settings),
        resume_window_s: 0,
        unix_ms: unix_ms(),
        pad_len: pad_len(settings.framing, FIRST_FIXED),
    }
}

/// What was agreed, on either side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    pub(crate) settings: Settings,
    pub(crate) peer: Peer,
    pub(crate) rekey_exponent: u8,
}

/// The accepting side's decision about a hello; the framing of the reply's own padding is the
/// one that the peer prefers even where nothing was agreed.
pub(crate) fn decide(
    hello: &ClientHello,
    allowed: Framings,
    max_streams: u32,
) -> Result<Agreed, HelloStatus> {
    if !(hello.version_min..=hello.version_max).contains(&VERSION) {
        return Err(HelloStatus::Version);
    }
    if hello.service != 0 {
        return Err(HelloStatus::NoService);
    }
    let framing = [(Framing::Padded, allowed.padded), (Framing::Adaptive, allowed.adaptive)]
        .into_iter()
        .find(|(framing, allowed)| *allowed && hello.framings & bit(*framing) != 0);
    let exponent = REKEY_EXPONENT_MIN..=REKEY_EXPONENT_MAX;
    let suitable =
        hello.suites & SUITE_AES_256_GCM != 0 && exponent.contains(&hello.rekey_exponent);
    let Some((framing, _)) = framing.filter(|_| suitable) else {
        return Err(HelloStatus::NoFraming);
    };
    Ok(Agreed {
        settings: Settings::new(Side::Accepts, framing, max_streams),
        peer: Peer { max_streams, initial_credit: hello.initial_credit, ring_max: hello.ring_max },
        rekey_exponent: hello.rekey_exponent,
    })
}

/// The accepting side's payload.
pub(crate) fn server(
    hello: &ClientHello,
    decision: &Result<Agreed, HelloStatus>,
    epoch: [u8; 8],
) -> ServerHello {
    let offered =
        if hello.framings & FRAMING_PADDED != 0 { Framing::Padded } else { Framing::Adaptive };
    let (status, settings) = match decision {
        // Sessions do not outlive their carrier in this version.
        Ok(agreed) if hello.resume => (HelloStatus::UnknownSession, agreed.settings),
        Ok(agreed) => (HelloStatus::New, agreed.settings),
        Err(status) => (*status, Settings::new(Side::Accepts, offered, 1)),
    };
    ServerHello {
        status,
        version: VERSION,
        framing: bit(settings.framing),
        suite: SUITE_AES_256_GCM,
        rekey_exponent: hello.rekey_exponent,
        session: random::bytes(),
        max_streams: settings.max_streams,
        initial_credit: settings.initial_credit(),
        ring_max: settings.ring_max,
        keepalive_s: keepalive_s(&settings),
        resume_window_s: 0,
        epoch,
        unix_ms: unix_ms(),
        pad_len: pad_len(settings.framing, REPLY_FIXED),
    }
}

/// The dialling side's check of the reply: what the peer chose must be what was offered.
pub(crate) fn accept(
    settings: Settings,
    sent: &ClientHello,
    reply: &ServerHello,
) -> Result<Agreed, HelloStatus> {
    match reply.status {
        HelloStatus::New => {}
        status @ (HelloStatus::Resumed
        | HelloStatus::UnknownSession
        | HelloStatus::Draining
        | HelloStatus::Version
        | HelloStatus::NoService
        | HelloStatus::NoFraming) => return Err(status),
    }
    if reply.version != VERSION {
        return Err(HelloStatus::Version);
    }
    let same = reply.framing == bit(settings.framing)
        && reply.suite == SUITE_AES_256_GCM
        && reply.rekey_exponent == sent.rekey_exponent
        && reply.max_streams > 0;
    if !same {
        return Err(HelloStatus::NoFraming);
    }
    Ok(Agreed {
        settings,
        peer: Peer {
            max_streams: reply.max_streams,
            initial_credit: reply.initial_credit,
            ring_max: reply.ring_max,
        },
        rekey_exponent: reply.rekey_exponent,
    })
}
