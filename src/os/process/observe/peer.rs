//! Reads the name of a socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The name of a socket, as far as it identifies the other side.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    Path(Vec<u8>),
    Abstract(Vec<u8>),
    Address(SocketAddr),
}

const UNIX: u16 = 1;
const INET: u16 = 2;
const INET6: u16 = 10;

/// Parses a `struct sockaddr`. `None` for one without a name, and for other families.
pub(super) fn name(bytes: &[u8]) -> Option<Name> {
    let (family, rest) = bytes.split_first_chunk()?;
    match u16::from_ne_bytes(*family) {
        UNIX => match rest {
            [] => None,
            [0] | [0, 0, ..] if rest.iter().all(|byte| *byte == 0) => None,
            [0, name @ ..] => Some(Name::Abstract(name.to_vec())),
            path => {
                let path = path.split(|byte| *byte == 0).next()?;
                Some(Name::Path(path.to_vec()))
            }
        },
        INET => {
            let (port, rest) = rest.split_first_chunk()?;
            let address: Ipv4Addr = (*rest.first_chunk::<4>()?).into();
            address_of(address.into(), *port)
        }
        INET6 => {
            let (port, rest) = rest.split_first_chunk()?;
            let address: Ipv6Addr = (*rest.get(4..)?.first_chunk::<16>()?).into();
            address_of(address.into(), *port)
        }
        _ => None,
    }
}

/// A name without a port reaches nothing: programs connect to one to learn their own address.
fn address_of(address: IpAddr, port: [u8; 2]) -> Option<Name> {
    let port = u16::from_be_bytes(port);
    (port != 0).then(|| Name::Address(SocketAddr::new(address, port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let of = |family: u16, rest: &[u8]| name(&[&family.to_ne_bytes(), rest].concat());
        assert_eq!(of(UNIX, b"/a\0xx"), Some(Name::Path(b"/a".to_vec())));
        assert_eq!(of(UNIX, b"a"), Some(Name::Path(b"a".to_vec())));
        assert_eq!(of(UNIX, b"\0x\0"), Some(Name::Abstract(b"x\0".to_vec())));
        let address = |text: &str| Some(Name::Address(text.parse().unwrap()));
        assert_eq!(of(INET, b"\x15\x38\x7f\0\0\x01"), address("127.0.0.1:5432"));
        let six = [&b"\0\x50\0\0\0\0"[..], &[0; 15], b"\x01"].concat();
        assert_eq!(of(INET6, &six), address("[::1]:80"));
        for (family, rest) in [
            (UNIX, &b""[..]),
            (UNIX, b"\0\0"),
            (INET, b"\0\0\x7f\0\0\x01"),
            (INET, b"\0\x50"),
            (0, b"\0\x50\x7f\0\0\x01"),
        ] {
            assert_eq!(of(family, rest), None);
        }
        assert_eq!(name(b""), None);
    }
}
