//! Parses lists of changed files in git's three forms. Pure functions on bytes.
//!
//! The caller names the format, or [`recognise`] determines it. [`encode`] writes text that
//! [`parse`] reads; the tests and the fuzz target use that as their oracle.

use std::collections::BTreeSet;
use std::io::Write as _;
use vplan_base::change::{ChangedFile, Status};
use vplan_base::path::{PathError, RepoPath};
use vplan_base::word::visible;
use vplan_git::unquoted;

/// Maximum number of files in a change.
pub(crate) const MAX_CHANGED: usize = 1_000_000;

/// The forms of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// A path a record: `git diff --name-only`, `git ls-files`.
    Names,
    /// `git diff --name-status`.
    NameStatus,
    /// `git diff --raw`.
    Raw,
}

/// An error in a list, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{unit} {number}: {problem}")]
pub struct ListError {
    /// `line`, or `record` for lists separated by NUL.
    pub unit: &'static str,
    /// From 1.
    pub number: usize,
    pub problem: Problem,
}

/// The error in a record; texts of it are safe to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("the list is UTF-16; write it as UTF-8")]
    Utf16,
    #[error("more than {MAX_CHANGED} changed files")]
    TooMany,
    #[error("`{0}` is the root of the repository, not a file of it")]
    Root(String),
    #[error("an empty path")]
    Empty,
    #[error("`{0}` is absolute; paths count from the root of the repository")]
    Absolute(String),
    #[error("`{0}` leaves the repository")]
    Outside(String),
    #[error("`{0}` holds a NUL byte")]
    Nul(String),
    #[error("`{0}` is no record of git's raw form")]
    NotRaw(String),
    #[error("the record ends before {0}")]
    Ends(&'static str),
    #[error("`{0}` is one field too many")]
    ExtraField(String),
    #[error("`{0}` is no status; git's are A C D M R T U")]
    Status(String),
    #[error("`{0}` is not quoted as git quotes")]
    Quoting(String),
}

/// Reads a list. `nul`: records and fields end in NUL and are literal; otherwise records are lines
/// (LF or CR LF), fields are separated by tabs, and a name that begins with `"` is quoted as git
/// quotes (C's escapes). Empty lines are ignored. A rename is its old path deleted and its new path
/// added, a copy is its new path added.
///
/// # Errors
/// The first invalid record, with its number; a path that leaves the repository; more than
/// `MAX_CHANGED` files.
pub fn parse(bytes: &[u8], format: ListFormat, nul: bool) -> Result<Vec<ChangedFile>, ListError> {
    let mut records = Records {
        rest: bytes,
        nul,
        number: 0,
    };
    let mut files = Vec::new();
    while let Some(record) = records.next() {
        if record.is_empty() && !nul {
            continue;
        }
        let result = match format {
            ListFormat::Names => record_name(record, nul, &mut files),
            ListFormat::NameStatus => record_status(record, &mut records, &mut files),
            ListFormat::Raw => record_raw(record, &mut records, &mut files),
        };
        result.map_err(|problem| records.error(problem))?;
        if files.len() > MAX_CHANGED {
            return Err(records.error(Problem::TooMany));
        }
    }
    Ok(files)
}

/// Reads a list in an unnamed format: paths, or records of git's other two formats, separated by
/// line ends or by NUL, with or without a byte-order mark. `nul`: the caller names the separator.
/// `is_file`: whether a file of this path exists. That decides if a list of paths also reads as
/// records of statuses (`A`, `b` separated by NUL).
///
/// # Errors
/// As [`parse`]; a list in UTF-16.
pub fn recognise(
    bytes: &[u8],
    nul: bool,
    is_file: impl Fn(&RepoPath) -> bool,
) -> Result<Vec<ChangedFile>, ListError> {
    if matches!(bytes, [0xff, 0xfe, _, 0, ..] | [0xfe, 0xff, 0, ..]) {
        return Err(ListError {
            unit: "line",
            number: 1,
            problem: Problem::Utf16,
        });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Paths contain no NUL byte.
    let nul = nul || bytes.contains(&0);
    for format in [ListFormat::Raw, ListFormat::NameStatus] {
        let Ok(files) = parse(bytes, format, nul) else {
            continue;
        };
        let paths = parse(bytes, ListFormat::Names, nul).unwrap_or_default();
        let mut other: BTreeSet<RepoPath> = paths.into_iter().map(|file| file.path).collect();
        // The remaining records are statuses, not paths.
        files.iter().for_each(|file| {
            other.remove(&file.path);
        });
        if !other.iter().any(&is_file) {
            return Ok(files);
        }
    }
    parse(bytes, ListFormat::Names, nul)
}

/// Reads the path of one changed file.
///
/// # Errors
/// It is not the path of a file in the repository.
pub(crate) fn read_path(bytes: &[u8]) -> Result<RepoPath, Problem> {
    let shown = || visible(bytes);
    match RepoPath::parse(bytes) {
        Ok(path) if path.is_root() => Err(Problem::Root(shown())),
        Ok(path) => Ok(path),
        Err(PathError::Empty) => Err(Problem::Empty),
        Err(PathError::Absolute) => Err(Problem::Absolute(shown())),
        Err(PathError::Outside) => Err(Problem::Outside(shown())),
        Err(PathError::Nul) => Err(Problem::Nul(shown())),
    }
}

struct Records<'a> {
    rest: &'a [u8],
    nul: bool,
    number: usize,
}

impl<'a> Records<'a> {
    /// Returns the next line without its end, or the next field of a list separated by NUL.
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = if self.nul { 0 } else { b'\n' };
        let at = self
            .rest
            .iter()
            .position(|b| *b == end)
            .unwrap_or(self.rest.len());
        let (record, rest) = self.rest.split_at_checked(at)?;
        self.rest = rest.get(1..).unwrap_or_default();
        Some(if self.nul {
            record
        } else {
            record.strip_suffix(b"\r").unwrap_or(record)
        })
    }

    fn error(&self, problem: Problem) -> ListError {
        ListError {
            unit: if self.nul { "record" } else { "line" },
            number: self.number,
            problem,
        }
    }
}

fn record_name(record: &[u8], nul: bool, files: &mut Vec<ChangedFile>) -> Result<(), Problem> {
    let path = if nul {
        read_path(record)?
    } else {
        quoted_path(record)?
    };
    files.push(ChangedFile {
        path,
        status: Status::Modified,
    });
    Ok(())
}

fn record_status<'a>(
    record: &'a [u8],
    records: &mut Records<'a>,
    files: &mut Vec<ChangedFile>,
) -> Result<(), Problem> {
    let mut fields = Fields::split(record, records);
    let letter = fields.next("a status")?;
    paths_of(letter, fields, files)
}

fn record_raw<'a>(
    record: &'a [u8],
    records: &mut Records<'a>,
    files: &mut Vec<ChangedFile>,
) -> Result<(), Problem> {
    let mut fields = Fields::split(record, records);
    let head = fields.next("a record")?;
    let words: Vec<&[u8]> = head.split(|b| *b == b' ').collect();
    let no_record = || Problem::NotRaw(visible(head));
    let [old_mode, new_mode, old_id, new_id, letter] = words.as_slice() else {
        return Err(no_record());
    };
    let mode = |word: &[u8]| word.len() == 6 && word.iter().all(|b| matches!(b, b'0'..=b'7'));
    // Abbreviated ids may end in dots.
    let id = |word: &[u8]| {
        let digits = word.strip_suffix(b"...").unwrap_or(word);
        digits.len() >= 4
            && digits.len() <= 64
            && digits
                .iter()
                .all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    };
    let old_mode = old_mode.strip_prefix(b":").ok_or_else(no_record)?;
    if !mode(old_mode) || !mode(new_mode) || !id(old_id) || !id(new_id) {
        return Err(no_record());
    }
    paths_of(letter, fields, files)
}

/// The fields of a record: parts of a line, or records of their own that follow it.
struct Fields<'a, 'r> {
    parts: Vec<&'a [u8]>,
    at: usize,
    records: &'r mut Records<'a>,
}

impl<'a, 'r> Fields<'a, 'r> {
    fn split(record: &'a [u8], records: &'r mut Records<'a>) -> Self {
        let parts = if records.nul {
            vec![record]
        } else {
            record.split(|b| *b == b'\t').collect()
        };
        Self {
            parts,
            at: 0,
            records,
        }
    }

    fn next(&mut self, what: &'static str) -> Result<&'a [u8], Problem> {
        let part = self.parts.get(self.at).copied();
        self.at += 1;
        let missing = || Problem::Ends(what);
        match part {
            Some(part) => Ok(part),
            None if self.records.nul => self.records.next().ok_or_else(missing),
            None => Err(missing()),
        }
    }

    fn path(&mut self, what: &'static str) -> Result<RepoPath, Problem> {
        let field = self.next(what)?;
        if self.records.nul {
            read_path(field)
        } else {
            quoted_path(field)
        }
    }

    fn end(&self) -> Result<(), Problem> {
        match self.parts.get(self.at) {
            Some(extra) if !self.records.nul => Err(Problem::ExtraField(visible(extra))),
            _ => Ok(()),
        }
    }
}

fn paths_of(
    letter: &[u8],
    mut fields: Fields<'_, '_>,
    files: &mut Vec<ChangedFile>,
) -> Result<(), Problem> {
    let unknown = || Problem::Status(visible(letter));
    let (first, score) = letter.split_first().ok_or_else(unknown)?;
    if !score.iter().all(u8::is_ascii_digit)
        || score.len() > 3
        || (!score.is_empty() && !b"CMR".contains(first))
    {
        return Err(unknown());
    }
    let status = match first {
        b'A' => Status::Added,
        b'D' => Status::Deleted,
        b'M' | b'U' => Status::Modified,
        b'T' => Status::TypeChanged,
        b'R' | b'C' => {
            let old = fields.path("the old path")?;
            if *first == b'R' {
                files.push(ChangedFile {
                    path: old,
                    status: Status::Deleted,
                });
            }
            Status::Added
        }
        _ => return Err(unknown()),
    };
    let path = fields.path("the path")?;
    files.push(ChangedFile { path, status });
    fields.end()
}

fn quoted_path(field: &[u8]) -> Result<RepoPath, Problem> {
    match field.strip_prefix(b"\"") {
        None => read_path(field),
        Some(quoted) => match unquoted(quoted) {
            Some((path, [])) => read_path(&path),
            _ => Err(Problem::Quoting(visible(field))),
        },
    }
}

/// Writes a list as git writes it, with the status of every file (no renames). [`parse`] reads it
/// back to the same files.
pub fn encode(files: &[ChangedFile], format: ListFormat, nul: bool) -> Vec<u8> {
    let (field, record) = if nul { (b'\0', b'\0') } else { (b'\t', b'\n') };
    let mut out = Vec::new();
    for file in files {
        let letter = match file.status {
            Status::Added => 'A',
            Status::Modified => 'M',
            Status::Deleted => 'D',
            Status::TypeChanged => 'T',
        };
        // Writing to memory does not fail.
        let _ = match format {
            ListFormat::Names => Ok(()),
            ListFormat::NameStatus => write!(out, "{letter}{}", char::from(field)),
            ListFormat::Raw => {
                let (zero, id) = ("0".repeat(40), "1".repeat(40));
                write!(
                    out,
                    ":100644 100644 {id} {zero} {letter}{}",
                    char::from(field)
                )
            }
        };
        let path = file.path.as_bytes();
        if nul {
            out.extend(path);
        } else {
            quote(path, &mut out);
        }
        out.push(record);
    }
    out
}

/// Quotes as git does with `core.quotePath`: anything but printable ASCII makes it necessary.
fn quote(path: &[u8], out: &mut Vec<u8>) {
    let plain = |b: &u8| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\');
    if path.iter().all(plain) {
        return out.extend(path);
    }
    out.push(b'"');
    for byte in path {
        match byte {
            b if plain(b) => out.push(*b),
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            b => out.extend(format!("\\{b:03o}").into_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn format_list(bytes: &[u8], format: ListFormat, nul: bool) -> Result<Vec<String>, String> {
        let letter = |s: Status| match s {
            Status::Added => 'A',
            Status::Modified => 'M',
            Status::Deleted => 'D',
            Status::TypeChanged => 'T',
        };
        parse(bytes, format, nul)
            .map(|files| {
                files
                    .iter()
                    .map(|f| format!("{}:{}", letter(f.status), f.path))
                    .collect()
            })
            .map_err(|e| e.to_string())
    }

    #[test]
    fn lists() {
        use ListFormat::{NameStatus, Names, Raw};
        let id = "1".repeat(40);
        let raw = |tail: &str| format!(":100644 100644 {id} {id} {tail}");
        for (text, format, nul, want) in [
            ("", Names, false, vec![]),
            ("a.ts", Names, false, vec!["M:a.ts"]),
            ("a.ts\r\n\n./b//c\n", Names, false, vec!["M:a.ts", "M:b/c"]),
            (" a \n", Names, false, vec!["M: a "]),
            ("\"\\303\\244\\n\\\"\"\n", Names, false, vec!["M:ä\\n\""]),
            ("M\ta.ts\n", Names, false, vec!["M:M\\ta.ts"]),
            ("\"a\"\0", Names, true, vec!["M:\"a\""]),
            ("a\nb\0c\0", Names, true, vec!["M:a\\nb", "M:c"]),
            (
                "R100\told\tnew\nC75\tx\ty\nT\tt\nU\tu\nM090\tm\n",
                NameStatus,
                false,
                vec!["D:old", "A:new", "A:y", "T:t", "M:u", "M:m"],
            ),
            (
                "R100\0old\0new\0D\0d\0",
                NameStatus,
                true,
                vec!["D:old", "A:new", "D:d"],
            ),
            ("A\t\"x\\ty\"\n", NameStatus, false, vec!["A:x\\ty"]),
            (&raw("R086\ta\tb\n"), Raw, false, vec!["D:a", "A:b"]),
            (&raw("D\0a b\0"), Raw, true, vec!["D:a b"]),
            (
                ":000000 100644 0000000... 1234567... A\tn",
                Raw,
                false,
                vec!["A:n"],
            ),
        ] {
            assert_eq!(
                format_list(text.as_bytes(), format, nul),
                Ok(want.iter().map(|s| (*s).to_owned()).collect()),
                "{text:?}"
            );
        }
    }

    #[test]
    fn malformed_lists() {
        use ListFormat::{NameStatus, Names, Raw};
        for (text, format, nul, want) in [
            (
                "a\n../b\n",
                Names,
                false,
                "line 2: `../b` leaves the repository",
            ),
            (
                "/a\n",
                Names,
                false,
                "line 1: `/a` is absolute; paths count from the root of the repository",
            ),
            (
                ".\n",
                Names,
                false,
                "line 1: `.` is the root of the repository, not a file of it",
            ),
            (
                "\"a\n",
                Names,
                false,
                "line 1: `\"a` is not quoted as git quotes",
            ),
            (
                "\"a\\q\"\n",
                Names,
                false,
                "line 1: `\"a\\q\"` is not quoted as git quotes",
            ),
            (
                "\"a\"b\n",
                Names,
                false,
                "line 1: `\"a\"b` is not quoted as git quotes",
            ),
            (
                "\"\\400\"\n",
                Names,
                false,
                "line 1: `\"\\400\"` is not quoted as git quotes",
            ),
            ("a\0\0", Names, true, "record 2: an empty path"),
            (
                "a.ts\n",
                NameStatus,
                false,
                "line 1: `a.ts` is no status; git's are A C D M R T U",
            ),
            (
                "M a.ts\n",
                NameStatus,
                false,
                "line 1: `M a.ts` is no status; git's are A C D M R T U",
            ),
            (
                "M\n",
                NameStatus,
                false,
                "line 1: the record ends before the path",
            ),
            (
                "R100\ta\n",
                NameStatus,
                false,
                "line 1: the record ends before the path",
            ),
            (
                "M\ta\tb\n",
                NameStatus,
                false,
                "line 1: `b` is one field too many",
            ),
            (
                "M\0a\0D\0",
                NameStatus,
                true,
                "record 3: the record ends before the path",
            ),
            (
                "A5\ta\n",
                NameStatus,
                false,
                "line 1: `A5` is no status; git's are A C D M R T U",
            ),
            (
                "M\ta\n",
                Raw,
                false,
                "line 1: `M` is no record of git's raw form",
            ),
            (
                "::100644 100644\ta\n",
                Raw,
                false,
                "line 1: `::100644 100644` is no record of git's raw form",
            ),
        ] {
            assert_eq!(
                format_list(text.as_bytes(), format, nul),
                Err(want.to_owned()),
                "{text:?}"
            );
        }
    }

    fn any_path() -> impl Strategy<Value = RepoPath> {
        proptest::collection::vec(any::<u8>(), 1..24)
            .prop_filter_map("no path", |b| RepoPath::from_exact(&b))
    }

    fn any_file() -> impl Strategy<Value = ChangedFile> {
        let status = prop_oneof![
            Just(Status::Added),
            Just(Status::Modified),
            Just(Status::Deleted),
            Just(Status::TypeChanged)
        ];
        (any_path(), status).prop_map(|(path, status)| ChangedFile { path, status })
    }

    #[test]
    fn the_form_is_recognised() {
        let read = |bytes: &[u8], nul| {
            let is_file = |path: &RepoPath| matches!(path.as_bytes(), b"A" | b"b" | b"src/a");
            recognise(bytes, nul, is_file)
                .map_err(|e| e.to_string())
                .map(|files| {
                    let files = files.iter().map(|f| format!("{:?} {}", f.status, f.path));
                    files.collect::<Vec<_>>().join(", ")
                })
        };
        for (list, want) in [
            (&b"src/a\n"[..], "Modified src/a"),
            (b"\xef\xbb\xbfsrc/a\r\n", "Modified src/a"),
            (b"M\tsrc/a\nD\tb\n", "Modified src/a, Deleted b"),
            (b"\xef\xbb\xbfR100\told\tb\n", "Deleted old, Added b"),
            (b":100644 100644 0123456 0123456 T\tb\n", "TypeChanged b"),
            (b"src/a\0b\0", "Modified src/a, Modified b"),
            (b"M\0src/a\0D\0b\0", "Modified src/a, Deleted b"),
            (b":100644 100644 0123456 0123456 D\0b\0", "Deleted b"),
            // A file that has the name of a status.
            (b"A\0b\0", "Modified A, Modified b"),
            (b"A\nb\n", "Modified A, Modified b"),
            // One line has another form: then none is taken for a status.
            (b"M\tsrc/a\nb\n", "Modified M\\tsrc/a, Modified b"),
            (b" M src/a\n", "Modified  M src/a"),
            (b"\xef\xbb\xbf", ""),
            (b"\n\r\n", ""),
            (b"", ""),
        ] {
            assert_eq!(read(list, false), Ok(want.to_owned()), "{list:?}");
        }
        assert_eq!(read(b"a\nb", true), Ok("Modified a\\nb".to_owned()));
        for utf_16 in [&b"\xff\xfea\0\n\0"[..], b"\xfe\xff\0a\0\n"] {
            let want = "line 1: the list is UTF-16; write it as UTF-8";
            assert_eq!(read(utf_16, false), Err(want.to_owned()));
        }
    }

    proptest! {
        #![proptest_config(vplan_arbitrary::config(512))]

        #[test]
        fn every_form_is_recognised(files in proptest::collection::vec(any_file(), 1..12), nul: bool) {
            for format in [ListFormat::NameStatus, ListFormat::Raw] {
                prop_assert_eq!(recognise(&encode(&files, format, nul), false, |_| false), Ok(files.clone()));
            }
        }

        #[test]
        fn nul_list_roundtrip(files in proptest::collection::vec(any_file(), 0..12), nul: bool) {
            for format in [ListFormat::Names, ListFormat::NameStatus, ListFormat::Raw] {
                let mut want = files.clone();
                if format == ListFormat::Names {
                    want.iter_mut().for_each(|f| f.status = Status::Modified);
                }
                prop_assert_eq!(parse(&encode(&files, format, nul), format, nul), Ok(want));
            }
        }

        #[test]
        fn any_bytes_are_a_list_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), nul: bool) {
            for format in [ListFormat::Names, ListFormat::NameStatus, ListFormat::Raw] {
                if let Ok(files) = parse(&bytes, format, nul) {
                    // Any list that was parsed can be written and parsed again.
                    prop_assert_eq!(parse(&encode(&files, format, nul), format, nul).map(|f| f.len()), Ok(files.len()));
                }
            }
        }
    }
}
