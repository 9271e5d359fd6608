//! Globs that select paths. No other module uses `globset`.

pub mod automaton;
pub(crate) mod escape;
mod example;
pub mod overlap;
mod parse;
mod pattern;
mod set;

use super::path::RepoPath;
pub use escape::escape;
pub use parse::GlobError;
pub(crate) use pattern::{Part, Pattern, Segment};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
pub(crate) use set::PatternSet;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

/// A glob of the one dialect, checked and parsed. It is compared and serialised as its text.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Glob {
    text: Arc<str>,
    /// The patterns after brace expansion; a path that matches one of them is selected.
    alternatives: Arc<[Pattern]>,
}

impl Glob {
    /// Parses a glob.
    ///
    /// # Errors
    /// The text is not a glob of the dialect.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        Ok(Self {
            alternatives: parse::parse(text)?.into(),
            text: text.into(),
        })
    }

    /// Makes the glob that selects exactly this path. `None` for paths that no glob can name: those
    /// that are not UTF-8, or longer than a glob may be.
    pub fn literal(path: &RepoPath) -> Option<Self> {
        Self::parse(&escape(std::str::from_utf8(path.as_bytes()).ok()?)).ok()
    }

    /// Returns the glob as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it selects this path.
    pub fn matches(&self, path: &RepoPath) -> bool {
        self.alternatives
            .iter()
            .any(|pattern| pattern.matches(path.as_bytes()))
    }

    /// Returns the directories that contain everything it selects, ascending; with `true`, a path
    /// that it selects by itself, without any choice.
    pub fn anchors(&self) -> Vec<(RepoPath, bool)> {
        let anchor = |p: &Pattern| {
            let path = if p.prefix.is_empty() {
                Some(RepoPath::root())
            } else {
                RepoPath::from_exact(&p.prefix)
            };
            path.map(|path| (path, p.rest.is_empty()))
        };
        let mut anchors: Vec<_> = self.alternatives.iter().filter_map(anchor).collect();
        anchors.sort();
        anchors.dedup();
        anchors
    }

    /// Whether it may select something below a directory, judging by the directory's own name.
    pub fn reaches_below(&self, dir: &RepoPath) -> bool {
        dir.is_root()
            || self
                .alternatives
                .iter()
                .any(|pattern| pattern.may_match_below(dir.as_bytes()))
    }

    /// Whether it selects everything below a directory.
    fn holds_all(&self, dir: &RepoPath) -> bool {
        let mut alternatives = self.alternatives.iter();
        alternatives.any(|pattern| pattern.matches_all_below(dir.as_bytes()))
    }

    /// Returns the patterns of its alternatives.
    pub(crate) fn alternatives(&self) -> &[Pattern] {
        &self.alternatives
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Glob {}

impl PartialOrd for Glob {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Glob {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl std::fmt::Debug for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Glob({})", self.text)
    }
}

impl JsonSchema for Glob {
    fn schema_name() -> Cow<'static, str> {
        "Glob".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": "A glob of the contract language.", "minLength": 1, "type": "string"})
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> Self {
        glob.text.as_ref().to_owned()
    }
}

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Glob::parse(&text).map_err(|e| e.message)
    }
}

/// A list of globs and named selections: a file is selected when some positive item selects it and
/// no excluding one does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Selection {
    /// The items in the order of the text. At least one of them is positive.
    pub items: Vec<Item>,
}

/// One item of a selection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Whether it excludes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not: bool,
    /// The items that it selects.
    #[serde(flatten)]
    pub what: ItemContent,
}

/// The kind of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ItemContent {
    /// A glob.
    Glob(Glob),
    /// The selection behind a name; its own exclusions apply inside it only.
    Paths {
        /// The items that it selects. Shared between all its uses.
        items: Arc<Selection>,
        /// The name in the contract.
        name: String,
    },
}

impl Item {
    /// Whether the item's glob or named selection selects the path, regardless of its own `!`.
    pub fn selects(&self, path: &RepoPath) -> bool {
        match &self.what {
            ItemContent::Glob(glob) => glob.matches(path),
            ItemContent::Paths { items, .. } => items.selects(path),
        }
    }

    fn may_hold(&self, dir: &RepoPath) -> bool {
        match &self.what {
            ItemContent::Glob(glob) => glob.reaches_below(dir),
            ItemContent::Paths { items, .. } => items.may_hold(dir),
        }
    }
}

impl From<Glob> for Item {
    fn from(glob: Glob) -> Self {
        Self {
            not: false,
            what: ItemContent::Glob(glob),
        }
    }
}

impl FromIterator<Glob> for Selection {
    fn from_iter<I: IntoIterator<Item = Glob>>(globs: I) -> Self {
        Self {
            items: globs.into_iter().map(Item::from).collect(),
        }
    }
}

impl Selection {
    /// Returns the items that do not exclude.
    pub fn positive(&self) -> impl Iterator<Item = &Item> + Clone {
        self.items.iter().filter(|item| !item.not)
    }

    /// Returns the items that exclude.
    pub fn excluding(&self) -> impl Iterator<Item = &Item> + Clone {
        self.items.iter().filter(|item| item.not)
    }

    /// Returns the globs of the positive items, including those that a name refers to.
    pub fn positive_globs(&self) -> Vec<&Glob> {
        let globs = self.positive().flat_map(|item| match &item.what {
            ItemContent::Glob(glob) => vec![glob],
            ItemContent::Paths { items, .. } => items.positive_globs(),
        });
        globs.collect()
    }

    /// Whether it may select something below a directory; errs towards yes.
    pub fn may_hold(&self, dir: &RepoPath) -> bool {
        let shuts =
            |item: &Item| matches!(&item.what, ItemContent::Glob(glob) if glob.holds_all(dir));
        self.positive().any(|item| item.may_hold(dir)) && !self.excluding().any(shuts)
    }

    /// Whether every path below a directory, which is not the root, is selected; errs towards no.
    pub fn holds_all(&self, dir: &RepoPath) -> bool {
        let holds = |item: &Item| match &item.what {
            ItemContent::Glob(glob) => glob.holds_all(dir),
            ItemContent::Paths { items, .. } => items.holds_all(dir),
        };
        self.positive().any(holds) && !self.excluding().any(|item| item.may_hold(dir))
    }

    /// Whether the path is selected.
    pub fn selects(&self, path: &RepoPath) -> bool {
        let selects = |item: &Item| item.selects(path);
        self.positive().any(selects) && !self.excluding().any(selects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bytes: &[u8]) -> RepoPath {
        RepoPath::from_exact(bytes).unwrap()
    }

    #[test]
    fn what_globs_select() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("a/b", &["a/b"], &["a", "a/b/c", "x/a/b", "A/b"]),
            ("*", &["a", ".a", "é"], &["a/b"]),
            ("a*", &["a", "ab", "a.b"], &["ba", "ab/c"]),
            (
                "a*b*c",
                &["abc", "abbc", "axbxc", "abcbc"],
                &["ab", "acb", "abcd"],
            ),
            ("?", &["a", "é", "日", "~"], &["ab", "a/b"]),
            ("*?", &["é", "ab"], &[]),
            ("?*?", &["éa", "ab"], &["é"]),
            ("*[!é]", &["éa"], &["aé", "é"]),
            ("**", &["a", "a/b/c", ".git"], &[]),
            ("**/a", &["a", "b/a", "b/c/a"], &["ba", "a/b"]),
            ("a/**", &["a", "a/b", "a/b/c"], &["ab", "b/a"]),
            ("a/", &["a", "a/b"], &["ab"]),
            ("*/**", &["a", "a/b"], &[]),
            ("a/**/*", &["a/b", "a/b/c"], &["a"]),
            (
                "a/**/b",
                &["a/b", "a/x/b", "a/x/y/b"],
                &["ab", "a/xb", "a/b/c"],
            ),
            (
                "**/a/**/b/**",
                &["a/b", "x/a/y/b/z", "a/a/b/b"],
                &["b/a", "a/xb"],
            ),
            (
                "**/a/**/a/**/a",
                &["a/a/a", "a/b/a/b/a"],
                &["a/a", "a/b/a/b/b"],
            ),
            ("{a,b}/c", &["a/c", "b/c"], &["c", "{a,b}/c"]),
            ("{a/**,b}", &["a", "a/x", "b"], &["b/x"]),
            ("{a,b/{c,d}}.x", &["a.x", "b/c.x", "b/d.x"], &["b.x"]),
            ("a{,.b}", &["a", "a.b"], &["a."]),
            ("{a,}", &["a"], &["b"]),
            ("{src/,}gen/**", &["gen/a", "src/gen/a"], &["src/a"]),
            ("{a,**}/b", &["a/b", "b", "x/y/b"], &["a"]),
            ("[ab]", &["a", "b"], &["c", "ab", "[ab]"]),
            ("[!ab]", &["c", "!", "é"], &["a", "b", "cc"]),
            ("[^a]", &["b", "^"], &["a"]),
            ("[]a]", &["]", "a"], &["b"]),
            ("[!]a]", &["b"], &["]", "a"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[-a]", &["a", "-"], &["b"]),
            ("[α-ω]", &["β"], &["b"]),
            ("[\\]\\\\]", &["]", "\\"], &["a"]),
            ("a[+-0]b", &["a.b", "a0b"], &["a/b"]),
            ("a[!b]c", &["axc"], &["a/c", "abc"]),
            ("{[,],a}", &[",", "a"], &[]),
            ("\\*\\?\\[\\]\\{\\}\\!\\\\", &["*?[]{}!\\"], &["a"]),
            ("a!b", &["a!b"], &[]),
            ("a]", &["a]"], &[]),
            ("a,b", &["a,b"], &["a"]),
            ("@(a|b)", &["@(a|b)"], &["a"]),
        ];
        for (glob, hits, misses) in table {
            let parsed = Glob::parse(glob).unwrap_or_else(|e| panic!("{glob}: {}", e.message));
            for hit in *hits {
                assert!(
                    parsed.matches(&path(hit.as_bytes())),
                    "{glob} selects {hit}"
                );
            }
            for miss in *misses {
                assert!(
                    !parsed.matches(&path(miss.as_bytes())),
                    "{glob} does not select {miss}"
                );
            }
        }
    }

    #[test]
    fn names_that_are_not_utf8() {
        let table: &[(&str, &[u8], bool)] = &[
            ("?", b"\xff", true),
            ("?", b"\xc3", true),
            ("??", b"\xe6\x97", true),
            ("?", b"\xe6\x97", false),
            ("[!a]", b"\xff", true),
            ("[\u{80}-\u{10ffff}]", b"\xff", false),
            ("*.rs", b"\xff.rs", true),
            ("\u{fffd}", b"\xff", false),
            ("**/a", b"\xff\xfe/a", true),
            ("?\u{e9}", b"\xc3\xc3\xa9", true),
        ];
        for (glob, bytes, want) in table {
            assert_eq!(
                Glob::parse(glob).unwrap().matches(&path(bytes)),
                *want,
                "{glob} {bytes:?}"
            );
        }
    }

    #[test]
    fn what_is_no_glob() {
        let long = "a".repeat(parse::MAX_BYTES + 1);
        let deep = "{".repeat(parse::MAX_BYTES);
        let six = "{a,b}".repeat(6);
        let seven = "{a,b}".repeat(7);
        let flat = format!("{{{}}}", ["a"; 65].join(","));
        assert!(Glob::parse(&six).is_ok());
        assert!(Glob::parse(&long[1..]).is_ok());
        type Row<'t> = (&'t str, (usize, usize), &'t str, Option<&'t str>);
        let table: &[Row<'_>] = &[
            ("", (0, 0), "empty", Some("write `**`")),
            ("./src/**", (0, 1), "`.`", Some("write `src/**`")),
            ("/gen/**", (0, 1), "root", Some("write `gen/**`")),
            ("/./a//b", (0, 1), "root", Some("write `a/b`")),
            (
                "../a",
                (0, 2),
                "`..`",
                Some("name the file by its path from the repository's root"),
            ),
            ("a/../b", (2, 4), "`..`", Some("write `b`")),
            ("a/.", (2, 3), "`.`", Some("write `a/`")),
            ("a//b", (2, 3), "empty", Some("write `a/b`")),
            ("{a,./b}", (3, 4), "`.`", Some("write `{a,b}`")),
            (
                "src/{api,}/x",
                (10, 11),
                "empty",
                Some(
                    "an alternative may be empty when its slash stands inside the braces, as in `{api/,}src`",
                ),
            ),
            ("{,}", (0, 3), "empty", Some("write `**`")),
            ("src/**.ts", (4, 6), "`**`", Some("write `src/**/*.ts`")),
            ("a**/b", (1, 3), "`**`", Some("write `a*/**/b`")),
            ("***", (0, 3), "`**`", Some("write `**`")),
            ("!a", (0, 1), "`!`", Some("write `\\!a`")),
            ("src\\a.ts", (3, 5), "escape", Some("write `src/a.ts`")),
            ("\\{a\\b", (3, 5), "escape", Some("write `\\{ab`")),
            ("src\\", (3, 4), "escapes nothing", Some("write `src/`")),
            ("{a\\,b}", (2, 4), "escape", Some("write `{a[,]b}`")),
            (
                "[a\\-b]",
                (2, 4),
                "escape",
                Some("`\\` makes one of `* ? [ ] { } ! \\` literal"),
            ),
            ("[a.ts", (0, 1), "not closed", Some("write `\\[a.ts`")),
            ("[]", (0, 1), "not closed", Some("write `\\[]`")),
            ("x[z-a]", (2, 5), "range `z-a`", Some("write `x[a-z]`")),
            (
                "[[:alpha:]]",
                (1, 3),
                "named classes",
                Some("write the characters, such as `[A-Za-z]`"),
            ),
            (
                "{a,b",
                (0, 1),
                "not closed",
                Some("close it with `}`, or write `\\{` for the character"),
            ),
            ("a}", (1, 2), "without `{`", Some("write `a\\}`")),
            (
                &long,
                (0, 513),
                "512 bytes",
                Some("split it into several globs"),
            ),
            (
                &deep,
                (511, 512),
                "not closed",
                Some("close it with `}`, or write `\\{` for the character"),
            ),
            (
                &seven,
                (0, 35),
                "64 alternatives",
                Some("split it into several globs"),
            ),
            (
                &flat,
                (0, 131),
                "64 alternatives",
                Some("split it into several globs"),
            ),
        ];
        for (text, span, message, help) in table {
            let error = Glob::parse(text).expect_err(text);
            assert_eq!((error.span.start, error.span.end), *span, "{text}");
            assert!(error.message.contains(message), "{text}: {}", error.message);
            assert_eq!(error.help.as_deref(), *help, "{text}");
        }
    }

    #[test]
    fn directories_on_the_way() {
        let list = |items: &[&str]| {
            let item = |text: &&str| {
                let (not, text) = text
                    .strip_prefix('!')
                    .map_or((false, *text), |text| (true, text));
                Item {
                    not,
                    what: ItemContent::Glob(Glob::parse(text).unwrap()),
                }
            };
            Selection {
                items: items.iter().map(item).collect(),
            }
        };
        for (items, dir, want) in [
            (&["**"][..], "a/b", true),
            (&["*"], "a", false),
            (&["a"], "a", false),
            (&["a/b/c"], "a", true),
            (&["a/b/c"], "a/b", true),
            (&["a/b/c"], "a/b/c", false),
            (&["a/b/c"], "a/c", false),
            (&["ab/c"], "a", false),
            (&["a/**"], "a", true),
            (&["a/**"], "b", false),
            (&["a/*/c/*"], "a/x", true),
            (&["a/*/c/*"], "a/x/c", true),
            (&["a/*/c/*"], "a/x/d", false),
            (&["a/*/c/*"], "a/x/c/y", false),
            (&["**/x/*.c"], "q/r", true),
            (&["{a,b}/*.c"], "b", true),
            (&["**", "!node_modules/**"], "node_modules", false),
            (&["**", "!node_modules/**"], "node_modules/a", false),
            (&["**", "!**/node_modules/**"], "a/node_modules/b", false),
            (&["**", "!a/*"], "a", true),
        ] {
            assert_eq!(
                list(items).may_hold(&path(dir.as_bytes())),
                want,
                "{items:?} {dir}"
            );
        }
    }

    #[test]
    fn selections() {
        let list = |items: &[&str]| {
            let item = |text: &&str| {
                let (not, text) = text
                    .strip_prefix('!')
                    .map_or((false, *text), |text| (true, text));
                Item {
                    not,
                    what: ItemContent::Glob(Glob::parse(text).unwrap()),
                }
            };
            Selection {
                items: items.iter().map(item).collect(),
            }
        };
        let named = |not, items: &Selection| Item {
            not,
            what: ItemContent::Paths {
                items: Arc::new(items.clone()),
                name: "code".into(),
            },
        };
        let code = list(&["src/**", "!**/*.md"]);
        // A named selection's exclusions apply inside it only: another item may still select the
        // file. An excluded name excludes only the files that it selects.
        let beside = Selection {
            items: vec![named(false, &code), list(&["docs/**"]).items.remove(0)],
        };
        let without = Selection {
            items: vec![list(&["**"]).items.remove(0), named(true, &code)],
        };
        for (selection, file, want) in [
            (&code, "src/a.rs", true),
            (&code, "src/a.md", false),
            (&beside, "docs/a.md", true),
            (&beside, "src/a.md", false),
            (&without, "src/a.rs", false),
            (&without, "src/a.md", true),
            (&list(&["!a", "*"]), "a", false),
            (&list(&["!a", "*"]), "b", true),
        ] {
            assert_eq!(
                selection.selects(&path(file.as_bytes())),
                want,
                "{selection:?} {file}"
            );
        }
    }
}
