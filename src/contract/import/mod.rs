//! Replaces imports by the files that they name.
//!
//! Pure: which files there are and what is in them has been read before. `source` says what an
//! import names, `scope` how its content reads where it is put; this file puts it there.

mod scope;
pub mod source;

use super::draft::{CheckEntry, Draft, Extent, Import, Imported, Paths, Risk, Sequence};
use super::error::TOO_MANY_CHECKS;
use super::selection::warn_of_glob;
use crate::base::canon::Digest;
use crate::base::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::base::path::{PathError, RepoPath};
use crate::base::source::Sources;
use crate::base::span::{Place, SourceId};
use crate::base::unit::show_size;
use crate::base::word::visible;
use scope::Scope;
use source::IMPORT_SOURCE;
use std::collections::BTreeSet;

/// The text after `at` is no directory of the repository.
pub const IMPORT_AT: Code = Code("vplan::contract::import_at");
/// Files that import each other.
pub const IMPORT_CYCLE: Code = Code("vplan::contract::import_cycle");
/// Imports inside imports, more than the cap.
pub const IMPORT_DEPTH: Code = Code("vplan::contract::import_depth");
/// More files than the cap.
pub const IMPORT_FILES: Code = Code("vplan::contract::import_files");
/// More uses of files than the cap, or more text than the cap.
pub const IMPORT_SIZE: Code = Code("vplan::contract::import_size");
/// A file that is imported says which branch changes are made for.
pub const BASE_IMPORTED: Code = Code("vplan::contract::base_imported");
/// All codes of this room.
pub const CODES: [Code; 7] = [
    IMPORT_SOURCE,
    IMPORT_AT,
    IMPORT_CYCLE,
    IMPORT_DEPTH,
    IMPORT_FILES,
    IMPORT_SIZE,
    BASE_IMPORTED,
];

/// The limits of imports. No contract and no operator raises these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
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

impl Default for Caps {
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

/// A file that was read, the contract itself among them.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Its draft.
    pub draft: Draft,
    /// How it is called.
    pub name: String,
    /// Its path, if it is a file of this repository.
    pub path: Option<RepoPath>,
    /// Which source it is.
    pub source: SourceId,
    /// How long it is.
    pub bytes: usize,
    /// For each of its imports the file, as an index; `None` for those that could not be read.
    pub imports: Vec<Option<usize>>,
}

/// Puts the content of all files into the first, the contract. Files are in the order of their
/// sources. `None` when the result would be too large, which is reported to the sink.
pub fn expand(
    mut files: Vec<File>,
    caps: &Caps,
    sources: &Sources,
    sink: &mut Diagnostics,
) -> Option<Draft> {
    cut_cycles(&mut files, sources, sink);
    for base in files.iter().skip(1).flat_map(|f| &f.draft.bases) {
        let error = Diagnostic::error(BASE_IMPORTED, "`base` stands in a file that is imported");
        let help = "which branch changes are made for is said by the contract itself, not by what it imports";
        sink.push(error.label(base.place, "said here").help(help));
    }
    let mut walk = Walk {
        files: &files,
        caps,
        sink,
        uses: vec![Use {
            file: 0,
            scope: Scope::default(),
            chain: Vec::new(),
        }],
        pieces: Vec::new(),
        placed: BTreeSet::new(),
        told: BTreeSet::new(),
        absent: Vec::new(),
        followed: 0,
        bytes: 0,
        checks: files.first().map_or(0, checks),
        first_too_many: None,
    };
    walk.follow(0, 0)?;
    if let Some(place) = walk.first_too_many {
        let message = format!(
            "the contract has {} checks, {} are the most",
            walk.checks, caps.checks
        );
        walk.sink.push(
            Diagnostic::error(TOO_MANY_CHECKS, message)
                .label(place, "the first one too many comes with this"),
        );
        return None;
    }
    let Walk {
        uses,
        pieces,
        absent,
        ..
    } = walk;
    let imported = files.iter().skip(1).map(|file| Imported {
        source: file.source,
        name: file.name.clone(),
        path: file.path.clone(),
        digest: file.draft.digest.clone().unwrap_or_else(|| Digest::of(b"")),
    });
    let imported = imported.collect();
    let main = files
        .first_mut()
        .map(|f| std::mem::take(&mut f.draft))
        .unwrap_or_default();
    Some(Draft {
        imported,
        absent,
        imports: Vec::new(),
        ..put_together(main, &files, uses, &pieces)
    })
}

/// One use of a file.
struct Use {
    file: usize,
    scope: Scope,
    chain: Vec<Place>,
}

/// A part of a file, between two of its imports, for one use of it.
struct Piece {
    of: usize,
    from: Extent,
    to: Extent,
}

/// Walks all files as they import each other, and notes which part of which comes when.
struct Walk<'w> {
    files: &'w [File],
    caps: &'w Caps,
    sink: &'w mut Diagnostics,
    uses: Vec<Use>,
    pieces: Vec<Piece>,
    /// The same file with the same `as` and `at` counts once.
    placed: BTreeSet<(usize, String, RepoPath)>,
    /// The imports that a message was about; in a file that is used twice they come by twice.
    told: BTreeSet<Place>,
    absent: Vec<String>,
    followed: usize,
    bytes: usize,
    checks: usize,
    first_too_many: Option<Place>,
}

impl Walk<'_> {
    /// Recursion is bounded by the cap on depth. `None` when there is too much.
    fn follow(&mut self, of: usize, depth: usize) -> Option<()> {
        let files = self.files;
        let file = files.get(self.uses.get(of)?.file)?;
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
                let message = format!(
                    "more than {} imports, each counted wherever it applies",
                    self.caps.uses
                );
                self.sink.push(
                    Diagnostic::error(IMPORT_SIZE, message)
                        .label(import.place, "the first one too many"),
                );
                return None;
            }
            let (namespace, dir) = self.scope(of, import)?;
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
            if !self.placed.insert((target, namespace.clone(), dir.clone())) {
                continue;
            }
            let brought = files.get(target)?;
            self.bytes = self.bytes.saturating_add(brought.bytes);
            if self.bytes > self.caps.bytes {
                let most = show_size(self.caps.bytes as u64);
                let message = format!(
                    "the imports bring more than {most} of text, that of a file counted at each use"
                );
                self.sink.push(
                    Diagnostic::error(IMPORT_SIZE, message)
                        .label(import.place, "too much with this one"),
                );
                return None;
            }
            self.checks += checks(brought);
            if self.checks > self.caps.checks {
                self.first_too_many.get_or_insert(import.place);
            }
            let mut chain = self.uses.get(of)?.chain.clone();
            chain.push(import.place);
            let next = self.uses.len();
            self.uses.push(Use {
                file: target,
                scope: Scope::new(namespace, dir, next),
                chain,
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
    fn scope(&mut self, of: usize, import: &Import) -> Option<(String, RepoPath)> {
        let around = &self.uses.get(of)?.scope;
        let alias = import
            .alias
            .as_ref()
            .map_or(String::new(), |a| format!("{}/", a.value));
        let namespace = format!("{}{alias}", around.namespace);
        let mut dir = around.dir.clone();
        let Some(below) = &import.below else {
            return Some((namespace, dir));
        };
        let first = self.told.insert(below.place);
        match RepoPath::parse(below.value.as_bytes()) {
            Ok(path) => {
                if !path.is_root() {
                    // What has neither `..` nor a slash in front can always be joined.
                    dir = dir.join(path.as_bytes()).unwrap_or(dir);
                }
                if first {
                    warn_of_glob(
                        "what stands behind `at`",
                        &below.value,
                        below.place,
                        self.sink,
                    );
                }
            }
            Err(fault) if first => self
                .sink
                .push(bad_directory(&below.value, fault).at(below.place)),
            Err(_) => {}
        }
        Some((namespace, dir))
    }
}

fn bad_directory(text: &str, fault: PathError) -> source::ImportFault {
    let text = visible(text.as_bytes());
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
#[must_use]
pub fn too_deep(depth: usize) -> source::ImportFault {
    source::ImportFault::new(
        IMPORT_DEPTH,
        format!("imports inside imports, more than {depth} deep"),
        "one level too many",
    )
    .help("import this file from one further out")
}

/// Reports a file beyond the cap.
#[must_use]
pub fn too_many_files(files: usize) -> source::ImportFault {
    source::ImportFault::new(
        IMPORT_FILES,
        format!("the contract imports more than {files} files"),
        "the first one too many",
    )
    .help("one file may be imported many times with `as` and `at`, and counts once")
}

fn checks(file: &File) -> usize {
    file.draft
        .entries
        .iter()
        .filter(|e| matches!(e, CheckEntry::Check(_)))
        .count()
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
fn put_together(mut main: Draft, files: &[File], uses: Vec<Use>, pieces: &[Piece]) -> Draft {
    let (mut entries, mut paths, mut risks, mut sequences) = (
        std::mem::take(&mut main.entries).into_iter(),
        std::mem::take(&mut main.paths).into_iter(),
        std::mem::take(&mut main.risks).into_iter(),
        std::mem::take(&mut main.sequences).into_iter(),
    );
    let mut uses = uses;
    let mut begun = vec![false; uses.len()];
    for piece in pieces {
        let (from, to) = (&piece.from, &piece.to);
        if piece.of == 0 {
            main.entries.extend(
                entries
                    .by_ref()
                    .take(to.entries.saturating_sub(from.entries)),
            );
            main.paths
                .extend(paths.by_ref().take(to.paths.saturating_sub(from.paths)));
            main.risks
                .extend(risks.by_ref().take(to.risks.saturating_sub(from.risks)));
            main.sequences.extend(
                sequences
                    .by_ref()
                    .take(to.sequences.saturating_sub(from.sequences)),
            );
            continue;
        }
        let (Some(used), Some(begun)) = (uses.get_mut(piece.of), begun.get_mut(piece.of)) else {
            continue;
        };
        let Some(file) = files.get(used.file) else {
            continue;
        };
        let (draft, scope) = (&file.draft, &mut used.scope);
        if !std::mem::replace(begun, true) {
            scope.conditions = main.conditions.len();
            main.conditions
                .extend(draft.conditions.iter().map(|c| scope.condition(c)));
        }
        let part = draft
            .entries
            .get(from.entries..to.entries)
            .unwrap_or_default();
        main.entries
            .extend(part.iter().map(|e: &CheckEntry| scope.entry(e)));
        let part = draft.paths.get(from.paths..to.paths).unwrap_or_default();
        main.paths
            .extend(part.iter().map(|p: &Paths| scope.paths(p)));
        let part = draft.risks.get(from.risks..to.risks).unwrap_or_default();
        main.risks.extend(part.iter().map(|r: &Risk| scope.risk(r)));
        let part = draft
            .sequences
            .get(from.sequences..to.sequences)
            .unwrap_or_default();
        main.sequences
            .extend(part.iter().map(|s: &Sequence| scope.sequence(s)));
    }
    let inclusion = |used: Use| {
        files
            .get(used.file)
            .map(|file| used.scope.inclusion(file.source, &file.draft, used.chain))
    };
    main.inclusions = uses.into_iter().skip(1).filter_map(inclusion).collect();
    main
}

/// Reports files that import each other, and cuts the import that closes each circle.
fn cut_cycles(files: &mut [File], sources: &Sources, sink: &mut Diagnostics) {
    let mut closing = Vec::new();
    let mut done = vec![false; files.len()];
    let mut stack: Vec<(usize, usize)> = vec![(0, 0)];
    while let Some((file, next)) = stack.last_mut() {
        let (file, at) = (*file, *next);
        *next += 1;
        let Some(target) = files.get(file).and_then(|f| f.imports.get(at)) else {
            if let Some(done) = done.get_mut(file) {
                *done = true;
            }
            stack.pop();
            continue;
        };
        let Some(target) = *target else { continue };
        if let Some(first) = stack.iter().position(|(on, _)| *on == target) {
            sink.push(circle(
                files,
                stack.get(first..).unwrap_or_default(),
                sources,
            ));
            closing.push((file, at));
        } else if !done.get(target).copied().unwrap_or(true) {
            stack.push((target, 0));
        }
    }
    for (file, at) in closing {
        if let Some(slot) = files.get_mut(file).and_then(|f| f.imports.get_mut(at)) {
            *slot = None;
        }
    }
}

/// The message about a circle. Each entry of the chain is a file and the number behind that of the
/// import it was left by.
fn circle(files: &[File], chain: &[(usize, usize)], sources: &Sources) -> Diagnostic {
    let name = |file: usize| {
        files
            .get(file)
            .map_or(String::new(), |f| visible(f.name.as_bytes()))
    };
    let names: Vec<String> = chain
        .iter()
        .chain(chain.first())
        .map(|(file, _)| format!("`{}`", name(*file)))
        .collect();
    let message = match chain {
        [(file, _)] => format!("`{}` imports itself", name(*file)),
        _ => format!("files that import each other: {}", names.join(" -> ")),
    };
    let mut error = Diagnostic::error(IMPORT_CYCLE, message);
    let next = chain.iter().skip(1).chain(chain.first());
    let edges: Vec<_> = chain.iter().zip(next).collect();
    for ((file, next), (target, _)) in edges.iter().rev() {
        let import = next
            .checked_sub(1)
            .and_then(|at| files.get(*file)?.draft.imports.get(at));
        let Some(import) = import else { continue };
        let line = sources.position(import.place).line;
        error = error.label(
            import.source.place,
            format!(
                "`{}` imports `{}` in line {line}",
                name(*file),
                name(*target)
            ),
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
