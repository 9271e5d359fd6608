//! Commands inside the folder of a build that git does not track, said from the root: `cd build`,
//! `cmake ..`, `make`, `ctest`.

use super::super::launch;
use super::super::tree::Tree;
use crate::base::path::RepoPath;

/// Options of `cmake` whose value is the next word.
const WITH_VALUE: &[&str] = &["-A", "-C", "-D", "-G", "-T", "-U"];
/// Options of a program that builds which say how much it tells or does at once.
const QUIET: &[&str] = &["-j", "-k", "-s", "-v", "--silent", "--verbose"];

/// Says from the root what a command does in a folder. `configured` tells whether CMake has made
/// the folder's build. `None` where it cannot be said.
pub fn from_root(
    tree: &Tree,
    folder: &RepoPath,
    words: &[String],
    configured: bool,
) -> Option<Vec<String>> {
    let peeled = launch::peel(words);
    let (before, own) = words.split_at_checked(peeled.at())?;
    let (first, rest) = own.split_first()?;
    let said = match launch::name(first) {
        "cmake" if rest.iter().any(|w| w == "--build") => {
            let at = rest.iter().position(|w| w == "--build")?;
            let mut rest = rest.to_vec();
            let named = rest.get_mut(at + 1).filter(|w| *w == "." || *w == "./")?;
            *named = folder.to_string();
            with("cmake", &rest)
        }
        "cmake" => configure(tree, folder, rest)?,
        "make" | "gmake" | "ninja" if configured => build(folder, rest)?,
        "ctest" if configured => {
            let elsewhere = |w: &String| w.contains("..") || w == "-S" || w == "--test-dir";
            if rest.iter().any(elsewhere) {
                return None;
            }
            let mut said = vec!["ctest".to_owned(), "--test-dir".to_owned()];
            said.push(folder.to_string());
            said.extend(rest.iter().cloned());
            said
        }
        _ => return None,
    };
    Some(before.iter().cloned().chain(said).collect())
}

fn with(program: &str, rest: &[String]) -> Vec<String> {
    let program = std::iter::once(program.to_owned());
    program.chain(rest.iter().cloned()).collect()
}

/// `cmake [OPTIONS] SOURCE`.
fn configure(tree: &Tree, folder: &RepoPath, rest: &[String]) -> Option<Vec<String>> {
    let mut source = None;
    let mut options = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            let value = words.next().filter(|value| !value.contains(".."))?;
            options.extend([word.clone(), value.clone()]);
        } else if let Some(option) = word.strip_prefix('-') {
            let other = ["S", "B", "E", "P", "-install", "-open", "-preset"];
            if word.contains("..") || other.iter().any(|o| option.starts_with(o)) {
                return None;
            }
            options.push(word.clone());
        } else if source.replace(word).is_some() {
            return None;
        }
    }
    let source = folder.join(source?.as_bytes()).ok()?;
    if !tree.has(&source, "CMakeLists.txt") {
        return None;
    }
    let mut said = vec!["cmake".to_owned()];
    if !source.is_root() {
        said.extend(["-S".to_owned(), source.to_string()]);
    }
    said.extend(["-B".to_owned(), folder.to_string()]);
    said.extend(options);
    Some(said)
}

/// `make [OPTIONS] [TARGETS]`, `ninja [OPTIONS] [TARGETS]`.
fn build(folder: &RepoPath, rest: &[String]) -> Option<Vec<String>> {
    let mut targets = Vec::new();
    for word in rest {
        if let Some((name, _)) = word.split_once('=') {
            if !matches!(name, "ARGS" | "CTEST_OUTPUT_ON_FAILURE" | "V" | "VERBOSE") {
                return None;
            }
        } else if word.starts_with('-') {
            let known = QUIET.iter().any(|quiet| word == quiet)
                || word
                    .strip_prefix("-j")
                    .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
            if !known {
                return None;
            }
        } else if word.bytes().all(|b| b.is_ascii_digit()) {
            // The number of `-j`.
        } else {
            targets.push(word.clone());
        }
    }
    let folder = folder.to_string();
    if targets.iter().any(|target| target.starts_with("install")) {
        return None;
    }
    if targets.iter().any(|target| target == "test") {
        return (targets.len() == 1)
            .then(|| vec!["ctest".to_owned(), "--test-dir".to_owned(), folder]);
    }
    let mut said = vec!["cmake".to_owned(), "--build".to_owned(), folder];
    if !targets.is_empty() {
        said.push("--target".to_owned());
        said.extend(targets);
    }
    Some(said)
}
