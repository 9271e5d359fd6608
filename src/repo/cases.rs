//! Finds and reads the test files of a contract.

use crate::load::{self, Site};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::path::RepoPath;
use vplan_base::source::{Source, Sources};
use vplan_base::word::visible_path;
use vplan_contract::Contract;
use vplan_contract::draft::{self, At};
use vplan_contract::expect::Expect;
use vplan_contract::expect::validate::validate_tests;
use vplan_front::vplan_test::{SUFFIX, lower_tests};
use vplan_os::files::beneath::{Beneath, ReadError};

/// A file of tests names a contract that is not there.
pub(crate) const NO_SUCH_CONTRACT: Code = Code("vplan::test::no_such_contract");
/// A file of tests cannot be read.
pub const UNREADABLE: Code = Code("vplan::test::unreadable");
/// All codes of this file.
pub const CODES: &[Code] = &[NO_SUCH_CONTRACT, UNREADABLE];

/// Tests of one contract.
#[derive(Debug, Default)]
pub struct Cases {
    /// The tests, by file in byte order, then in the order of the file.
    pub expects: Vec<Expect>,
    /// The tests of a contract that asks for folders, unchecked.
    pub drafts: Vec<draft::Expect>,
    /// The errors and warnings of the files.
    pub diagnostics: Diagnostics,
}

/// The reason why files that the caller names are not tests of this contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// It is not inside the repository, or not there.
    #[error("`{0}` is no file of the repository")]
    Outside(String),
    /// The file has tests of another contract.
    #[error("`{file}` tests `{contract}`")]
    Other {
        file: RepoPath,
        /// The contract that it names.
        contract: RepoPath,
    },
}

/// The contract to find tests for, and its repository.
#[derive(Debug)]
pub struct Shelf<'s> {
    pub site: &'s Site,
    pub contract: &'s Contract,
    /// Its own tests, unchecked, if it asks for folders.
    pub drafts: &'s [draft::Expect],
    pub path: &'s RepoPath,
    /// Size limit of a file, in bytes.
    pub max_file: u64,
}

impl Shelf<'_> {
    /// Reads the tests in the files `*.test.vplan` in the contract's directory, without those of
    /// other contracts.
    pub fn read_next_to(&self, sources: &mut Sources) -> Cases {
        let dir = self.path.join(b"..").unwrap_or_else(|_| RepoPath::root());
        // A directory that cannot be listed held the contract a moment ago.
        let entries = std::fs::read_dir(self.site.root.join(dir.to_os()))
            .into_iter()
            .flatten()
            .flatten();
        let names = entries
            .map(|e| e.file_name())
            .filter(|n| n.as_bytes().ends_with(SUFFIX.as_bytes()));
        let mut paths: Vec<RepoPath> = names.filter_map(|n| dir.join(n.as_bytes()).ok()).collect();
        paths.sort();
        let mut cases = Cases::default();
        for path in &paths {
            // A file that names another contract is ignored, with its mistakes.
            let _ = self.read(path, sources, &mut cases);
        }
        cases
    }

    /// Reads the tests in these files, and only in these; the contract's own when it is among them.
    ///
    /// # Errors
    /// A file outside the repository, or one that tests another contract.
    pub fn read_files(&self, files: &[PathBuf], sources: &mut Sources) -> Result<Cases, CaseError> {
        let mut paths = files
            .iter()
            .map(|f| self.locate(f))
            .collect::<Result<Vec<RepoPath>, _>>()?;
        paths.sort();
        paths.dedup();
        let mut cases = Cases::default();
        for path in &paths {
            if path == self.path {
                cases.expects.extend(self.contract.expects.iter().cloned());
                cases.drafts.extend(self.drafts.iter().cloned());
                continue;
            }
            self.read(path, sources, &mut cases)
                .map_err(|contract| CaseError::Other {
                    file: path.clone(),
                    contract,
                })?;
        }
        Ok(cases)
    }

    fn locate(&self, file: &Path) -> Result<RepoPath, CaseError> {
        let outside = || CaseError::Outside(visible_path(file));
        let parent = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = parent.canonicalize().map_err(|_| outside())?;
        let real = parent.join(file.file_name().ok_or_else(outside)?);
        let below = real.strip_prefix(&self.site.root).map_err(|_| outside())?;
        if !real.is_file() {
            return Err(outside());
        }
        RepoPath::from_exact(below.as_os_str().as_bytes()).ok_or_else(outside)
    }

    /// Reads one file. `Err` is the other contract that it tests; then none of its tests are taken.
    fn read(
        &self,
        path: &RepoPath,
        sources: &mut Sources,
        cases: &mut Cases,
    ) -> Result<(), RepoPath> {
        let read = Beneath::open(&self.site.root)
            .map_err(|e| ReadError::System(e.to_string()))
            .and_then(|beneath| Ok((beneath.read(path, self.max_file)?, beneath)));
        let (bytes, beneath) = match read {
            Ok(read) => read,
            Err(error) => {
                let id = sources.add(Source::new(path.to_string(), ""));
                let place = vplan_base::span::Place::new(id, vplan_base::span::Span::new(0, 0));
                let message = format!("`{path}` cannot be read: {error}");
                cases
                    .diagnostics
                    .push(Diagnostic::error(UNREADABLE, message).label(place, "it may hold tests"));
                return Ok(());
            }
        };
        let mut sink = Diagnostics::default();
        if let Some(id) = load::decode(path, &bytes, sources, &mut sink) {
            let tests = lower_tests(sources, id, usize::MAX, &mut sink);
            if let Some(contract) = &tests.contract {
                match target(path, contract) {
                    Ok(found) if found == *self.path => {}
                    Ok(found) if beneath.inspect(&found).target.is_ok() => return Err(found),
                    Ok(found) => sink.push(nowhere(contract, &format!("`{found}`"))),
                    Err(()) => sink.push(nowhere(contract, "this path")),
                }
            }
            if self.contract.folders.is_empty() {
                let expects = validate_tests(&tests.expects, self.contract, sources, &mut sink);
                cases.expects.extend(expects);
            } else {
                cases.drafts.extend(tests.expects);
            }
        }
        cases.diagnostics.append(sink);
        Ok(())
    }
}

/// Resolves the contract that a file names, relative to the file's directory.
fn target(file: &RepoPath, contract: &At<String>) -> Result<RepoPath, ()> {
    let dir = file.join(b"..").map_err(|_| ())?;
    dir.join(contract.value.as_bytes()).map_err(|_| ())
}

fn nowhere(contract: &At<String>, what: &str) -> Diagnostic {
    Diagnostic::error(NO_SUCH_CONTRACT, format!("there is no contract at {what}"))
        .label(contract.place, "relative to this file's own directory")
        .help("name the contract that these tests are about, such as `tests \"verify.vplan\"`")
}
