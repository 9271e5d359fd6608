//! Aliases of cargo and scripts of composer.

use super::super::tree::{Syntax, Tree};
use super::Body;
use super::kit::{self, Options, appended, line};
use crate::base::path::RepoPath;

/// Finds what an alias or script runs.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    match kit::program(words) {
        "cargo" => cargo(tree, dir, words),
        "composer" => composer(tree, dir, words),
        _ => None,
    }
}

fn cargo(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let (name, args) = words.get(1..)?.split_first()?;
    let (_, file) = kit::nearest(tree, dir, &[".cargo/config.toml", ".cargo/config"])?;
    let doc = tree.read(&file, Syntax::Toml).ok()?;
    let node = kit::at(&doc.root, &["alias", name])?;
    let text = match node.text() {
        Some(text) => text.to_owned(),
        None => {
            let words: Vec<String> = kit::texts(node).into_iter().map(str::to_owned).collect();
            kit::joined(&words)
        }
    };
    // An alias cannot replace a command of cargo's own, and one of itself never ends.
    if text.split_whitespace().next() == Some(name) {
        return None;
    }
    let text = format!("cargo {text}{}", appended(args));
    Some(Body::Lines(vec![line(
        &file,
        doc.line(node),
        name,
        text,
        dir,
    )]))
}

/// Composer's own commands, which no script replaces.
const OWN: &str = "about archive audit browse bump clear-cache config create-project depends diagnose dump-autoload \
    exec fund global init install licenses normalize outdated prohibits reinstall remove require run-script \
    search self-update show status suggests update validate";

fn composer(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let options = Options::of(words.get(1..).unwrap_or_default(), &["-d", "--working-dir"]);
    let (first, rest) = options.rest.split_first()?;
    let (name, args) = match first.as_str() {
        "run-script" | "run" => Options::of(rest, &[]).rest.split_first()?,
        name if OWN.split_whitespace().any(|own| own == name) => return None,
        _ => (first, rest),
    };
    let dir = match options.value(&["-d", "--working-dir"]) {
        Some(to) => dir.join(to.as_bytes()).ok()?,
        None => dir.clone(),
    };
    let file = dir.join(b"composer.json").ok()?;
    let doc = match kit::document(tree, &file, Syntax::Json)? {
        Ok(doc) => doc,
        Err(why) => return Some(Body::Opaque(why)),
    };
    let Some(node) = kit::at(&doc.root, &["scripts", name]) else {
        return Some(Body::Opaque(format!(
            "`{file}` declares no script `{name}`"
        )));
    };
    let mut lines = Vec::new();
    for text in kit::texts(node) {
        // `@test` is another script, `@php`, `@composer` are programs.
        let text = match text.strip_prefix('@') {
            Some(rest) if rest.starts_with("putenv") => continue,
            Some(rest) if rest.starts_with("php ") || rest.starts_with("composer ") => {
                rest.to_owned()
            }
            Some(rest) => format!("composer run-script {rest}"),
            // A method of a class is no command.
            None if text.contains("::") && !text.contains(' ') => {
                return Some(Body::Opaque(format!("`{text}` is code of PHP")));
            }
            None => text.to_owned(),
        };
        let text = format!("{text}{}", appended(args));
        lines.push(line(&file, doc.line(node), name, text, &dir));
    }
    Some(Body::Lines(lines))
}
