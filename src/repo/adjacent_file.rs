//! Reads a file next to a contract, of the work tree or of a commit: its lock, its baseline.

use crate::load::Site;
use vplan_base::diagnostic::{Diagnostic, Diagnostics, Severity};
use vplan_base::path::RepoPath;
use vplan_base::source::{Source, Sources};
use vplan_base::span::SourceId;
use vplan_base::unit::show_size;
use vplan_git::error::GitError;
use vplan_git::object::Oid;
use vplan_os::files::beneath::{Beneath, ReadError};

/// A file next to a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdjacentFile {
    Lock,
    Baseline,
}

impl AdjacentFile {
    /// Returns its word, and the command that writes it.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Lock => ["lock", "vplan lock"],
            Self::Baseline => ["baseline", "vplan baseline record"],
        }
    }
}

/// A file with its text and diagnostics.
#[derive(Debug, Default)]
pub struct FileBeside<T> {
    /// Its text; `None` if the file does not exist.
    pub text: Option<String>,
    /// Its content, without invalid entries.
    pub content: T,
    /// The text with its name, for the messages.
    pub sources: Sources,
    /// The errors in it.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T: Default> FileBeside<T> {
    /// Whether there are errors in it.
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }

    /// Returns its content, if the file exists.
    pub fn present(self) -> Option<T> {
        self.text.map(|_| self.content)
    }

    /// Decodes the text of a file, if it exists.
    pub(super) fn decode(
        path: &RepoPath,
        text: Option<String>,
        decode: fn(&str, SourceId) -> (T, Diagnostics),
    ) -> Self {
        let Some(text) = text else {
            return Self::default();
        };
        let mut sources = Sources::default();
        let id = sources.add(Source::new(path.to_string(), &text));
        let (content, found) = decode(&text, id);
        Self {
            content,
            diagnostics: found.sorted(),
            sources,
            text: Some(text),
        }
    }
}

/// The reason why the file has no text. Errors in its content are not among these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BesideError {
    /// It exists and cannot be read.
    #[error("the {} `{path}` cannot be read: {message}", .what.words()[0])]
    Unreadable {
        /// The kind of file.
        what: AdjacentFile,
        path: RepoPath,
        message: String,
    },
    /// It cannot be replaced.
    #[error("the {} `{path}` cannot be written: {message}", .what.words()[0])]
    Unwritable {
        /// The kind of file.
        what: AdjacentFile,
        path: RepoPath,
        message: String,
    },
    /// Another `vplan lock` takes too long.
    #[error("another `vplan lock` has been writing `{0}` all the time")]
    Busy(RepoPath),
    /// Git cannot read the revision.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl BesideError {
    /// Returns its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { what, .. } => match what {
                AdjacentFile::Lock => "vplan::lock::unreadable",
                AdjacentFile::Baseline => "vplan::baseline::unreadable",
            },
            Self::Unwritable { what, .. } => match what {
                AdjacentFile::Lock => "vplan::lock::unwritable",
                AdjacentFile::Baseline => "vplan::baseline::unwritable",
            },
            Self::Busy(_) => "vplan::lock::busy",
            Self::Git(e) => e.code(),
        }
    }

    /// Returns the help for the message, if there is any.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Unreadable { what, .. } => {
                let [word, command] = what.words();
                Some(format!(
                    "a {word} is a regular file of the repository: take away what is there, then `{command}`"
                ))
            }
            Self::Unwritable { .. } => None,
            Self::Busy(_) => Some("try again".to_owned()),
            Self::Git(e) => e.help(),
        }
    }
}

/// Reads the text of a file; `None` if it does not exist.
///
/// # Errors
/// It exists, but is not a regular UTF-8 file of at most the given size.
pub(super) fn read(
    site: &Site,
    what: AdjacentFile,
    path: &RepoPath,
    revision: Option<&Oid>,
    max_bytes: u64,
) -> Result<Option<String>, BesideError> {
    let unreadable = |message: String| BesideError::Unreadable {
        what,
        path: path.clone(),
        message,
    };
    let large = || unreadable(format!("it is larger than {}", show_size(max_bytes)));
    let bytes = match revision {
        Some(commit) => {
            let git = site.git.as_ref().map_err(Clone::clone)?;
            match git.file_at(commit, path, max_bytes) {
                Err(GitError::TooLarge { .. }) => return Err(large()),
                found => found?,
            }
        }
        None => {
            let beneath = Beneath::open(&site.root).map_err(|e| unreadable(e.to_string()))?;
            // The file is replaced by a rename, which would replace the symlink by a file.
            if beneath.link(path).is_some() {
                return Err(unreadable("it is a symlink".to_owned()));
            }
            match beneath.read(path, max_bytes) {
                Ok(bytes) => Some(bytes),
                Err(ReadError::Missing) => None,
                Err(ReadError::TooLarge(_)) => return Err(large()),
                Err(e) => return Err(unreadable(e.to_string())),
            }
        }
    };
    let text = |bytes| {
        String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            unreadable(format!("it is not UTF-8 (at offset {at})"))
        })
    };
    bytes.map(text).transpose()
}
