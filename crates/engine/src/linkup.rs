//! The dialling side: from addresses to a tunnel.

use std::fmt;
use std::io;

use sleeve_config::{Address, ClientPlan, Host};
use sleeve_seal::{Initiator, REPLY_FIXED, SealError, Side};
use sleeve_session::{Session, Settings, Tunnel};
use sleeve_wire::{ClientHello, HelloStatus, ServerHello, WireError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::carrier::Carrier;
use crate::{clock, dial, hello, random};

/// Why there is no tunnel.
#[derive(Debug)]
pub(crate) enum LinkUpError {
    /// No address answered.
    Connect(io::Error),
    /// The carrier ended before the peer had answered, or time was up: strangers, and that is
    /// what the holder of another key is, get no answer.
    Unanswered(io::Error),
    /// The answer was made without the key.
    Seal(SealError),
    /// The answer has no meaning.
    Wire(WireError),
    /// The peer does not want to.
    Refused(HelloStatus),
}

impl fmt::Display for LinkUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(e) => write!(f, "cannot connect: {e}"),
            Self::Unanswered(e) => write!(
                f,
                "no answer to the handshake ({e}): the other side has another key, or is no \
                 sleeve server"
            ),
            Self::Seal(e) => write!(f, "handshake failed: {e}"),
            Self::Wire(e) => write!(f, "handshake failed: {e}"),
            Self::Refused(status) => write!(f, "the server refuses a session: {status:?}"),
        }
    }
}

/// Dials and shakes hands, within the connect time-out.
pub(crate) async fn link_up(
    plan: &ClientPlan,
    instance: [u8; 16],
) -> Result<(Tunnel, Carrier), LinkUpError> {
    let limit = plan.common.connect_timeout;
    let started = tokio::time::Instant::now();
    let hosts: Vec<(String, u16)> = plan.servers.iter().filter_map(host).collect();
    let connect = tokio::time::timeout(limit, dial::connect_any(&hosts)).await;
    let stream = connect
        .map_err(|_| LinkUpError::Connect(io::ErrorKind::TimedOut.into()))?
        .map_err(LinkUpError::Connect)?;
    let shake = tokio::time::timeout_at(started + limit, shake_hands(plan, stream, instance));
    shake.await.map_err(|_| LinkUpError::Unanswered(io::ErrorKind::TimedOut.into()))?
}

fn host(address: &Address) -> Option<(String, u16)> {
    match address {
        Address::Tcp { host: Host::Ip(ip), port } => Some((ip.to_string(), *port)),
        Address::Tcp { host: Host::Name(name), port } => Some((name.clone(), *port)),
        Address::Unix(_) | Address::Abstract(_) | Address::Systemd(_) => None,
    }
}

async fn shake_hands(
    plan: &ClientPlan,
    mut stream: TcpStream,
    instance: [u8; 16],
) -> Result<(Tunnel, Carrier), LinkUpError> {
    let settings = Settings::new(Side::Dials, plan.framing, plan.common.max_streams);
    let sent = hello::client(&settings, instance);
    let (reply, secrets) = exchange(plan, &mut stream, &sent).await?;
    let agreed = hello::accept(settings, &sent, &reply).map_err(LinkUpError::Refused)?;
    let link = secrets.dialled(agreed.settings.framing, agreed.rekey_exponent);
    let session = Session::new(agreed.settings, agreed.peer, clock::now());
    let carrier = Carrier::new(stream).map_err(LinkUpError::Connect)?;
    Ok((Tunnel::new(session, link), carrier))
}

async fn exchange(
    plan: &ClientPlan,
    stream: &mut TcpStream,
    sent: &ClientHello,
) -> Result<(ServerHello, sleeve_seal::Secrets), LinkUpError> {
    let key = plan.keys.first().expect("a plan has a key");
    let padding = random::padding(sent.pad_len);
    let (initiator, first) = Initiator::new(key, &sent.encode(), &random::bytes(), padding)
        .map_err(LinkUpError::Seal)?;
    stream.write_all(&first).await.map_err(LinkUpError::Unanswered)?;
    let mut fixed = [0; REPLY_FIXED];
    stream.read_exact(&mut fixed).await.map_err(LinkUpError::Unanswered)?;
    let replied = initiator.read_reply(&fixed).map_err(LinkUpError::Seal)?;
    let reply = ServerHello::decode(replied.hello()).map_err(LinkUpError::Wire)?;
    let mut padding = vec![0; usize::from(reply.pad_len)];
    stream.read_exact(&mut padding).await.map_err(LinkUpError::Unanswered)?;
    Ok((reply, replied.finish(&padding)))
}
