//! The toolchain of Rust that a job makes the default, where a command works with no other.

use super::expression::Scope;
use super::steps::{inputs_as_written, parts};
use super::text_of;
use crate::declared::candidate::{Declarations, State, Work};
use crate::declared::tree::{DataFile, Tree};
use crate::front::tree::Node;

/// Actions that make a toolchain the default.
const ACTIONS: &[&str] = &[
    "actions-rs/toolchain",
    "actions-rust-lang/setup-rust-toolchain",
    "dtolnay/rust-toolchain",
    "moonrepo/setup-rust",
];
/// Subcommands that work with a nightly toolchain only.
const NIGHTLY: &[&str] = &["docs-rs", "fuzz", "miri", "udeps"];
/// Variables with options of the compiler.
const FLAGS: &[&str] = &["MIRIFLAGS", "RUSTDOCFLAGS", "RUSTFLAGS"];

/// Names the nightly toolchain of a job in those commands from an index on that need it.
pub(super) fn choose(
    tree: &Tree,
    doc: &DataFile,
    scope: &Scope<'_>,
    steps: &[Node],
    found: &mut Declarations,
    start: usize,
) {
    let mut chosen = steps.iter().filter_map(|step| toolchain(doc, scope, step));
    let Some(nightly) = chosen
        .next_back()
        .filter(|name| name.starts_with("nightly"))
    else {
        return;
    };
    let pins = |name: &str| {
        let file = tree.texts.iter().find(|(path, _)| path.to_string() == name);
        file.is_some_and(|(_, text)| text.contains("nightly"))
    };
    if pins("rust-toolchain") || pins("rust-toolchain.toml") {
        return;
    }
    for candidate in found.candidates.iter_mut().skip(start) {
        let Work::Words(words) = &mut candidate.work else {
            continue;
        };
        let [first, second, ..] = words.as_slice() else {
            continue;
        };
        let flags = FLAGS.iter().filter_map(|name| candidate.env.get(*name));
        let unstable = |flags: &str| flags.contains("-Z") || flags.contains("nightly");
        let needs = NIGHTLY.contains(&second.as_str())
            || words.iter().any(|word| word.starts_with("-Z"))
            || flags.into_iter().any(|flags| unstable(flags));
        if candidate.state == State::Open && first == "cargo" && !second.starts_with('+') && needs {
            words.insert(1, format!("+{nightly}"));
            candidate.notes.push("CI's default is nightly".to_owned());
        }
    }
}

/// The toolchain that a step makes the default.
fn toolchain(doc: &DataFile, scope: &Scope<'_>, step: &Node) -> Option<String> {
    let (name, version) = parts(&text_of(doc, step.get("uses")?));
    let name = name.to_ascii_lowercase();
    if !ACTIONS.contains(&name.as_str()) {
        return None;
    }
    let with = inputs_as_written(doc, step);
    let named = with
        .iter()
        .find(|(key, _)| key == "toolchain" || key == "channel");
    Some(named.map_or(version, |(_, value)| scope.fill(value)))
}
