//! A port of this machine for a program that listens on it.
//!
//! A program can only bind a port that no process holds, so the port is free for a moment between
//! the choice and the program's start. Three measures make that moment harmless. The port comes
//! from a range that the system does not assign by itself. Two vplans never choose the same one,
//! because the number is reserved as the name of a socket that disappears with the process. And the
//! caller can check whether another process has taken the port ([`Port::is_free`]), and choose
//! another one.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as LocalAddress, UnixListener};
use std::time::Duration;

/// Below the ports that Linux gives to connections (`ip_local_port_range`), above those of most
/// services.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port that no other vplan chooses.
#[derive(Debug)]
pub struct Port {
    pub number: u16,
    /// The socket whose name marks the port as taken.
    _held: UnixListener,
}

impl Port {
    /// Chooses a free port.
    ///
    /// # Errors
    /// None is left.
    pub fn choose() -> io::Result<Self> {
        // Runs that begin at once begin their search at different places.
        let start = u16::try_from(std::process::id() % u32::from(COUNT)).unwrap_or_default();
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        for step in 0..COUNT {
            let offset = (u32::from(start) * 7 + u32::from(step)) % u32::from(COUNT);
            let number = FIRST + u16::try_from(offset).unwrap_or_default();
            let name = LocalAddress::from_abstract_name(format!("vplan-port-{number}"))?;
            let held = match UnixListener::bind_addr(&name) {
                Ok(held) => held,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => continue,
                Err(error) => return Err(error),
            };
            let port = Self {
                number,
                _held: held,
            };
            match port.probe() {
                Ok(()) => return Ok(port),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Whether no process listens on it.
    pub fn is_free(&self) -> bool {
        self.probe().is_ok()
    }

    fn probe(&self) -> io::Result<()> {
        TcpListener::bind((Ipv4Addr::UNSPECIFIED, self.number)).map(drop)
    }
}

/// Whether something listens on a port of this machine.
pub fn listens(port: u16) -> bool {
    /// On the same machine, the answer comes at once.
    const PATIENCE: Duration = Duration::from_millis(200);
    let own = [
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    ];
    own.iter()
        .any(|address| TcpStream::connect_timeout(address, PATIENCE).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_chosen_twice() {
        let ports: Vec<Port> = (0..20).map(|_| Port::choose().unwrap()).collect();
        let mut numbers: Vec<u16> = ports.iter().map(|port| port.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 20);
        let port = Port::choose().unwrap();
        assert!(port.is_free() && !listens(port.number));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.number)).unwrap();
        assert!(!port.is_free() && listens(port.number));
        drop(listener);
    }
}
