//! Finds the scripts of a package.json that verify something, and decides whether std:node fits
//! them.

use super::propose::{Proposed, Proposer, glob, shown};
use crate::base::command::quote;
use crate::base::path::RepoPath;
use crate::base::word::Word;
use crate::check::Kind;
use crate::check::commands::commands;
use crate::check::output::kind_of;
use crate::check::tool::Invocation;
use crate::effect::repo::facts::package::{self, Manifest};
use std::collections::BTreeMap;

/// The most scripts of one package that are proposed.
const MAX_SCRIPTS: usize = 12;

/// The text that `npm init` writes where there is no test.
const NO_TEST: &str = "no test specified";

/// The remark about a script of the root that starts those of the packages, which are proposed as
/// well.
const TWICE: &str = "; it seems to run what is below for each package: keep the one or the other";

/// The lock files, in the order in which std:node looks for them.
const LOCKS: [(&str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// Words in a script's name that show that it verifies.
const VERIFIES: [&str; 9] = [
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

impl Proposer {
    pub(super) fn node(&mut self, dir: &RepoPath) {
        const FILE: &str = "package.json";
        let Some(bytes) = self.read(dir, FILE) else {
            return;
        };
        let file = shown(dir, FILE);
        let Some(manifest) = package::read(&bytes) else {
            self.leave_out(format!("`{file}` is no JSON object with scripts"));
            return;
        };
        let (manager, lock) = self.manager(dir, &manifest);
        let declared: BTreeMap<&str, &str> = manifest
            .scripts
            .iter()
            .filter(|(_, text)| !text.trim().is_empty() && !text.contains(NO_TEST))
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let mut wanted = vec!["lint", "test", "build"];
        if self.has(dir, "tsconfig.json") {
            wanted.insert(1, "typecheck");
        }
        let mut others = self.others(&declared, &wanted, &file);
        let missing: Vec<&str> = wanted
            .iter()
            .copied()
            .filter(|name| !declared.contains_key(name))
            .collect();
        let theirs = LOCKS
            .iter()
            .find(|(file, _)| self.has(dir, file))
            .map_or("npm", |(_, manager)| *manager);
        let local: Vec<RepoPath> = self.local.get(dir).into_iter().flatten().cloned().collect();
        let mut why = None;
        if missing.is_empty() && theirs == manager && local.is_empty() {
            let with = if manager == "npm" {
                String::new()
            } else {
                format!(", and {manager} is its package manager")
            };
            let twice = dir.is_root()
                && self.has_packages
                && wanted.iter().any(|s| runs_packages(declared.get(s)));
            let note = if twice { TWICE } else { "" };
            self.import(
                "std:node@2",
                "node",
                dir,
                format!("`{file}` declares {}{with}{note}", list(&wanted)),
            );
        } else {
            let here = wanted
                .iter()
                .copied()
                .filter(|name| declared.contains_key(name));
            let here: Vec<&str> = here.collect();
            if here.is_empty() && others.is_empty() {
                return;
            }
            why = Some(
                if let (true, true, Some(one)) =
                    (missing.is_empty(), theirs == manager, local.first())
                {
                    format!(
                        "not std:node@2, which would not see a change of `{one}`, on which this depends"
                    )
                } else if missing.is_empty() {
                    format!(
                        "std:node@2 would take {theirs} in this directory, but {manager} is its package manager"
                    )
                } else {
                    format!(
                        "not std:node@2, which also asks for {}: `{file}` does not declare that",
                        list(&missing)
                    )
                },
            );
            others.splice(..0, here.into_iter().map(str::to_owned));
        }
        let checks = others
            .iter()
            .map(|script| self.script(dir, manager, script, &declared, &file))
            .collect();
        let mut when = vec![glob(dir, "**"), "!**/*.md".to_owned()];
        when.splice(1..1, local.iter().map(|dir| glob(dir, "**")));
        when.extend(
            lock.filter(|lock| lock.below(dir).is_none())
                .map(|lock| lock.to_string()),
        );
        self.checks(why, when, checks);
    }

    fn script(
        &mut self,
        dir: &RepoPath,
        manager: &str,
        script: &str,
        declared: &BTreeMap<&str, &str>,
        file: &str,
    ) -> Proposed {
        let id = self.id(dir, manager, &super::propose::word(script.as_bytes()));
        let text = declared.get(script).copied().unwrap_or_default();
        let mut why = format!("`{file}` declares the script `{script}`");
        let commands = commands(text);
        if commands
            .iter()
            .any(|command| command.has(&["--fix", "--write"]))
        {
            why.push_str("; it repairs files while it verifies, which hides what was wrong");
        }
        if dir.is_root() && self.has_packages && runs_packages(Some(&text)) {
            why.push_str(TWICE);
        }
        let command = format!("{manager} run {}", quote(&Word::from(script)));
        let slow = script == "build"
            || ["e2e", "integration", "browser"]
                .iter()
                .any(|w| words(script).any(|x| x == *w));
        Proposed {
            env: &["CI=1"],
            tier: u8::from(slow),
            ..Proposed::new(id, kind(script, &commands), &command, dir, why)
        }
    }

    /// Returns scripts that verify something and that std:node does not know, unless one of the
    /// others runs them.
    fn others(
        &mut self,
        declared: &BTreeMap<&str, &str>,
        wanted: &[&str],
        file: &str,
    ) -> Vec<String> {
        let mut found = Vec::new();
        let (mut odd, mut more) = (0_usize, 0_usize);
        for (name, text) in declared {
            let verifies = words(name).any(|w| VERIFIES.contains(&w))
                && !words(name).any(|w| DOES_NOT.contains(&w));
            let watches = |command: &Invocation| command.has(&["--watch", "-w"]);
            let ends = !commands(text).iter().any(watches);
            let run_by_another = declared
                .iter()
                .any(|(other, text)| other != name && runs(text, name));
            if wanted.contains(name) || !verifies || !ends || run_by_another {
                continue;
            }
            let plain = |c: char| {
                c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.' | '/' | '@')
            };
            if !name.chars().all(plain) || name.starts_with('-') || name.len() > 60 {
                odd += 1;
            } else if found.len() == MAX_SCRIPTS {
                more += 1;
            } else {
                found.push((*name).to_owned());
            }
        }
        if odd > 0 {
            self.leave_out(format!("scripts of `{file}` with unusual names: {odd}"));
        }
        if more > 0 {
            self.leave_out(format!("more scripts of `{file}`: {more}"));
        }
        found
    }

    /// Returns the package manager, and the lock file that shows it: the nearest one, as package
    /// managers themselves look for it.
    fn manager(&self, dir: &RepoPath, manifest: &Manifest) -> (&'static str, Option<RepoPath>) {
        let mut at = dir.clone();
        let mut nearest = None;
        loop {
            let here = LOCKS.iter().find(|(file, _)| self.has(&at, file));
            if let Some((file, manager)) = here {
                nearest = Some((*manager, at.join(file.as_bytes()).ok()));
                break;
            }
            match at.join(b"..") {
                Ok(above) if !at.is_root() => at = above,
                _ => break,
            }
        }
        let said = manifest
            .package_manager
            .as_deref()
            .and_then(|p| p.split('@').next());
        let said = LOCKS
            .iter()
            .map(|(_, manager)| *manager)
            .find(|m| Some(*m) == said);
        let (found, lock) = nearest.unwrap_or(("npm", None));
        (said.unwrap_or(found), lock)
    }
}

/// Whether the text of a script starts the same script of every package.
fn runs_packages(text: Option<&&str>) -> bool {
    const RUNNERS: [&str; 4] = ["lerna", "nx", "turbo", "wireit"];
    const FLAGS: [&str; 6] = [
        "--filter",
        "--recursive",
        "--workspaces",
        "-r",
        "-ws",
        "workspaces",
    ];
    text.is_some_and(|text| {
        let starts = |command: &Invocation| {
            let elsewhere = command.words().any(|word| FLAGS.contains(&word));
            command.programs().any(|program| RUNNERS.contains(&program)) || elsewhere
        };
        commands(text).iter().any(starts)
    })
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split([':', '-', '_', '.', '/'])
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

/// The kind of check that a script is: by its name, or else by the tools that it starts.
fn kind(script: &str, commands: &[Invocation]) -> Kind {
    let has = |list: &[&str]| words(script).any(|w| list.contains(&w));
    if has(&["lint", "format", "fmt", "prettier", "style"]) {
        Kind::Lint
    } else if has(&["test", "tests"]) {
        Kind::Test
    } else if has(&["build", "typecheck", "types", "tsc", "type"]) {
        Kind::Compile
    } else {
        kind_of(commands).unwrap_or(Kind::Run)
    }
}

/// Lists names: `a`, `b` and `c`.
fn list(names: &[&str]) -> String {
    let ticked: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match ticked.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_others_run() {
        for (text, script, want) in [
            ("npm run lint:css && npm run lint:js", "lint:css", true),
            ("run-p lint:*", "lint:css", true),
            ("concurrently 'npm:test:unit'", "test:unit", true),
            ("concurrently npm:test:unit", "test:unit", true),
            ("eslint .", "lint:css", false),
            ("npm run test:unit-fast", "test:unit", false),
            ("echo lint:*", "lint", false),
            ("tsc -p test", "test", false),
            ("CI=1 yarn lint:css && jest", "lint:css", true),
            ("node --run lint:css", "lint:css", true),
            (
                "concurrently \"npm run lint\" \"npm run types\"",
                "types",
                true,
            ),
        ] {
            assert_eq!(runs(text, script), want, "{text} {script}");
        }
        for (script, text, want) in [
            ("lint", "jest", Kind::Lint),
            ("check", "pnpm exec eslint .", Kind::Lint),
            ("check", "CI=1 vitest run && jest", Kind::Test),
            ("validate", "tsc -b && eslint .", Kind::Run),
            ("verify", "./own", Kind::Run),
        ] {
            assert_eq!(kind(script, &commands(text)), want, "{script}: {text}");
        }
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
