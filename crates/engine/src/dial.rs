//! From names to a connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;

/// The next address is tried this long after the one before it, beside it (RFC 8305 section 5
/// recommends 250 ms).
const STAGGER: Duration = Duration::from_millis(250);

/// Connects to the first address that answers, of all hosts in their order. Names are looked up
/// each time; a name that cannot be found is passed over.
pub(crate) async fn connect_any(hosts: &[(String, u16)]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no address to connect to");
    let mut tries = JoinSet::new();
    for (name, port) in hosts {
        let addresses = match lookup(name, *port).await {
            Ok(addresses) => addresses,
            Err(e) => {
                last = io::Error::new(e.kind(), format!("cannot look up {name}: {e}"));
                continue;
            }
        };
        for address in addresses {
            tries.spawn_local(async move {
                TcpStream::connect(address)
                    .await
                    .map_err(|e| (e.raw_os_error(), format!("{address}: {e}"), e.kind()))
            });
            tokio::select! {
                () = tokio::time::sleep(STAGGER) => {}
                Some(outcome) = tries.join_next() => match taken(outcome) {
                    Ok(stream) => return Ok(stream),
                    Err(e) => last = e,
                }
            }
        }
    }
    while let Some(outcome) = tries.join_next().await {
        match taken(outcome) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

type Outcome = Result<TcpStream, (Option<i32>, String, io::ErrorKind)>;

fn taken(outcome: Result<Outcome, tokio::task::JoinError>) -> io::Result<TcpStream> {
    match outcome {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err((Some(number), ..))) => Err(io::Error::from_raw_os_error(number)),
        Ok(Err((None, text, kind))) => Err(io::Error::new(kind, text)),
        Err(_) => Err(io::ErrorKind::Interrupted.into()),
    }
}

async fn lookup(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = name.parse() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let addresses: Vec<SocketAddr> = lookup_host((name, port)).await?.collect();
    if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
}
