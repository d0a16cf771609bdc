//! A tunnel: both daemons in this process, as the program would start them on two hosts.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr};

use sleeve_config::{Address, ClientPlan, Common, Framings, Host, Plan, ServerPlan};
use sleeve_engine::{Daemon, Totals};
use sleeve_seal::{KEY_FILE_MIN, Key};
use sleeve_wire::Framing;

use crate::LabError;
use crate::folder::Folder;
use crate::link::{Cost, Link};
use crate::load::Clients;
use crate::responder::Responder;
use crate::socket::Endpoint;
use crate::tcp::{HEADERS, TCP_MAXSEG};

/// Two daemons and the Unix socket in front of them.
pub(crate) struct Pair {
    endpoint: Endpoint,
    /// The server end, then the client end.
    daemons: Vec<Daemon>,
}

impl Pair {
    /// Starts the server end beside the responder and the client end that dials it.
    pub(crate) fn start(
        framing: Framing,
        responder: &Responder,
        folder: &Folder,
    ) -> Result<Self, LabError> {
        let secret = random().map_err(|source| LabError::Setup {
            what: "cannot read a random key from /dev/urandom",
            source,
        })?;
        let path = folder.join("client");
        let mut pair = Self { endpoint: Endpoint::Unix(path.clone()), daemons: Vec::new() };
        let loopback = Host::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let server = ServerPlan {
            listen: vec![Address::Tcp { host: loopback, port: 0 }],
            target: address(responder.unix()),
            keys: vec![key(&secret)],
            framings: only(framing),
            common: common(),
        };
        let server = pair.add(Plan::Server(server))?;
        let client = ClientPlan {
            listen: vec![Address::Unix(path)],
            servers: server,
            keys: vec![key(&secret)],
            framing,
            common: common(),
        };
        pair.add(Plan::Client(client))?;
        Ok(pair)
    }

    /// Starts a daemon; where it listens.
    fn add(&mut self, plan: Plan) -> Result<Vec<Address>, LabError> {
        let daemon = Daemon::start(plan).map_err(LabError::Daemon)?;
        let addresses = daemon.addresses().to_vec();
        self.daemons.push(daemon);
        Ok(addresses)
    }
}

impl Link for Pair {
    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn cost(&self, _clients: &Clients<'_>) -> Result<Cost, LabError> {
        let mut totals = Totals::default();
        for daemon in &self.daemons {
            totals.add(&daemon.totals());
        }
        Ok(cost(&totals))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for daemon in &self.daemons {
            daemon.stop();
        }
        for daemon in self.daemons.drain(..) {
            // A fault of a daemon has shown as the end of the clients' connections.
            let _ended = daemon.wait();
        }
    }
}

/// What both daemons sent is what went over the wire in both directions.
fn cost(totals: &Totals) -> Cost {
    Cost {
        record_bytes: totals.session.sent_records,
        padding_bytes: totals.session.sent_padding,
        records: totals.session.records,
        write_calls: totals.writes,
        wire_bytes: totals.tcp_bytes + totals.tcp_segments * HEADERS,
        segments: totals.tcp_segments,
        ..Cost::default()
    }
}

fn common() -> Common {
    Common { segment_limit: Some(TCP_MAXSEG), ..Common::default() }
}

fn only(framing: Framing) -> Framings {
    Framings { adaptive: framing == Framing::Adaptive, padded: framing == Framing::Padded }
}

fn address(endpoint: &Endpoint) -> Address {
    match endpoint {
        Endpoint::Unix(path) => Address::Unix(path.clone()),
        Endpoint::Tcp(socket) => Address::Tcp { host: Host::Ip(socket.ip()), port: socket.port() },
    }
}

/// A key for this run only. It never leaves the process, and what it protects is not secret.
fn random() -> io::Result<[u8; KEY_FILE_MIN]> {
    let mut secret = [0; KEY_FILE_MIN];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    Ok(secret)
}

fn key(secret: &[u8; KEY_FILE_MIN]) -> Key {
    Key::from_file_bytes(secret).expect("the secret is as long as a key file has to be")
}
