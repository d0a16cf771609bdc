//! The accepting side up to the proof that the peer holds a key. Strangers get nothing: no
//! byte, no backend connection, and a place for some seconds.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::net::RecvFlags;
use sleeve_config::ServerPlan;
use sleeve_seal::{FIRST_FIXED, ReplayFilter, Responder, recognise, replay_tag};
use sleeve_session::{Session, Tunnel};
use sleeve_wire::ClientHello;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, info};

use crate::carrier::Carrier;
use crate::{clock, hello, random, sys};

/// Connections without a proof that are held at once; a further one takes the place of any.
const PLACES: usize = 1024;
/// A connection without a proof is closed after a time between these two, in milliseconds, that
/// depends on nothing that it sent.
const PATIENCE_MS: (u32, u32) = (5_000, 10_000);
/// A stranger's bytes are thrown away so often, and so many of them at a time.
const SINK_EVERY: Duration = Duration::from_millis(250);
const SINK_BYTES: usize = 256 * 1024;
/// Key agreements per second, for all who hold a key or repeat what such a one said.
const AGREEMENTS_PER_SECOND: u32 = 2_000;

/// What all workers of a server share: nothing on the path of data.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: ServerPlan,
    replay: Mutex<ReplayFilter>,
    /// Drawn once by each process, so that peers can tell a restart.
    epoch: [u8; 8],
}

impl Shared {
    pub(crate) fn new(plan: ServerPlan) -> Arc<Self> {
        let replay = Mutex::new(ReplayFilter::new());
        Arc::new(Self { plan, replay, epoch: random::bytes() })
    }
}

/// A peer that holds a key, and the frames that it sent with the proof.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) tunnel: Tunnel,
    pub(crate) carrier: Carrier,
    pub(crate) first: Vec<u8>,
}

/// One worker's gate.
#[derive(Debug)]
pub(crate) struct Gate {
    shared: Arc<Shared>,
    /// The tasks of connections without a proof, by place.
    places: RefCell<Vec<Option<AbortHandle>>>,
    agreements: Cell<(u32, u64)>,
    strangers: Cell<u64>,
}

/// The connection is a stranger's, or of someone who cannot be told from one.
struct Stranger;

impl From<io::Error> for Stranger {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl Gate {
    pub(crate) fn new(shared: Arc<Shared>) -> Rc<Self> {
        Rc::new(Self {
            shared,
            places: RefCell::default(),
            agreements: Cell::new((0, 0)),
            strangers: Cell::new(0),
        })
    }

    /// Deals with a connection in a task of its own; `serve` gets the peer if it is one.
    pub(crate) fn receive<F: Future<Output = ()> + 'static>(
        self: &Rc<Self>,
        stream: TcpStream,
        serve: impl FnOnce(Admitted) -> F + 'static,
    ) {
        let place = self.take_place();
        let gate = Rc::clone(self);
        let (low, high) = PATIENCE_MS;
        let patience = Duration::from_millis(u64::from(low + random::below(high - low)));
        let deadline = Instant::now() + patience;
        let task = tokio::task::spawn_local(async move {
            let admitted = gate.examine(stream, deadline).await;
            gate.leave_place(place);
            if let Some(admitted) = admitted {
                // A task of its own size: this one was made for strangers.
                tokio::task::spawn_local(serve(*admitted));
            }
        });
        self.places.borrow_mut()[place] = Some(task.abort_handle());
    }

    fn take_place(&self) -> usize {
        let mut places = self.places.borrow_mut();
        if let Some(place) = places.iter().position(Option::is_none) {
            return place;
        }
        if places.len() < PLACES {
            places.push(None);
            return places.len() - 1;
        }
        // An honest peer proves itself within a round trip, so that it is rarely the victim.
        let place =
            usize::try_from(random::below(u32::try_from(PLACES).unwrap_or(u32::MAX))).unwrap_or(0);
        if let Some(victim) = places[place].take() {
            victim.abort();
        }
        place
    }

    fn leave_place(&self, place: usize) {
        self.places.borrow_mut()[place] = None;
    }

    async fn examine(&self, mut stream: TcpStream, deadline: Instant) -> Option<Box<Admitted>> {
        match timeout_at(deadline, self.shake_hands(&mut stream)).await {
            Ok(Ok(agreed)) => {
                // Refusals have been told in the reply: there is nothing more to hide.
                let agreed = agreed?;
                let carrier = Carrier::new(stream).ok()?;
                let Proven { tunnel, first } = agreed;
                Some(Box::new(Admitted { tunnel, carrier, first }))
            }
            Ok(Err(Stranger)) | Err(_) => {
                self.strangers.set(self.strangers.get() + 1);
                debug!(strangers = self.strangers.get(), "a stranger's connection is held");
                sink(&stream, deadline).await;
                None
            }
        }
    }

    /// The accepting side of the handshake (PROTOCOL 2.2). Until the first record has opened
    /// nothing is made that would have to be undone.
    async fn shake_hands(&self, stream: &mut TcpStream) -> Result<Option<Proven>, Stranger> {
        let mut fixed = [0; FIRST_FIXED];
        stream.read_exact(&mut fixed).await?;
        sys::set_receive_low_water(&*stream, 1)?;
        let plan = &self.shared.plan;
        let place = recognise(&plan.keys, &fixed).ok_or(Stranger)?;
        let key = plan.keys.get(place).ok_or(Stranger)?;
        let responder = Responder::read(key, &fixed, &random::bytes()).map_err(|_| Stranger)?;
        // Only now: a mark alone can be cut out of somebody's message and sent in advance.
        if !self.is_new(&fixed) || !self.may_agree() {
            return Err(Stranger);
        }
        let hello = ClientHello::decode(responder.hello()).map_err(|_| Stranger)?;
        let mut padding = vec![0; usize::from(hello.pad_len)];
        stream.read_exact(&mut padding).await?;
        let decision = hello::decide(&hello, plan.framings, plan.common.max_streams);
        let answer = hello::server(&hello, &decision, self.shared.epoch);
        let own = random::padding(answer.pad_len);
        let (reply, secrets) =
            responder.reply(&padding, &answer.encode(), own).map_err(|_| Stranger)?;
        stream.write_all(&reply).await?;
        let agreed = match decision {
            Ok(agreed) => agreed,
            Err(status) => {
                info!(?status, key = %key.fingerprint(), "session refused");
                return Ok(None);
            }
        };
        let mut link = secrets.accepted(agreed.settings.framing, agreed.rekey_exponent);
        let mut record = vec![0; agreed.settings.framing.prefix()];
        stream.read_exact(&mut record).await?;
        let len = link.record_len(&record).map_err(|_| Stranger)?.ok_or(Stranger)?;
        let prefix = record.len();
        record.resize(len, 0);
        stream.read_exact(&mut record[prefix..]).await?;
        let (link, first) = link.confirm(&mut record).map_err(|_| Stranger)?;
        let session = Session::new(agreed.settings, agreed.peer, clock::now());
        debug!(framing = %agreed.settings.framing, key = %key.fingerprint(), "peer proved its key");
        Ok(Some(Proven { first: first.to_vec(), tunnel: Tunnel::new(session, link) }))
    }

    fn is_new(&self, fixed: &[u8; FIRST_FIXED]) -> bool {
        // A worker that panicked left the filter in a state as good as any.
        let mut replay = self.shared.replay.lock().unwrap_or_else(|e| e.into_inner());
        replay.insert(replay_tag(fixed))
    }

    /// Bounds what repeated first messages, or a holder of a key, can cost.
    fn may_agree(&self) -> bool {
        let second = clock::now().0 / 1_000_000;
        let (count, of) = self.agreements.get();
        let count = if of == second { count + 1 } else { 1 };
        self.agreements.set((count, second));
        count <= AGREEMENTS_PER_SECOND
    }
}

/// A handshake that is done.
struct Proven {
    tunnel: Tunnel,
    first: Vec<u8>,
}

/// Reads and throws away until the deadline, then ends in an orderly way: neither when nor how
/// depends on what was sent.
async fn sink(stream: &TcpStream, deadline: Instant) {
    let mut scratch = vec![0; 16 * 1024];
    loop {
        let at = (Instant::now() + SINK_EVERY).min(deadline);
        tokio::time::sleep_until(at).await;
        let mut taken = 0;
        while taken < SINK_BYTES {
            // Asked of the kernel itself: the runtime does not see what lies below the low-water
            // mark, and bytes left unread would make the end a reset.
            match rustix::net::recv(&*stream, &mut scratch[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(_) => break,
                Ok((len, _)) => taken += len,
            }
        }
        if at == deadline {
            return;
        }
    }
}
