//! Replaces imports by the files that they name.
//!
//! Pure: which files there are and what is in them has been read before. `source` says what an
//! import names, `scope` how its content reads where it is put; this file puts it there.

mod allowed;
mod changes;
pub mod error;
mod file;
mod scope;
pub mod source;

use super::InclusionIndex;
use super::draft::{Changes, Draft, Extent, Import, Imported};
use super::error::TOO_MANY_CHECKS;
use super::selection::warn_of_glob;
use error::{
    BASE_IMPORTED, IMPORT_AT, IMPORT_DEPTH, IMPORT_FILES, IMPORT_SIZE, LINKED_IMPORTED,
    MACHINE_IMPORTED, TOOLCHAIN_IMPORTED,
};
pub use error::{CODES, IMPORT_CYCLE};
use file::Use;
pub use file::{File, FileIndex};
use scope::Scope;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::index::{Dense, Index as _};
use vplan_base::path::{PathError, RepoPath};
use vplan_base::source::Sources;
use vplan_base::span::{Place, SourceId};
use vplan_base::unit::show_size;
use vplan_base::word::visible;

/// The limits of imports. No contract and no operator raises these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportCaps {
    /// Imports inside imports.
    pub depth: usize,
    /// Imported files, each counted once.
    pub files: usize,
    /// `import` statements that are followed; one in a file that is used three times counts three
    /// times.
    pub uses: usize,
    /// Bytes of imported text, that of a file counted for each of its uses.
    pub bytes: usize,
    /// Checks.
    pub checks: usize,
}

impl Default for ImportCaps {
    fn default() -> Self {
        let checks = super::caps::Caps::default().checks;
        Self {
            depth: 8,
            files: 64,
            uses: 10_000,
            bytes: 32 << 20,
            checks,
        }
    }
}

/// Puts the content of all files into the first, the contract. Files are in the order of their
/// sources. `None` when the result would be too large, which is reported to the sink.
pub fn expand(
    mut files: Dense<FileIndex, File>,
    caps: &ImportCaps,
    sources: &Sources,
    sink: &mut Diagnostics,
) -> Option<Draft> {
    cut_cycles(&mut files, sources, sink);
    for draft in files.iter().skip(1).map(|f| &f.draft) {
        let base = draft.bases.first().map(|base| base.place);
        let toolchain = draft.toolchains.first().map(|(name, _)| name.place);
        let machine = draft.machines.first().map(|machine| machine.name.place);
        let linked = draft.linked.first().map(|path| path.place);
        for (place, code, word, what) in [
            (
                base,
                BASE_IMPORTED,
                "base",
                "which branch changes are made for",
            ),
            (
                toolchain,
                TOOLCHAIN_IMPORTED,
                "toolchain",
                "which toolchains decide",
            ),
            (
                machine,
                MACHINE_IMPORTED,
                "machine",
                "which machines there are",
            ),
            (linked, LINKED_IMPORTED, "linked", "which folders are there"),
        ] {
            let Some(place) = place else { continue };
            let message = format!("`{word}` stands in a file that is imported");
            let help = format!("{what} is said by the contract itself, not by what it imports");
            let error = Diagnostic::error(code, message).label(place, "said here");
            sink.push(error.help(help));
        }
    }
    let mut walk = Walk {
        files: &files,
        caps,
        sink,
        uses: Dense::default(),
        pieces: Vec::new(),
        placed: BTreeMap::new(),
        told: BTreeSet::new(),
        absent: files[FileIndex::CONTRACT].draft.absent.clone(),
        followed: 0,
        bytes: 0,
        checks: files[FileIndex::CONTRACT].draft.checks().count(),
        first_too_many: None,
    };
    let own = Use {
        file: FileIndex::CONTRACT,
        scope: Scope::default(),
        chain: Vec::new(),
        importer: InclusionIndex::CONTRACT,
        changes: Changes::default(),
    };
    let own = walk.uses.push(own);
    walk.follow(own, 0)?;
    if let Some(place) = walk.first_too_many {
        let (count, most) = (walk.checks, caps.checks);
        let message = format!("the contract has {count} checks, {most} are the most");
        let error = Diagnostic::error(TOO_MANY_CHECKS, message);
        walk.sink
            .push(error.label(place, "the first one too many comes with this"));
        return None;
    }
    let Walk {
        mut uses,
        pieces,
        absent,
        sink,
        ..
    } = walk;
    let imported = files.iter().skip(1).map(|file| Imported {
        source: file.source,
        name: file.name.clone(),
        path: file.path.clone(),
        digest: file
            .draft
            .digest
            .clone()
            .unwrap_or_else(|| Digest::hash(b"")),
    });
    // A file that differs by directory was read once.
    let mut imported: Vec<Imported> = imported.collect();
    imported.sort_by_key(|file| file.source);
    imported.dedup_by_key(|file| file.source);
    let main = Draft {
        imported,
        absent,
        imports: Vec::new(),
        ..std::mem::take(&mut files[FileIndex::CONTRACT].draft)
    };
    let mut whole = put_together(main, &files, &mut uses, &pieces);
    let has_block = |(_, used): &(InclusionIndex, &Use)| used.changes != Changes::default();
    let mut blocks: Vec<_> = uses.numbered().filter(has_block).collect();
    // Those inside an imported file before the one of its import.
    blocks.reverse();
    for (index, used) in blocks {
        let below = below(&uses, index);
        let block = changes::ImportBlock {
            changes: &used.changes,
            scope: &used.scope,
            importer: &uses[used.importer].scope,
            files: below.iter().map(|i| files[uses[*i].file].source).collect(),
            is_foreign: files[used.file].is_foreign,
            below,
            name: &files[used.file].name,
        };
        changes::apply(&mut whole, &block, sources, sink);
    }
    allowed::report(&whole, &uses, &files, sink);
    whole.allowed = allowed::allowed(&uses, &files);
    Some(whole)
}

/// The uses of files that one of them brings, itself among them.
fn below(uses: &Dense<InclusionIndex, Use>, of: InclusionIndex) -> BTreeSet<InclusionIndex> {
    let mut below = BTreeSet::from([of]);
    // The use of an importing file comes before those of what it imports.
    for (index, used) in uses.numbered().skip(1) {
        if below.contains(&used.importer) {
            below.insert(index);
        }
    }
    below
}

/// A part of a file, between two of its imports, for one use of it.
struct Piece {
    of: InclusionIndex,
    from: Extent,
    to: Extent,
}

/// Walks all files in import order, and records the order of their parts.
struct Walk<'w, 's> {
    files: &'w Dense<FileIndex, File>,
    caps: &'w ImportCaps,
    sink: &'s mut Diagnostics,
    uses: Dense<InclusionIndex, Use>,
    pieces: Vec<Piece>,
    /// The same file with the same `as`, `at` and block counts once.
    placed: BTreeMap<(FileIndex, String, RepoPath), Vec<Changes>>,
    /// The imports that a message was about; in a file that is used twice they come by twice.
    told: BTreeSet<Place>,
    absent: Vec<String>,
    followed: usize,
    bytes: usize,
    checks: usize,
    first_too_many: Option<Place>,
}

impl Walk<'_, '_> {
    /// Recursion is bounded by the cap on depth. `None` when there is too much.
    fn follow(&mut self, of: InclusionIndex, depth: usize) -> Option<()> {
        let files = self.files;
        let file = &files[self.uses[of].file];
        let mut from = Extent::default();
        for (import, target) in file.draft.imports.iter().zip(&file.imports) {
            self.pieces.push(Piece {
                of,
                from,
                to: import.extent,
            });
            from = import.extent;
            self.followed += 1;
            if self.followed > self.caps.uses {
                let most = self.caps.uses;
                let message = format!("more than {most} imports, each counted wherever it applies");
                let error = Diagnostic::error(IMPORT_SIZE, message);
                self.sink
                    .push(error.label(import.place, "the first one too many"));
                return None;
            }
            let (namespace, dir) = self.scope(of, import);
            let Some(target) = *target else {
                self.absent.push(namespace);
                continue;
            };
            if depth >= self.caps.depth {
                if self.told.insert(import.place) {
                    self.sink
                        .push(too_deep(self.caps.depth).at(import.source.place));
                }
                self.absent.push(namespace);
                continue;
            }
            let placed = (self.placed)
                .entry((target, namespace.clone(), dir.clone()))
                .or_default();
            let block = changes::without_places(&import.changes);
            if placed.contains(&block) {
                continue;
            }
            placed.push(block);
            let brought = &files[target];
            self.bytes = self.bytes.saturating_add(brought.bytes);
            if self.bytes > self.caps.bytes {
                let most = show_size(self.caps.bytes as u64);
                let message = format!(
                    "the imports bring more than {most} of text, that of a file counted at each use"
                );
                let error = Diagnostic::error(IMPORT_SIZE, message);
                self.sink
                    .push(error.label(import.place, "too much with this one"));
                return None;
            }
            self.checks += brought.draft.checks().count();
            if self.checks > self.caps.checks {
                self.first_too_many.get_or_insert(import.place);
            }
            let mut chain = self.uses[of].chain.clone();
            chain.push(import.place);
            let next = InclusionIndex::new(self.uses.len());
            self.uses.push(Use {
                file: target,
                scope: Scope::new(namespace, dir, next),
                chain,
                importer: of,
                changes: import.changes.clone(),
            });
            self.follow(next, depth + 1)?;
        }
        self.pieces.push(Piece {
            of,
            from,
            to: extent(&file.draft),
        });
        Some(())
    }

    /// The namespace and the directory of what an import brings.
    fn scope(&mut self, of: InclusionIndex, import: &Import) -> (String, RepoPath) {
        let around = &self.uses[of].scope;
        let mut namespace = around.namespace.clone();
        if let Some(alias) = &import.alias {
            namespace += &format!("{}/", alias.value);
        }
        let mut dir = around.dir.clone();
        let Some(below) = &import.below else {
            return (namespace, dir);
        };
        let first = self.told.insert(below.place);
        match RepoPath::parse(below.value.as_bytes()) {
            Ok(path) => {
                if !path.is_root() {
                    // What has neither `..` nor a slash in front can always be joined.
                    dir = dir.join(path.as_bytes()).unwrap_or(dir);
                }
                if first {
                    let what = "what stands behind `at`";
                    warn_of_glob(what, &below.value, below.place, self.sink);
                }
            }
            Err(fault) if first => {
                let fault = bad_directory(&below.value, fault);
                self.sink.push(fault.at(below.place));
            }
            Err(_) => {}
        }
        (namespace, dir)
    }
}

fn bad_directory(text: &str, fault: PathError) -> source::ImportFault {
    let text = visible(text);
    let (message, help) = match fault {
        PathError::Empty => (
            "the directory is empty".to_owned(),
            Some("leave `at` out for the repository's root"),
        ),
        PathError::Absolute => (format!("the directory `{text}` is absolute"), Some(BEGINS)),
        PathError::Outside => (
            format!("the directory `{text}` leaves the repository"),
            Some(BEGINS),
        ),
        PathError::Nul => ("the directory holds a NUL character".to_owned(), None),
    };
    let help = help.map(str::to_owned);
    source::ImportFault {
        help,
        ..source::ImportFault::new(IMPORT_AT, message, "not a directory of the repository")
    }
}

const BEGINS: &str =
    "it begins at the repository's root; in an imported file, below the directory of that import";

/// Reports imports nested beyond the cap.
pub fn too_deep(depth: usize) -> source::ImportFault {
    source::ImportFault::new(
        IMPORT_DEPTH,
        format!("imports inside imports, more than {depth} deep"),
        "one level too many",
    )
    .help("import this file from one further out")
}

/// Reports a file beyond the cap.
pub fn too_many_files(files: usize) -> source::ImportFault {
    source::ImportFault::new(
        IMPORT_FILES,
        format!("the contract imports more than {files} files"),
        "the first one too many",
    )
    .help("one file may be imported many times with `as` and `at`, and counts once")
}

fn extent(draft: &Draft) -> Extent {
    Extent {
        entries: draft.entries.len(),
        paths: draft.paths.len(),
        risks: draft.risks.len(),
        sequences: draft.sequences.len(),
    }
}

/// Piece by piece: what is the contract's own is moved, what is imported is copied into its scope.
fn put_together(
    mut main: Draft,
    files: &Dense<FileIndex, File>,
    uses: &mut Dense<InclusionIndex, Use>,
    pieces: &[Piece],
) -> Draft {
    let (mut entries, mut paths, mut risks, mut sequences) = (
        std::mem::take(&mut main.entries).into_iter(),
        std::mem::take(&mut main.paths).into_iter(),
        std::mem::take(&mut main.risks).into_iter(),
        std::mem::take(&mut main.sequences).into_iter(),
    );
    let mut begun = Dense::filled(false, uses.len());
    for Piece { of, from, to } in pieces {
        if *of == InclusionIndex::CONTRACT {
            let part = entries.by_ref().take(to.entries - from.entries);
            main.entries.extend(part);
            main.paths
                .extend(paths.by_ref().take(to.paths - from.paths));
            main.risks
                .extend(risks.by_ref().take(to.risks - from.risks));
            let part = sequences.by_ref().take(to.sequences - from.sequences);
            main.sequences.extend(part);
            continue;
        }
        let draft = &files[uses[*of].file].draft;
        let scope = &mut uses[*of].scope;
        if !std::mem::replace(&mut begun[*of], true) {
            scope.conditions = main.conditions.len();
            for condition in &draft.conditions {
                main.conditions.push(scope.condition(condition));
            }
            main.formats
                .extend(draft.formats.iter().map(|f| scope.format(f)));
        }
        let part = draft.entries.iter().take(to.entries).skip(from.entries);
        main.entries.extend(part.map(|e| scope.entry(e)));
        let part = draft.paths.iter().take(to.paths).skip(from.paths);
        main.paths.extend(part.map(|p| scope.paths(p)));
        let part = draft.risks.iter().take(to.risks).skip(from.risks);
        main.risks.extend(part.map(|r| scope.risk(r)));
        let part = draft
            .sequences
            .iter()
            .take(to.sequences)
            .skip(from.sequences);
        main.sequences.extend(part.map(|s| scope.sequence(s)));
    }
    let inclusion = |used: &Use| {
        let file = &files[used.file];
        (used.scope).inclusion(file.source, &file.draft, used.chain.clone())
    };
    main.inclusions = uses.iter().skip(1).map(inclusion).collect();
    for used in uses.iter().skip(1) {
        let services = files[used.file].draft.services.iter();
        main.services
            .extend(services.map(|service| used.scope.service(service)));
    }
    for file in files.iter().skip(1) {
        main.rows.append(&file.draft.rows);
        main.folders.extend(file.draft.folders.clone());
        main.asked.extend(file.draft.asked.clone());
    }
    main
}

/// Reports files that import each other, and cuts the import that closes each circle.
fn cut_cycles(files: &mut Dense<FileIndex, File>, sources: &Sources, sink: &mut Diagnostics) {
    let mut search = Search {
        files,
        sources,
        sink,
        done: Dense::filled(false, files.len()),
        chain: Vec::new(),
        closing: Vec::new(),
    };
    search.file(FileIndex::CONTRACT);
    for (file, closing) in search.closing {
        let imports = files[file].imports.iter_mut().enumerate();
        imports
            .filter(|(at, _)| *at == closing)
            .for_each(|(_, import)| *import = None);
    }
}

/// A search for files that import each other.
struct Search<'s> {
    files: &'s Dense<FileIndex, File>,
    sources: &'s Sources,
    sink: &'s mut Diagnostics,
    done: Dense<FileIndex, bool>,
    /// The files on the way, each with the import by which it was left.
    chain: Vec<(FileIndex, &'s Import)>,
    /// The files with an import that closes a circle, and its number.
    closing: Vec<(FileIndex, usize)>,
}

impl Search<'_> {
    /// Recursion is bounded by the number of files.
    fn file(&mut self, index: FileIndex) {
        let files = self.files;
        let file = &files[index];
        for (at, (import, target)) in file.draft.imports.iter().zip(&file.imports).enumerate() {
            let Some(target) = *target else { continue };
            self.chain.push((index, import));
            if let Some(first) = self.chain.iter().position(|(on, _)| *on == target) {
                let chain: Vec<_> = self.chain.iter().skip(first).copied().collect();
                self.sink.push(circle(files, &chain, self.sources));
                self.closing.push((index, at));
            } else if !self.done[target] {
                self.file(target);
            }
            self.chain.pop();
        }
        self.done[index] = true;
    }
}

/// The message about a circle of files, each with the import by which it was left.
fn circle(
    files: &Dense<FileIndex, File>,
    chain: &[(FileIndex, &Import)],
    sources: &Sources,
) -> Diagnostic {
    let name = |file: &FileIndex| visible(files[*file].name.as_bytes());
    let names: Vec<String> = chain
        .iter()
        .chain(chain.first())
        .map(|(file, _)| format!("`{}`", name(file)))
        .collect();
    let message = match chain {
        [(file, _)] => format!("`{}` imports itself", name(file)),
        _ => format!("files that import each other: {}", names.join(" -> ")),
    };
    let mut error = Diagnostic::error(IMPORT_CYCLE, message);
    let edges: Vec<_> = chain.iter().zip(names.iter().skip(1)).collect();
    for ((file, import), target) in edges.iter().rev() {
        let line = sources.position(import.place).line;
        error = error.label(
            import.source.place,
            format!("`{}` imports {target} in line {line}", name(file)),
        );
    }
    error.help("take one of these imports away; what both files need can stand in a third")
}

/// Messages about a file that is used several times, each once: places in it come by at each use.
pub(super) fn each_once(all: &mut Diagnostics, draft: &Draft) {
    let imported: BTreeSet<SourceId> = draft.inclusions.iter().map(|i| i.source).collect();
    let mut told = BTreeSet::new();
    all.retain(|diagnostic| {
        let place = diagnostic
            .labels
            .first()
            .map(|l| l.place)
            .filter(|p| imported.contains(&p.source));
        place.is_none_or(|place| told.insert((diagnostic.code, place)))
    });
}
