//! Opens the store of passes that the operator names, and reads whom it is believed.

use super::failure::Failure;
use super::open::Session;
use super::request::CacheRequest;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::effect::git::environment;
use crate::effect::os::files::{may_lead_into, read_plain};
#[cfg(feature = "remote")]
use crate::effect::store::shared::RemoteAddress;
use crate::effect::store::shared::{Address, SharedCache};
use crate::plan::Note;
use crate::reuse::signing::{Signer, Trust};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The scheme of a folder's address.
const FOLDER: &str = "folder:";
/// The user's trusted keys, below HOME.
const TRUSTED: &str = ".config/vplan/trust";
/// The largest file of keys, in bytes.
const MOST_KEYS: u64 = 1 << 20;
/// The longest scope, in bytes.
const MOST_SCOPE: usize = 1024;

/// The variable that names a store where no flag does.
const VARIABLE: &str = "VPLAN_CACHE";

/// Opens the store that is asked for, if one is. None, with a note, where it cannot be used: no error of a store changes a
/// verdict.
///
/// # Errors
/// What is asked for contradicts itself, or lets the repository decide whom to believe.
pub(super) fn shared_cache(
    session: &Session,
    asked: &CacheRequest,
) -> Result<(Option<SharedCache>, Option<Note>), Failure> {
    let named = environment(VARIABLE).and_then(|url| url.into_string().ok());
    let named = asked.url.clone().or(named).filter(|url| !url.is_empty());
    let Some(url) = named else {
        return match flag_of_a_store(asked) {
            None => Ok((None, None)),
            Some(flag) => Err(usage(format!("`{flag}` needs a store: `--cache`"))),
        };
    };
    let shown = visible(url.as_bytes());
    let root = &session.site.root;
    let at = address(root, &url, asked, &shown)?;
    let scope = asked.scope.as_ref();
    let scope = scope.filter(|scope| !scope.is_empty() && scope.len() <= MOST_SCOPE);
    let Some(scope) = scope else {
        return Err(usage("`--cache` needs `--cache-scope`".to_owned())
            .help("passes are shared by machines of which the same is said: `--cache-scope ci-2026-11`, the digest of an image"));
    };
    let signer = asked.sign.as_deref().map(signer).transpose()?;
    let Some(trust) = trusted(root, asked)? else {
        let message =
            format!("passes are not shared: there is no `~/{TRUSTED}`, and no `--cache-trust`");
        return Ok((None, Some(note(message))));
    };
    match SharedCache::open(at, scope.clone(), trust, signer) {
        Ok(cache) => Ok((Some(cache), None)),
        Err(error) => {
            let message = format!("passes are not shared: {shown}: {error}");
            Ok((None, Some(note(message))))
        }
    }
}

/// Returns the first flag that says something of a store.
fn flag_of_a_store(asked: &CacheRequest) -> Option<&'static str> {
    let CacheRequest {
        url: _,
        insecure,
        headers,
        scope,
        trust,
        sign,
    } = asked;
    let said = [
        (sign.is_some(), "--cache-write"),
        (trust.is_some(), "--cache-trust"),
        (scope.is_some(), "--cache-scope"),
        (headers.is_some(), "--cache-header-from"),
        (*insecure, "--cache-insecure"),
    ];
    said.into_iter()
        .find_map(|(is_said, flag)| is_said.then_some(flag))
}

fn usage(message: String) -> Failure {
    Failure::usage("vplan::usage::cache", message)
}

/// Reads the address of a store.
fn address(root: &Path, url: &str, asked: &CacheRequest, shown: &str) -> Result<Address, Failure> {
    #[cfg(feature = "remote")]
    if let Some(remote) = remote(url, asked, shown)? {
        return Ok(Address::Remote(remote));
    }
    #[cfg(not(feature = "remote"))]
    let _ = asked;
    let Some(folder) = url.strip_prefix(FOLDER).map(PathBuf::from) else {
        return Err(usage(format!("`--cache {shown}` names no store"))
            .help(format!("{KNOWN} are known here")));
    };
    if !folder.is_absolute() {
        return Err(usage(format!("`{shown}` is no absolute path")));
    }
    if may_lead_into(&folder, root) {
        return Err(usage(format!("`{shown}` is in the repository"))
            .help("whoever changes the repository could change it: name a folder elsewhere"));
    }
    Ok(Address::Folder(folder))
}

/// Reads the address of a store on another machine; `None` for one of another kind.
#[cfg(feature = "remote")]
fn remote(url: &str, asked: &CacheRequest, shown: &str) -> Result<Option<RemoteAddress>, Failure> {
    let known = [
        ("http://", "http", false),
        ("https://", "https", false),
        ("grpc://", "http", true),
        ("grpcs://", "https", true),
    ];
    let found = known.iter().find_map(|(scheme, below, is_grpc)| {
        let rest = url.strip_prefix(scheme)?;
        Some((rest, below, is_grpc))
    });
    let Some((rest, below, is_grpc)) = found else {
        return Ok(None);
    };
    let host = authority(rest);
    if host.contains('@') {
        return Err(
            usage("the address of `--cache` holds a name or a password".to_owned())
                .help("put `Authorization: …` into a file, and name that by `--cache-header-from`"),
        );
    }
    let path = rest.get(host.len()..).unwrap_or_default();
    if host.is_empty() || path.contains(['?', '#', '\\']) {
        // What stands behind it may be a secret.
        let message = "the address of `--cache` is no host, perhaps with a path";
        return Err(usage(message.to_owned()));
    }
    if *below == "http" && !is_this_machine(host) && !asked.insecure {
        return Err(
            usage(format!("whoever is on the way to `{shown}` could read it")).help(
                "use `https://` or `grpcs://`, or say that it is meant with `--cache-insecure`",
            ),
        );
    }
    let headers = asked.headers.as_deref().map(headers).transpose()?;
    Ok(Some(RemoteAddress {
        is_grpc: *is_grpc,
        origin: format!("{below}://{host}"),
        path: path.to_owned(),
        headers: headers.unwrap_or_default(),
    }))
}

/// The addresses that are known.
#[cfg(feature = "remote")]
const KNOWN: &str = "`folder:DIR`, `https://HOST/PATH` and `grpcs://HOST/INSTANCE`";
#[cfg(not(feature = "remote"))]
const KNOWN: &str = "`folder:DIR` alone, since this vplan was built without `remote`, of these";

/// Returns what names the host at the beginning of an address.
#[cfg(feature = "remote")]
fn authority(address: &str) -> &str {
    address
        .split(['/', '\\', '?', '#'])
        .next()
        .unwrap_or_default()
}

/// Whether a host, perhaps with a port, is this machine.
#[cfg(feature = "remote")]
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let number = name.parse::<std::net::IpAddr>();
    name == "localhost" || number.is_ok_and(|number| number.is_loopback())
}

/// Reads the headers of each request: `NAME: VALUE`, a line each.
#[cfg(feature = "remote")]
fn headers(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let text = text(path)?;
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
        .ok_or_else(|| unreadable(path, "a line of it is not `NAME: VALUE`"))
}

fn note(message: String) -> Note {
    Note {
        kind: "shared".to_owned(),
        message,
        path: None,
    }
}

/// Reads whom to believe: none where nobody says so.
fn trusted(root: &Path, asked: &CacheRequest) -> Result<Option<Trust>, Failure> {
    let own = environment("HOME").map(|home| PathBuf::from(home).join(TRUSTED));
    let Some(path) = asked.trust.clone().or(own) else {
        return Ok(None);
    };
    let path = std::path::absolute(&path).unwrap_or(path);
    if asked.trust.is_none() && !path.exists() {
        return Ok(None);
    }
    let shown = visible(path.as_os_str().as_bytes());
    if may_lead_into(&path, root) {
        let message = format!("`{shown}`, whose keys are to be trusted, is in the repository");
        return Err(Failure::usage("vplan::usage::cache_trust", message)
            .help("whoever changes the repository could add a key: keep the file elsewhere"));
    }
    Trust::from_pem(&text(&path)?)
        .map(Some)
        .map_err(|why| unreadable(&path, &why))
}

fn signer(path: &Path) -> Result<Signer, Failure> {
    Signer::from_pem(&text(path)?).map_err(|why| unreadable(path, &why))
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = read_plain(path, MOST_KEYS).map_err(|e| unreadable(path, &e.to_string()))?;
    String::from_utf8(bytes).map_err(|_| unreadable(path, "it is no text"))
}

fn unreadable(path: &Path, why: &str) -> Failure {
    let shown = visible(path.as_os_str().as_bytes());
    let message = format!("`{shown}` cannot be used: {why}");
    Failure::new(Exit::Setup, "vplan::cache::key_unreadable", message)
}
