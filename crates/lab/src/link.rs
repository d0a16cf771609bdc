//! What is measured: ways from a client to the responder.

use std::io;

use sleeve_wire::Framing;

use crate::LabError;
use crate::folder::Folder;
use crate::load::Clients;
use crate::pair::Pair;
use crate::responder::Responder;
use crate::socket::Endpoint;
use crate::tcp::Diagnostics;

/// One row of the table: a way from a client to the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contestant {
    /// A TCP connection from each client to the responder, in the clear.
    Direct,
    /// Two daemons in this framing mode, Unix sockets beside them, one TCP connection between.
    Tunnel(Framing),
}

impl Contestant {
    /// The name in the table, in the JSON and in errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Tunnel(Framing::Adaptive) => "adaptive",
            Self::Tunnel(Framing::Padded) => "padded",
        }
    }

    /// Starts what is between the clients and the responder.
    pub(crate) fn start(
        self,
        responder: &Responder,
        folder: &Folder,
    ) -> Result<Box<dyn Link>, LabError> {
        match self {
            Self::Direct => Ok(Box::new(Direct::new(responder)?)),
            Self::Tunnel(framing) => Ok(Box::new(Pair::start(framing, responder, folder)?)),
        }
    }
}

/// Something that carries the load; dropping it stops it.
pub(crate) trait Link {
    /// Where clients connect.
    fn endpoint(&self) -> &Endpoint;

    /// What it has cost since it was started.
    fn cost(&self, clients: &Clients<'_>) -> Result<Cost, LabError>;
}

/// What a number of requests cost, both directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Requests that were answered.
    pub(crate) requests: u64,
    /// Bytes of these requests and their replies, as the client sends and gets them.
    pub(crate) application_bytes: u64,
    /// Bytes of records: frames, padding and what sealing adds.
    pub(crate) record_bytes: u64,
    /// Bytes of padding in these records.
    pub(crate) padding_bytes: u64,
    /// Records.
    pub(crate) records: u64,
    /// Writes to the TCP connection between the daemons.
    pub(crate) write_calls: u64,
    /// Payload of the TCP segments and their headers.
    pub(crate) wire_bytes: u64,
    /// TCP segments, those without payload too.
    pub(crate) segments: u64,
}

impl Cost {
    /// What was added since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            application_bytes: self.application_bytes - earlier.application_bytes,
            record_bytes: self.record_bytes - earlier.record_bytes,
            padding_bytes: self.padding_bytes - earlier.padding_bytes,
            records: self.records - earlier.records,
            write_calls: self.write_calls - earlier.write_calls,
            wire_bytes: self.wire_bytes - earlier.wire_bytes,
            segments: self.segments - earlier.segments,
        }
    }

    /// Bytes on the wire for one request and its reply.
    pub(crate) fn wire_bytes_per_request(&self) -> f64 {
        ratio(self.wire_bytes, self.requests)
    }

    /// The share of the bytes on the wire that is padding.
    pub(crate) fn padding_share(&self) -> f64 {
        ratio(self.padding_bytes, self.wire_bytes)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// No tunnel. Its segments are as large as loopback's are, unlike those between two daemons, so
/// with large values it is a fast baseline; its bytes on the wire are counted as Ethernet's.
struct Direct {
    endpoint: Endpoint,
    diagnostics: Diagnostics,
}

impl Direct {
    fn new(responder: &Responder) -> Result<Self, LabError> {
        let diagnostics = Diagnostics::open().map_err(unasked)?;
        Ok(Self { endpoint: responder.tcp().clone(), diagnostics })
    }
}

impl Link for Direct {
    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn cost(&self, clients: &Clients<'_>) -> Result<Cost, LabError> {
        let usage = self.diagnostics.sum(clients.sockets()).map_err(unasked)?;
        Ok(Cost { wire_bytes: usage.wire_bytes(), segments: usage.segments, ..Cost::default() })
    }
}

fn unasked(source: io::Error) -> LabError {
    LabError::Setup { what: "cannot ask the kernel what it sent for a connection", source }
}
