//! Converts another tool's configuration to a contract, and writes that.

use crate::{Contract, Engine, Failure, RepoPath, visible, visible_path};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_base::diagnostic::Diagnostics;
use vplan_base::setting::Row;
use vplan_base::source::{Source, Sources};
use vplan_base::unit::show_size;
use vplan_front::convert::{Format, Lost, PREDECESSORS, Weight, convert, recognize, text, verify};
use vplan_init::account::{Account, shorten};
use vplan_init::found::Place;
use vplan_init::tree::RepositoryTree;
use vplan_init::{proposal, single};
use vplan_os::{files, input};
use vplan_repo::import::{NOT_UTF8, TOO_LARGE};
use vplan_repo::{declaring, load};

/// The kinds of files that can be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The contract of another tool.
    Tool(Format),
    /// A file that declares commands.
    Declared(single::Kind),
}

impl SourceKind {
    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Tool(format) => format.name(),
            SourceKind::Declared(kind) => kind.name(),
        }
    }

    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        let tools = Format::ALL.into_iter().map(SourceKind::Tool);
        tools.chain(single::KINDS.iter().copied().map(SourceKind::Declared))
    }

    /// Returns the usual path of such a file in a repository.
    pub fn home(self) -> &'static str {
        let is_of = |(_, of): &&(_, Format)| SourceKind::Tool(*of) == self;
        match self {
            SourceKind::Tool(_) => PREDECESSORS.iter().find(is_of).map_or("", |(path, _)| path),
            SourceKind::Declared(kind) => kind.home(),
        }
    }

    /// Recognises the kind by the file's name, or by its content.
    pub fn recognize(name: &str, text: &str) -> Option<Self> {
        let declared = single::recognize(name, text).map(SourceKind::Declared);
        declared.or_else(|| recognize(name, text).map(SourceKind::Tool))
    }
}

/// A part of the file that the contract lacks or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedItem {
    /// How much the missing part matters.
    pub weight: Weight,
    /// The key or the command.
    pub what: String,
    /// The path of the file, as the user wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in bytes.
    pub column: usize,
    /// The reason; one line.
    pub why: String,
    /// The text to write by hand, if it is known.
    pub instead: Option<String>,
}

/// A converted configuration, and the list of what is lost.
#[derive(Debug)]
pub struct Converted {
    /// The file that was read.
    pub name: String,
    /// The kind of configuration that was recognised.
    pub kind: SourceKind,
    /// The account, in the order of the file.
    pub lost: Vec<ConvertedItem>,
    /// The resulting contract.
    pub contract: Contract,
    /// The contract in the language of vplan.
    pub text: String,
}

impl Converted {
    /// Whether no check of the contract verifies anything.
    pub fn verifies_nothing(&self) -> bool {
        let mut checks = self.contract.checks.iter();
        checks.all(|check| check.has(Row::Setup))
    }

    /// Returns the number of parts that are lost, or mean something else now.
    pub fn heavy(&self) -> usize {
        let lost = self.lost.iter();
        lost.filter(|l| l.weight != Weight::NoEffect).count()
    }
}

impl Engine<'_> {
    /// Converts a file, or standard input (`-`), and checks the result.
    ///
    /// # Errors
    /// A file that cannot be read or has an unknown kind; errors in it.
    pub fn convert(&self, file: &Path, kind: Option<SourceKind>) -> Result<Converted, Failure> {
        let name = visible_path(file);
        let content = read(file, &name, self.max_file)?;
        let kind = kind.or_else(|| SourceKind::recognize(&name, &content)).ok_or_else(|| {
                        let message = format!("nothing tells what kind of file `{name}` is");
            Failure::usage("vplan::import::kind", message)
                .help("say it with `--from runr`, `--from github-workflow` or another kind: `vplan import --help` lists them")
        })?;
        match kind {
            SourceKind::Tool(format) => tool(name, &content, format),
            SourceKind::Declared(declared) => self.declared(file, name, &content, declared),
        }
    }

    /// Converts a file that declares commands. Scripts that its commands call are looked up in the
    /// repository around it.
    fn declared(
        &self,
        file: &Path,
        name: String,
        content: &str,
        kind: single::Kind,
    ) -> Result<Converted, Failure> {
        let (mut tree, path) = self.around(file, kind);
        tree.files.insert(path.clone());
        tree.unread.remove(&path);
        tree.texts.insert(path.clone(), content.to_owned());
        let reading = single::read(&tree, &path, kind);
        let proposal = proposal::translate(&tree, reading, &name);
        let contract = super::infer::valid(&proposal.text, &format!("the conversion of `{name}`"))?;
        Ok(Converted {
            lost: lost(&proposal.account, &path, &name),
            name: name.clone(),
            kind: SourceKind::Declared(kind),
            contract,
            text: proposal.text,
        })
    }

    /// The repository around a file, and the file's path in it. For a file outside and for standard
    /// input, the path that such a file usually has.
    fn around(&self, file: &Path, kind: single::Kind) -> (RepositoryTree, RepoPath) {
        let home = RepoPath::parse(kind.home().as_bytes()).unwrap_or_default();
        let Ok(site) = self.locate() else {
            return (RepositoryTree::default(), home);
        };
        let read = || declaring::read(&site.root, site.git.as_ref().ok()).unwrap_or_default();
        if file == Path::new("-") {
            return (read(), home);
        }
        let inside = || {
            let whole = self.directory.join(file).canonicalize().ok()?;
            let below = whole.strip_prefix(site.root.canonicalize().ok()?).ok()?;
            RepoPath::parse(below.as_os_str().as_bytes()).ok()
        };
        inside().map_or((RepositoryTree::default(), home), |path| (read(), path))
    }

    /// Returns the path of the repository's contract, and its name.
    ///
    /// # Errors
    /// No repository, a contract outside of it.
    pub fn own_contract(&self) -> Result<(PathBuf, String), Failure> {
        let site = self.locate()?;
        let path = load::contract_path(&site, self.contract)
            .map_err(|e| Failure::usage(e.code(), e.to_string()))?;
        Ok((site.root.join(path.to_os()), path.to_string()))
    }
}

/// The account of a converted file as items, in the order of the file.
fn lost(account: &Account, path: &RepoPath, name: &str) -> Vec<ConvertedItem> {
    let item = |weight, what: &str, place: &Place, why: &str| ConvertedItem {
        weight,
        what: shorten(what),
        file: match place.file == *path {
            true => name.to_owned(),
            false => place.file.to_string(),
        },
        line: usize::try_from(place.line).unwrap_or(usize::MAX),
        column: 1,
        why: visible(why).replace('\n', " "),
        instead: None,
    };
    let left = account.left.iter();
    let left = left.map(|one| item(Weight::Lost, &one.text, &one.place, &one.why));
    let setup = account.setup.iter();
    let setup = setup.map(|one| item(Weight::NoEffect, &one.text, &one.place, &one.why));
    let not_read = account.not_read.iter().map(|one| {
        let what = one.part.as_deref().unwrap_or("the file");
        item(Weight::Lost, what, &one.place, &one.why)
    });
    let mut all: Vec<ConvertedItem> = left.chain(setup).chain(not_read).collect();
    all.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    all
}

/// Converts the contract of another tool.
fn tool(name: String, content: &str, format: Format) -> Result<Converted, Failure> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new(name.clone(), content));
    let mut sink = Diagnostics::default();
    let Some(conversion) = convert(&sources, id, format, &mut sink) else {
        let message = format!("`{name}` cannot be converted, read as {}", format.name());
        let failure = Failure::contract("vplan::import::invalid", message);
        return Err(failure.diagnosed(sources, sink.sorted()));
    };
    let text = text(&conversion, &sources);
    // An error from here on is a bug of vplan; nothing has been written.
    let contract = verify(&conversion, &sources, &text).map_err(|message| {
        Failure::internal(format!("the conversion of `{name}` went wrong: {message}"))
            .help("please report it with the file")
    })?;
    let item = |lost: &Lost| {
        let position = sources.position(lost.place);
        ConvertedItem {
            weight: lost.weight,
            what: lost.what.clone(),
            file: name.clone(),
            line: position.line,
            column: position.column,
            why: lost.why.clone(),
            instead: lost.instead.clone(),
        }
    };
    Ok(Converted {
        lost: conversion.lost.iter().map(item).collect(),
        name: name.clone(),
        kind: SourceKind::Tool(format),
        contract,
        text,
    })
}

/// The text of a regular file, or of standard input.
fn read(path: &Path, name: &str, cap: u64) -> Result<String, Failure> {
    let bytes = match path == Path::new("-") {
        true => input::standard(cap),
        false => files::read_plain(path, cap),
    };
    let bytes = bytes.map_err(|e| {
        if e.kind() == io::ErrorKind::FileTooLarge {
            let message = format!("`{name}` is larger than {}", show_size(cap));
            return Failure::contract(TOO_LARGE.0, message)
                .help("`--max-file 16MiB` reads larger ones");
        }
        let help = "it is a symlink: name the file itself";
        Failure::unreadable(name, e).helped(path.is_symlink().then_some(help))
    })?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let message =
            format!("`{name}` is not UTF-8: the first byte that is none is at offset {at}");
        Failure::contract(NOT_UTF8.0, message)
    })
}

/// Writes the contract; with `force` in the place of one that is there.
///
/// # Errors
/// A contract that is there already, a place that cannot be written.
pub fn write(target: &Path, shown: &str, text: &str, force: bool) -> Result<(), Failure> {
    let exists = |what: &str| Failure::usage("vplan::import::exists", format!("`{shown}` {what}"));
    match target.symlink_metadata() {
        Ok(there) if there.is_dir() => return Err(exists("is a directory")),
        Ok(_) if !force => {
            return Err(exists("is there already")
                .help("`--stdout` prints the contract, `-o PATH` writes another file, `--force` replaces this one"));
        }
        _ => {}
    }
    files::replace(target, text.as_bytes()).map_err(|e| {
        let message = format!("`{shown}` cannot be written: {e}");
        Failure::setup("vplan::import::write", message)
    })
}
