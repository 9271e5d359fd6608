//! Opens the shared cache that the operator names, and reads the trusted keys.

#[cfg(feature = "remote")]
use super::address::{AddressFlags, remote};
use super::request::CacheRequest;
use crate::{Failure, Note, Session, Site, visible, visible_path};
use std::path::{Path, PathBuf};
use vplan_git::environment;
use vplan_os::files::read_plain;
use vplan_reuse::signing::{Signer, Trust};
use vplan_store::shared::{Address, SharedCache};

/// The scheme of a folder's address.
const FOLDER: &str = "folder:";
/// The user's trusted keys, below HOME.
const TRUSTED: &str = ".config/vplan/trust";
/// Size limit of a file of keys, in bytes.
const MOST_KEYS: u64 = 1 << 20;
/// The longest scope, in bytes.
const MOST_SCOPE: usize = 1024;

/// The variable with the address of the shared cache, if there is no flag.
const VARIABLE: &str = "VPLAN_CACHE";

/// Opens the shared cache, if one is requested. Returns a note instead if it cannot be used: an
/// error of the cache never changes a verdict.
///
/// # Errors
/// The options contradict each other, or would let the repository decide which keys are trusted.
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
    let shown = visible(&url);
    let site = &session.site;
    let at = address(site, &url, asked, &shown)?;
    let scope = asked.scope.as_ref();
    let scope = scope.filter(|scope| !scope.is_empty() && scope.len() <= MOST_SCOPE);
    let Some(scope) = scope else {
        return Err(usage("`--cache` needs `--cache-scope`".to_owned())
            .help("passes are shared by machines of which the same is said: `--cache-scope ci-2026-11`, the digest of an image"));
    };
    let signer = asked.sign.as_deref().map(signer).transpose()?;
    let Some(trust) = trusted(site, asked)? else {
        let message =
            format!("passes are not shared: there is no `~/{TRUSTED}`, and no `--cache-trust`");
        return Ok((None, Some(Note::new("shared", message))));
    };
    match SharedCache::open(at, scope.clone(), trust, signer) {
        Ok(cache) => Ok((Some(cache), None)),
        Err(error) => {
            let message = format!("passes are not shared: {shown}: {error}");
            Ok((None, Some(Note::new("shared", message))))
        }
    }
}

/// Returns the first flag about a shared cache.
fn flag_of_a_store(asked: &CacheRequest) -> Option<&'static str> {
    let CacheRequest {
        url: _,
        insecure,
        headers,
        scope,
        trust,
        sign,
        tls: _,
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
fn address(site: &Site, url: &str, asked: &CacheRequest, shown: &str) -> Result<Address, Failure> {
    #[cfg(feature = "remote")]
    if let Some(remote) = remote(url, &flags(site, asked))? {
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
    if site.may_hold(&folder) {
        return Err(usage(format!("`{shown}` is in the repository"))
            .help("whoever changes the repository could change it: name a folder elsewhere"));
    }
    Ok(Address::Folder(folder))
}

/// The supported forms of an address.
#[cfg(feature = "remote")]
const KNOWN: &str = "`folder:DIR`, `https://HOST/PATH`, `grpcs://HOST/INSTANCE` and `unix:SOCKET`";
#[cfg(not(feature = "remote"))]
const KNOWN: &str = "`folder:DIR` alone, since this vplan was built without `remote`, of these";

/// The options of a shared cache in addition to its address.
#[cfg(feature = "remote")]
fn flags<'a>(site: &'a Site, asked: &'a CacheRequest) -> AddressFlags<'a> {
    AddressFlags {
        flag: "--cache",
        code: "vplan::usage::cache",
        unreadable: "vplan::cache::key_unreadable",
        insecure: asked.insecure,
        headers: asked.headers.as_deref(),
        tls: &asked.tls,
        site,
    }
}

/// Reads the trusted keys; `None` if none are configured.
fn trusted(site: &Site, asked: &CacheRequest) -> Result<Option<Trust>, Failure> {
    let own = environment("HOME").map(|home| PathBuf::from(home).join(TRUSTED));
    let Some(path) = asked.trust.clone().or(own) else {
        return Ok(None);
    };
    let path = std::path::absolute(&path).unwrap_or(path);
    if asked.trust.is_none() && !path.exists() {
        return Ok(None);
    }
    let shown = visible_path(&path);
    if site.may_hold(&path) {
        let message = format!("`{shown}`, whose keys are to be trusted, is in the repository");
        return Err(Failure::usage("vplan::usage::cache_trust", message)
            .help("whoever changes the repository could add a key: keep the file elsewhere"));
    }
    Trust::from_pem(&text(&path)?)
        .map(Some)
        .map_err(|why| unreadable(&path, &why.to_string()))
}

fn signer(path: &Path) -> Result<Signer, Failure> {
    Signer::from_pem(&text(path)?).map_err(|why| unreadable(path, &why.to_string()))
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = read_plain(path, MOST_KEYS).map_err(|e| unreadable(path, &e.to_string()))?;
    String::from_utf8(bytes).map_err(|_| unreadable(path, "it is no text"))
}

fn unreadable(path: &Path, why: &str) -> Failure {
    let shown = visible_path(path);
    let message = format!("`{shown}` cannot be used: {why}");
    Failure::setup("vplan::cache::key_unreadable", message)
}
