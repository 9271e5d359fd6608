//! Commands of a job after which its tree is another one.

use super::super::launch;
use super::super::tree::Tree;
use crate::base::path::RepoPath;

/// Calls that edit tracked files: `PROGRAM WORD`.
const CALLS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "apply",
            "am",
            "checkout",
            "cherry-pick",
            "merge",
            "pull",
            "rebase",
            "reset",
            "revert",
            "switch",
            "restore",
            "rm",
            "mv",
        ],
    ),
    ("cargo", &["add", "remove", "rm", "set-version"]),
    ("npm", &["version"]),
    ("yarn", &["version"]),
    ("pnpm", &["version"]),
    ("go", &["get"]),
    ("uv", &["add", "remove"]),
    ("poetry", &["add", "remove"]),
    ("dotnet", &["add"]),
    ("composer", &["require", "remove"]),
];

/// The part of a command that edits tracked files.
pub fn of(tree: &Tree, dir: Option<&RepoPath>, words: &[String]) -> Option<String> {
    let peeled = launch::peel(words);
    let words = words.get(peeled.at()..).unwrap_or_default();
    let (first, rest) = words.split_first()?;
    let name = launch::name(first);
    let shown = || words.iter().take(6).cloned().collect::<Vec<_>>().join(" ");
    // `git -c NAME=VALUE checkout`.
    let setting = |w: &str| name == "git" && w.contains('=');
    let operands: Vec<&String> = rest
        .iter()
        .filter(|w| !w.starts_with(['-', '+']) && !setting(w))
        .collect();
    // `cargo hack X` runs `cargo X`.
    let behind = usize::from(name == "cargo" && operands.first().is_some_and(|w| *w == "hack"));
    let operand = |at: usize| operands.get(at + behind).map_or("", |w| w.as_str());
    let touched = |word: &str| {
        word.contains(['$', '*', '?', '`']) || dir.is_some_and(|dir| is_tracked(tree, dir, word))
    };
    let edits = match name {
        "sed" | "gsed" => {
            rest.iter().any(|w| {
                w.starts_with("-i")
                    || w.starts_with("--in-place")
                    || (w.starts_with('-') && !w.starts_with("--") && w.contains('i'))
            }) && operands.iter().skip(1).any(|w| touched(w))
        }
        "perl" | "ruby" => {
            rest.iter()
                .any(|w| w.starts_with("-i") || (w.starts_with("-p") && w.contains('i')))
                && operands.iter().any(|w| touched(w))
        }
        "patch" => true,
        "rm" | "mv" => operands
            .iter()
            .any(|w| dir.is_some_and(|dir| is_tracked(tree, dir, w))),
        "cp" => {
            let target = operands.last().filter(|_| operands.len() > 1);
            let file = |word: &str| {
                dir.is_some_and(|dir| {
                    dir.join(word.as_bytes())
                        .is_ok_and(|path| tree.files.contains(&path))
                })
            };
            target.is_some_and(|target| {
                file(target)
                    || operands.iter().rev().skip(1).any(|source| {
                        file(&format!(
                            "{}/{}",
                            target.trim_end_matches('/'),
                            source.rsplit('/').next().unwrap_or(source)
                        ))
                    })
            })
        }
        "rustup" => operand(0) == "self",
        "npm" if operand(0) == "pkg" => matches!(operand(1), "set" | "delete" | "fix"),
        "go" if operand(0) == "mod" => operand(1) == "edit",
        "yarn" if operand(0) == "set" => operand(1) == "version",
        "cargo" if matches!(operand(0), "update" | "generate-lockfile") => {
            let dry = rest
                .iter()
                .any(|w| matches!(w.as_str(), "--locked" | "--dry-run"));
            // Where no lock is checked in, other versions than those that it would choose.
            let oldest = rest.iter().any(|w| w.contains("minimal-versions"));
            !dry && (oldest
                || dir.is_some_and(|dir| {
                    tree.has(dir, "Cargo.lock") || tree.has(&RepoPath::root(), "Cargo.lock")
                }))
        }
        "git" if operands.iter().any(|w| is_the_change(w)) => false,
        _ => {
            CALLS
                .iter()
                .find(|(program, _)| *program == name)
                .is_some_and(|(_, subs)| {
                    let at = usize::from(name == "git" && rest.iter().any(|w| w == "-C"));
                    subs.contains(&operand(at))
                })
                && !rest.iter().any(|w| w == "--check" || w == "--stat")
        }
    };
    edits.then(shown)
}

/// Whether a word names the change that CI verifies: a job that fetches it by itself has the tree
/// that a checkout gives.
fn is_the_change(word: &str) -> bool {
    const NAMES: &[&str] = &[
        "CI_COMMIT_",
        "CI_MERGE_REQUEST_",
        "GITHUB_HEAD_REF",
        "GITHUB_REF",
        "GITHUB_SHA",
        "SOURCE_BRANCH",
        "github.event.pull_request.head.",
        "github.head_ref",
        "github.ref",
        "github.sha",
    ];
    word.contains('$') && NAMES.iter().any(|name| word.contains(name))
}

/// Whether a word names a tracked file, or a folder with one.
pub fn is_tracked(tree: &Tree, dir: &RepoPath, word: &str) -> bool {
    dir.join(word.trim_end_matches('/').as_bytes())
        .is_ok_and(|path| !path.is_root() && (tree.files.contains(&path) || tree.has_folder(&path)))
}

/// Globs from the root for pathspecs of git; all files without any.
pub fn globs(tree: &Tree, dir: &RepoPath, paths: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for path in paths {
        let (excluded, path) = match path
            .strip_prefix(":!")
            .or_else(|| path.strip_prefix(":^"))
            .or_else(|| path.strip_prefix(":(exclude)"))
        {
            Some(path) => ("!", path),
            None => ("", path.as_str()),
        };
        let path = path.strip_prefix(":/").unwrap_or(path);
        let Ok(whole) = dir.join(path.trim_end_matches('/').as_bytes()) else {
            continue;
        };
        if whole.is_root() {
            out.push(format!("{excluded}**"));
        } else if tree.has_folder(&whole) && !tree.files.contains(&whole) {
            out.push(format!("{excluded}{whole}/**"));
        } else {
            out.push(format!("{excluded}{whole}"));
        }
    }
    if out.iter().all(|glob| glob.starts_with('!')) {
        out.insert(0, "**".to_owned());
    }
    out
}
