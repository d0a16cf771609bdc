//! Threads: one a worker, each with its own runtime, sessions and listeners.

use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use sleeve_config::{Address, ClientPlan, Common, Plan};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tracing::error;

use crate::backend::Backend;
use crate::client::Client;
use crate::crowd::{Crowd, Totals};
use crate::entry::Entry;
use crate::error::EngineError;
use crate::gate::Shared;
use crate::listen::{Listener, SocketFile, bind_all};
use crate::plain::Kind;
use crate::server::{self, Server};

/// What a worker is told.
#[derive(Debug)]
enum Command {
    /// No new connections; end when the last stream has, or when the time is over.
    Drain,
    /// End at once.
    Stop,
    /// Say what passed.
    Totals(mpsc::Sender<Totals>),
    /// Carry an application's connection that another worker accepted.
    Carry(OwnedFd, Kind),
}

/// A daemon that runs: its listeners are bound and its threads serve them.
#[derive(Debug)]
pub struct Daemon {
    addresses: Vec<Address>,
    workers: Vec<(UnboundedSender<Command>, JoinHandle<()>)>,
    /// Nothing is ever sent; it ends with the last worker.
    alive: UnboundedReceiver<Infallible>,
}

#[derive(Clone, Debug)]
enum Role {
    Client(Arc<ClientPlan>),
    Server(Arc<Shared>),
}

impl Role {
    fn common(&self) -> &Common {
        match self {
            Self::Client(plan) => &plan.common,
            Self::Server(shared) => &shared.plan.common,
        }
    }
}

impl Daemon {
    /// Binds all listeners and starts the threads.
    ///
    /// # Errors
    /// [`EngineError`] if one of them cannot be had; nothing is left behind then.
    pub fn start(plan: Plan) -> Result<Self, EngineError> {
        let (role, listen) = match plan {
            Plan::Client(plan) => {
                let listen = plan.listen.clone();
                (Role::Client(Arc::new(plan)), listen)
            }
            Plan::Server(plan) => {
                check_target(&plan.target)?;
                let listen = plan.listen.clone();
                (Role::Server(Shared::new(plan)), listen)
            }
        };
        let count = role.common().workers.max(1);
        let mut listeners = bind_all(&listen, count)?;
        if let Role::Server(shared) = &role {
            let limit = shared.plan.common.segment_limit;
            for listener in &listeners {
                for socket in &listener.sockets {
                    server::prepare(socket, limit).map_err(|source| EngineError::Bind {
                        address: listener.address.to_string(),
                        source,
                    })?;
                }
            }
        }
        let addresses = listeners.iter().map(|l| l.address.clone()).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..count).map(|_| unbounded_channel()).unzip();
        let (breath, alive) = unbounded_channel();
        let mut workers = Vec::new();
        for (index, commands) in receivers.into_iter().enumerate() {
            let worker = Worker {
                role: role.clone(),
                listeners: share(&mut listeners, index),
                commands,
                all: senders.clone(),
                _alive: breath.clone(),
            };
            let thread = std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || worker.run())
                .map_err(EngineError::Runtime)?;
            workers.push((senders[index].clone(), thread));
        }
        Ok(Self { addresses, workers, alive })
    }

    /// Where it listens, with the ports that the kernel gave.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// What passed so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let (sender, receiver) = mpsc::channel();
        self.tell(|| Command::Totals(sender.clone()));
        drop(sender);
        let mut totals = Totals::default();
        for part in receiver {
            totals.add(&part);
        }
        totals
    }

    /// Closes the listeners; the daemon ends when its last stream has, or when the time for
    /// draining is over.
    pub fn drain(&self) {
        self.tell(|| Command::Drain);
    }

    /// Resets all streams; the daemon ends at once.
    pub fn stop(&self) {
        self.tell(|| Command::Stop);
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// [`EngineError::Fault`] if a thread ended by a fault of its own.
    pub fn wait(self) -> Result<(), EngineError> {
        let mut outcome = Ok(());
        for (sender, thread) in self.workers {
            drop(sender);
            outcome = outcome.and(thread.join().map_err(|_| EngineError::Fault));
        }
        outcome
    }

    /// Waits, without holding a thread, until all workers have ended.
    pub async fn ended(&mut self) {
        while self.alive.recv().await.is_some() {}
    }

    fn tell(&self, command: impl Fn() -> Command) {
        for (sender, _) in &self.workers {
            // A worker that has ended needs no further word.
            let _ = sender.send(command());
        }
    }
}

/// A target that can never be connected to is told at the start.
fn check_target(target: &Address) -> Result<(), EngineError> {
    let refused = |source| EngineError::Target { address: target.to_string(), source };
    let backend = Backend::new(target, Duration::ZERO, Rc::default(), Rc::default());
    backend.map(|_| ()).map_err(refused)
}

/// One worker's share of the listeners: of those that were bound once the first worker has it
/// and hands the connections round.
fn share(listeners: &mut [Listener], index: usize) -> Vec<Listener> {
    let mut own = Vec::new();
    for listener in listeners {
        let file = if index == 0 { listener.file.take() } else { None };
        if let Some(socket) = listener.sockets.pop() {
            own.push(Listener { address: listener.address.clone(), sockets: vec![socket], file });
        }
    }
    own
}

struct Worker {
    role: Role,
    listeners: Vec<Listener>,
    commands: UnboundedReceiver<Command>,
    all: Vec<UnboundedSender<Command>>,
    _alive: UnboundedSender<Infallible>,
}

/// A worker's side of the daemon.
enum Side {
    Client(Rc<Client>),
    Server(Rc<Server>),
}

impl Worker {
    fn run(self) {
        let runtime =
            Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
        match runtime {
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(error) => error!(%error, "a worker cannot start"),
        }
    }

    async fn serve(self) {
        let Self { role, listeners, commands, all, _alive } = self;
        let crowd = Rc::new(Crowd::default());
        let drain = role.common().drain;
        let side = match role {
            Role::Client(plan) => Side::Client(Client::new(plan, Rc::clone(&crowd))),
            Role::Server(shared) => Side::Server(Server::new(shared, Rc::clone(&crowd))),
        };
        let mut entries = Entries { tasks: JoinSet::new(), files: Vec::new() };
        for listener in listeners {
            entries.begin(listener, &side, &all);
        }
        drop(all);
        if let Side::Client(client) = &side {
            tokio::task::spawn_local(Rc::clone(client).keep());
        }
        obey(commands, &side, &crowd, (entries, drain)).await;
    }
}

/// The accepting tasks of a worker, and the files of their listeners.
struct Entries {
    tasks: JoinSet<()>,
    files: Vec<SocketFile>,
}

impl Entries {
    fn begin(&mut self, listener: Listener, side: &Side, all: &[UnboundedSender<Command>]) {
        self.files.extend(listener.file);
        for socket in listener.sockets {
            let entry = match Entry::new(socket, listener.address.to_string()) {
                Ok(entry) => entry,
                Err(error) => {
                    error!(%error, listen = %listener.address, "cannot accept");
                    continue;
                }
            };
            match side {
                Side::Server(server) => {
                    self.tasks.spawn_local(Rc::clone(server).accept(entry));
                }
                // TCP listeners are bound once for each worker; the connections of others are
                // handed round.
                Side::Client(client) => {
                    let single = !matches!(listener.address, Address::Tcp { .. });
                    let round = if single && all.len() > 1 { all.to_vec() } else { Vec::new() };
                    let mut turn = 0;
                    let taker = Rc::clone(client);
                    let take = move |socket, kind| match round.get(turn) {
                        None => taker.carry(socket, kind),
                        Some(worker) => {
                            turn = (turn + 1) % round.len();
                            // A worker that has ended is no place to be.
                            let _ = worker.send(Command::Carry(socket, kind));
                        }
                    };
                    self.tasks.spawn_local(Rc::clone(client).accept(entry, take));
                }
            }
        }
    }
}

/// Does what the worker is told, until its end.
async fn obey(
    mut commands: UnboundedReceiver<Command>,
    side: &Side,
    crowd: &Crowd,
    (mut entries, drain): (Entries, Duration),
) {
    let mut deadline = None;
    loop {
        let over = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let command = tokio::select! {
            command = commands.recv() => command.unwrap_or(Command::Stop),
            () = crowd.emptied(), if deadline.is_some() => return,
            () = over => Command::Stop,
        };
        match command {
            Command::Drain => {
                deadline = Some(tokio::time::Instant::now() + drain);
                entries.tasks.abort_all();
                entries.files.clear();
                if let Side::Client(client) = side {
                    client.leave();
                }
                crowd.drain(drain);
            }
            Command::Stop => {
                crowd.stop();
                return crowd.emptied().await;
            }
            Command::Totals(sender) => {
                let _ = sender.send(crowd.totals().await);
            }
            Command::Carry(socket, kind) => match side {
                Side::Client(client) => client.carry(socket, kind),
                Side::Server(_) => {}
            },
        }
    }
}
