//! Scripts of a package.json that verify something.

use super::super::candidate::{Belief, Candidate, Reason, Work};
use super::super::kind::{self, Kind};
use super::super::tasks::package::{self, FILE, NO_TEST};
use super::super::tree::{Syntax, Tree};
use super::Reader;
use crate::base::path::RepoPath;
use crate::check::commands::commands;
use crate::check::tool::Invocation;
use crate::front::tree::Node;
use std::collections::BTreeMap;

/// The most scripts of one package that are proposed.
const MAX_SCRIPTS: usize = 12;

/// Words in a script's name that show that it verifies.
const VERIFIES: [&str; 10] = [
    "build",
    "check",
    "lint",
    "test",
    "tests",
    "tsc",
    "typecheck",
    "types",
    "validate",
    "verify",
];

/// Words in a script's name that show that it does something else, or never ends.
const DOES_NOT: [&str; 19] = [
    "clean", "coverage", "debug", "deploy", "dev", "fix", "generate", "gen", "install", "outdated",
    "open", "publish", "serve", "setup", "staged", "ui", "update", "updates", "watch",
];

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split([':', '-', '_', '.', '/'])
}

impl Reader<'_> {
    pub(super) fn scripts(&mut self, dir: &RepoPath) {
        let Some(file) = dir
            .join(FILE.as_bytes())
            .ok()
            .filter(|f| self.tree.files.contains(f))
        else {
            return;
        };
        let doc = match self.tree.read(&file, Syntax::Json) {
            Ok(doc) => doc,
            Err(why) => return self.unread(&file, why),
        };
        let entries = doc
            .root
            .get("scripts")
            .map_or(&[][..], Node::entries)
            .iter();
        let declared: BTreeMap<&str, (&str, u32)> = entries
            .filter_map(|(key, value)| Some((key.name.as_str(), (value.text()?, doc.line(value)))))
            .filter(|(_, (text, _))| !text.trim().is_empty() && !text.contains(NO_TEST))
            .collect();
        let manager = package::manager(self.tree, dir).0;
        let (mut odd, mut taken) = (0_usize, 0_usize);
        for (name, (text, line)) in &declared {
            let verifies = words(name).any(|w| VERIFIES.contains(&w))
                && !words(name).any(|w| DOES_NOT.contains(&w));
            // `pretest` belongs to `test`, and what another script runs is in that one.
            let hook = ["pre", "post"].iter().any(|p| {
                name.strip_prefix(p)
                    .is_some_and(|n| declared.contains_key(n))
            });
            let run_by_another = declared.iter().any(|(other, (text, _))| {
                other != name
                    && runs(text, name)
                    && words(other).any(|w| VERIFIES.contains(&w))
                    && !words(other).any(|w| DOES_NOT.contains(&w))
            });
            if !verifies || hook || run_by_another {
                continue;
            }
            let plain = |c: char| c.is_ascii_alphanumeric() || ":_-./@".contains(c);
            if !name.chars().all(plain) || name.starts_with('-') || name.len() > 60 {
                odd += 1;
                continue;
            }
            taken += 1;
            let origin = Self::origin(&file, *line, &format!("script `{name}`"));
            let command = [manager, "run", name].map(str::to_owned);
            let mut candidate = Candidate::new(
                origin,
                Belief::Manifest,
                Work::Words(command.to_vec()),
                dir.clone(),
            );
            candidate.env.insert("CI".to_owned(), "1".to_owned());
            let kind = kind_of(name, text);
            if kind == Kind::Build {
                candidate.tier = 1;
                candidate.produces = built(self.tree, dir);
            }
            if taken > MAX_SCRIPTS {
                candidate.leave_out(Reason::Size, format!("more than {MAX_SCRIPTS} scripts"));
            }
            let everywhere = dir.is_root() && runs_packages(text);
            if everywhere && taken <= MAX_SCRIPTS {
                self.by_root.insert(kind);
            }
            self.push(candidate, kind, Some("node"));
        }
        if odd > 0 {
            let what = format!("scripts of `{file}` with unusual names: {odd}");
            self.leave_out(&file, what, Reason::NotRead);
        }
    }
}

/// The folder that a build makes, when nothing in it is tracked.
fn built(tree: &Tree, dir: &RepoPath) -> Vec<String> {
    let folder = dir.join(b"dist").ok();
    let free = folder.filter(|folder| !tree.has_folder(folder));
    let plain = |folder: &RepoPath| {
        std::str::from_utf8(folder.as_bytes())
            .ok()
            .filter(|text| !text.contains(['*', '?', '[', ']', '{', '}', '!', '\\']))
            .map(|text| format!("{text}/**"))
    };
    free.as_ref().and_then(plain).into_iter().collect()
}

/// The kind of work of a script: by its name, or else by the tools that it starts.
fn kind_of(name: &str, text: &str) -> Kind {
    let by_tools = || {
        let found = commands(text);
        let kinds = found.iter().map(|c| {
            let mut words = vec![c.program().to_owned()];
            words.extend(c.arguments().iter().cloned());
            kind::of_words(&words)
        });
        kinds.filter(|kind| *kind != Kind::Other).max()
    };
    kind::of_name(name).or_else(by_tools).unwrap_or(Kind::Other)
}

/// Whether the text of a script starts the same script of every package.
fn runs_packages(text: &str) -> bool {
    const RUNNERS: [&str; 5] = ["lerna", "moon", "nx", "turbo", "wireit"];
    const FLAGS: [&str; 6] = [
        "--filter",
        "--recursive",
        "--workspaces",
        "-r",
        "-ws",
        "workspaces",
    ];
    let starts = |command: &Invocation| {
        let elsewhere = command.words().any(|word| FLAGS.contains(&word));
        command.programs().any(|program| RUNNERS.contains(&program)) || elsewhere
    };
    commands(text).iter().any(starts)
}

/// Whether the text of a script runs another script: by its name, or by a pattern such as `lint:*`.
fn runs(text: &str, script: &str) -> bool {
    const RUNNERS: [&str; 6] = [
        "concurrently",
        "npm-run-all",
        "npm-run-all2",
        "run-p",
        "run-s",
        "wireit",
    ];
    let family = script.split(':').next().unwrap_or(script);
    let is_it = |word: &str| {
        word == script
            || word.strip_prefix("npm:") == Some(script)
            || word.contains(&format!("{family}:*")) && script != family
    };
    let starts = |command: &Invocation| {
        command.script().is_some_and(is_it) || command.runs(&RUNNERS) && command.words().any(is_it)
    };
    commands(text).iter().any(starts)
}
