//! Finds the reports in folders of runs, such as those that CI unpacks: no symlink is followed, and
//! depth and number are bounded.

use crate::records::{EVENTS, REPORT};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum folder depth of the search for runs.
pub const DEPTH: usize = 4;
/// Maximum number of files and folders that are examined.
pub const MOST: usize = 100_000;
/// The folder of a run's logs.
const LOGS: &str = "logs";

/// The reports in a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReportFiles {
    /// The reports, in byte order.
    pub files: Vec<PathBuf>,
    /// The folders of runs that have no report, in byte order.
    pub unfinished: Vec<PathBuf>,
    /// The folders that were not looked into: they are too deep, or symlinks.
    pub skipped: Vec<PathBuf>,
}

/// Finds all reports in a folder and below it.
///
/// # Errors
/// A folder that cannot be read; more than [`MOST`] files and folders.
pub fn find(folder: &Path) -> io::Result<ReportFiles> {
    let mut found = ReportFiles::default();
    let mut open = vec![(folder.to_owned(), 0)];
    let mut seen = 0_usize;
    while let Some((folder, depth)) = open.pop() {
        let (mut has_events, mut has_report) = (false, false);
        let mut below = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            seen += 1;
            if seen > MOST {
                let why = format!("holds more than {MOST} files and folders");
                return Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
            }
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            match name.to_str() {
                Some(REPORT) if !kind.is_dir() => {
                    has_report = true;
                    found.files.push(entry.path());
                }
                Some(EVENTS) => has_events = true,
                _ if kind.is_dir() => below.push(entry.path()),
                _ if kind.is_symlink() && entry.path().is_dir() => {
                    found.skipped.push(entry.path());
                }
                _ => {}
            }
        }
        if has_events && !has_report {
            found.unfinished.push(folder);
        }
        if has_events || has_report {
            below.retain(|path| path.file_name() != Some(OsStr::new(LOGS)));
        }
        if depth < DEPTH {
            open.extend(below.into_iter().map(|path| (path, depth + 1)));
        } else {
            found.skipped.extend(below);
        }
    }
    found.files.sort();
    found.unfinished.sort();
    found.skipped.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn depth_and_symlinks_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let write = |name: &str| {
            std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::fs::write(path(name), "").unwrap();
        };
        write("report.json");
        write("a/b/c/d/report.json");
        write("a/b/c/d/e/report.json");
        write("torn/events.jsonl");
        write("run/events.jsonl");
        write("run/report.json");
        write("run/logs/report.json");
        symlink(dir.path(), path("a/loop")).unwrap();
        symlink(path("run/report.json"), path("torn/report")).unwrap();
        let names = |paths: Vec<PathBuf>| {
            let below = |p: PathBuf| p.strip_prefix(dir.path()).unwrap().to_owned();
            paths.into_iter().map(below).collect::<Vec<_>>()
        };
        let found = find(dir.path()).unwrap();
        let all = ["a/b/c/d/report.json", "report.json", "run/report.json"];
        assert_eq!(names(found.files), all.map(PathBuf::from));
        assert_eq!(names(found.unfinished), [PathBuf::from("torn")]);
        assert_eq!(
            names(found.skipped),
            ["a/b/c/d/e", "a/loop"].map(PathBuf::from)
        );
        assert!(find(&path("none")).is_err());
    }
}
