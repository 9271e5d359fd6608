//! Origins of imported contracts that are not files of this repository.

use super::path::{PathError, RepoPath};
use super::word::{is_unsafe_to_show, visible};
use std::fmt;

/// A file of a revision of another repository: `git+URL?rev=OBJECTID#path`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitOrigin {
    /// The repository: `https://…`, `ssh://…` or `file://…`. No other protocol.
    pub url: String,
    /// The commit: 40 or 64 lower-case hexadecimal digits.
    pub revision: String,
    /// The file below that repository's root.
    pub path: RepoPath,
}

/// A branch or a tag of another repository: `git+URL?ref=NAME`. It moves; a lock pins its commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitRef {
    /// The repository, as of [`GitOrigin`].
    pub url: String,
    /// The name, without `refs/heads/` and `refs/tags/`.
    pub name: String,
}

impl GitRef {
    /// Parses `git+URL?ref=NAME`. Each has one spelling: `Display` returns the text that this
    /// accepts.
    ///
    /// # Errors
    /// Any other shape or protocol; a URL as in [`GitOrigin::parse`]; a name that git does not allow.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let split = text.strip_prefix(GIT_PREFIX);
        let Some((url, name)) = split.and_then(|rest| rest.split_once("?ref=")) else {
            let message = "a branch or tag is written `git+URL?ref=NAME`";
            return Err(fault(0, text.len(), message));
        };
        check_url(url).map_err(|e| e.shifted(GIT_PREFIX.len()))?;
        if !is_ref_name(name) {
            let at = text.len() - name.len();
            let message = "git allows no branch or tag of this name";
            return Err(fault(at, name.len(), message));
        }
        Ok(Self {
            url: url.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for GitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "git+{}?ref={}", self.url, self.name)
    }
}

/// Whether a text can name a branch or a tag, as `git check-ref-format` defines it, and can be in
/// a URL.
pub fn is_ref_name(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with(['.'])
            && !part.ends_with(".lock")
    };
    let is_allowed =
        |c: char| !c.is_ascii_control() && !is_unsafe_to_show(c) && !" ~^:?*[\\#&`\"'".contains(c);
    text.len() <= 250
        && text != "@"
        && !text.starts_with('-')
        && !text.contains("..")
        && !text.contains("@{")
        && text.chars().all(is_allowed)
        && text.split('/').all(is_part)
}

/// An error in the text of a git import.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OriginError {
    /// The offset of the error in the text, in bytes.
    pub at: usize,
    /// The number of wrong bytes; 0 if something is missing.
    pub length: usize,
    /// One line, safe to show. It repeats nothing that could be a secret.
    pub message: String,
    /// The help text for the message, if there is any.
    pub help: Option<String>,
}

/// The prefix of every git import.
pub(crate) const GIT_PREFIX: &str = "git+";

const ONE_PARAMETER: &str = "a git import has the one parameter `rev`";
const SHAPE: &str = "write `git+https://HOST/REPOSITORY?rev=OBJECTID#path/to/file.vplan`";
const PROTOCOLS: &str = "a repository is fetched by `https://`, `ssh://` or `file://`";

impl GitOrigin {
    /// Parses `git+URL?rev=OBJECTID#path`. Each origin has one spelling: `Display` returns the text
    /// that this accepts.
    ///
    /// # Errors
    /// Any other shape or protocol; a URL with a password or with characters that URLs do not have;
    /// a revision that is not a full object id; a path that is not in its plain form.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        if let Some((at, c)) = text.char_indices().find(|(_, c)| is_unsafe_to_show(*c)) {
            let shown = visible(c.to_string());
            let message = format!("a git import cannot hold the character `{shown}`");
            return Err(fault(at, c.len_utf8(), message));
        }
        let Some(rest) = text.strip_prefix(GIT_PREFIX) else {
            return Err(fault(0, 0, "a git import begins with `git+`").help(SHAPE));
        };
        let Some((head, path)) = rest.split_once('#') else {
            let message = "a git import ends with `#` and the path of the file";
            return Err(fault(text.len(), 0, message).help(SHAPE));
        };
        let (url, query) = match head.split_once('?') {
            Some((url, query)) => (url, Some(query)),
            None => (head, None),
        };
        let url_at = GIT_PREFIX.len();
        check_url(url).map_err(|e| e.shifted(url_at))?;
        let query_at = url_at + url.len();
        let Some(query) = query else {
            let message = "a git import names its commit with `?rev=OBJECTID`";
            return Err(fault(query_at, 0, message).help(ls_remote(url)));
        };
        let other = || fault(query_at + 1, query.len(), ONE_PARAMETER).help(SHAPE);
        let revision = query.strip_prefix("rev=").ok_or_else(other)?;
        check_revision(revision, url).map_err(|e| e.shifted(query_at + "?rev=".len()))?;
        let path = check_path(path).map_err(|e| e.shifted(url_at + head.len() + 1))?;
        Ok(Self {
            url: url.to_owned(),
            revision: revision.to_owned(),
            path,
        })
    }
}

impl fmt::Display for GitOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "git+{}?rev={}#{}", self.url, self.revision, self.path)
    }
}

impl OriginError {
    fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    fn shifted(mut self, by: usize) -> Self {
        self.at += by;
        self
    }
}

fn fault(at: usize, length: usize, message: impl Into<String>) -> OriginError {
    OriginError {
        at,
        length,
        message: message.into(),
        help: None,
    }
}

fn ls_remote(url: &str) -> String {
    format!("`git ls-remote {url} NAME` shows the object id of a branch or tag")
}

/// Whether a URL can be that of a git import.
///
/// # Errors
/// Why not, at its offset in the URL: another protocol, no host or path, a password, a character
/// that no URL has.
pub fn check_url(url: &str) -> Result<(), OriginError> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(no_protocol(url));
    };
    if !matches!(scheme, "https" | "ssh" | "file") {
        let message = format!("`{scheme}` is no protocol that vplan fetches by");
        let help = match scheme.to_ascii_lowercase().as_str() {
            lower @ ("https" | "ssh" | "file") => format!("write it in lower case: `{lower}://`"),
            _ => PROTOCOLS.to_owned(),
        };
        return Err(fault(0, scheme.len(), message).help(help));
    }
    let rest_at = scheme.len() + "://".len();
    check_characters(rest).map_err(|e| e.shifted(rest_at))?;
    let authority_len = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_len);
    check_authority(scheme, authority).map_err(|e| e.shifted(rest_at))?;
    if path.len() < 2 {
        let at = rest_at + authority_len;
        return Err(fault(at, path.len(), "the URL names no repository").help(SHAPE));
    }
    Ok(())
}

/// Makes the error of a URL without `://`.
fn no_protocol(url: &str) -> OriginError {
    if url.contains("::") {
        let length = url.find("::").unwrap_or(0) + 2;
        return fault(0, length, "remote helpers are not used").help(PROTOCOLS);
    }
    let whole = fault(0, url.len(), "the repository is no URL");
    match url.split_once(':') {
        // `git@host:path` cannot have a `?`, and git has its own rules for it.
        Some((host, path)) if !host.contains('/') && !host.is_empty() && !path.is_empty() => {
            let path = path.trim_start_matches('/');
            whole.help(format!("write it as `ssh://{host}/{path}`"))
        }
        _ if url.starts_with('/') => whole.help(format!("write it as `file://{url}`")),
        _ => whole.help(PROTOCOLS),
    }
}

/// Checks that a text has only the characters of RFC 3986, and encodes no control characters.
fn check_characters(text: &str) -> Result<(), OriginError> {
    for (at, c) in text.char_indices() {
        if !(c.is_ascii_alphanumeric() || "-._~:/[]@!$&'()*+,;=%".contains(c)) {
            let message = format!("a URL cannot hold the character `{c}`");
            let help = "write it as `%` and two hexadecimal digits for each byte";
            return Err(fault(at, c.len_utf8(), message).help(help));
        }
        if c != '%' {
            continue;
        }
        let is_hex = |digits: &&str| digits.bytes().all(|b| b.is_ascii_hexdigit());
        let digits = text.get(at + 1..at + 3).filter(is_hex);
        let Some(byte) = digits.and_then(|d| u8::from_str_radix(d, 16).ok()) else {
            let message = "`%` stands before two hexadecimal digits in a URL";
            return Err(fault(at, 1, message));
        };
        if byte.is_ascii_control() {
            return Err(fault(at, 3, "a URL cannot hold control characters"));
        }
    }
    Ok(())
}

fn check_authority(scheme: &str, authority: &str) -> Result<(), OriginError> {
    if scheme == "file" {
        if authority.is_empty() {
            return Ok(());
        }
        let help = format!("write the absolute path: `file:///{authority}…`");
        return Err(fault(0, authority.len(), "a `file://` URL has no host").help(help));
    }
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host_at = authority.len() - host.len();
    if let Some(user) = user {
        if scheme == "https" {
            let help = "leave out what stands before `@`; git asks its own credential helper";
            let message = "a URL in a checked-in file cannot hold a user name or a password";
            return Err(fault(0, user.len(), message).help(help));
        }
        if let Some(at) = user.find(':') {
            let help = "leave out `:` and the password; ssh uses your keys";
            let message = "a URL in a checked-in file cannot hold a password";
            return Err(fault(at, user.len() - at, message).help(help));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-+~".contains(c);
        if user.is_empty() || user.starts_with('-') || !user.chars().all(plain) {
            return Err(fault(0, user.len(), "this is no user name"));
        }
    }
    let (name, port) = split_port(host);
    let in_brackets = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let of_address = |c: char| c.is_ascii_hexdigit() || ":.".contains(c);
    let of_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let good = match in_brackets {
        Some(address) => !address.is_empty() && address.chars().all(of_address),
        None => name.chars().all(of_name) && !name.starts_with('-'),
    };
    if name.is_empty() || !good {
        return Err(fault(host_at, name.len(), "this is no name of a host").help(SHAPE));
    }
    let good = port.is_none_or(|p| !p.starts_with(['+', '0']) && p.parse::<u16>().is_ok());
    if !good {
        let at = host_at + name.len() + 1;
        let help = match scheme {
            "ssh" => "after `ssh://HOST` comes `/`, then the path",
            _ => "a port is a number up to 65535",
        };
        return Err(fault(at, authority.len() - at, "this is no port").help(help));
    }
    Ok(())
}

/// Splits `host:port`; a host in brackets may contain colons.
fn split_port(host: &str) -> (&str, Option<&str>) {
    let from = host.rfind(']').unwrap_or(0);
    match host.get(from..).and_then(|tail| tail.rfind(':')) {
        Some(at) => {
            let name = host.get(..from + at).unwrap_or(host);
            (name, host.get(from + at + 1..))
        }
        None => (host, None),
    }
}

fn check_revision(text: &str, url: &str) -> Result<(), OriginError> {
    let whole = |message: &str| fault(0, text.len(), message);
    let hex = |b: u8| b.is_ascii_hexdigit();
    if text.is_empty() {
        return Err(whole("the revision is missing").help(ls_remote(url)));
    }
    if let Some(at) = text.find('&') {
        return Err(fault(at, text.len() - at, ONE_PARAMETER).help(SHAPE));
    }
    if !text.bytes().all(hex) {
        let message = "a revision is a full object id: branches and tags move";
        return Err(whole(message).help(ls_remote(url)));
    }
    if let Some(at) = text.bytes().position(|b| b.is_ascii_uppercase()) {
        let help = format!("write `{}`", text.to_ascii_lowercase());
        return Err(fault(at, 1, "an object id is written in lower case").help(help));
    }
    if !matches!(text.len(), 40 | 64) {
        let count = text.len();
        let message = format!("a full object id has 40 or 64 digits, this has {count}");
        let help = "in a clone of it, `git rev-parse ID` shows the full one";
        return Err(whole(&message).help(help));
    }
    if text.bytes().all(|b| b == b'0') {
        return Err(whole("this object id names nothing").help(ls_remote(url)));
    }
    Ok(())
}

fn check_path(text: &str) -> Result<RepoPath, OriginError> {
    let whole = |message: &str| fault(0, text.len(), message);
    match RepoPath::parse(text.as_bytes()) {
        Ok(path) if path.is_root() => Err(whole("the path names no file").help(SHAPE)),
        // One file, one spelling: otherwise the lock would contain it twice.
        Ok(path) if path.as_bytes() != text.as_bytes() => {
            Err(whole("the path is not in its plain form").help(format!("write `{path}`")))
        }
        Ok(path) => Ok(path),
        Err(PathError::Empty) => Err(whole("after `#` comes the path of the file").help(SHAPE)),
        Err(PathError::Absolute) => {
            let help = format!("write `{}`", text.trim_start_matches('/'));
            let message = "the path begins at the repository's root, without `/`";
            Err(whole(message).help(help))
        }
        Err(PathError::Outside) => Err(whole("the path leaves the repository")),
        Err(PathError::Nul) => Err(whole("the path holds a NUL byte")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn what_is_accepted_is_given_back() {
        let long = "ab".repeat(32);
        for (url, revision, path) in [
            ("https://example.org/x.git", ID, "verify.vplan"),
            (
                "https://example.org:8443/a/b%20c",
                &long,
                "contracts/a b#c?d.vplan",
            ),
            ("ssh://git@example.org/x.git", ID, "-x"),
            ("ssh://[::1]:22/~me/x", ID, "a"),
            ("file:///srv/x.git", ID, "ä"),
        ] {
            let text = format!("git+{url}?rev={revision}#{path}");
            let origin = GitOrigin::parse(&text).unwrap();
            assert_eq!(
                (origin.url.as_str(), origin.revision.as_str()),
                (url, revision)
            );
            assert_eq!(origin.path.as_bytes(), path.as_bytes());
            assert_eq!(origin.to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_and_where() {
        let with = |url: &str| format!("git+{url}?rev={ID}#a");
        // Each text with its error, and a word of the help.
        for (text, wrong, message, help) in [
            (
                "https://x/y".to_owned(),
                "",
                "begins with `git+`",
                "write `git+",
            ),
            (
                format!("git+https://x/y?rev={ID}"),
                "",
                "ends with `#`",
                "write `git+",
            ),
            (
                "git+https://x/y#a".to_owned(),
                "",
                "`?rev=OBJECTID`",
                "git ls-remote https://x/y",
            ),
            (
                format!("git+https://x/y?ref={ID}#a"),
                &*format!("ref={ID}"),
                "one parameter",
                "write",
            ),
            (
                format!("git+https://x/y?rev={ID}&b=c#a"),
                "&b=c",
                "one parameter",
                "write",
            ),
            (
                "git+https://x/y?rev=main#a".to_owned(),
                "main",
                "branches and tags move",
                "git ls-remote https://x/y",
            ),
            (
                "git+https://x/y?rev=abc#a".to_owned(),
                "abc",
                "this has 3",
                "git rev-parse",
            ),
            (
                "git+https://x/y?rev=#a".to_owned(),
                "",
                "missing",
                "git ls-remote",
            ),
            (
                format!("git+https://x/y?rev={}#a", ID.to_uppercase()),
                "A",
                "lower case",
                ID,
            ),
            (
                format!("git+https://x/y?rev={}#a", "0".repeat(40)),
                &"0".repeat(40),
                "names nothing",
                "ls-remote",
            ),
            (with("http://x/y"), "http", "no protocol", "`https://`"),
            (with("HTTPS://x/y"), "HTTPS", "no protocol", "lower case"),
            (
                with("ext::sh -c x"),
                "ext::",
                "remote helpers",
                "`https://`",
            ),
            (
                with("git@host:me/x.git"),
                "git@host:me/x.git",
                "no URL",
                "ssh://git@host/me/x.git",
            ),
            (with("/srv/x"), "/srv/x", "no URL", "file:///srv/x"),
            (
                with("--upload-pack=x"),
                "--upload-pack=x",
                "no URL",
                "`https://`",
            ),
            (
                with("https://me:secret@x/y"),
                "me:secret",
                "password",
                "leave out",
            ),
            (with("https://token@x/y"), "token", "password", "leave out"),
            (
                with("ssh://me:secret@x/y"),
                ":secret",
                "password",
                "leave out",
            ),
            (
                with("ssh://-oProxyCommand=x/y"),
                "-oProxyCommand=x",
                "no name of a host",
                "write",
            ),
            (with("ssh://-l@x/y"), "-l", "no user name", ""),
            (with("ssh://host:me/x"), "me", "no port", "comes `/`"),
            (with("https://x:70000/y"), "70000", "no port", "number"),
            (with("https:///y"), "", "no name of a host", "write"),
            (with("https://x"), "", "no repository", "write"),
            (with("https://x/"), "/", "no repository", "write"),
            (with("file://srv/x"), "srv", "no host", "absolute"),
            (with("https://x/a b"), " ", "cannot hold", "`%`"),
            (with("https://x/ä"), "ä", "cannot hold", "`%`"),
            (with("https://x/%0a"), "%0a", "control characters", ""),
            (with("https://x/%4"), "%", "two hexadecimal", ""),
            (with("https://x/\n"), "\n", "cannot hold", ""),
            (
                format!("git+https://x/y?rev={ID}#\u{202e}"),
                "\u{202e}",
                "cannot hold",
                "",
            ),
            (
                format!("git+https://x/y?rev={ID}#/a"),
                "/a",
                "without `/`",
                "write `a`",
            ),
            (
                format!("git+https://x/y?rev={ID}#../a"),
                "../a",
                "leaves",
                "",
            ),
            (
                format!("git+https://x/y?rev={ID}#./a"),
                "./a",
                "plain form",
                "write `a`",
            ),
            (
                format!("git+https://x/y?rev={ID}#."),
                ".",
                "no file",
                "write",
            ),
            (
                format!("git+https://x/y?rev={ID}#"),
                "",
                "comes the path",
                "write",
            ),
        ] {
            let error = GitOrigin::parse(&text).unwrap_err();
            assert_eq!(
                text.get(error.at..error.at + error.length),
                Some(wrong),
                "{text}: {error:?}"
            );
            assert!(error.message.contains(message), "{text}: {error:?}");
            assert!(
                !error.message.contains("secret") && !error.message.contains("token"),
                "{error:?}"
            );
            assert!(error.help.unwrap_or_default().contains(help), "{text}");
        }
    }
}
