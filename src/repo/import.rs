//! Finds and reads the files that a contract imports.
//!
//! Files are read in the order of their imports: a file, then what it imports, before its next
//! import. Each is read once, even if it is imported several times; `contract::import` decides
//! where and how often its content is inserted.

use crate::folders::Folders;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use vplan_base::diagnostic::{Code, Diagnostics};
use vplan_base::index::Dense;
use vplan_base::origin::GitOrigin;
use vplan_base::path::RepoPath;
use vplan_base::source::{Source as Text, Sources};
use vplan_base::span::{Place, SourceId};
use vplan_base::unit::show_size;
use vplan_base::word::visible;
use vplan_contract::draft::{Draft, Import};
use vplan_contract::import::source::{ImportFault, ImportSource, ImportedName};
use vplan_contract::import::{File, FileIndex, ImportCaps, expand, too_deep, too_many_files};
use vplan_front as front;
use vplan_git::Git;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_git::pins::{PinError, Pins};
use vplan_os::files::beneath::{Beneath, Kind, ReadError};

/// A contract, or a file that it imports, is not UTF-8.
pub const NOT_UTF8: Code = Code("vplan::load::not_utf8");
/// One is larger than `--max-file` allows.
pub const TOO_LARGE: Code = Code("vplan::load::too_large");
/// An imported file that does not exist.
pub const MISSING: Code = Code("vplan::load::import_missing");
/// An imported path that leads out of the repository.
pub const OUTSIDE: Code = Code("vplan::load::import_outside");
/// The imported path is a directory, a pipe, a device.
pub const NO_FILE: Code = Code("vplan::load::import_no_file");
/// An imported file that cannot be read.
pub const UNREADABLE: Code = Code("vplan::load::import_unreadable");
/// `std:NAME@VERSION` that is not shipped.
pub(crate) const UNKNOWN_STD: Code = Code("vplan::load::import_unknown_std");
/// The codes of errors in an import alone.
pub const CODES: [Code; 5] = [MISSING, OUTSIDE, NO_FILE, UNREADABLE, UNKNOWN_STD];

/// The sources of imported files.
pub struct From<'a> {
    /// The repository's root.
    pub root: &'a Path,
    /// Git, or the reason why it is not available.
    pub git: Result<&'a Git, &'a GitError>,
    /// The revision that the contract was read from, if not the work tree.
    pub revision: Option<&'a Oid>,
    /// `--max-file`, in bytes, for each file.
    pub max_file: u64,
    /// The files of other repositories.
    pub pins: &'a mut dyn Pins,
    /// The folders that `each` blocks ask for.
    pub folders: &'a mut Folders<'a>,
}

/// The result of reading a contract's imports.
pub struct Followed {
    /// The contract with all imports inserted; `None` if that would be too large.
    pub draft: Option<Draft>,
    /// The files of other repositories, in the order in which they were met.
    pub origins: Vec<GitOrigin>,
    /// The number of errors about pins.
    pub unpinned: usize,
}

/// Reads everything that the contract imports, and inserts it. Errors in a file are reported at its
/// import.
pub fn follow(
    main: Draft,
    path: &RepoPath,
    from: From<'_>,
    sources: &mut Sources,
    sink: &mut Diagnostics,
) -> Followed {
    let caps = ImportCaps::default();
    let first = File {
        draft: main,
        name: path.to_string(),
        path: Some(path.clone()),
        ..File::default()
    };
    let mut reader = Reader {
        from,
        caps,
        beneath: None,
        sources,
        sink,
        files: [first].into_iter().collect(),
        known: BTreeMap::new(),
        texts: BTreeMap::new(),
        differing: BTreeSet::new(),
        reading: vec![(ImportSource::Local(path.clone()), FileIndex::CONTRACT)],
        origins: Vec::new(),
        unpinned: 0,
        full: false,
    };
    reader.imports_of(
        FileIndex::CONTRACT,
        &ImportSource::Local(path.clone()),
        &RepoPath::root(),
    );
    let Reader {
        files,
        origins,
        unpinned,
        ..
    } = reader;
    tracing::debug!(
        files = files.len() - 1,
        git = origins.len(),
        "read the imports"
    );
    let draft = expand(files, &caps, sources, sink);
    Followed {
        draft,
        origins,
        unpinned,
    }
}

struct Reader<'a, 's> {
    from: From<'a>,
    caps: ImportCaps,
    beneath: Option<Beneath>,
    sources: &'s mut Sources,
    sink: &'s mut Diagnostics,
    files: Dense<FileIndex, File>,
    /// Each file, or why it cannot be used. The error is reported at every import of it.
    known: BTreeMap<ImportSource, Result<ReadFile, (ImportFault, bool)>>,
    /// The text of each file.
    texts: BTreeMap<ImportSource, SourceId>,
    /// The files that differ by directory.
    differing: BTreeSet<FileIndex>,
    /// The files whose imports are being read.
    reading: Vec<(ImportSource, FileIndex)>,
    origins: Vec<GitOrigin>,
    unpinned: usize,
    /// Whether the cap on files was reached, and reported.
    full: bool,
}

/// A file that was read.
enum ReadFile {
    /// It is the same wherever it is used.
    Anywhere(FileIndex),
    /// It asks for folders, directly or through its imports, so it differs by directory.
    By(BTreeMap<RepoPath, FileIndex>),
}

impl Reader<'_, '_> {
    /// Follows the imports of a file that is used for a directory. Recursion is bounded by the cap
    /// on depth.
    fn imports_of(&mut self, file: FileIndex, source: &ImportSource, dir: &RepoPath) {
        for import in &self.files[file].draft.imports.clone() {
            let below = import.below.as_ref();
            let below = below.and_then(|below| RepoPath::parse(below.value.as_bytes()).ok());
            let below = below.filter(|below| !below.is_root());
            let below = below.and_then(|below| dir.join(below.as_bytes()).ok());
            let target = self.target(import, source, below.as_ref().unwrap_or(dir));
            self.files[file].imports.push(target);
        }
    }

    /// Returns the file that an import names, and reads it if it was not read before.
    fn target(
        &mut self,
        import: &Import,
        importer: &ImportSource,
        dir: &RepoPath,
    ) -> Option<FileIndex> {
        let depth = self.reading.len() - 1;
        let place = import.source.place;
        let source = match ImportSource::parse(&import.source.value, importer) {
            Ok(ImportedName::Moving { at, path }) => match self.from.pins.commit(&at) {
                Ok(revision) => ImportSource::Git(GitOrigin {
                    url: at.url,
                    revision,
                    path,
                }),
                Err(e) => {
                    self.unpinned += 1;
                    self.sink.push(unpinned(e).at(place));
                    return None;
                }
            },
            Ok(ImportedName::Source(source)) => source,
            Err(fault) => {
                self.sink.push(fault.at(place));
                return None;
            }
        };
        // A file that imports itself indirectly is reported as such later.
        if let Some((_, index)) = self.reading.iter().find(|(on, _)| *on == source) {
            return Some(*index);
        }
        match self.known.get(&source) {
            Some(Ok(ReadFile::Anywhere(index))) => return Some(*index),
            Some(Ok(ReadFile::By(dirs))) => {
                if let Some(index) = dirs.get(dir) {
                    return Some(*index);
                }
            }
            Some(Err((fault, pin))) => {
                self.unpinned += usize::from(*pin);
                self.sink.push(fault.at(place));
                return None;
            }
            None => {}
        }
        if depth >= self.caps.depth {
            self.sink.push(too_deep(self.caps.depth).at(place));
            return None;
        }
        let is_new = !self.texts.contains_key(&source);
        if is_new && self.texts.len() >= self.caps.files || self.files.len() > self.caps.uses {
            if !std::mem::replace(&mut self.full, true) {
                self.sink.push(too_many_files(self.caps.files).at(place));
            }
            return None;
        }
        let id = self.source_of(&source, place)?;
        // The text was read within the cap on size.
        let draft = self.from.folders.lower(self.sources, id, dir, self.sink);
        let path = match &source {
            ImportSource::Local(path) => Some(path.clone()),
            ImportSource::Std { .. } | ImportSource::Git(_) => None,
        };
        let mut differs = !draft.asked.is_empty();
        let index = self.files.push(File {
            draft,
            name: source.to_string(),
            path,
            is_foreign: matches!(source, ImportSource::Git(_)),
            source: id,
            bytes: self.sources[id].text().len(),
            imports: Vec::new(),
        });
        self.reading.push((source.clone(), index));
        self.imports_of(index, &source, dir);
        self.reading.pop();
        let imported = self.files[index].imports.iter().flatten();
        differs |= imported
            .into_iter()
            .any(|file| self.differing.contains(file));
        if differs {
            self.differing.insert(index);
        }
        match self.known.get_mut(&source) {
            Some(Ok(ReadFile::By(dirs))) => {
                dirs.insert(dir.clone(), index);
            }
            _ => {
                let known = if differs {
                    ReadFile::By(BTreeMap::from([(dir.clone(), index)]))
                } else {
                    ReadFile::Anywhere(index)
                };
                self.known.insert(source, Ok(known));
            }
        }
        Some(index)
    }

    /// Returns the text of a file, which is read once; reports an error.
    fn source_of(&mut self, source: &ImportSource, place: Place) -> Option<SourceId> {
        if let Some(id) = self.texts.get(source) {
            return Some(*id);
        }
        match self.text(source) {
            Ok(text) => {
                let id = self.sources.add(Text::new(source.to_string(), &text));
                self.texts.insert(source.clone(), id);
                Some(id)
            }
            Err((fault, pin)) => {
                self.unpinned += usize::from(pin);
                self.sink.push(fault.at(place));
                self.known.insert(source.clone(), Err((fault, pin)));
                None
            }
        }
    }

    /// Returns the text of a file, or the reason why it has none and whether a new lock can fix
    /// that.
    fn text(&mut self, source: &ImportSource) -> Result<String, (ImportFault, bool)> {
        let shown = visible(source.to_string());
        let bytes = match source {
            ImportSource::Local(path) => self.local(path).map_err(|f| (f, false))?,
            ImportSource::Std { name, version } => {
                let shipped = front::std::find(name, *version)
                    .ok_or_else(|| (unknown_std(name, &shown), false))?;
                return Ok(shipped.text.to_owned());
            }
            ImportSource::Git(origin) => {
                self.origins.push(origin.clone());
                let pinned = self.from.pins.read(origin);
                let bytes = pinned.map_err(|e| (unpinned(e), true))?;
                if bytes.len() as u64 > self.from.max_file {
                    return Err((too_large(&shown, self.from.max_file), false));
                }
                bytes
            }
        };
        String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let byte = e.as_bytes().get(at).copied().unwrap_or(0);
            let message = format!("`{shown}` is not UTF-8: byte 0x{byte:02x} at offset {at}");
            (
                here(NOT_UTF8, message).help("save the file as UTF-8"),
                false,
            )
        })
    }

    fn local(&mut self, path: &RepoPath) -> Result<Vec<u8>, ImportFault> {
        let max = self.from.max_file;
        if let Some(commit) = self.from.revision {
            let git = self
                .from
                .git
                .map_err(|e| unreadable(path, &e.to_string()))?;
            return match git.file_at(commit, path, max) {
                Ok(Some(bytes)) => Ok(bytes),
                Ok(None) => {
                    let message = format!("the revision `{}` has no file `{path}`", commit.short());
                    Err(here(MISSING, message))
                }
                Err(GitError::TooLarge { .. }) => Err(too_large(&path.to_string(), max)),
                Err(e) => Err(unreadable(path, &e.to_string())),
            };
        }
        let beneath = match &mut self.beneath {
            Some(beneath) => beneath,
            none => {
                let opened = Beneath::open(self.from.root);
                none.insert(opened.map_err(|e| unreadable(path, &e.to_string()))?)
            }
        };
        beneath.read(path, max).map_err(|e| match e {
            ReadError::Missing => missing(beneath, path),
            ReadError::Outside => {
                let message = format!("`{path}` leads out of the repository");
                ImportFault::new(OUTSIDE, message, "a symlink on the way")
                    .help("copy the file into the repository, or import it with `git+URL?rev=OBJECTID#path`")
            }
            ReadError::NotRegular => {
                let directory = beneath.inspect(path).target.is_ok_and(|t| t.kind == Kind::Dir);
                let what = if directory { "a directory" } else { "a pipe, a socket or a device" };
                let fault = here(NO_FILE, format!("`{path}` is {what}"));
                fault.help(if directory { "name the contract in it" } else { "a contract is a regular file" })
            }
            ReadError::TooLarge(_) => too_large(&path.to_string(), max),
            ReadError::System(message) => unreadable(path, &message),
        })
    }
}

fn unpinned(e: PinError) -> ImportFault {
    ImportFault {
        help: e.help,
        ..here(e.code, e.message)
    }
}

fn here(code: Code, message: String) -> ImportFault {
    ImportFault::new(code, message, "imported here")
}

fn unreadable(path: &RepoPath, message: &str) -> ImportFault {
    here(UNREADABLE, format!("`{path}` cannot be read: {message}"))
}

fn too_large(shown: &str, max: u64) -> ImportFault {
    let message = format!("`{shown}` is larger than {}", show_size(max));
    here(TOO_LARGE, message).help("split it, or raise the limit with `--max-file`")
}

fn missing(beneath: &Beneath, path: &RepoPath) -> ImportFault {
    if beneath.link(path).is_some() {
        return here(MISSING, format!("`{path}` is a symlink to nothing"));
    }
    let fault = here(MISSING, format!("there is no file `{path}`"));
    // Only a readable name helps, and only one that may be a contract.
    let names: Vec<String> = beneath
        .names(&path.folder())
        .into_iter()
        .filter_map(|n| String::from_utf8(n).ok())
        .collect();
    let wanted = String::from_utf8_lossy(path.name()).into_owned();
    let contracts = names
        .iter()
        .map(String::as_str)
        .filter(|n| n.ends_with(".vplan") || n.ends_with(".json"));
    match vplan_base::nearest::nearest(&wanted, contracts) {
        Some(near) => fault.help(format!("did you mean `{}`?", visible(near))),
        None => fault.help("the path is relative to the importing file"),
    }
}

fn unknown_std(name: &str, shown: &str) -> ImportFault {
    let message = format!("`{shown}` is not shipped with this version of vplan");
    let fault = here(UNKNOWN_STD, message);
    if let Some(newest) = front::std::newest(name) {
        let version = newest.version;
        return fault.help(format!(
            "the newest is `std:{name}@{version}`; a newer vplan may have more"
        ));
    }
    match vplan_base::nearest::nearest(name, front::std::SHIPPED.iter().map(|s| s.name)) {
        Some(near) => fault.help(format!(
            "did you mean `std:{near}`? `vplan std` lists what there is"
        )),
        None => fault.help("`vplan std` lists what there is"),
    }
}
