//! Architecture as a test: the crates of the map, the top level, the size of files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests are outside the pure core"
)]

mod bugs;
mod circles;
mod sizes;
mod words;

use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

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

/// A setting is named in few places: its row, its field of a step and the row of that field, the language reference, and what
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
                    !name.starts_with("arbitrary/")
                        && !name.ends_with("tests.rs")
                        && name != "lang/foreign.rs"
                        // A guarantee is called as the setting that it holds to.
                        && name != "check/confine.rs"
                        // There programs write, and workflows have settings of their own.
                        && !["check/tool/", "declared/", "init/"]
                            .iter()
                            .any(|room| name.starts_with(room))
                })
                .map(|(name, text)| (name, code(&text))),
        );
        files.retain(|(_, text)| named.is_match(text));
        let files: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
        // The last one: where a step has its field, or the row of that field.
        for place in ["lang/grammar.md", "base/setting.rs", "plan/"] {
            assert!(
                files.iter().any(|f| f.starts_with(place)),
                "{place}: {files:?}"
            );
        }
        assert!(files.len() <= 7, "`{setting}` is named in {files:?}");
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

/// Members of the workspace that are no part of the program, and those that may use the world.
const APART: &[&str] = &["vplan", "vplan-embedder"];
const WORLD: &[&str] = &["os", "git", "store", "runner", "repo", "engine", "cli"];

/// The crates of the workspace and what each depends on, apart from tests: names without `vplan-`.
fn crates() -> Vec<(String, Vec<String>)> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &serde_json::Value| {
        let name = value["name"].as_str().unwrap();
        name.strip_prefix("vplan-").unwrap_or(name).to_owned()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    let of_program = packages.filter(|p| !APART.contains(&p["name"].as_str().unwrap()));
    of_program
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let used = dependencies.filter(|d| d["kind"].is_null());
            (name(package), used.map(name).collect())
        })
        .collect()
}

#[test]
fn the_map_names_every_crate() {
    let map = include_str!("../../src/architecture.md");
    for (name, _) in crates() {
        let is_named = |line: &str| line.starts_with("| `") && line.contains(&format!("`{name}`"));
        assert!(map.lines().any(is_named), "src/architecture.md: `{name}`");
    }
    assert!(map.split_whitespace().count() <= 1_500);
}

#[test]
fn pure_crates_use_nothing_of_the_world() {
    for (name, uses) in crates() {
        let is_of_world = |other: &&String| {
            WORLD.contains(&other.as_str())
                || ["tokio", "rustix", "tempfile"].contains(&other.as_str())
        };
        let of_world: Vec<&String> = uses.iter().filter(is_of_world).collect();
        assert!(
            WORLD.contains(&name.as_str()) || of_world.is_empty(),
            "{name} is pure, and depends on {of_world:?}"
        );
    }
}

#[test]
fn each_dependency_has_its_reason() {
    let manifest = include_str!("../../Cargo.toml");
    let (_, table) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let (table, _) = table.split_once("\n[").unwrap();
    let lines: Vec<&str> = table.lines().collect();
    for pair in lines.windows(2) {
        let is_dependency = !pair[1].starts_with('#') && !pair[1].is_empty();
        let is_ours = pair[1].starts_with("vplan-");
        let has_reason = pair[0].starts_with("# ");
        assert!(!is_dependency || is_ours || has_reason, "{}", pair[1]);
    }
}

#[test]
fn unsafe_code_has_one_door() {
    for (file, text) in source_files() {
        if file.ends_with("/lib.rs") && file != "os/lib.rs" {
            assert!(
                text.contains("#![forbid(unsafe_code)]"),
                "src/{file} allows unsafe code"
            );
        } else if file.starts_with("os/") {
            let is_door = file == "os/process/sys.rs";
            assert!(
                is_door || !text.contains("allow(unsafe_code)"),
                "unsafe code in src/{file}"
            );
        }
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
                && name != "support/process.rs"
                && !name.starts_with("benches")
                && !name.starts_with("tidy")
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
