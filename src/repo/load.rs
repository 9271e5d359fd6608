//! Finds and loads the contract.

use crate::folders::{Folders, FoldersOf};
use crate::import::{self, NOT_UTF8, TOO_LARGE};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use vplan_base::origin::GitOrigin;
use vplan_base::path::{PathError, RepoPath};
use vplan_base::source::{Source, Sources};
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::unit::show_size;
use vplan_base::word::{visible, visible_path};
use vplan_contract::Contract;
use vplan_contract::draft::{self, Import};
use vplan_contract::validate::validate;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_git::pins::Pins;
use vplan_git::repository::{self, Discovery};
use vplan_git::{self as git, Git, Lookup};
use vplan_os::files::beneath::{Beneath, ReadError};
use vplan_os::files::may_lead_into;

/// The default path of a contract.
pub const DEFAULT_CONTRACT: &str = "contracts/verify.vplan";

/// The codes of errors that make a contract unreadable, imported or not.
pub const CODES: [Code; 2] = [NOT_UTF8, TOO_LARGE];

/// The repository that vplan works in.
#[derive(Debug)]
pub struct Site {
    /// The repository's root: git's, or without git the nearest directory with a contract, or the
    /// one vplan started in.
    pub root: PathBuf,
    /// The repository of records and state: the root, unless that is a checkout of staged files.
    pub home: PathBuf,
    /// Git, or the reason why it is not available. Only some requests need it.
    pub git: Result<Git, GitError>,
}

impl Site {
    /// Whether the root is a checkout of staged files.
    pub fn is_checkout(&self) -> bool {
        self.root != self.home
    }

    /// Whether a change of the repository may replace the file at a path. Applies to a checkout of
    /// staged files, too.
    pub fn may_hold(&self, path: &Path) -> bool {
        may_lead_into(path, &self.root) || may_lead_into(path, &self.home)
    }

    /// Returns git, if it can be called.
    pub fn usable_git(&self) -> Option<&Git> {
        self.git.as_ref().ok().filter(|git| git.available().is_ok())
    }

    /// Uses another file as git's index.
    pub fn with_index(self, file: &Path) -> Self {
        let git = self.git.map(|git| git.with_index(file));
        Self { git, ..self }
    }

    /// Uses the index of the commit that git is making, if it is making one.
    pub fn at_index(self) -> Self {
        let git = self.git.map(|git| git.with_index_of(&git::environment));
        Self { git, ..self }
    }
}

/// The contract, with the files that it was read from.
#[derive(Debug)]
pub struct Loaded {
    /// The file, from the root.
    pub path: RepoPath,
    /// The revision that it was read from, if not the work tree.
    pub revision: Option<Oid>,
    /// The contract; `None` when it is invalid, and then `diagnostics` has errors.
    pub contract: Option<Contract>,
    /// All files that were read, for the messages.
    pub sources: Sources,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
    /// The files of other repositories that it imports, in the order of reading; a lock must pin
    /// them.
    pub origins: Vec<GitOrigin>,
    /// Its own imports: the name after `as`, and what is imported.
    pub imports: Vec<(Option<String>, String)>,
    /// The contract's own tests, unchecked, if it asks for folders: each concerns the folders that
    /// it mentions. Tests of other contracts are checked already and not included.
    pub cases: Vec<draft::Expect>,
    /// Whether the only error is that pinned files cannot be read.
    pub drift: bool,
}

/// The reason why no contract was read. An invalid contract is not among these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The directory to work in cannot be entered.
    #[error("`{path}` is no directory that can be entered: {message}")]
    Directory {
        path: String,
        /// The system's message.
        message: String,
    },
    /// The file is missing; with the configurations of other tools that exist. Not an error in mode
    /// `fallback` or with explicit commands.
    #[error("there is no contract at `{0}`")]
    Missing(RepoPath, Vec<&'static str>),
    /// The base revision has the contract, the work tree does not. An error in every mode.
    #[error("`{path}` is missing, but `{revision}` has it: deleting the contract is no way out")]
    Deleted {
        path: RepoPath,
        /// The base revision, shortened.
        revision: String,
    },
    /// The contract is tracked, and the sparse checkout leaves it out. An error in every mode.
    #[error("`{0}` is outside the sparse checkout")]
    Sparse(RepoPath),
    /// The revision of `--contract-from` lacks the file.
    #[error("`{}` has no contract at `{path}`", visible(.revision))]
    MissingIn {
        path: RepoPath,
        /// The requested revision.
        revision: String,
    },
    /// It exists and cannot be read.
    #[error("`{path}` cannot be read: {message}")]
    Unreadable { path: RepoPath, message: String },
    /// `--contract` names a file outside the repository.
    #[error("the contract `{0}` is not inside the repository")]
    Outside(String),
    /// Git reports an error.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl LoadError {
    /// Returns its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            LoadError::Directory { .. } => "vplan::load::directory",
            LoadError::Missing(..) => "vplan::load::missing",
            LoadError::Deleted { .. } => "vplan::load::deleted",
            LoadError::Sparse(_) => "vplan::load::sparse",
            LoadError::MissingIn { .. } => "vplan::load::missing_in_revision",
            LoadError::Unreadable { .. } => "vplan::load::unreadable",
            LoadError::Outside(_) => "vplan::load::outside",
            LoadError::Git(e) => e.code(),
        }
    }

    /// Returns the help for the message, if there is any.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            LoadError::Missing(_, others) if !others.is_empty() => {
                let imports = others.iter().map(|path| format!("`vplan import {path}`"));
                let imports: Vec<String> = imports.collect();
                format!(
                    "{} makes one of what is here; or `vplan init` writes one",
                    imports.join(" or ")
                )
            }
            LoadError::Missing(..) => {
                "`vplan init` writes one; `--mode fallback` infers checks from what the repository declares".to_owned()
            }
            LoadError::Deleted { path, revision } => {
                format!("bring it back with `git checkout {revision} -- '{path}'`, or read it with `--contract-from`")
            }
            LoadError::Sparse(path) => {
                let folder = path.folder();
                let place = if folder.is_root() { path } else { &folder };
                format!("check it out with `git sparse-checkout add '{place}'`")
            }
            LoadError::MissingIn { .. } => "name a revision that has it, or leave out `--contract-from`".to_owned(),
            LoadError::Outside(_) => "`--contract` is relative to the root of the repository".to_owned(),
            LoadError::Git(e) => return e.help(),
            LoadError::Directory { .. } | LoadError::Unreadable { .. } => return None,
        })
    }
}

/// Makes a directory the working directory, so that every path on the command line is relative to
/// it.
///
/// # Errors
/// It cannot be entered.
pub fn enter(dir: &Path) -> Result<(), LoadError> {
    std::env::set_current_dir(dir).map_err(|e| LoadError::Directory {
        path: visible_path(dir),
        message: e.to_string(),
    })
}

/// Finds the root around a directory. `contract` is the value of `--contract`: without git it
/// determines the root.
///
/// # Errors
/// The directory cannot be entered.
pub fn locate(
    start: &Path,
    contract: Option<&Path>,
    lookup: Lookup<'_>,
) -> Result<Site, LoadError> {
    let message = |e: std::io::Error| LoadError::Directory {
        path: visible_path(start),
        message: e.to_string(),
    };
    let start = start.canonicalize().map_err(message)?;
    if !start.is_dir() {
        return Err(message(std::io::ErrorKind::NotADirectory.into()));
    }
    if let Discovery::WorkTree(layout) = repository::discover(&start) {
        return Ok(Site {
            root: layout.root.clone(),
            home: layout.root.clone(),
            git: Ok(Git::at(layout, lookup)),
        });
    }
    let wanted = contract.unwrap_or(Path::new(DEFAULT_CONTRACT));
    let holds = |dir: &&Path| wanted.is_relative() && dir.join(wanted).is_file();
    let root = start.ancestors().find(holds).unwrap_or(&start).to_owned();
    Ok(Site {
        git: Git::open(&start, lookup),
        home: root.clone(),
        root,
    })
}

/// The contract that is read, and its source.
#[derive(Clone, Copy, Debug)]
pub struct ContractRequest<'a> {
    /// `--contract`, relative to the root; without it [`DEFAULT_CONTRACT`].
    pub contract: Option<&'a Path>,
    /// `--contract-from`
    pub revision: Option<&'a str>,
    /// The base revision of the request (`Gathered::base`); without it HEAD.
    pub base: Option<&'a Oid>,
    /// `--max-file`, in bytes.
    pub max_file: u64,
    /// The text of the work tree's contract, if it differs from the file.
    pub text: Option<&'a str>,
    /// The source of folders for `each` blocks.
    pub folders: FoldersOf<'a>,
}

/// Reads, lowers and validates the contract with all that it imports; `pins` gives the files of
/// other repositories.
///
/// # Errors
/// The file is missing, or cannot be read. An invalid contract is an `Ok` without a contract.
pub fn load(
    site: &Site,
    wanted: &ContractRequest<'_>,
    pins: &mut dyn Pins,
) -> Result<Loaded, LoadError> {
    let path = contract_path(site, wanted.contract)?;
    let root = visible_path(&site.root);
    tracing::debug!(%root, git = site.git.is_ok(), %path, revision = wanted.revision, "reading the contract");
    let (text, revision) = match wanted.revision {
        Some(revision) => {
            let (text, commit) = read_revision(site, &path, revision, wanted.max_file)?;
            (text, Some(commit))
        }
        None => match wanted.text {
            Some(text) => (Some(text.as_bytes().to_vec()), None),
            None => (read_work_tree(site, &path, wanted)?, None),
        },
    };
    let mut loaded = Loaded {
        path,
        revision,
        contract: None,
        sources: Sources::default(),
        diagnostics: Diagnostics::default(),
        origins: Vec::new(),
        imports: Vec::new(),
        cases: Vec::new(),
        drift: false,
    };
    let (path, sources, diagnostics) = (&loaded.path, &mut loaded.sources, &mut loaded.diagnostics);
    let Some(text) = text else {
        sources.add(Source::new(path.to_string(), ""));
        let message = format!("`{path}` is larger than {}", show_size(wanted.max_file));
        let help = "split it, or raise the limit with `--max-file`";
        diagnostics.push(Diagnostic::error(TOO_LARGE, message).help(help));
        return Ok(loaded);
    };
    let mut folders = Folders::new(&site.root, site.usable_git(), wanted.folders, wanted.base);
    let draft = decode(path, &text, sources, diagnostics)
        .map(|id| folders.lower(sources, id, &RepoPath::root(), diagnostics));
    if let Some(draft) = draft {
        let (mut read, mut unpinned) = (Some(draft), 0);
        if let Some(main) = read.take_if(|d| !d.imports.is_empty()) {
            let name = |import: &Import| {
                let alias = import.alias.as_ref().map(|alias| alias.value.clone());
                (alias, import.source.value.clone())
            };
            loaded.imports = main.imports.iter().map(name).collect();
            let from = import::From {
                root: &site.root,
                git: site.git.as_ref(),
                revision: loaded.revision.as_ref(),
                max_file: wanted.max_file,
                pins,
                folders: &mut folders,
            };
            let found = import::follow(main, path, from, sources, diagnostics);
            (read, loaded.origins, unpinned) = (found.draft, found.origins, found.unpinned);
        }
        if let Some(draft) = read.as_mut().filter(|draft| !draft.asked.is_empty()) {
            loaded.cases = std::mem::take(&mut draft.expects);
        }
        let contract = read.and_then(|draft| validate(&draft, sources, diagnostics));
        loaded.contract = contract.filter(|_| !diagnostics.has_errors());
        let is_error = |d: &&Diagnostic| d.severity == Severity::Error;
        let errors = diagnostics.iter().filter(is_error).count();
        loaded.drift = unpinned > 0 && errors == unpinned;
    }
    match &loaded.contract {
        Some(contract) => tracing::debug!(
            bytes = text.len(),
            checks = contract.checks.len(),
            conditions = contract.conditions.len(),
            digest = %contract.digest,
            "the contract is valid"
        ),
        None => tracing::debug!(bytes = text.len(), "the contract is invalid"),
    }
    Ok(loaded)
}

/// Decodes a file to text. `None`, and a message, if it is not text.
pub fn decode(
    path: &RepoPath,
    bytes: &[u8],
    sources: &mut Sources,
    sink: &mut Diagnostics,
) -> Option<SourceId> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(sources.add(Source::new(path.to_string(), text))),
        Err(e) => {
            let at = e.valid_up_to();
            // The position in the stored text, without the byte-order mark and carriage returns.
            let before = bytes
                .get(..at)
                .map(String::from_utf8_lossy)
                .unwrap_or_default();
            let start = Source::new("", &before).text().len();
            let id = sources.add(Source::new(
                path.to_string(),
                &String::from_utf8_lossy(bytes),
            ));
            let byte = bytes.get(at).copied().unwrap_or(0);
            let message = format!("`{path}` is not UTF-8: byte 0x{byte:02x} at offset {at}");
            let place = Place::new(id, Span::new(start, start + '\u{fffd}'.len_utf8()));
            let diagnostic = Diagnostic::error(NOT_UTF8, message)
                .label(place, "no character begins with this byte");
            sink.push(diagnostic.help("save the file as UTF-8"));
            None
        }
    }
}

/// Returns the path of the contract below the root.
///
/// # Errors
/// A path outside the repository.
pub fn contract_path(site: &Site, contract: Option<&Path>) -> Result<RepoPath, LoadError> {
    let given = contract.unwrap_or(Path::new(DEFAULT_CONTRACT));
    let outside = || LoadError::Outside(visible_path(given));
    // An absolute path is accepted if it is inside.
    let relative = if given.is_absolute() {
        let parent = given
            .parent()
            .and_then(|p| p.canonicalize().ok())
            .ok_or_else(outside)?;
        let real = parent.join(given.file_name().ok_or_else(outside)?);
        real.strip_prefix(&site.root)
            .map_err(|_| outside())?
            .to_owned()
    } else {
        given.to_owned()
    };
    RepoPath::parse(relative.as_os_str().as_bytes()).map_err(|e| match e {
        PathError::Empty | PathError::Absolute | PathError::Outside | PathError::Nul => outside(),
    })
}

/// Reads the bytes; inside: `None` when there are too many.
fn read_work_tree(
    site: &Site,
    path: &RepoPath,
    wanted: &ContractRequest<'_>,
) -> Result<Option<Vec<u8>>, LoadError> {
    let unreadable = |message: String| LoadError::Unreadable {
        path: path.clone(),
        message,
    };
    let beneath = Beneath::open(&site.root).map_err(|e| unreadable(e.to_string()))?;
    match beneath.read(path, wanted.max_file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::TooLarge(_)) => Ok(None),
        // A symlink to nothing is a contract that existed once, not a repository without one.
        Err(ReadError::Missing) if beneath.link(path).is_some() => {
            Err(unreadable("it is a symlink to nothing".to_owned()))
        }
        Err(ReadError::Missing) => Err(missing(site, path, wanted)),
        Err(e) => Err(unreadable(e.to_string())),
    }
}

/// Configurations of other tools that `vplan import` reads, at their usual places.
const PREDECESSORS: &str = ".opentiger/verify.contract.json verify.contract.json .runr/runr.config.json \
                            runr.config.json .agent/agent.config.json .ralph-tui/config.toml \
                            .agent/config.yml .agent/config.yaml .acode/config.yml";

/// Returns those of them that exist.
fn predecessors(root: &Path) -> Vec<&'static str> {
    let is_file = |path: &&str| {
        let found = root.join(path).symlink_metadata();
        found.is_ok_and(|found| found.is_file())
    };
    PREDECESSORS.split(' ').filter(is_file).collect()
}

/// Decides why the contract is missing: it never existed, or this very change deleted it.
fn missing(site: &Site, path: &RepoPath, wanted: &ContractRequest<'_>) -> LoadError {
    let never = || LoadError::Missing(path.clone(), predecessors(&site.root));
    let Some(git) = site.usable_git() else {
        return never();
    };
    let base = match wanted.base {
        Some(base) => Ok(Some(*base)),
        None => git.head(),
    };
    let had = base.and_then(|base| match base {
        Some(commit) => Ok(git.file_at(&commit, path, u64::MAX)?.map(|_| commit)),
        None => Ok(None),
    });
    match had {
        Ok(None) => never(),
        Ok(Some(_)) if git.is_left_out(path) => LoadError::Sparse(path.clone()),
        Ok(Some(commit)) => LoadError::Deleted {
            path: path.clone(),
            revision: commit.short(),
        },
        // Without an answer it is unknown whether there ever was one.
        Err(e) => LoadError::Git(e),
    }
}

type Read = (Option<Vec<u8>>, Oid);

fn read_revision(
    site: &Site,
    path: &RepoPath,
    revision: &str,
    cap: u64,
) -> Result<Read, LoadError> {
    let git = site.git.as_ref().map_err(GitError::clone)?;
    let commit = git.resolve_name(revision)?;
    match git.file_at(&commit, path, cap) {
        Ok(Some(bytes)) => Ok((Some(bytes), commit)),
        Ok(None) => Err(LoadError::MissingIn {
            path: path.clone(),
            revision: revision.to_owned(),
        }),
        Err(GitError::TooLarge { .. }) => Ok((None, commit)),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_git::pins::NothingPinned;

    fn nothing(_: &str) -> Option<std::ffi::OsString> {
        None
    }

    fn wanted() -> ContractRequest<'static> {
        ContractRequest {
            contract: None,
            revision: None,
            base: None,
            max_file: 100,
            text: None,
            folders: FoldersOf::WorkTree,
        }
    }

    fn site_with(content: Option<&[u8]>) -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("contracts/deep")).unwrap();
        if let Some(content) = content {
            std::fs::write(dir.path().join(DEFAULT_CONTRACT), content).unwrap();
        }
        let site = locate(&dir.path().join("contracts/deep"), None, &nothing).unwrap();
        (dir, site)
    }

    #[test]
    fn the_root_is_where_the_contract_is() {
        let (dir, site) = site_with(Some(b"vplan 1\n"));
        assert_eq!(site.root, dir.path().canonicalize().unwrap());
        assert!(matches!(site.git, Err(GitError::NotARepository(_))));
        let (dir, site) = site_with(None);
        assert_eq!(
            site.root,
            dir.path().join("contracts/deep").canonicalize().unwrap()
        );
        assert!(matches!(
            load(&site, &wanted(), &mut NothingPinned),
            Err(LoadError::Missing(..))
        ));
        assert!(matches!(
            locate(&dir.path().join("none"), None, &nothing),
            Err(LoadError::Directory { .. })
        ));
    }

    #[test]
    fn bytes_that_are_no_text() {
        let (_dir, site) = site_with(Some(b"\xef\xbb\xbfvplan 1\r\n# \xff\n"));
        let loaded = load(&site, &wanted(), &mut NothingPinned).unwrap();
        assert!(loaded.contract.is_none());
        let found = loaded.diagnostics.sorted();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, NOT_UTF8);
        assert_eq!(
            found[0].message,
            "`contracts/verify.vplan` is not UTF-8: byte 0xff at offset 14"
        );
        let position = loaded.sources.position(found[0].labels[0].place);
        assert_eq!((position.line, position.column), (2, 3));
    }

    #[test]
    fn files_that_are_no_contract() {
        let (_dir, site) = site_with(Some(&[b'#'; 101]));
        let found = load(&site, &wanted(), &mut NothingPinned)
            .unwrap()
            .diagnostics
            .sorted();
        assert_eq!(found[0].code, TOO_LARGE);
        let (dir, site) = site_with(None);
        let root = dir.path().join("contracts/deep/contracts");
        std::fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("verify.vplan")).unwrap();
        assert!(matches!(
            load(&site, &wanted(), &mut NothingPinned),
            Err(LoadError::Unreadable { .. })
        ));
        for outside in ["../x", "/etc/passwd", ""] {
            let wanted = ContractRequest {
                contract: Some(Path::new(outside)),
                ..wanted()
            };
            assert!(
                matches!(
                    load(&site, &wanted, &mut NothingPinned),
                    Err(LoadError::Outside(_))
                ),
                "{outside}"
            );
        }
    }
}
