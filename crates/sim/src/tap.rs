//! A reader of both directions that holds the keys: what the sides may seal, in which order.

use sleeve_seal::{Link, Opener};
use sleeve_wire::{Decoder, Frame, Framing, ResetReason, StreamId};

use crate::ledger::Ledger;

/// A record as it was sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    /// Bytes of frames, without padding.
    pub(crate) frames: usize,
    /// It opens or ends streams.
    pub(crate) pressing: bool,
    /// It ends the session.
    pub(crate) closing: bool,
}

/// A stream as both directions show it; index 0 is what the dialling side sends.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    live: bool,
    sent: [u64; 2],
    credit: [u64; 2],
    fin: [bool; 2],
    reset: [bool; 2],
}

#[derive(Debug)]
pub(crate) struct Tap {
    openers: [Opener; 2],
    framing: Framing,
    streams: Vec<Seen>,
    /// Credit that a new stream has, by direction.
    initial: [u64; 2],
    max_streams: u32,
    records: [u64; 2],
    /// Bytes of reliable frames sealed and acknowledged, by direction of the frames.
    reliable: [u64; 2],
    acknowledged: [u64; 2],
    confirmed: bool,
    /// Bytes of data sealed, by direction.
    pub(crate) data: [u64; 2],
    /// The same for one stream, for measurements.
    pub(crate) data_of: Vec<[u64; 2]>,
    /// Bytes of other frames sealed, and CREDIT frames.
    pub(crate) control: [u64; 2],
    pub(crate) credits: [u64; 2],
    scratch: Vec<u8>,
}

impl Tap {
    /// `initial`: credit of the dialling side's bytes, then of the accepting side's.
    pub(crate) fn new(links: (Link, Link), framing: Framing, initial: [u64; 2], max: u32) -> Self {
        Self {
            openers: [links.1.opener, links.0.opener],
            framing,
            streams: Vec::new(),
            initial,
            max_streams: max,
            records: [0; 2],
            reliable: [0; 2],
            acknowledged: [0; 2],
            confirmed: false,
            data: [0; 2],
            data_of: Vec::new(),
            control: [0; 2],
            credits: [0; 2],
            scratch: Vec::new(),
        }
    }

    /// Reads the records that `side` sealed; says what the last one holds, and whether all
    /// before it had no room for more.
    pub(crate) fn read(&mut self, side: usize, bytes: &[u8], ledger: &mut Ledger) -> Vec<Sealed> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(bytes);
        let (mut at, mut sealed) = (0, Vec::new());
        while at < scratch.len() {
            let len = self.openers[side].record_len(&scratch[at..]).ok().flatten();
            let Some(len) = len.filter(|len| at + len <= scratch.len()) else {
                ledger.blame(|| format!("I16: side {side} sealed no whole record"));
                break;
            };
            if self.framing == Framing::Padded {
                ledger.check(len == 1024, || "I17: a padded record of another size".into());
            }
            match self.openers[side].open(&mut scratch[at..at + len]) {
                Ok(plaintext) => {
                    self.records[side] += 1;
                    let mut decoder = Decoder::new(plaintext);
                    let (record, meaning) = record(&mut decoder, |frame, len, first| {
                        self.frame(side, frame, len, ledger);
                        if side == 0 && !self.confirmed {
                            let confirms = first && *frame == Frame::Confirm;
                            ledger.check(confirms, || "first frame is not CONFIRM".into());
                            self.confirmed = true;
                        }
                    });
                    ledger.check(meaning, || "I19: bytes without a meaning".into());
                    sealed.push(record);
                }
                Err(e) => {
                    ledger.blame(|| format!("I16: record {} of {side}: {e}", self.records[side]));
                    break;
                }
            }
            at += len;
        }
        self.scratch = scratch;
        sealed
    }

    fn frame(&mut self, side: usize, frame: &Frame<'_>, len: u64, ledger: &mut Ledger) {
        if frame.is_reliable() {
            self.reliable[side] += len;
        }
        if let Frame::Data { id, bytes } = frame {
            self.data(side, *id, bytes.len() as u64, ledger);
            return;
        }
        self.control[side] += len;
        let dials = side == 0;
        let legal = match *frame {
            Frame::Data { .. } => true,
            Frame::Open { id, .. } => dials && self.open(id),
            Frame::Accepted { id } => !dials && self.seen(id).live,
            Frame::Fin { id } => {
                let stream = self.seen(id);
                let legal = stream.live && !stream.fin[side] && !stream.reset[side];
                stream.fin[side] = true;
                legal
            }
            Frame::Reset { id, reason } => self.reset(side, id, reason, ledger),
            Frame::Credit { id, increment } => {
                self.credits[side] += 1;
                let stream = self.seen(id);
                stream.credit[1 - side] += increment.0;
                // Late ones to the accepting side are allowed.
                stream.live || dials
            }
            Frame::Closed { id } => {
                let held = ledger.uid(id).is_some_and(|uid| {
                    let end = ledger.ends(uid, 1).0;
                    end.opened && end.gone.is_none()
                });
                let stream = self.seen(id);
                let over = stream.fin[0] || stream.reset[0];
                let legal = !dials && stream.live && over && !held;
                stream.live = false;
                legal
            }
            Frame::Ack { bytes } => {
                self.acknowledged[1 - side] += bytes;
                self.acknowledged[1 - side] <= self.reliable[1 - side]
            }
            Frame::MaxStreams { .. } => !dials,
            Frame::Confirm => dials && !self.confirmed,
            Frame::Ping { .. } | Frame::Pong { .. } => true,
            Frame::GoAway { .. } | Frame::Close { .. } => true,
            Frame::ConfirmResume { .. } | Frame::Resumed { .. } => false,
        };
        ledger.check(legal, || format!("side {side} sealed {frame:?} out of its time"));
    }

    fn seen(&mut self, id: StreamId) -> &mut Seen {
        if self.streams.len() <= id.index() {
            self.streams.resize(id.index() + 1, Seen::default());
        }
        &mut self.streams[id.index()]
    }

    /// I15: below the limit, and not live.
    fn open(&mut self, id: StreamId) -> bool {
        let legal = id.0 < self.max_streams && !self.seen(id).live;
        let credit = self.initial;
        *self.seen(id) = Seen { live: true, credit, ..Seen::default() };
        legal
    }

    /// I11: within credit; and not after the end.
    fn data(&mut self, side: usize, id: StreamId, len: u64, ledger: &mut Ledger) {
        self.data[side] += len;
        if self.data_of.len() <= id.index() {
            self.data_of.resize(id.index() + 1, [0; 2]);
        }
        self.data_of[id.index()][side] += len;
        let stream = self.seen(id);
        stream.sent[side] += len;
        let open = stream.live && !stream.fin[side] && !stream.reset[side];
        let within = stream.sent[side] <= stream.credit[side];
        ledger.check(open, || format!("side {side}: data of {id} after its end"));
        ledger.check(within, || format!("I11: side {side}: {id} sends more than its credit"));
    }

    fn reset(
        &mut self,
        side: usize,
        id: StreamId,
        reason: ResetReason,
        ledger: &mut Ledger,
    ) -> bool {
        let stream = self.seen(id);
        let late = side == 0 && !stream.live;
        let legal = (stream.live && !stream.reset[side]) || late;
        stream.reset[side] = true;
        let answers = stream.reset[1 - side];
        let Some(uid) = ledger.uid(id) else { return false };
        let end = ledger.end(uid, side);
        end.reset = Some(reason);
        let caused = match reason {
            ResetReason::Echo => answers && side == 0,
            ResetReason::Reset => end.dead,
            ResetReason::Limit => side == 1,
            ResetReason::Refused
            | ResetReason::Unreachable
            | ResetReason::Timeout
            | ResetReason::Shutdown
            | ResetReason::Internal
            | ResetReason::NoService => end.refused == Some(reason),
        };
        legal && caused
    }

    /// Streams between OPEN and CLOSED.
    pub(crate) fn live(&self) -> usize {
        self.streams.iter().filter(|s| s.live).count()
    }

    /// Records that a side sealed.
    pub(crate) fn records(&self, side: usize) -> u64 {
        self.records[side]
    }
}

/// Walks a record's frames: each with its length and whether it is the first. Says whether all
/// of them have a meaning.
fn record(
    decoder: &mut Decoder<'_>,
    mut each: impl FnMut(&Frame<'_>, u64, bool),
) -> (Sealed, bool) {
    let mut sealed = Sealed { frames: 0, pressing: false, closing: false };
    loop {
        let before = decoder.rest();
        let frame = match decoder.next() {
            None => return (sealed, true),
            Some(Err(_)) => return (sealed, false),
            Some(Ok(frame)) => frame,
        };
        let len = before - decoder.rest();
        each(&frame, len as u64, sealed.frames == 0);
        sealed.frames += len;
        sealed.closing |= matches!(frame, Frame::Close { .. });
        sealed.pressing |= matches!(
            frame,
            Frame::Open { .. } | Frame::Fin { .. } | Frame::Reset { .. } | Frame::Closed { .. }
        );
    }
}
