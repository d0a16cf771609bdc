//! The payloads of the handshake's two messages (PROTOCOL 2.3). All numbers are big-endian;
//! bytes without a meaning are zero when written and ignored when read, so that later versions
//! can use them.

use crate::WireError;

/// Bytes of a hello payload, either way.
pub const HELLO_LEN: usize = 128;
/// The only version.
pub const VERSION: u8 = 1;
/// Bit of the padded mode in the offered framings.
pub const FRAMING_PADDED: u8 = 1;
/// Bit of the adaptive mode in the offered framings.
pub const FRAMING_ADAPTIVE: u8 = 2;
/// Bit of AES-256-GCM in the offered suites, the only one of version 1.
pub const SUITE_AES_256_GCM: u8 = 1;
/// Keys are renewed every 2^20 records unless asked otherwise: an eighth of the strictest limit
/// for AES-GCM (RFC 9001 appendix B.1, 2^23 records of any size).
pub const REKEY_EXPONENT: u8 = 20;
/// Smallest exponent that may be asked for: every 8 records, for tests.
pub const REKEY_EXPONENT_MIN: u8 = 3;
/// Largest exponent that may be asked for: TLS 1.3's limit for full records (RFC 8446 5.5).
pub const REKEY_EXPONENT_MAX: u8 = 24;

/// What the dialling side says in the first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHello {
    /// Lowest version it speaks.
    pub version_min: u8,
    /// Highest version it speaks.
    pub version_max: u8,
    /// Whether it wants to resume `session` instead of beginning a new one.
    pub resume: bool,
    /// Framings it offers, a set of bits.
    pub framings: u8,
    /// Record suites it offers, a set of bits.
    pub suites: u8,
    /// Keys are to be renewed every 2^this records.
    pub rekey_exponent: u8,
    /// Which backend.
    pub service: u16,
    /// The session to resume, or a label of the dialling process.
    pub session: [u8; 16],
    /// Counts the attempts to resume.
    pub attempt: u32,
    /// Bytes that each stream may send towards the dialling side at first.
    pub initial_credit: u32,
    /// Bytes of the dialling side's retransmit ring.
    pub ring_max: u32,
    /// Seconds without a byte after which it asks for a sign of life.
    pub keepalive_s: u16,
    /// Seconds that it keeps a session without a carrier; 0: not at all.
    pub resume_window_s: u16,
    /// Its clock, milliseconds since 1970; logged, never enforced.
    pub unix_ms: u64,
    /// Bytes of padding after the first message.
    pub pad_len: u16,
}

/// How the accepting side answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelloStatus {
    /// A new session.
    New,
    /// The session goes on.
    Resumed,
    /// The session to resume is not known; this is a new one.
    UnknownSession,
    /// No new sessions at present.
    Draining,
    /// No version in common.
    Version,
    /// No such backend.
    NoService,
    /// No framing or suite in common.
    NoFraming,
}

impl HelloStatus {
    const ALL: [Self; 7] = [
        Self::New,
        Self::Resumed,
        Self::UnknownSession,
        Self::Draining,
        Self::Version,
        Self::NoService,
        Self::NoFraming,
    ];

    fn number(self) -> u8 {
        match self {
            Self::New => 0,
            Self::Resumed => 1,
            Self::UnknownSession => 2,
            Self::Draining => 3,
            Self::Version => 4,
            Self::NoService => 5,
            Self::NoFraming => 6,
        }
    }
}

/// What the accepting side says in the second message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHello {
    /// Whether and how it goes on.
    pub status: HelloStatus,
    /// The version chosen.
    pub version: u8,
    /// The framing chosen, one bit.
    pub framing: u8,
    /// The record suite chosen, one bit.
    pub suite: u8,
    /// Keys are renewed every 2^this records.
    pub rekey_exponent: u8,
    /// Names the session.
    pub session: [u8; 16],
    /// Streams that may be live at once.
    pub max_streams: u32,
    /// Bytes that each stream may send towards the accepting side at first.
    pub initial_credit: u32,
    /// Bytes of the accepting side's retransmit ring.
    pub ring_max: u32,
    /// Seconds without a byte after which it asks for a sign of life.
    pub keepalive_s: u16,
    /// Seconds that it keeps a session without a carrier; 0: not at all.
    pub resume_window_s: u16,
    /// Random, drawn once by each process of the accepting side.
    pub epoch: [u8; 8],
    /// Its clock, milliseconds since 1970; logged, never enforced.
    pub unix_ms: u64,
    /// Bytes of padding after the second message.
    pub pad_len: u16,
}

impl ClientHello {
    /// The payload's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HELLO_LEN] {
        let mut w = Fields { bytes: [0; HELLO_LEN] };
        w.put(0, &[self.version_min, self.version_max, u8::from(self.resume)]);
        w.put(3, &[self.framings, self.suites, self.rekey_exponent]);
        w.put(12, &self.service.to_be_bytes());
        w.put(16, &self.session);
        w.put(32, &self.attempt.to_be_bytes());
        w.put(36, &self.initial_credit.to_be_bytes());
        w.put(40, &self.ring_max.to_be_bytes());
        w.put(44, &self.keepalive_s.to_be_bytes());
        w.put(46, &self.resume_window_s.to_be_bytes());
        w.put(48, &self.unix_ms.to_be_bytes());
        w.put(56, &self.pad_len.to_be_bytes());
        w.bytes
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// [`WireError::Hello`] for a kind that does not exist.
    pub fn decode(bytes: &[u8; HELLO_LEN]) -> Result<Self, WireError> {
        let r = Fields { bytes: *bytes };
        let [version_min, version_max, kind] = r.get(0);
        let [framings, suites, rekey_exponent] = r.get(3);
        Ok(Self {
            version_min,
            version_max,
            resume: match kind {
                0 => false,
                1 => true,
                _ => return Err(WireError::Hello),
            },
            framings,
            suites,
            rekey_exponent,
            service: u16::from_be_bytes(r.get(12)),
            session: r.get(16),
            attempt: u32::from_be_bytes(r.get(32)),
            initial_credit: u32::from_be_bytes(r.get(36)),
            ring_max: u32::from_be_bytes(r.get(40)),
            keepalive_s: u16::from_be_bytes(r.get(44)),
            resume_window_s: u16::from_be_bytes(r.get(46)),
            unix_ms: u64::from_be_bytes(r.get(48)),
            pad_len: u16::from_be_bytes(r.get(56)),
        })
    }
}

impl ServerHello {
    /// The payload's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HELLO_LEN] {
        let mut w = Fields { bytes: [0; HELLO_LEN] };
        w.put(0, &[self.status.number(), self.version, self.framing, self.suite]);
        w.put(4, &[self.rekey_exponent]);
        w.put(12, &self.session);
        w.put(28, &self.max_streams.to_be_bytes());
        w.put(32, &self.initial_credit.to_be_bytes());
        w.put(36, &self.ring_max.to_be_bytes());
        w.put(40, &self.keepalive_s.to_be_bytes());
        w.put(42, &self.resume_window_s.to_be_bytes());
        w.put(44, &self.epoch);
        w.put(52, &self.unix_ms.to_be_bytes());
        w.put(60, &self.pad_len.to_be_bytes());
        w.bytes
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// [`WireError::Hello`] for a status that does not exist.
    pub fn decode(bytes: &[u8; HELLO_LEN]) -> Result<Self, WireError> {
        let r = Fields { bytes: *bytes };
        let [status, version, framing, suite, rekey_exponent] = r.get(0);
        Ok(Self {
            status: HelloStatus::ALL
                .into_iter()
                .find(|s| s.number() == status)
                .ok_or(WireError::Hello)?,
            version,
            framing,
            suite,
            rekey_exponent,
            session: r.get(12),
            max_streams: u32::from_be_bytes(r.get(28)),
            initial_credit: u32::from_be_bytes(r.get(32)),
            ring_max: u32::from_be_bytes(r.get(36)),
            keepalive_s: u16::from_be_bytes(r.get(40)),
            resume_window_s: u16::from_be_bytes(r.get(42)),
            epoch: r.get(44),
            unix_ms: u64::from_be_bytes(r.get(52)),
            pad_len: u16::from_be_bytes(r.get(60)),
        })
    }
}

struct Fields {
    bytes: [u8; HELLO_LEN],
}

impl Fields {
    fn put(&mut self, at: usize, field: &[u8]) {
        let place = self.bytes.get_mut(at..at + field.len());
        place.expect("fields lie inside the payload").copy_from_slice(field);
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.bytes.get(at..).and_then(<[u8]>::first_chunk).expect("fields lie inside the payload")
    }
}
