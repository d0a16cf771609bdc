//! A peer that holds the keys and breaks the rules, against one honest tunnel. What has to
//! become of each of its frames is told by a model of the rules; besides, whatever it sends, the
//! honest side never panics, keeps its memory within the formula and says little.

use sleeve_seal::{Link, Side};
use sleeve_session::{Ended, Instant, Opened, Peer, Session, SessionError, Settings, Tunnel};
use sleeve_wire::{CloseCode, Decoder, Frame, Framing, ResetReason, Room, StreamId, TAG};

use crate::bed::{Bed, Plain};
use crate::end::memory_bound;
use crate::model::{Model, Verdict};

/// Work for nothing after which a session ends (PROTOCOL 5.6.1).
const DEBT: u64 = 20_000;

/// An honest tunnel in the hands of a hostile peer.
#[derive(Debug)]
pub struct Siege {
    tunnel: Tunnel,
    /// The peer's keys.
    link: Link,
    bed: Bed,
    model: Model,
    framing: Framing,
    now: u64,
    /// Bytes of records that the peer sent, and of frames without data that it got.
    sent: u64,
    answered: u64,
    /// Frames without data that are owed to what happened at this side.
    caused: u64,
    last: Option<CloseCode>,
    over: bool,
}

impl Siege {
    /// A tunnel of `side` with at most four streams and small bounds.
    #[must_use]
    pub fn new(side: Side, framing: Framing) -> Self {
        let mut settings = Settings::new(side, framing, 4);
        settings.receive_pool = 16 * 1024;
        settings.window_max = 8 * 1024;
        settings.ring_max = 4096;
        Self::with(settings)
    }

    /// A tunnel with these bounds.
    #[must_use]
    pub fn with(settings: Settings) -> Self {
        let initial = settings.initial_credit();
        let max_streams = settings.max_streams;
        let peer = Peer { max_streams, initial_credit: initial, ring_max: settings.ring_max };
        let (dials, accepts) = Link::pair([1; 32], [2; 32], settings.framing, 3);
        let (own, link) = match settings.side {
            Side::Dials => (dials, accepts),
            Side::Accepts => (accepts, dials),
        };
        let initial = u64::from(initial);
        Self {
            tunnel: Tunnel::new(Session::new(settings, peer, Instant(0)), own),
            link,
            bed: Bed::new(1 << 40),
            model: Model::new(settings.side, initial, initial, max_streams),
            framing: settings.framing,
            now: 0,
            sent: 0,
            answered: 0,
            caused: 0,
            last: None,
            over: false,
        }
    }

    /// The honest session.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.tunnel.session()
    }

    /// Backend connections that were made so far, and plain connections held.
    #[must_use]
    pub fn connections(&self) -> (u64, usize) {
        (self.bed.opens, self.bed.held())
    }

    /// The code by which the honest side ended the session.
    #[must_use]
    pub const fn told(&self) -> Option<CloseCode> {
        self.last
    }

    /// The peer sends frames in one record.
    ///
    /// # Errors
    /// The honest side did something else than the model, or broke a bound.
    pub fn send(&mut self, frames: &[Frame<'_>]) -> Result<Verdict, String> {
        let mut bytes = vec![0; self.framing.plaintext_max()];
        let mut room = Room::new(&mut bytes, 0);
        for frame in frames {
            room.put(frame).ok_or("the frames of a test fit into a record")?;
        }
        let used = room.used();
        self.send_bytes(&bytes[..used])
    }

    /// The peer sends whatever it likes in one record.
    ///
    /// # Errors
    /// As [`Siege::send`].
    pub fn send_bytes(&mut self, plaintext: &[u8]) -> Result<Verdict, String> {
        let verdict = self.expect(plaintext);
        let prefix = self.framing.prefix();
        let mut record = vec![0; self.framing.record_len(plaintext.len())];
        record[prefix..prefix + plaintext.len()].copy_from_slice(plaintext);
        self.link.sealer.seal(&mut record).map_err(|e| e.to_string())?;
        self.sent += record.len() as u64;
        let now = Instant(self.now);
        let outcome = self.tunnel.handle_carrier(&mut record, &mut self.bed, now).map(|_| ());
        match (verdict, outcome) {
            // The model counts charges only, so that it cannot tell the exact moment.
            (_, Err(SessionError::Calm)) if self.model.charges > DEBT => {
                self.end(SessionError::Calm)?;
                Ok(Verdict::Fault(CloseCode::Calm))
            }
            (Verdict::Fine, Ok(())) => {
                let free = self.now * 2_000 / 1_000_000 + 2 * DEBT;
                let paid = self.model.data / 64;
                if self.model.charges > DEBT + free + paid + 1 {
                    return Err(format!("5.6.1: {} charges", self.model.charges));
                }
                self.drain()?;
                Ok(verdict)
            }
            (Verdict::Fault(code), Err(e)) if e.close_code() == Some(code) => {
                self.end(e)?;
                Ok(verdict)
            }
            (Verdict::Closed(code), Err(e)) if e == SessionError::Closed(code) => {
                self.end(e)?;
                Ok(verdict)
            }
            (verdict, outcome) => Err(format!("{verdict:?} expected, got {outcome:?}")),
        }
    }

    fn expect(&mut self, plaintext: &[u8]) -> Verdict {
        let mut useful = false;
        for frame in Decoder::new(plaintext) {
            let Ok(frame) = frame else { return Verdict::Fault(CloseCode::Protocol) };
            useful |= frame.is_reliable();
            let verdict = self.model.judge(&frame);
            if verdict != Verdict::Fine {
                return verdict;
            }
        }
        self.model.charges += u64::from(!useful);
        Verdict::Fine
    }

    /// Takes all that the honest side has to say.
    fn drain(&mut self) -> Result<(), String> {
        let now = Instant(self.now);
        loop {
            self.tunnel
                .poll_transmit(&mut self.bed, now, &mut || None)
                .map_err(|e| e.to_string())?;
            let mut pending = self.tunnel.pending().to_vec();
            if pending.is_empty() {
                break;
            }
            self.tunnel.sent(pending.len());
            self.read(&mut pending)?;
        }
        self.check()
    }

    fn read(&mut self, mut bytes: &mut [u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            let len = self.link.opener.record_len(bytes).map_err(|e| e.to_string())?;
            let len = len.ok_or("half a record was sealed")?;
            let (record, rest) = bytes.split_at_mut(len);
            let text = self.link.opener.open(record).map_err(|e| e.to_string())?;
            let mut decoder = Decoder::new(text);
            loop {
                let before = decoder.rest();
                let Some(frame) = decoder.next() else { break };
                let frame = frame.map_err(|e| e.to_string())?;
                let len = (before - decoder.rest()) as u64;
                self.model.sealed(&frame, len);
                if let Frame::Close { code } = frame {
                    self.last = Some(code);
                }
                if !matches!(frame, Frame::Data { .. }) {
                    self.answered += len;
                }
            }
            bytes = rest;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        if let Some(fault) = self.bed.fault.take() {
            return Err(fault);
        }
        let session = self.tunnel.session();
        let settings = *session.settings();
        let (memory, bound) =
            (self.tunnel.memory(), memory_bound(&settings, self.tunnel.unsent_max()));
        if memory > bound || session.promised() > settings.receive_pool {
            return Err(format!("I10: {memory} of {bound}, promised {}", session.promised()));
        }
        if self.bed.held() > settings.max_streams as usize || session.live() > settings.max_streams
        {
            return Err(format!("I15: {} connections", self.bed.held()));
        }
        // I14: besides what this side's own connections cause, few bytes answer many.
        let most = 3 * self.sent + 32 * self.caused + self.now / 1_000 + 4096;
        if self.answered > most {
            return Err(format!("I14: {} bytes answer {}", self.answered, self.sent));
        }
        let live = self.model.live();
        // The dialling side's plain connection may outlive CLOSED.
        let agrees = match settings.side {
            Side::Accepts => live == session.live() as usize,
            Side::Dials => live <= session.live() as usize,
        };
        if !self.over && !agrees {
            return Err(format!("{} streams live, {live} expected", session.live()));
        }
        Ok(())
    }

    /// The session is over: the peer is told, everything is let go of.
    fn end(&mut self, e: SessionError) -> Result<(), String> {
        self.over = true;
        if let Some(code) = e.close_code() {
            self.tunnel.session_mut().close(code);
            self.drain()?;
            if self.last != Some(code) {
                return Err(format!("5.7.1: told {:?} for {e:?}", self.last));
            }
        }
        self.tunnel.session_mut().abort(ResetReason::Reset, &mut self.bed);
        if self.bed.held() > 0 || self.tunnel.session().undelivered() > 0 {
            return Err("the end of a session left something".into());
        }
        Ok(())
    }

    /// Whether the session is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over || self.tunnel.session().ended() == Ended::Yes
    }

    /// Time passes.
    ///
    /// # Errors
    /// As [`Siege::send`].
    pub fn wait(&mut self, micros: u64) -> Result<(), String> {
        self.now += micros;
        if Instant(self.now) >= self.tunnel.timeout() {
            if let Err(e) = self.tunnel.handle_timeout(Instant(self.now)) {
                return self.end(e);
            }
        }
        self.drain()
    }

    /// An application connects (to a dialling side).
    ///
    /// # Errors
    /// As [`Siege::send`].
    pub fn connect(&mut self) -> Result<Option<StreamId>, String> {
        let opened = self.tunnel.session_mut().open(Instant(self.now));
        if let Some(id) = opened {
            self.caused += 1;
            self.model.begin(id);
            self.bed.insert(id, Plain { takes: self.bed.takes, ..Plain::default() });
        }
        self.drain()?;
        Ok(opened)
    }

    /// What the next backend connections become.
    pub fn plan_backend(&mut self, opened: Opened) {
        self.bed.openings.push_back(opened);
    }

    /// A plain connection changes: it gives that many bytes more, takes that many more, ends.
    ///
    /// # Errors
    /// As [`Siege::send`].
    pub fn plain(
        &mut self,
        id: StreamId,
        gives: usize,
        takes: usize,
        ends: End,
    ) -> Result<(), String> {
        self.caused += 1;
        let now = Instant(self.now);
        if let Some(plain) = self.bed.get(id) {
            plain.gives += gives;
            plain.takes = plain.takes.saturating_add(takes);
            match ends {
                End::No => {}
                End::Finish => plain.ended = true,
                End::Die => plain.dead = true,
            }
            let stands = std::mem::replace(&mut plain.connecting, false);
            if stands {
                let session = self.tunnel.session_mut();
                session.handle_connected(id, &mut self.bed, now);
            }
            self.tunnel.handle_writable(id, &mut self.bed, now);
            self.tunnel.mark_readable(id, &mut self.bed);
        }
        self.drain()
    }

    /// New connections take no more than that many bytes.
    pub fn take_at_most(&mut self, bytes: usize) {
        self.bed.takes = bytes;
    }

    /// A backend connection cannot be had.
    ///
    /// # Errors
    /// As [`Siege::send`].
    pub fn refuse(&mut self, id: StreamId) -> Result<(), String> {
        self.caused += 1;
        let session = self.tunnel.session_mut();
        session.handle_refused(id, ResetReason::Refused, &mut self.bed);
        self.drain()
    }
}

/// How a plain connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It does not.
    No,
    /// The application writes no more.
    Finish,
    /// The application is gone.
    Die,
}

/// Bytes as choices; zeros when they are used up.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number that is small most of the time.
    fn number(&mut self) -> u64 {
        match self.byte() {
            b @ 0..=199 => u64::from(b),
            b @ 200..=239 => u64::from(b) << 4,
            240..=252 => u64::from(self.byte()) << u32::from(self.byte() % 54),
            _ => sleeve_wire::VARINT_MAX,
        }
    }

    fn id(&mut self) -> StreamId {
        match self.byte() {
            b @ 0..=250 => StreamId(u32::from(b % 5)),
            251..=254 => StreamId(u32::from(self.byte())),
            _ => StreamId(u32::MAX),
        }
    }
}

/// Lets bytes decide what the peer and the plain connections do.
///
/// # Errors
/// What the honest side did wrong.
pub fn play(data: &[u8]) -> Result<u64, String> {
    let mut choices = Choices(data);
    let kind = choices.byte();
    let side = if kind & 1 == 0 { Side::Accepts } else { Side::Dials };
    let framing = if kind & 2 == 0 { Framing::Adaptive } else { Framing::Padded };
    let mut siege = Siege::new(side, framing);
    if side == Side::Accepts && kind & 4 == 0 {
        siege.send(&[Frame::Confirm])?;
    }
    if kind & 8 != 0 {
        siege.take_at_most(100);
    }
    let mut operations = 0;
    while !choices.0.is_empty() && !siege.is_over() {
        operations += 1;
        operate(&mut siege, &mut choices)?;
    }
    Ok(operations)
}

fn operate(siege: &mut Siege, choices: &mut Choices<'_>) -> Result<(), String> {
    match choices.byte() % 16 {
        0 => siege.wait(u64::from(choices.byte()) << 8),
        1 => siege.wait(u64::from(choices.byte()) << 17),
        2 => siege.connect().map(drop),
        3 => siege.refuse(choices.id()),
        4..=6 => {
            let (id, gives, takes) = (choices.id(), choices.number(), choices.number());
            let ends = match choices.byte() {
                0..=200 => End::No,
                201..=240 => End::Finish,
                _ => End::Die,
            };
            siege.plain(id, gives.min(20_000) as usize, takes.min(1 << 40) as usize, ends)
        }
        7 => {
            siege.plan_backend(match choices.byte() % 3 {
                0 => Opened::Ready,
                1 => Opened::Pending,
                _ => Opened::Failed(ResetReason::Refused),
            });
            Ok(())
        }
        8 => {
            let len = 1 + usize::from(choices.byte() % 40);
            let bytes: Vec<u8> = (0..len).map(|_| choices.byte()).collect();
            siege.send_bytes(&bytes).map(drop)
        }
        _ => {
            let data = vec![7; 2048];
            let count = 1 + choices.byte() % 4;
            let frames: Vec<_> = (0..count).map(|_| frame(choices, &data)).collect();
            let mut bytes = vec![0; siege.framing.plaintext_max()];
            let mut room = Room::new(&mut bytes, 0);
            for frame in &frames {
                // What does not fit, or cannot be said, is left out.
                let _ = room.put(frame);
            }
            let used = room.used();
            if used > 0 { siege.send_bytes(&bytes[..used]).map(drop) } else { Ok(()) }
        }
    }
}

fn frame<'a>(choices: &mut Choices<'_>, data: &'a [u8]) -> Frame<'a> {
    let reasons = ResetReason::ALL;
    match choices.byte() {
        0..=79 => {
            let id = choices.id();
            let len = (choices.number() as usize).clamp(1, data.len());
            Frame::Data { id, bytes: &data[..len] }
        }
        80..=139 => Frame::Open { id: choices.id(), service: 0 },
        140..=159 => Frame::Fin { id: choices.id() },
        160..=179 => {
            let reason = reasons[usize::from(choices.byte()) % reasons.len()];
            Frame::Reset { id: choices.id(), reason }
        }
        180..=199 => {
            let increment = sleeve_wire::Credit(choices.number().max(1));
            Frame::Credit { id: choices.id(), increment }
        }
        200..=214 => Frame::Closed { id: choices.id() },
        215..=224 => Frame::Ack { bytes: choices.number().max(1) },
        225..=229 => Frame::Accepted { id: choices.id() },
        230..=234 => Frame::Ping { token: 9 },
        235..=239 => Frame::Pong { token: 9 },
        240..=244 => Frame::MaxStreams { limit: choices.number() as u32 },
        245..=248 => Frame::Confirm,
        249..=251 => Frame::GoAway { reason: sleeve_wire::GoAwayReason::Drain, grace_ms: 1 },
        252 => Frame::Resumed { offset: sleeve_wire::Offset(0), proof: [0; 32] },
        253 => Frame::ConfirmResume { offset: sleeve_wire::Offset(0), proof: [0; 32] },
        _ => Frame::Close { code: CloseCode::Normal },
    }
}

/// The longest plaintext that fits into a record, for tests that fill one.
#[must_use]
pub const fn plaintext_max(framing: Framing) -> usize {
    framing.record_max() - framing.prefix() - TAG
}
