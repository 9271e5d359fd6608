//! What a check used outside of the repository and of the toolchain: files, sockets, the network.

use super::amendment::Amendment;
use super::context::{Context, Finding, FindingKind};
use super::home::{SHOWN_DEPTH, below, from_home};
use super::observed::ObservedCheck;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::setting::Row;
use vplan_base::word::{Word, visible};
use vplan_check::confine::{SandboxLevel, toolchains};
use vplan_check::observed::Peer;

/// The sockets of system services that answer every client alike.
const HARMLESS: [&str; 4] = [
    "/dev/log",
    "/run/nscd/socket",
    "/run/systemd/journal/dev-log",
    "/var/run/nscd/socket",
];

/// Where secrets are: never proposed as something to read.
const SECRETS: [&str; 4] = ["~/.ssh", "~/.aws", "~/.npmrc", "~/.gnupg"];

/// Finds what a check used outside: a finding for each folder, socket and address.
pub(super) fn find(context: &Context<'_>, seen: &ObservedCheck<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<String, BTreeMap<String, &BTreeSet<&Word>>> = BTreeMap::new();
    for (path, programs) in &seen.elsewhere {
        if !is_toolchain(context, path) && !is_named(context, seen, path) {
            let place = place(context, path);
            let did = found.entry(place).or_default();
            did.insert(visible(path), programs);
        }
    }
    for (peer, programs) in &seen.peers {
        if let Some(name) = peer_name(peer) {
            let did = found.entry(name.clone()).or_default();
            did.insert(name, programs);
        }
    }
    let kind = FindingKind::Outside;
    let finding = |(place, did): (String, _)| {
        let amendment = readable(context, seen, &place);
        let finding = context.finding(kind, seen.check, vec![place], &did);
        finding.mended_by(context.contract, amendment)
    };
    found.into_iter().map(finding).collect()
}

/// Returns the `reads` that would let a check read a place, where it is confined to what it declares.
/// Places of secrets are for people to name.
fn readable(context: &Context<'_>, seen: &ObservedCheck<'_>, place: &str) -> Option<Amendment> {
    let check = context.check(seen.check);
    let path = place.strip_suffix("/**").unwrap_or(place);
    let is_path = path.starts_with("~/") || path.starts_with('/');
    let is_secret = |secret: &&str| below(path.as_bytes(), secret.as_bytes()).is_some();
    let is_own = context.can_change(seen.check);
    let is_file = seen.elsewhere.keys().any(|read| is_at(context, read, path));
    let can = is_own && check.level() >= SandboxLevel::Files && is_path && is_file;
    (can && !SECRETS.iter().any(is_secret)).then(|| Amendment::Setting {
        check: seen.check,
        row: Row::Reads,
        words: vec![path.to_owned()],
        is_shown_only: false,
    })
}

/// Whether what was read is at a path, or below it.
fn is_at(context: &Context<'_>, read: &Word, path: &str) -> bool {
    let home = context.subject.home.map(Word::as_bytes);
    let path = match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => [home, rest.as_bytes()].concat(),
        _ => path.as_bytes().to_vec(),
    };
    below(read.as_bytes(), &path).is_some()
}

/// Whether a check that is confined to what it declares says that it reads a path.
fn is_named(context: &Context<'_>, seen: &ObservedCheck<'_>, path: &Word) -> bool {
    let named = &seen.step.reads;
    seen.step.sandbox >= SandboxLevel::Files
        && named.iter().any(|named| is_at(context, path, named))
}

/// Returns how a socket or an address is named, unless it is of no interest.
fn peer_name(peer: &Peer) -> Option<String> {
    match peer {
        Peer::Socket(path) if path.as_str().is_some_and(|path| HARMLESS.contains(&path)) => None,
        Peer::Socket(path) => Some(visible(path)),
        Peer::Abstract(name) => Some(format!("@{}", visible(name))),
        Peer::Address(address) => Some(visible(address)),
    }
}

fn is_toolchain(context: &Context<'_>, path: &Word) -> bool {
    let is_in = |root: &[u8]| below(path.as_bytes(), root).is_some();
    let mut own = context.subject.toolchain.iter();
    toolchains().any(|usual| is_in(usual.as_bytes())) || own.any(|own| is_in(own.as_bytes()))
}

/// Returns the first folders of a path, as a glob; the path itself where it has no more.
fn place(context: &Context<'_>, path: &Word) -> String {
    let (start, rest) = from_home(context.subject.home, path);
    let names: Vec<String> = rest.split(|byte| *byte == b'/').map(visible).collect();
    let shown = names.get(..SHOWN_DEPTH).unwrap_or(&names).join("/");
    let more = if names.len() > SHOWN_DEPTH { "/**" } else { "" };
    format!("{start}/{shown}{more}")
}
