//! Parses the text after `import`: a file of this repository, one shipped with vplan, one of
//! another repository.

pub use super::error::IMPORT_SOURCE;
use std::fmt;
use vplan_base::diagnostic::{Code, Diagnostic};
use vplan_base::origin::{GitOrigin, GitRef, check_url, is_ref_name};
use vplan_base::path::{PathError, RepoPath};
use vplan_base::span::Place;
use vplan_base::word::{is_unsafe_to_show, visible};

/// The source of a contract, resolved: two imports with one source name the same file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportSource {
    /// A file of this repository.
    Local(RepoPath),
    /// `std:NAME@VERSION`
    Std {
        name: String,
        /// Its version, from 1.
        version: u32,
    },
    /// `git+URL?rev=OBJECTID#path`
    Git(GitOrigin),
}

/// What an import names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedName {
    Source(ImportSource),
    /// `git+URL?ref=NAME#path`: a file of the commit that the lock has for a branch or tag.
    Moving {
        /// The branch or tag.
        at: GitRef,
        /// The file below that repository's root.
        path: RepoPath,
    },
}

impl fmt::Display for ImportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportSource::Local(path) => path.fmt(f),
            ImportSource::Std { name, version } => write!(f, "std:{name}@{version}"),
            ImportSource::Git(origin) => origin.fmt(f),
        }
    }
}

/// The reason why an import brings nothing, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFault {
    /// A stable name for it.
    pub code: Code,
    /// One line.
    pub message: String,
    /// The remark on the import.
    pub label: String,
    /// The help text of the diagnostic.
    pub help: Option<String>,
}

impl ImportFault {
    /// Makes one.
    pub fn new(code: Code, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            label: label.into(),
            help: None,
        }
    }

    /// Sets the help text.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The message about the import at a place.
    pub fn at(&self, place: Place) -> Diagnostic {
        let error = Diagnostic::at(self.code, self.message.clone(), place, self.label.clone());
        Diagnostic {
            help: self.help.clone(),
            ..error
        }
    }
}

/// The syntax of a git import.
const GIT_USAGE: &str = "it is written `git+https://HOST/REPOSITORY?rev=OBJECTID#path/of/the/file`, or with `?ref=BRANCH`";
/// The syntax of an import of a shipped contract.
const STD_USAGE: &str =
    "it is written `std:NAME@VERSION`, as in `std:rust@1`; `vplan std` lists them";

impl ImportSource {
    /// Parses the text after `import` in a file from `importer`.
    ///
    /// # Errors
    /// Texts that name nothing that can be imported.
    pub fn parse(text: &str, importer: &ImportSource) -> Result<ImportedName, ImportFault> {
        if text.is_empty() {
            return Err(unreadable("an import of nothing", "the path is empty")
                .help("name a file, relative to this one"));
        }
        if let Some(rest) = text.strip_prefix("std:") {
            return std(text, rest).map(ImportedName::Source);
        }
        if let Some(rest) = text.strip_prefix("git+") {
            return git(text, rest);
        }
        if let Some(scheme) = scheme(text) {
            return Err(foreign(text, scheme));
        }
        let join = |file: &RepoPath, root: &str| relative(file, text, root);
        Ok(ImportedName::Source(match importer {
            ImportSource::Local(file) => ImportSource::Local(join(file, "the repository")?),
            ImportSource::Git(origin) => ImportSource::Git(GitOrigin {
                path: join(&origin.path, "its repository")?,
                ..origin.clone()
            }),
            ImportSource::Std { .. } => {
                let message = format!(
                    "`{}` is relative, and a shipped contract has no directory",
                    visible(text)
                );
                return Err(
                    unreadable(message, "relative to no file").help("import `std:NAME@VERSION`")
                );
            }
        }))
    }
}

fn unreadable(message: impl Into<String>, label: &str) -> ImportFault {
    ImportFault::new(IMPORT_SOURCE, message, label)
}

/// A path relative to the directory of a file.
fn relative(file: &RepoPath, text: &str, root: &str) -> Result<RepoPath, ImportFault> {
    let shown = visible(text);
    let directory = match file.as_bytes().iter().rposition(|b| *b == b'/') {
        Some(slash) => RepoPath::from_exact(file.as_bytes().get(..slash).unwrap_or_default()),
        None => None,
    };
    let directory = directory.unwrap_or_else(RepoPath::root);
    match directory.join(text.as_bytes()) {
        Ok(path) if path == directory || path.is_root() || text.ends_with('/') => {
            Err(unreadable(format!("`{shown}` is a directory"), "no file")
                .help("name the contract in it"))
        }
        Ok(path) => Ok(path),
        Err(PathError::Absolute) => Err(unreadable(
            format!("`{shown}` is absolute"),
            "not relative to this file",
        )
        .help("paths are relative to the importing file")),
        Err(PathError::Outside) => Err(unreadable(format!("`{shown}` leaves {root}"), "outside")
            .help(format!(
                "`..` may go up to the root of {root}, which is {} above this file",
                levels(&directory)
            ))),
        Err(PathError::Nul) => Err(unreadable(
            "a path with a NUL character",
            "no file has such a name",
        )),
        Err(PathError::Empty) => Err(unreadable("an import of nothing", "the path is empty")),
    }
}

fn levels(directory: &RepoPath) -> String {
    match if directory.is_root() {
        0
    } else {
        directory.segments().count()
    } {
        0 => "no level".to_owned(),
        1 => "1 level".to_owned(),
        n => format!("{n} levels"),
    }
}

fn std(text: &str, rest: &str) -> Result<ImportSource, ImportFault> {
    let shown = visible(text);
    let is_name = |n: &str| {
        n.starts_with(|c: char| c.is_ascii_lowercase())
            && n.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let Some((name, version)) = rest.split_once('@') else {
        let wrong = unreadable(
            format!("`{shown}` does not say which version"),
            "no `@VERSION`",
        );
        let help = if is_name(rest) {
            format!("write `std:{rest}@1`")
        } else {
            STD_USAGE.to_owned()
        };
        return Err(wrong.help(help));
    };
    let number = version
        .parse()
        .ok()
        .filter(|n| *n > 0 && !version.starts_with(['0', '+']));
    match number {
        _ if !is_name(name) => Err(unreadable(
            format!("`{shown}` names no shipped contract"),
            "no name",
        )
        .help(STD_USAGE)),
        Some(version) => Ok(ImportSource::Std {
            name: name.to_owned(),
            version,
        }),
        None => Err(unreadable(
            format!("`{shown}` has no version"),
            "a version is a number from 1",
        )
        .help(STD_USAGE)),
    }
}

/// `git+URL?rev=OBJECTID#path`, `git+URL?ref=NAME#path`
fn git(text: &str, rest: &str) -> Result<ImportedName, ImportFault> {
    let shown = visible(text);
    let wrong = |message: String, label: &str| unreadable(message, label).help(GIT_USAGE);
    if text.contains(|c: char| c.is_whitespace() || is_unsafe_to_show(c)) {
        return Err(wrong(
            format!("`{shown}` holds a blank or a control character"),
            "no URL has any",
        ));
    }
    let (locator, path) = rest.split_once('#').unwrap_or((rest, ""));
    let (url, query) = locator.split_once('?').unwrap_or((locator, ""));
    // The lock reads it again by the same rules. What may be a password is not repeated.
    if let Err(error) = check_url(url) {
        let help = error.help.unwrap_or_else(|| GIT_USAGE.to_owned());
        let message = "this import names no repository that can be fetched";
        return Err(unreadable(message.to_owned(), &error.message).help(help));
    }
    if let Some(name) = query
        .strip_prefix("ref=")
        .filter(|_| !query.contains("rev="))
    {
        if !is_ref_name(name) {
            let message = format!("`{}` is no name of a branch or tag", visible(name));
            return Err(unreadable(message, "git allows no such name")
                .help("`git ls-remote` shows the branches and tags of a repository"));
        }
        let path = file_below(text, path)?;
        let (url, name) = (url.to_owned(), name.to_owned());
        return Ok(ImportedName::Moving {
            at: GitRef { url, name },
            path,
        });
    }
    let both = ["rev=", "ref="].iter().all(|word| query.contains(word));
    if both || query.starts_with("branch=") || query.starts_with("tag=") {
        let message = format!("`{shown}` does not say which commit");
        let name = query.split_once('=').map_or("", |(_, name)| name);
        return Err(if both {
            unreadable(message, "either `rev` or `ref`")
                .help("`rev` names a commit; `ref` names a branch or tag, and `vplan lock` pins its commit")
        } else {
            unreadable(message, "a branch or tag is `ref`").help(format!("write `?ref={name}`"))
        });
    }
    let revision = match query.strip_prefix("rev=") {
        None | Some("") => {
            return Err(wrong(
                format!("`{shown}` does not say which revision"),
                "no `?rev=OBJECTID`",
            ));
        }
        Some(revision) => revision,
    };
    let hex = revision
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if !hex || !matches!(revision.len(), 40 | 64) {
        let upper =
            revision.bytes().all(|b| b.is_ascii_hexdigit()) && matches!(revision.len(), 40 | 64);
        let help = if upper {
            format!("write `{}`", revision.to_ascii_lowercase())
        } else {
            format!(
                "name the commit in full, 40 or 64 hexadecimal digits; a branch or a tag is `?ref={}`",
                visible(revision)
            )
        };
        return Err(wrong(
            format!("`{}` is no revision", visible(revision)),
            "not a whole object id",
        )
        .help(help));
    }
    Ok(ImportedName::Source(ImportSource::Git(GitOrigin {
        url: url.to_owned(),
        revision: revision.to_owned(),
        path: file_below(text, path)?,
    })))
}

/// The path of a file in another repository.
fn file_below(text: &str, path: &str) -> Result<RepoPath, ImportFault> {
    let shown = visible(text);
    let wrong = |message: String, label: &str| unreadable(message, label).help(GIT_USAGE);
    match RepoPath::parse(path.as_bytes()) {
        Ok(path) if !path.is_root() => Ok(path),
        _ if path.is_empty() => Err(wrong(
            format!("`{shown}` does not say which file"),
            "no `#path`",
        )),
        _ => Err(wrong(
            format!("`{}` is no file of that repository", visible(path)),
            "not below its root",
        )),
    }
}

/// `https` of `https://…`, and of what looks like it.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let known = matches!(
        scheme,
        "http" | "https" | "ssh" | "git" | "file" | "npm" | "github"
    );
    let is_scheme = scheme.len() > 1
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    (is_scheme && (known || rest.starts_with("//"))).then_some(scheme)
}

fn foreign(text: &str, scheme: &str) -> ImportFault {
    let shown = visible(text);
    let fault = unreadable(
        format!("`{shown}` is nothing that can be imported"),
        &format!("unknown kind `{scheme}:`"),
    );
    match scheme {
        "https" | "ssh" | "file" if text.contains("?rev=") => fault.help(format!("write `git+{shown}`")),
        _ => fault.help(
            "an import is a path, `std:NAME@VERSION`, or `git+URL?rev=OBJECTID#path` (or `?ref=BRANCH`); a file whose name looks like this is `./NAME`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REV: &str = "0123456789abcdef0123456789abcdef01234567";

    fn local(path: &str) -> ImportSource {
        ImportSource::Local(RepoPath::parse(path.as_bytes()).unwrap())
    }

    fn git_file(path: &str) -> ImportSource {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        ImportSource::Git(GitOrigin {
            url: "https://h/r".to_owned(),
            revision: REV.to_owned(),
            path,
        })
    }

    #[test]
    fn what_is_named() {
        let std = || ImportSource::Std {
            name: "rust".to_owned(),
            version: 1,
        };
        for (text, importer, want) in [
            (
                "lib.vplan",
                local("contracts/verify.vplan"),
                "contracts/lib.vplan",
            ),
            (
                "./lib.vplan",
                local("contracts/verify.vplan"),
                "contracts/lib.vplan",
            ),
            (
                "../apps/web/v.vplan",
                local("contracts/verify.vplan"),
                "apps/web/v.vplan",
            ),
            ("a/../b.vplan", local("verify.vplan"), "b.vplan"),
            ("./std:x", local("v.vplan"), "std:x"),
            ("a:b", local("v.vplan"), "a:b"),
            ("std:rust@1", local("v.vplan"), "std:rust@1"),
            ("std:rust@12", std(), "std:rust@12"),
            ("std:rust@1", git_file("d/v.vplan"), "std:rust@1"),
            (
                "lib.vplan",
                git_file("d/v.vplan"),
                &format!("git+https://h/r?rev={REV}#d/lib.vplan"),
            ),
            (
                "git+https://h/r?ref=feature/x-1.2#d/./v.vplan",
                local("v.vplan"),
                "git+https://h/r?ref=feature/x-1.2#d/v.vplan",
            ),
            (
                "../lib.vplan",
                git_file("d/v.vplan"),
                &format!("git+https://h/r?rev={REV}#lib.vplan"),
            ),
        ] {
            assert_eq!(
                ImportSource::parse(text, &importer).map(|named| match named {
                    ImportedName::Source(source) => source.to_string(),
                    ImportedName::Moving { at, path } => format!("{at}#{path}"),
                }),
                Ok(want.to_owned()),
                "{text}"
            );
        }
        for url in [
            "https://h/r.git",
            "ssh://git@h/a/b",
            "file:///srv/r",
            "https://h:8080/~u/r",
        ] {
            let text = format!("git+{url}?rev={REV}#./a//b.vplan");
            let Ok(ImportedName::Source(ImportSource::Git(origin))) =
                ImportSource::parse(&text, &local("v.vplan"))
            else {
                panic!("{text}")
            };
            assert_eq!(origin.to_string(), format!("git+{url}?rev={REV}#a/b.vplan"));
        }
    }

    #[test]
    fn what_names_nothing() {
        let origin = |tail: &str| format!("git+https://h/r{tail}");
        for (text, label) in [
            (String::new(), "the path is empty"),
            ("/etc/passwd".to_owned(), "not relative to this file"),
            ("../../x".to_owned(), "outside"),
            (".".to_owned(), "no file"),
            ("..".to_owned(), "no file"),
            ("sub/".to_owned(), "no file"),
            ("a\0b".to_owned(), "no file has such a name"),
            ("https://h/r".to_owned(), "unknown kind `https:`"),
            ("npm:x".to_owned(), "unknown kind `npm:`"),
            ("std:rust".to_owned(), "no `@VERSION`"),
            ("std:".to_owned(), "no `@VERSION`"),
            ("std:@1".to_owned(), "no name"),
            ("std:Rust@1".to_owned(), "no name"),
            ("std:rust@0".to_owned(), "a version is a number from 1"),
            ("std:rust@01".to_owned(), "a version is a number from 1"),
            ("std:rust@x".to_owned(), "a version is a number from 1"),
            (
                "std:rust@99999999999".to_owned(),
                "a version is a number from 1",
            ),
            (
                "git+http://h/r".to_owned(),
                "`http` is no protocol that vplan fetches by",
            ),
            ("git+ext::sh -c x".to_owned(), "no URL has any"),
            ("git+https://h".to_owned(), "the URL names no repository"),
            ("git+https:///r".to_owned(), "this is no name of a host"),
            ("git+file://h/r".to_owned(), "a `file://` URL has no host"),
            (
                "git+ssh://-oProxyCommand=x/r".to_owned(),
                "this is no name of a host",
            ),
            ("git+ssh://u@-o/r".to_owned(), "this is no name of a host"),
            (
                "git+https://u:secret@h/r?rev=x".to_owned(),
                "a URL in a checked-in file cannot hold a user name or a password",
            ),
            (
                "git+ssh://u:secret@h/r?ref=x#a".to_owned(),
                "a URL in a checked-in file cannot hold a password",
            ),
            (
                "git+https://;h/r?ref=x#a".to_owned(),
                "this is no name of a host",
            ),
            (
                format!("git+https://h:99999/r?rev={REV}#a"),
                "this is no port",
            ),
            (origin(""), "no `?rev=OBJECTID`"),
            (origin("?rev="), "no `?rev=OBJECTID`"),
            (origin("?ref=a..b#a"), "git allows no such name"),
            (origin("?ref=#a"), "git allows no such name"),
            (origin("?ref=-x#a"), "git allows no such name"),
            (origin("?ref=main"), "no `#path`"),
            (
                origin(&format!("?ref=main&rev={REV}#a")),
                "either `rev` or `ref`",
            ),
            (
                origin(&format!("?rev={REV}&ref=main#a")),
                "either `rev` or `ref`",
            ),
            (origin("?branch=main#a"), "a branch or tag is `ref`"),
            (origin("?rev=main#a"), "not a whole object id"),
            (
                origin(&format!("?rev={}#a", REV.to_uppercase())),
                "not a whole object id",
            ),
            (
                origin(&format!("?rev={REV}&x=1#a")),
                "not a whole object id",
            ),
            (origin(&format!("?rev={REV}")), "no `#path`"),
            (origin(&format!("?rev={REV}#")), "no `#path`"),
            (origin(&format!("?rev={REV}#../x")), "not below its root"),
            (origin(&format!("?rev={REV}#/x")), "not below its root"),
            (origin(&format!("?rev={REV}#.")), "not below its root"),
        ] {
            let fault = ImportSource::parse(&text, &local("contracts/verify.vplan")).unwrap_err();
            assert_eq!(fault.label, label, "{text}");
            assert!(!fault.message.contains("secret"));
        }
        let std = ImportSource::Std {
            name: "rust".to_owned(),
            version: 1,
        };
        assert_eq!(
            ImportSource::parse("a.vplan", &std).unwrap_err().label,
            "relative to no file"
        );
    }
}
