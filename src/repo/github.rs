//! Detects a job of GitHub Actions, and the file for its summary.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A job of GitHub Actions, from its environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GithubJob {
    /// Whether this is one: `GITHUB_ACTIONS` is `true`.
    pub is_one: bool,
    /// The file that takes the step's summary (`GITHUB_STEP_SUMMARY`).
    pub summary: Option<PathBuf>,
    /// The directory that paths of annotations are relative to (`GITHUB_WORKSPACE`).
    pub workspace: Option<PathBuf>,
}

impl GithubJob {
    /// Reads the environment.
    pub fn from_environment() -> Self {
        let path = |name: &str| {
            std::env::var_os(name)
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        };
        Self {
            is_one: std::env::var_os("GITHUB_ACTIONS").is_some_and(|v| v == "true"),
            summary: path("GITHUB_STEP_SUMMARY"),
            workspace: path("GITHUB_WORKSPACE"),
        }
    }

    /// Returns the path from the workspace to a repository in it; empty when it is the workspace,
    /// or elsewhere.
    pub fn way_to(&self, root: &Path) -> PathBuf {
        let workspace = self
            .workspace
            .as_ref()
            .map(|w| w.canonicalize().unwrap_or_else(|_| w.clone()));
        workspace
            .and_then(|w| root.strip_prefix(w).ok().map(Path::to_owned))
            .unwrap_or_default()
    }
}

/// Adds a text to a summary, unless it would then be longer than `most` bytes.
///
/// # Errors
/// Errors of the system; `FileTooLarge` when there is no room.
pub fn append(path: &Path, text: &str, most: u64) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() && meta.len().saturating_add(text.len() as u64) > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("summary");
        append(&path, "12345", 10).unwrap();
        append(&path, "12345", 10).unwrap();
        assert_eq!(
            append(&path, "1", 10).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1234512345");
        assert!(append(dir.path(), "x", 10).is_err());
    }

    #[test]
    fn the_way_to_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let job = GithubJob {
            workspace: Some(dir.path().to_owned()),
            ..GithubJob::default()
        };
        assert_eq!(job.way_to(&root.join("a/b")), Path::new("a/b"));
        assert_eq!(job.way_to(&root), Path::new(""));
        assert_eq!(job.way_to(Path::new("/elsewhere")), Path::new(""));
    }
}
