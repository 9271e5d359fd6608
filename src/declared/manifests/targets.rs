//! Targets of the root's task runners that verify something: make, just, mise, Taskfile, tox, nox.

use super::super::kind::{self, Kind};
use super::super::tasks::{make, runner_tasks};
use super::Reader;
use crate::base::path::RepoPath;

/// Targets that are taken, in order.
const TARGETS: [&str; 5] = ["lint", "typecheck", "check", "test", "tests"];

impl Reader<'_> {
    /// Reads the task runners of the root; most makefiles below it are called by it.
    pub(super) fn targets(&mut self) {
        let root = RepoPath::root();
        let mut any = false;
        if let Some(makefile) = make::read(self.tree, &root) {
            let wanted = TARGETS.iter().filter(|t| makefile.declares(t));
            let mut wanted: Vec<String> = wanted.map(|t| (*t).to_owned()).collect();
            // Without these, what is built by default when its recipe only compiles.
            let only_compiles = |name: &String| {
                let recipe = makefile.recipe(name).unwrap_or_default();
                let needs = makefile.needs(name).unwrap_or_default();
                let further = needs
                    .iter()
                    .filter_map(|n| makefile.recipe(n).ok())
                    .flatten();
                let mut all = recipe.into_iter().chain(further).peekable();
                all.peek().is_some()
                    && all.all(|c| {
                        let words: Vec<String> =
                            c.text.split_whitespace().map(str::to_owned).collect();
                        let program = words.first().map_or("", String::as_str);
                        matches!(
                            program,
                            "mkdir" | "cc" | "gcc" | "clang" | "c++" | "g++" | "make" | "echo"
                        ) || kind::of_words(&words) == Kind::Build
                    })
            };
            if wanted.is_empty() {
                let all = makefile.declares("all").then(|| "all".to_owned());
                wanted.extend(
                    all.or_else(|| makefile.default_goal())
                        .filter(only_compiles),
                );
            }
            for target in wanted {
                let (file, line) = makefile.place(&target);
                let Some(file) = file else { continue };
                let kind = kind_of(&target);
                let origin = Self::origin(&file, line, &format!("target `{target}`"));
                self.add(origin, &root, &["make", &target], kind, None);
                any = true;
            }
        }
        for (command, name, file, line, family) in runner_tasks(self.tree) {
            if any && family.is_none() {
                // One task runner of the root is enough: others call it, or are called by it.
                continue;
            }
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let kind = kind_of(&name);
            let origin = Self::origin(&file, line, &name);
            self.add(origin, &root, &words, kind, family);
        }
    }
}

fn kind_of(name: &str) -> Kind {
    match name {
        // GNU's name for the tests.
        "check" => Kind::Test,
        name => kind::of_name(name).unwrap_or(Kind::Build),
    }
}
