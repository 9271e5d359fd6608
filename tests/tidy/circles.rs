//! Circles of imports between the files of a crate. Its root is called as its folder.
//!
//! A file imports another one by a path in a `use` or in its code. A path is followed to the last
//! of its segments that is a file: `super::Kind` is an import of the parent, wherever that has
//! `Kind` from.

use super::{code, source_files};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The circles that are natural: the modules of each, in order, and the reason.
const NATURAL: &[(&[&str], &str)] = &[];

/// Who imports whom: a module and the modules that it names.
type Imports = BTreeMap<String, BTreeSet<String>>;

static VISIBILITY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"pub\(in [^)]*\)").unwrap());
/// A text, or the character that begins one.
static TEXT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r##"r#".*?"#|'\\?"'|"(?:[^"\\]|\\.)*""##).unwrap());
static USE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse ([^;]+);").unwrap());
static RENAMED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" as \w+").unwrap());
/// A path; with `::` in front it is the rest of one with type arguments.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:::)?\b(?:r#)?\w+(?:::(?:r#)?\w+)+").unwrap());

/// What a file of `src` is called as a module: `check/output/mod.rs` is `check::output`.
fn module(file: &str) -> String {
    let stem = file.trim_end_matches(".rs");
    let stem = stem.trim_end_matches("/mod").trim_end_matches("/lib");
    stem.replace('/', "::")
}

/// The paths that a tree of imports stands for: `a::b` and `a::c` of `a::{b, c}`.
fn expand(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let list = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let mut depth = 0;
    let items = list.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    items
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .flat_map(expand)
        .map(|path| format!("{}{path}", before.trim()))
        .collect()
}

/// The module that a path leads to, as it is written in another one.
fn target(path: &str, from: &str, is_module: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut place: Vec<&str> = from.split("::").collect();
    let mut names = path.split("::").map(|name| name.trim_start_matches("r#"));
    match names.clone().next()? {
        "crate" => {
            place.truncate(1);
            names.next();
        }
        "super" | "self" => {}
        child if is_module(&format!("{from}::{child}")) => {}
        _ => return None,
    }
    for name in names {
        match name {
            "self" => {}
            "super" => drop(place.pop()),
            _ => place.push(name),
        }
    }
    while !place.is_empty() && !is_module(&place.join("::")) {
        place.pop();
    }
    Some(place.join("::")).filter(|found| !found.is_empty() && found != from)
}

/// What each of these files imports of the others. Where `pub(in …)` lets something be seen is no
/// import.
fn imports(files: &[(String, String)]) -> Imports {
    let modules: BTreeSet<String> = files.iter().map(|(file, _)| module(file)).collect();
    let is_module = |path: &str| modules.contains(path);
    let of = |(file, text): &(String, String)| {
        let from = module(file);
        let code = code(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let code = TEXT.replace_all(&code, "");
        let code = VISIBILITY.replace_all(&code, "pub");
        let trees = USE.captures_iter(&code);
        let used = trees.flat_map(|tree| expand(&RENAMED.replace_all(&tree[1], "")));
        let rest = USE.replace_all(&code, "");
        let written = PATH.find_iter(&rest).map(|path| path.as_str().to_owned());
        let paths: Vec<String> = used.chain(written).collect();
        let targets = paths.iter().filter_map(|p| target(p, &from, &is_module));
        (from.clone(), targets.collect())
    };
    files.iter().map(of).collect()
}

/// The groups of modules in which each leads to each other one.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let mut seen: BTreeSet<&String> = BTreeSet::new();
        let mut todo: Vec<&String> = imports.get(from).into_iter().flatten().collect();
        while let Some(next) = todo.pop() {
            if seen.insert(next) {
                todo.extend(imports.get(next).into_iter().flatten());
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|from| (from, reached(from))).collect();
    let leads = |from: &String, to: &String| all.get(from).is_some_and(|r| r.contains(to));
    let circle = |one: &String| {
        let both = |other: &&String| leads(one, other) && leads(other, one);
        imports.keys().filter(both).cloned().collect()
    };
    imports
        .keys()
        .filter(|one| leads(one, one))
        .map(circle)
        .collect()
}

#[test]
fn a_circle_is_found() {
    let files = [
        (
            "a/lib.rs",
            "pub mod b;\nuse b::{self, deep::{X, Y as Z},};\nconst QUOTE: char = '\"';\n",
        ),
        ("a/b.rs", "// use super::W;\npub(in crate::x) fn f() {}\n"),
        ("a/b/deep.rs", "fn f() -> crate::c::W { c() }\n"),
        ("a/c.rs", "use super::{\n    Kind,\n};\n"),
        (
            "a/d.rs",
            "use super::{b::f,};\nconst TEXT: &str = \"crate::e::E\";\n",
        ),
        (
            "a/e.rs",
            "use super::{d::D, super::a::b};\n#[cfg(test)]\nmod tests {\n    use super::super::f::F;\n}\n",
        ),
        ("a/f.rs", "use super::r#loop::L;\n"),
        ("a/loop.rs", "use crate::f as other;\n"),
    ];
    let imports = imports(&files.map(|(file, text)| (file.to_owned(), text.to_owned())));
    let of = |from: &str| imports[from].iter().cloned().collect::<Vec<_>>();
    assert_eq!(of("a"), ["a::b", "a::b::deep"]);
    assert!(of("a::b").is_empty());
    assert_eq!(of("a::d"), ["a::b"]);
    assert_eq!(of("a::e"), ["a::b", "a::d"]);
    let circles: Vec<Vec<String>> = circles(&imports).into_iter().collect();
    let want = [vec!["a", "a::b::deep", "a::c"], vec!["a::f", "a::loop"]];
    assert_eq!(circles, want);
}

#[test]
fn files_of_a_crate_do_not_import_each_other_in_a_circle() {
    let files = source_files();
    let mut found = BTreeSet::new();
    let roots = files
        .iter()
        .filter_map(|(file, _)| file.strip_suffix("/lib.rs"));
    for root in roots {
        let is_inside = |(file, _): &&(String, String)| file.starts_with(&format!("{root}/"));
        let inside: Vec<(String, String)> = files.iter().filter(is_inside).cloned().collect();
        let imports = imports(&inside);
        let edges: usize = imports.values().map(BTreeSet::len).sum();
        assert!(
            edges > 10 || inside.len() < 12,
            "{root} has {edges} imports"
        );
        found.extend(circles(&imports));
    }
    let natural = NATURAL.iter().map(|(modules, _)| {
        let modules = modules.iter().map(|module| (*module).to_owned());
        modules.collect()
    });
    let natural: BTreeSet<Vec<String>> = natural.collect();
    assert_eq!(
        found, natural,
        "those that are there, and those of the table"
    );
}
