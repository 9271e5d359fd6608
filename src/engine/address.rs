//! Addresses of servers on other machines.

use super::request::TlsFiles;
use crate::{Failure, Site, visible, visible_path};
use std::path::Path;
use vplan_os::files::read_plain;
use vplan_store::grpc::{RemoteAddress, TlsIdentity};

/// Size limit of a file of headers, certificates or a key, in bytes.
const MOST: u64 = 1 << 20;
/// How the address of a socket of this machine begins.
const SOCKET: &str = "unix:";
/// How a block of PEM begins.
const BEGIN: &[u8] = b"-----BEGIN ";

/// The options of a server in addition to its address, and the wording of their messages.
pub(super) struct AddressFlags<'a> {
    /// The flag that names the address; the names of its other flags begin with it.
    pub flag: &'static str,
    /// The code of a wrong use.
    pub code: &'static str,
    /// The code of a file that cannot be used.
    pub unreadable: &'static str,
    /// Whether an unencrypted address is allowed.
    pub insecure: bool,
    /// The file of the headers of each request.
    pub headers: Option<&'a Path>,
    /// The certificates and keys of both ends.
    pub tls: &'a TlsFiles,
    /// The repository: anyone who can change it must not choose the trusted server.
    pub site: &'a Site,
}

/// Reads an address; `None` for one of another kind.
///
/// # Errors
/// Not an address, an address with a secret, or an unencrypted one without `insecure`.
pub(super) fn remote(url: &str, of: &AddressFlags<'_>) -> Result<Option<RemoteAddress>, Failure> {
    let flag = of.flag;
    let usage = |message: String| Failure::usage(of.code, message);
    if let Some(path) = url.strip_prefix(SOCKET) {
        return socket(Path::new(path), of).map(Some);
    }
    let (rest, below, is_grpc) = match url.split_once("://") {
        Some(("http", rest)) => (rest, "http", false),
        Some(("https", rest)) => (rest, "https", false),
        Some(("grpc", rest)) => (rest, "http", true),
        Some(("grpcs", rest)) => (rest, "https", true),
        _ => return Ok(None),
    };
    let host = authority(rest);
    if host.contains('@') {
        return Err(usage(format!(
            "the address of `{flag}` holds a name or a password"
        ))
        .help(format!(
            "put `Authorization: …` into a file, and name that by `{flag}-header-from`"
        )));
    }
    let path = rest.get(host.len()..).unwrap_or_default();
    if host.is_empty() || path.contains(['?', '#', '\\']) {
        // The rest may be a secret, so it is not shown.
        let message = format!("the address of `{flag}` is no host, perhaps with a path");
        return Err(usage(message));
    }
    if below == "http" && !is_this_machine(host) && !of.insecure {
        return Err(usage(format!(
            "whoever is on the way to `{}` could read it",
            visible(url)
        ))
        .help(format!(
            "use `https://` or `grpcs://`, or say that it is meant with `{flag}-insecure`"
        )));
    }
    Ok(Some(RemoteAddress {
        is_grpc,
        origin: format!("{below}://{host}"),
        path: path.to_owned(),
        headers: headers(of)?,
        tls: tls(of)?,
    }))
}

/// Reads the address of a socket of this machine that speaks gRPC.
fn socket(path: &Path, of: &AddressFlags<'_>) -> Result<RemoteAddress, Failure> {
    let shown = visible_path(path);
    if !path.is_absolute() {
        let message = format!("the socket `{shown}` of `{}` is no absolute path", of.flag);
        return Err(Failure::usage(of.code, message));
    }
    if of.site.may_hold(path) {
        let message = format!("the socket `{shown}` of `{}` is in the repository", of.flag);
        return Err(Failure::usage(of.code, message)
            .help("whoever changes the repository could answer there: keep it elsewhere"));
    }
    Ok(RemoteAddress {
        is_grpc: true,
        // After `//`, the checked path follows unchanged, whatever it begins with.
        origin: format!("{SOCKET}//{}", path.display()),
        path: String::new(),
        headers: headers(of)?,
        tls: tls(of)?,
    })
}

/// Reads the certificates and keys of both ends.
fn tls(of: &AddressFlags<'_>) -> Result<TlsIdentity, Failure> {
    let read = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if of.site.may_hold(&path) {
            let shown = visible_path(path);
            let message = format!("`{shown}`, by which a server is known, is in the repository");
            return Err(Failure::usage(of.code, message).help(
                "whoever changes the repository could name another server: keep it elsewhere",
            ));
        }
        let bytes = read_plain(&path, MOST);
        let bytes = bytes.map_err(|error| unreadable(&path, of, &error.to_string()))?;
        let is_pem = bytes.windows(BEGIN.len()).any(|window| window == BEGIN);
        is_pem
            .then_some(bytes)
            .ok_or_else(|| unreadable(&path, of, "it is no PEM"))
    };
    let TlsFiles { authorities, own } = of.tls;
    let own = own
        .as_ref()
        .map(|(certificate, key)| Ok::<_, Failure>((read(certificate)?, read(key)?)));
    Ok(TlsIdentity {
        authorities: authorities.as_deref().map(read).transpose()?,
        own: own.transpose()?,
    })
}

fn unreadable(path: &Path, of: &AddressFlags<'_>, why: &str) -> Failure {
    let shown = visible_path(path);
    let message = format!("`{shown}` cannot be used: {why}");
    Failure::setup(of.unreadable, message)
}

/// Returns the host part at the beginning of an address.
fn authority(address: &str) -> &str {
    address
        .split(['/', '\\', '?', '#'])
        .next()
        .unwrap_or_default()
}

/// Whether a host, perhaps with a port, is this machine.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let number = name.parse::<std::net::IpAddr>();
    name == "localhost" || number.is_ok_and(|number| number.is_loopback())
}

/// Reads the headers of each request: `NAME: VALUE`, a line each.
fn headers(of: &AddressFlags<'_>) -> Result<Vec<(String, String)>, Failure> {
    let Some(path) = of.headers else {
        return Ok(Vec::new());
    };
    let unreadable = |why: &str| unreadable(path, of, why);
    let bytes = read_plain(path, MOST).map_err(|error| unreadable(&error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is no text"))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
            let (name, value) = (name.trim(), value.trim());
            let fits = !name.is_empty()
                && name.bytes().all(is_name)
                && value.bytes().all(|b| (b' '..=b'~').contains(&b));
            fits.then(|| (name.to_owned(), value.to_owned()))
        })
        .collect::<Option<_>>()
        // A line may be a secret: it is not shown.
        .ok_or_else(|| unreadable("a line of it is not `NAME: VALUE`"))
}
