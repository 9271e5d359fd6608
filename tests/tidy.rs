//! Architecture as a test: rooms and their edges, third-party crates and their rooms, the top
//! level, the size of files.

mod bugs;
mod circles;
mod sizes;

use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Room and the rooms that it may use (src/architecture.md has the same table, which is compared
/// with this one).
const EDGES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("lang", &["base"]),
    ("check", &["base"]),
    ("contract", &["base", "check"]),
    ("front", &["base", "lang", "check", "contract"]),
    ("declared", &["base", "lang", "check", "contract", "front"]),
    ("plan", &["base", "check", "contract"]),
    ("recover", &["base", "check", "contract", "plan"]),
    ("run", &["base", "check", "plan"]),
    ("reuse", &["base", "check", "plan", "run"]),
    ("away", &["base", "check", "plan", "reuse", "run"]),
    ("ledger", &["base", "check", "contract", "run"]),
    ("lock", &["base", "plan"]),
    ("baseline", &["base", "check", "contract", "plan", "run"]),
    ("emit", &["base"]),
    (
        "effect",
        &[
            "base", "lang", "check", "contract", "front", "declared", "plan", "recover", "run",
            "reuse", "away", "ledger", "lock", "baseline",
        ],
    ),
    (
        "engine",
        &[
            "base", "lang", "check", "contract", "front", "declared", "plan", "recover", "run",
            "reuse", "away", "ledger", "lock", "baseline", "effect",
        ],
    ),
    (
        "cli",
        &[
            "base", "lang", "check", "contract", "front", "declared", "plan", "recover", "run",
            "reuse", "away", "ledger", "lock", "baseline", "emit", "effect", "engine",
        ],
    ),
];

/// Drawer of `effect` and the drawers that it may use; the map has the same table.
const DRAWERS: &[(&str, &[&str])] = &[
    ("os", &[]),
    ("git", &["os"]),
    ("store", &["os", "git"]),
    ("runner", &["os", "git", "store"]),
    ("repo", &["os", "git", "store"]),
];

/// A third-party crate and the places that may name it.
const CRATES: &[(&str, &[&str])] = &[
    (
        "nom",
        &["lang/", "base/name.rs", "base/unit.rs", "check/pattern.rs"],
    ),
    ("globset", &["base/glob"]),
    ("sha1", &["effect/git/object.rs"]),
    ("sha2", &["base/canon.rs"]),
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/"]),
    ("clap_mangen", &["cli/"]),
    ("indicatif", &["cli/"]),
    ("strsim", &["base/nearest.rs", "plan/kdl"]),
    ("tokio", &["effect/"]),
    ("rustix", &["effect/", "cli/"]),
    ("tempfile", &["effect/"]),
    ("jsonc_parser", &["front/"]),
    ("similar", &["cli/"]),
    ("saphyr_parser", &["front/"]),
    ("toml", &["front/"]),
    (
        "kdl",
        &[
            "plan/kdl/write.rs",
            "plan/kdl/tests.rs",
            "lock/encode.rs",
            "baseline/encode.rs",
        ],
    ),
    ("quick_xml", &["check/output/"]),
    ("memchr", &["check/output/", "effect/git/"]),
    ("mimalloc", &["main.rs"]),
    ("proptest", &["arbitrary"]),
    ("tonic", &["effect/store/", "effect/runner/away/reapi/"]),
    ("tonic_prost", &["effect/store/grpc/"]),
    ("prost", &["effect/store/", "effect/runner/away/reapi/"]),
    ("ureq", &["effect/store/shared/"]),
];

fn source_files() -> Vec<(String, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let name = |p: &Path| p.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    paths
        .iter()
        .map(|p| (name(p), std::fs::read_to_string(p).unwrap()))
        .collect()
}

/// The code of a file without comments and without its unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    text.lines()
        .filter(|l| !l.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The names that follow a path in the code: `a` and `b` for `PATH::a` and `PATH::{b, …}`.
fn named_below(path: &str, code: &str) -> BTreeSet<String> {
    let word = |s: &str| {
        s.chars()
            .take_while(|c| c.is_ascii_lowercase() || *c == '_')
            .collect::<String>()
    };
    let mut rooms = BTreeSet::new();
    for rest in code.split(path).skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => rooms.extend(
                list.split('}')
                    .next()
                    .unwrap_or("")
                    .split(',')
                    .map(|w| word(w.trim())),
            ),
            None => {
                rooms.insert(word(rest));
            }
        }
    }
    rooms
}

/// The most `super::` in a row.
fn climbs(code: &str) -> usize {
    let counts = code.split("super::").fold((0, 0), |(most, now), rest| {
        let now = if rest.is_empty() { now + 1 } else { 1 };
        (most.max(now), now)
    });
    // The first piece is what comes before the first of them.
    if code.contains("super::") {
        counts.0
    } else {
        0
    }
}

#[test]
fn drawers_keep_their_edges() {
    assert_eq!(climbs("a::b"), 0);
    assert_eq!(climbs("use super::a; super::super::b()"), 2);
    let mut wrong = Vec::new();
    for (file, text) in source_files() {
        let Some((drawer, rest)) = file
            .strip_prefix("effect/")
            .and_then(|rest| rest.split_once('/'))
        else {
            continue;
        };
        let Some((_, may)) = DRAWERS.iter().find(|(name, _)| *name == drawer) else {
            wrong.push(format!("src/{file} is in a drawer that is not in the map"));
            continue;
        };
        let code = code(&text);
        for used in named_below("crate::effect::", &code) {
            if used != drawer && !may.contains(&used.as_str()) {
                wrong.push(format!("src/{file}: {drawer} does not use {used}"));
            }
        }
        let depth = rest.trim_end_matches("mod.rs").split('/').count();
        if climbs(&code) > depth - usize::from(rest.ends_with("mod.rs")) {
            wrong.push(format!("src/{file}: `super::` leaves the drawer"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rooms_keep_their_edges() {
    let mut wrong = Vec::new();
    for (file, text) in source_files() {
        let Some((room, _)) = file.split_once('/') else {
            continue;
        };
        if room == "arbitrary" {
            continue;
        }
        let allowed = EDGES
            .iter()
            .find(|(r, _)| *r == room)
            .unwrap_or_else(|| panic!("unknown room {room}"))
            .1;
        for used in named_below("crate::", &code(&text)) {
            let known = EDGES.iter().any(|(r, _)| *r == used);
            if known && used != room && !allowed.contains(&used.as_str()) {
                wrong.push(format!(
                    "src/{file} uses `crate::{used}`, which `{room}` may not"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_keep_to_their_rooms() {
    let mut wrong = Vec::new();
    for (file, text) in source_files() {
        // A file of tests uses what tests use.
        if file.ends_with("tests.rs") || file.contains("/tests/") {
            continue;
        }
        let code = code(&text);
        for (name, places) in CRATES {
            let used = code.match_indices(&format!("{name}::")).any(|(i, _)| {
                !code[..i].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
            });
            if used && !places.iter().any(|p| file.starts_with(p)) {
                wrong.push(format!(
                    "src/{file} names `{name}`, whose place is {places:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A setting is named in few places: its row, its field of a step, the language reference, and what
/// it does, which is at most three files: where it acts, and where that is explained or converted.
/// The table of other tools' words names it as an answer, where there is one.
#[test]
fn a_setting_is_a_row() {
    // What a reader of the source takes for the setting: a selection, a flag, and a number (`gate`
    // has other `retries`).
    for (setting, named) in [
        (
            "writes",
            r#"\bWrites\b|\.writes\b|\bwrites:|\bfn writes\b|["`]writes\b"#,
        ),
        (
            "optional",
            r#"\bRow::Optional\b|\.optional\b|\boptional:|\bfn optional\b|["`]optional["`]"#,
        ),
        (
            "retries",
            r#"\bRow::Retries\b|step\.retries\b|\bRetries "|\bRetries retries\b|`retries N`"#,
        ),
    ] {
        let named = Regex::new(named).unwrap();
        let mut files = vec![(
            "lang/grammar.md".to_owned(),
            vplan::lang::GRAMMAR.to_owned(),
        )];
        files.extend(
            source_files()
                .into_iter()
                .filter(|(name, _)| {
                    !name.starts_with("arbitrary")
                        && !name.ends_with("tests.rs")
                        && name != "lang/foreign.rs"
                        // A guarantee is called as the setting that it holds to.
                        && name != "check/confine.rs"
                        // There programs write, and workflows have settings of their own.
                        && !name.starts_with("declared/")
                })
                .map(|(name, text)| (name, code(&text))),
        );
        files.retain(|(_, text)| named.is_match(text));
        let files: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
        for place in ["lang/grammar.md", "base/setting.rs", "plan/mod.rs"] {
            assert!(files.iter().any(|f| f == place), "{place}: {files:?}");
        }
        assert!(files.len() <= 6, "`{setting}` is named in {files:?}");
    }
}

#[test]
fn unsafe_code_has_one_door() {
    for (file, text) in source_files() {
        let has = code(&text).contains("unsafe {")
            || code(&text).contains("unsafe fn")
            || text.contains("allow(unsafe_code)");
        assert!(
            !has || file == "effect/os/process/sys.rs",
            "unsafe code in src/{file}"
        );
    }
}

#[test]
fn files_say_what_they_do_and_stay_readable() {
    let mut wrong = Vec::new();
    for (file, text) in source_files() {
        let first = text.lines().next().unwrap_or("");
        if !first.starts_with("//!") && file != "lib.rs" {
            wrong.push(format!("src/{file} does not say what it does"));
        }
        if first.ends_with('?') {
            wrong.push(format!("src/{file} begins with a question"));
        }
        if text.lines().count() > 1100 {
            wrong.push(format!("src/{file} has more than 1100 lines"));
        }
        for word in ["todo!(", "unimplemented!(", "dbg!(", "FIXME"] {
            if text.contains(word) {
                wrong.push(format!("src/{file} contains {word}"));
            }
        }
        let stem = Path::new(&file)
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if [
            "util", "utils", "common", "helpers", "manager", "imp", "prelude", "misc",
        ]
        .contains(&stem.as_str())
        {
            wrong.push(format!("src/{file}: `{stem}` does not say what is in it"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names of types that do not say of what they are.
const VAGUE: &str = "Answer|Asked|Document|Ended|Entry|Fault|Found|Heard|Held|How|Kept|Known|Left|\
                     Said|Seen|Shown|Standing|Stands|Wanted|What";

#[test]
fn types_say_of_what_they_are() {
    let vague = format!(r"\b(struct|enum|trait|type) ({VAGUE})\b");
    let vague = Regex::new(&vague).unwrap();
    assert!(vague.is_match("pub enum Entry {"));
    assert!(!vague.is_match("pub enum IndexEntry {"));
    let wrong: Vec<String> = source_files()
        .iter()
        .flat_map(|(file, text)| {
            let text = code(text);
            vague
                .find_iter(&text)
                .map(|found| format!("src/{file}: `{}`", found.as_str()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_map_names_every_room_and_every_edge() {
    let map =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/architecture.md"))
            .unwrap();
    for (room, uses) in EDGES.iter().chain(DRAWERS) {
        let row = format!(
            "| `{room}` | {} |",
            if uses.is_empty() {
                "nothing".to_owned()
            } else {
                uses.join(" ")
            }
        );
        assert!(
            map.contains(&row),
            "src/architecture.md lacks the row {row}"
        );
    }
    let manifest =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let dependencies = manifest
        .split("[dependencies]")
        .nth(1)
        .unwrap()
        .split("\n[")
        .next()
        .unwrap();
    for line in dependencies.lines().filter(|l| l.contains('=')) {
        let name = line.split([' ', '=']).next().unwrap();
        assert!(
            map.contains(&format!("| `{name}` |")),
            "src/architecture.md does not say what `{name}` is for"
        );
    }
}

/// A process that does not end fails its test; it does not hold up all of them.
#[test]
fn no_test_waits_for_a_child_without_a_limit() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![here.clone()];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path())
        {
            let name = path
                .strip_prefix(&here)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs")
                && !["tidy.rs", "support/process.rs"].contains(&name.as_str())
                && !name.starts_with("benches")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                read += 1;
                for wait in [".wait().unwrap()", ".wait_with_output()"] {
                    assert!(
                        !text.contains(wait),
                        "{name}: `{wait}` has no limit; `support::process::Bounded` has"
                    );
                }
            }
        }
    }
    assert!(read > 50, "{read}");
}

#[test]
fn the_top_level_is_what_was_agreed() {
    let allowed = [
        "Cargo.toml",
        "Cargo.lock",
        "src",
        "contracts",
        "tests",
        "fuzz",
        "flake.nix",
        "flake.lock",
        "README.md",
        "LICENSE",
        "target",
    ];
    for entry in std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name.starts_with('.') || allowed.contains(&name.as_str()),
            "{name} at the top level"
        );
    }
}

/// Pages that vplan and its scripts write, which the repository does not have.
const WRITTEN: &[&str] = &["stop.md", "fuzz/campaign.md", "target/"];

/// Documents of others that may be cited by section.
const STANDARDS: &[&str] = &["RFC", "ECMA", "FIPS", "YAML", "Annex", "manual"];

/// What is written for readers: the paragraphs of a page outside its blocks of code, those of
/// comments elsewhere.
fn paragraphs(name: &str, text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_block = false;
    for line in text.lines().map(str::trim_start) {
        let words = if name.ends_with(".md") {
            is_block ^= line.starts_with("```");
            (!is_block && !line.starts_with("```")).then_some(line)
        } else if name.ends_with(".rs") {
            line.strip_prefix("//")
                .map(|l| l.trim_start_matches(['/', '!']))
        } else {
            line.strip_prefix('#')
        };
        match words.map(str::trim).filter(|words| !words.is_empty()) {
            Some(words) => {
                let last = found.last_mut().unwrap();
                last.push_str(words);
                last.push(' ');
            }
            None => found.push(String::new()),
        }
    }
    found.retain(|paragraph| !paragraph.is_empty());
    found
}

/// A relative path, seen from a folder.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut place = folder.to_owned();
    for part in path.split('/').filter(|part| *part != ".") {
        if part == ".." {
            place.pop();
        } else {
            place.push(part);
        }
    }
    place
}

/// A page, and perhaps sections of it by number, or one by its heading.
static PAGE: LazyLock<Regex> = LazyLock::new(|| {
    let page = r#"([\w./-]*\w\.md)\b`?\)?"#;
    let numbers = r#"sections? ([0-9]+(?:(?:,? and|,|,? to) [0-9]+)*)"#;
    Regex::new(&format!(r#"{page},? ?(?:{numbers}|"([^"]+)")?"#)).unwrap()
});

/// A section by number, and the two words before it.
static SECTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\S* ?\S* ?)\(?\bsections? ([0-9]+)").unwrap());

/// The citations of a text that lead nowhere. `page` gives the text of a page of the repository.
fn dangling(name: &str, text: &str, page: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    let folder = Path::new(name).parent().unwrap();
    let found = |cited: &str| {
        let places = [Path::new(""), Path::new("src"), folder];
        places.iter().find_map(|place| page(&joined(place, cited)))
    };
    let has_section = |text: &str, number: &str| {
        text.lines()
            .any(|l| l.starts_with(&format!("## {number}. ")))
    };
    let mut wrong = Vec::new();
    let cites = |paragraph: &String| [".md", "section"].iter().any(|w| paragraph.contains(w));
    for paragraph in paragraphs(name, text).into_iter().filter(cites) {
        for citation in PAGE.captures_iter(&paragraph) {
            let (whole, cited) = (citation.get(0).unwrap(), &citation[1]);
            let is_pattern = paragraph[..whole.start()].ends_with(['*', '{', '?']);
            if is_pattern || WRITTEN.iter().any(|written| cited.starts_with(written)) {
                continue;
            }
            let Some(text) = found(cited) else {
                wrong.push(format!("{name} cites {cited}, which is not there"));
                continue;
            };
            let numbers = citation.get(2).map_or("", |numbers| numbers.as_str());
            for number in numbers
                .split(|c: char| !c.is_ascii_digit())
                .filter(|n| !n.is_empty())
            {
                if !has_section(&text, number) {
                    wrong.push(format!("{name} cites section {number} of {cited}"));
                }
            }
            if let Some(heading) = citation.get(3).map(|heading| heading.as_str())
                && !text
                    .lines()
                    .any(|l| l.trim_start_matches('#') == format!(" {heading}"))
            {
                wrong.push(format!("{name} cites \"{heading}\" of {cited}"));
            }
        }
        for citation in SECTION.captures_iter(&paragraph) {
            let (before, number) = (&citation[1], &citation[2]);
            let of_another = before.contains(".md") || STANDARDS.iter().any(|s| before.contains(s));
            let of_this = name.ends_with(".md") && has_section(text, number);
            if !of_another && !of_this {
                wrong.push(format!("{name} cites section {number} of no document"));
            }
        }
    }
    wrong
}

/// The pages, scripts and sources whose citations are read.
fn cited_from(root: &Path) -> Vec<(String, String)> {
    const APART: &[&str] = &["outputs", "trees", "seeds", "corpus", "artifacts", "target"];
    let mut left: Vec<PathBuf> = ["src", "tests", "fuzz", ".ci", ".github", "README.md"]
        .iter()
        .map(|place| root.join(place))
        .collect();
    let mut read = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let inside = std::fs::read_dir(&path).unwrap();
            left.extend(inside.map(|entry| entry.unwrap().path()).filter(|path| {
                !APART.contains(&path.file_name().unwrap().to_str().unwrap_or_default())
            }));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if !WRITTEN.contains(&name) && !name.ends_with(".json") {
                read.push((name.to_owned(), text));
            }
        }
    }
    read
}

#[test]
fn no_citation_dangles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = cited_from(root);
    assert!(read.len() > 400, "{}", read.len());
    let page = |place: &Path| std::fs::read_to_string(root.join(place)).ok();
    let wrong: Vec<String> = read
        .iter()
        .flat_map(|(name, text)| dangling(name, text, &page))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_citation_that_dangles_is_found() {
    let page = |place: &Path| {
        (place == Path::new("src/rules.md"))
            .then(|| "# Rules\n\n## 1. Order\n\n## What is a rule?\n".to_owned())
    };
    for (name, text, wrong) in [
        ("src/a.rs", "//! Orders (src/rules.md section 1).", 0),
        (
            "src/a.rs",
            "/// By src/rules.md, \"What is a\n/// rule?\".",
            0,
        ),
        ("src/a.rs", "let page = \"gone.md section 3\";", 0),
        ("src/a.rs", "// As RFC 8259 section 6 says.", 0),
        ("src/a.rs", "//! Orders (gone.md section 1).", 1),
        (
            "src/a.rs",
            "//! Orders (src/rules.md\n//! sections 1 and 2).",
            1,
        ),
        ("src/a.rs", "    /// By src/rules.md, \"What is none?\".", 1),
        ("src/a.rs", "// The order of section 1.", 1),
        (
            "src/b/c.md",
            "See [the rules](../rules.md), or `other.md`.",
            1,
        ),
        ("src/a.md", "See [`src/rules.md`](other.md).", 1),
        ("src/a.md", "See [rules](rules.md) section 2.", 1),
        ("src/rules.md", "## 1. Order\n\nAs section 1 says.", 0),
        ("src/rules.md", "## 1. Order\n\nAs section 2 says.", 1),
        ("src/rules.md", "```\ngone.md\n```\n\n`docs/*.md`", 0),
        (".ci/run", "# As gone.md says.\necho other.md", 1),
    ] {
        let found = dangling(name, text, &page);
        assert_eq!(found.len(), wrong, "{name}: {text}: {found:?}");
    }
}
