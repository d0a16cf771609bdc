//! A worker beside the backend.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::backend::Backend;
use crate::crowd::Crowd;
use crate::entry::Entry;
use crate::gate::{Admitted, Gate, Shared};
use crate::pump::{End, Handle, Pump};
use crate::sys;
use crate::throttle::Throttle;

/// What the tasks of a server's worker share.
#[derive(Debug)]
pub(crate) struct Server {
    shared: Arc<Shared>,
    gate: Rc<Gate>,
    crowd: Rc<Crowd>,
    throttle: Rc<Throttle>,
}

impl Server {
    pub(crate) fn new(shared: Arc<Shared>, crowd: Rc<Crowd>) -> Rc<Self> {
        let gate = Gate::new(Arc::clone(&shared));
        Rc::new(Self { shared, gate, crowd, throttle: Rc::default() })
    }

    /// Takes carriers from a listener, without end.
    pub(crate) async fn accept(self: Rc<Self>, entry: Entry) {
        entry.run(|| true, async || {}, |socket, _| self.carry(socket)).await;
    }

    fn carry(self: &Rc<Self>, socket: OwnedFd) {
        let Ok(stream) = TcpStream::from_std(std::net::TcpStream::from(socket)) else { return };
        let server = Rc::clone(self);
        self.gate.receive(stream, move |admitted| async move { server.serve(admitted).await });
    }

    async fn serve(&self, admitted: Admitted) {
        let Admitted { tunnel, carrier, first } = admitted;
        let framing = tunnel.session().settings().framing;
        let wake = Rc::new(Notify::new());
        let common = &self.shared.plan.common;
        let backend = Backend::new(
            &self.shared.plan.target,
            common.connect_timeout,
            Rc::clone(&wake),
            Rc::clone(&self.throttle),
        );
        let handle = Handle::new(wake, Rc::clone(&self.crowd.changed));
        let pump = backend.and_then(|backend| {
            Pump::new(tunnel, carrier, Some(Rc::new(backend)), Rc::clone(&handle))
        });
        let mut pump = match pump {
            Ok(pump) => pump,
            Err(error) => return warn!(%error, "a peer is turned away"),
        };
        if let Err(error) = pump.handle_first(&first) {
            return warn!(%error, "a peer is turned away");
        }
        info!(%framing, "a peer's session stands");
        match self.crowd.run(pump, handle).await {
            End::Drained | End::Stopped => info!("a peer's session ended"),
            End::Session(sleeve_session::SessionError::Closed(_)) => {
                info!("a peer ended its session")
            }
            End::Session(error) => warn!(%error, "a peer's session is lost"),
            End::Carrier(error) => info!(%error, "a peer's session is lost"),
        }
    }
}

/// Prepares a listener for peers: nobody is looked at before a first message can be whole.
pub(crate) fn prepare(socket: &OwnedFd, segment_limit: Option<u16>) -> std::io::Result<()> {
    let first = u16::try_from(sleeve_seal::FIRST_FIXED).unwrap_or(1);
    sys::set_receive_low_water(socket, first)?;
    if let Some(bytes) = segment_limit {
        socket2::SockRef::from(socket).set_tcp_mss(u32::from(bytes))?;
    }
    Ok(())
}
