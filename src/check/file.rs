//! Decides whether a `file` check passes.
//!
//! Judges what the shell gathered; reads no file itself.

use super::request::{Assertion, FileType};
use regex::bytes::{Regex, RegexBuilder};
use vplan_base::unit::show_size;
use vplan_base::word::{quote_string, visible};

/// Limit of bytes of a file that an assertion about its content examines: 64 MiB. The rest of a
/// larger file is unknown, and an assertion that depends on it does not hold.
pub const CONTENT_CAP: u64 = 64 << 20;

/// The state of a path, gathered once for all assertions of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Whether the path itself is a symlink (`lstat`).
    pub symlink: bool,
    /// The type of the file that the path leads to (`stat`).
    pub target: AssertedTarget,
    /// Size of the target in bytes; 0 when there is none.
    pub size: u64,
    /// Whether any execute bit of the target is set.
    pub executable: bool,
    /// The first [`CONTENT_CAP`] bytes, when [`needs_content`] said so and a regular file could be
    /// read.
    pub content: Option<Vec<u8>>,
}

/// The type of file that a path leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AssertedTarget {
    /// Nothing: there is no such path, or it is a symlink to nothing (or to itself).
    #[default]
    Missing,
    /// A regular file.
    File,
    Dir,
    /// A device, a socket, a pipe.
    Other,
    /// Unknown, for this reason (no permission).
    Unknown(String),
}

/// Whether an assertion looks into the file.
pub fn needs_content(assertions: &[Assertion]) -> bool {
    assertions.iter().any(|a| {
        matches!(
            a,
            Assertion::Contains(_)
                | Assertion::Lacks(_)
                | Assertion::Matches(_)
                | Assertion::Type(FileType::Utf8)
        )
    })
}

/// Whether all assertions hold.
///
/// A missing file holds nothing: only `absent` is true of it, `lacks` is not. A symlink to nothing
/// neither `exists` nor is `absent`: the link is there, what it promises is not. Only `absent` and
/// `type symlink` look at a link itself.
///
/// # Errors
/// The first assertion that does not hold, or that cannot be decided, and why: one line for people.
pub fn judge(assertions: &[Assertion], facts: &FileFacts) -> Result<(), String> {
    for assertion in assertions {
        holds(assertion, facts)
            .map_err(|why| format!("`{}` does not hold: {why}", show(assertion)))?;
    }
    Ok(())
}

/// An assertion as the language writes it.
pub fn show(assertion: &Assertion) -> String {
    match assertion {
        Assertion::Exists => "exists".to_owned(),
        Assertion::Absent => "absent".to_owned(),
        Assertion::NotEmpty => "not-empty".to_owned(),
        Assertion::Contains(text) => format!("contains {}", quote_string(text)),
        Assertion::Lacks(text) => format!("lacks {}", quote_string(text)),
        Assertion::Matches(pattern) => format!("matches {}", quote_string(pattern)),
        Assertion::Size { min, max } => {
            let end = |bytes: &Option<u64>| bytes.map(show_size).unwrap_or_default();
            format!("size {}..{}", end(min), end(max))
        }
        Assertion::Type(kind) => format!("type {}", kind.name()),
    }
}

/// Compiles the pattern of `matches`, with bounds on its size. It matches bytes; `^` and `$` are
/// the ends of the file unless `(?m)` says otherwise.
///
/// # Errors
/// Returns what is wrong with it, in one line.
pub fn regex(pattern: &str) -> Result<Regex, String> {
    const SIZE_LIMIT: usize = 1 << 20;
    RegexBuilder::new(pattern)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(8 * SIZE_LIMIT)
        .nest_limit(100)
        .build()
        .map_err(|e| match e {
            regex::Error::CompiledTooBig(_) => "it becomes too large".to_owned(),
            // The crate draws the pattern with a mark below it; the last line says what is wrong.
            other => {
                let text = other.to_string();
                let last = text.lines().last().unwrap_or_default().trim();
                visible(last.strip_prefix("error: ").unwrap_or(last))
            }
        })
}

fn holds(assertion: &Assertion, facts: &FileFacts) -> Result<(), String> {
    if let AssertedTarget::Unknown(why) = &facts.target {
        return Err(visible(why));
    }
    match assertion {
        Assertion::Absent if facts.target != AssertedTarget::Missing => {
            Err(format!("{} is there", noun(facts)))
        }
        Assertion::Absent if facts.symlink => {
            Err("a symlink is there, though it leads to nothing".to_owned())
        }
        Assertion::Absent => Ok(()),
        Assertion::Type(FileType::Symlink) if facts.symlink => Ok(()),
        _ if facts.target == AssertedTarget::Missing && facts.symlink => {
            Err("it is a symlink to nothing".to_owned())
        }
        _ if facts.target == AssertedTarget::Missing => Err("nothing is there".to_owned()),
        Assertion::Exists => Ok(()),
        Assertion::Type(kind) => is_type(*kind, facts),
        _ if facts.target != AssertedTarget::File => Err(format!("it is {}", noun(facts))),
        Assertion::NotEmpty if facts.size == 0 => Err("the file is empty".to_owned()),
        Assertion::NotEmpty => Ok(()),
        Assertion::Size { min, max } => {
            let size = facts.size;
            let inside =
                min.is_none_or(|least| size >= least) && max.is_none_or(|most| size <= most);
            if inside {
                Ok(())
            } else {
                Err(format!("the file has {size} bytes"))
            }
        }
        Assertion::Contains(text) => {
            match (find(content(facts)?, text.as_bytes()), is_cut(facts)) {
                (true, _) => Ok(()),
                (false, false) => Err("the text is not in the file".to_owned()),
                (false, true) => Err(undecided()),
            }
        }
        Assertion::Lacks(text) => match (find(content(facts)?, text.as_bytes()), is_cut(facts)) {
            (true, _) => Err("the text is in the file".to_owned()),
            (false, false) => Ok(()),
            (false, true) => Err(undecided()),
        },
        Assertion::Matches(pattern) => {
            let bytes = content(facts)?;
            let regex = regex(pattern)?;
            match (regex.is_match(bytes), is_cut(facts)) {
                // `$` would match at the cut.
                (_, true) => Err(undecided()),
                (true, false) => Ok(()),
                (false, false) => Err("nothing in the file matches".to_owned()),
            }
        }
    }
}

fn is_type(kind: FileType, facts: &FileFacts) -> Result<(), String> {
    let is_file = facts.target == AssertedTarget::File;
    match kind {
        FileType::Dir if facts.target == AssertedTarget::Dir => Ok(()),
        FileType::File | FileType::Executable | FileType::Utf8 if !is_file => {
            Err(format!("it is {}", noun(facts)))
        }
        FileType::File => Ok(()),
        FileType::Executable if facts.executable => Ok(()),
        FileType::Executable => Err("nobody may execute the file".to_owned()),
        FileType::Utf8 => match (std::str::from_utf8(content(facts)?), is_cut(facts)) {
            (Ok(_), false) => Ok(()),
            // A character may lie across the cut.
            (Err(e), _) if e.error_len().is_some() || !is_cut(facts) => {
                Err(format!("byte {} is not UTF-8", e.valid_up_to()))
            }
            _ => Err(undecided()),
        },
        FileType::Dir | FileType::Symlink => Err(format!("it is {}", noun(facts))),
    }
}

fn content(facts: &FileFacts) -> Result<&[u8], String> {
    facts
        .content
        .as_deref()
        .ok_or_else(|| "the file cannot be read".to_owned())
}

fn is_cut(facts: &FileFacts) -> bool {
    facts
        .content
        .as_ref()
        .is_some_and(|c| (c.len() as u64) < facts.size)
}

fn undecided() -> String {
    format!(
        "the file is too large to tell, {} is the most",
        show_size(CONTENT_CAP)
    )
}

fn find(haystack: &[u8], needle: &[u8]) -> bool {
    // The regex engine searches for a literal in linear time, which `windows` does not.
    needle.is_empty()
        || std::str::from_utf8(needle).is_ok_and(|text| {
            RegexBuilder::new(&regex::escape(text))
                .size_limit(usize::MAX)
                .build()
                .is_ok_and(|r| r.is_match(haystack))
        })
}

fn noun(facts: &FileFacts) -> &'static str {
    match facts.target {
        AssertedTarget::Missing | AssertedTarget::Unknown(_) => "nothing",
        AssertedTarget::File => "a file",
        AssertedTarget::Dir => "a directory",
        AssertedTarget::Other => "neither a file nor a directory",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> FileFacts {
        FileFacts {
            target: AssertedTarget::File,
            size: content.len() as u64,
            content: Some(content.to_vec()),
            ..FileFacts::default()
        }
    }

    fn dir() -> FileFacts {
        FileFacts {
            target: AssertedTarget::Dir,
            size: 4096,
            executable: true,
            ..FileFacts::default()
        }
    }

    fn contains(text: &str) -> Assertion {
        Assertion::Contains(text.to_owned())
    }

    fn lacks(text: &str) -> Assertion {
        Assertion::Lacks(text.to_owned())
    }

    fn matches(text: &str) -> Assertion {
        Assertion::Matches(text.to_owned())
    }

    fn size(min: Option<u64>, max: Option<u64>) -> Assertion {
        Assertion::Size { max, min }
    }

    /// Every assertion against every kind of thing.
    #[test]
    fn table() {
        use Assertion::{Absent, Exists, NotEmpty, Type};
        let broken = FileFacts {
            symlink: true,
            ..FileFacts::default()
        };
        let link = FileFacts {
            symlink: true,
            ..file(b"x")
        };
        let script = FileFacts {
            executable: true,
            ..file(b"#!/bin/sh\n")
        };
        let socket = FileFacts {
            target: AssertedTarget::Other,
            ..FileFacts::default()
        };
        let closed = FileFacts {
            target: AssertedTarget::Unknown("permission denied".to_owned()),
            ..FileFacts::default()
        };
        let unreadable = FileFacts {
            content: None,
            ..file(b"x")
        };
        let latin = file(b"gr\xf6\xdfe");
        let missing = FileFacts::default();
        let cases: &[(&FileFacts, &[(Assertion, bool)])] = &[
            (
                &missing,
                &[
                    (Exists, false),
                    (Absent, true),
                    (NotEmpty, false),
                    (contains("a"), false),
                    (lacks("a"), false),
                    (matches(""), false),
                    (size(None, Some(9)), false),
                    (Type(FileType::File), false),
                    (Type(FileType::Symlink), false),
                ],
            ),
            (
                &broken,
                &[
                    (Exists, false),
                    (Absent, false),
                    (Type(FileType::Symlink), true),
                    (Type(FileType::File), false),
                    (lacks("a"), false),
                ],
            ),
            (
                &link,
                &[
                    (Exists, true),
                    (Absent, false),
                    (Type(FileType::Symlink), true),
                    (Type(FileType::File), true),
                    (contains("x"), true),
                ],
            ),
            (
                &dir(),
                &[
                    (Exists, true),
                    (Absent, false),
                    (NotEmpty, false),
                    (lacks("a"), false),
                    (size(Some(1), None), false),
                    (Type(FileType::Dir), true),
                    (Type(FileType::File), false),
                    (Type(FileType::Executable), false),
                    (Type(FileType::Utf8), false),
                ],
            ),
            (
                &file(b""),
                &[
                    (Exists, true),
                    (NotEmpty, false),
                    (contains(""), true),
                    (lacks("a"), true),
                    (Type(FileType::Utf8), true),
                    (Type(FileType::Dir), false),
                ],
            ),
            (
                &script,
                &[
                    (Type(FileType::Executable), true),
                    (Type(FileType::File), true),
                    (Type(FileType::Symlink), false),
                ],
            ),
            (&file(b"x"), &[(Type(FileType::Executable), false)]),
            (
                &latin,
                &[
                    (Type(FileType::Utf8), false),
                    (lacks("ö"), true),
                    (matches(r"gr(?-u:\xf6)"), true),
                ],
            ),
            (
                &socket,
                &[
                    (Exists, true),
                    (Absent, false),
                    (Type(FileType::File), false),
                    (NotEmpty, false),
                ],
            ),
            (
                &closed,
                &[(Exists, false), (Absent, false), (lacks("a"), false)],
            ),
            (
                &unreadable,
                &[
                    (Exists, true),
                    (NotEmpty, true),
                    (contains("x"), false),
                    (lacks("y"), false),
                    (matches("x"), false),
                ],
            ),
            (
                &file(b"a\nb"),
                &[
                    (matches("^b"), false),
                    (matches("(?m)^b"), true),
                    (matches("a.b"), false),
                    (contains("a\nb"), true),
                    (contains("."), false),
                    (size(Some(3), Some(3)), true),
                    (size(Some(4), None), false),
                    (size(None, Some(2)), false),
                ],
            ),
        ];
        for (facts, assertions) in cases {
            for (assertion, want) in *assertions {
                assert_eq!(
                    judge(std::slice::from_ref(assertion), facts).is_ok(),
                    *want,
                    "{assertion:?} {facts:?}"
                );
            }
        }
    }

    #[test]
    fn beyond_the_cap_nothing_is_claimed() {
        let large = FileFacts {
            size: CONTENT_CAP + 1,
            ..file(b"begin")
        };
        for (assertion, want) in [
            (contains("begin"), true),
            (contains("end"), false),
            (lacks("end"), false),
            (lacks("begin"), false),
            (matches("begin$"), false),
            (Assertion::Type(FileType::Utf8), false),
            (size(Some(CONTENT_CAP), None), true),
        ] {
            assert_eq!(judge(&[assertion], &large).is_ok(), want);
        }
    }

    #[test]
    fn the_first_that_fails_is_named() {
        let all = [
            Assertion::Exists,
            size(Some(1), Some(2 << 20)),
            contains("use \"strict\"\u{1b}"),
        ];
        assert_eq!(
            judge(&all, &file(b"")).unwrap_err(),
            "`size 1B..2MiB` does not hold: the file has 0 bytes"
        );
        let want =
            "`contains \"use \\\"strict\\\"\\u{1b}\"` does not hold: the text is not in the file";
        assert_eq!(judge(&all, &file(b"x")).unwrap_err(), want);
        assert_eq!(judge(&[], &FileFacts::default()), Ok(()));
    }

    #[test]
    fn patterns() {
        assert!(
            regex("a(b").is_err_and(|e| e == "unclosed group"),
            "{:?}",
            regex("a(b").err()
        );
        assert!(regex(r"\w{1000}{1000}").is_err_and(|e| e == "it becomes too large"));
        assert!(!needs_content(&[
            Assertion::Exists,
            Assertion::NotEmpty,
            size(Some(1), None)
        ]));
        assert!(needs_content(&[Assertion::Exists, lacks("a")]));
    }
}
