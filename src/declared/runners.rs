//! Task graphs of monorepos: turbo, nx, moon. A command of CI that starts one keeps its form, and
//! gets what the graph says of it: what it makes and what builds first; of several tasks, each is a
//! check. nx's `affected` becomes
//! `run-many`, one check for each target: what changed is known already, and nx's own answer would
//! need a base.
//!
//! To be called on what the readers of CI and hooks have found, before it is looked through.

use super::candidate::{Candidate, Declarations, Reason, State, Work};
use super::tasks::kit;
use super::tree::{DataFile, Syntax, Tree};
use crate::base::path::RepoPath;
use crate::check::tool::base_name;
use crate::front::tree::Node;
use std::collections::{BTreeMap, BTreeSet};

/// The most targets of one command that become checks of their own.
const MAX_TARGETS: usize = 12;

/// Applies what the graphs say to the candidates that are still open.
pub fn apply(tree: &Tree, found: &mut Declarations) {
    let all = std::mem::take(&mut found.candidates);
    // Where each candidate has gone: indices of `needs` follow.
    let mut moved: Vec<usize> = Vec::new();
    let mut made: Vec<Candidate> = Vec::new();
    for candidate in all {
        moved.push(made.len());
        let open = candidate.state == State::Open;
        match candidate
            .words()
            .filter(|_| open)
            .and_then(|words| runner(words))
        {
            Some(("nx", at)) => made.extend(nx(tree, candidate, at)),
            Some(("moon", at)) => made.extend(moon(tree, candidate, at)),
            Some(("turbo", at)) => made.extend(turbo(candidate, at)),
            _ => made.push(candidate),
        }
    }
    for candidate in &mut made {
        for needed in &mut candidate.needs {
            *needed = moved.get(*needed).copied().unwrap_or(*needed);
        }
    }
    found.candidates = made;
    graph(tree, found);
}

/// The runner that a command starts, behind launchers, and where its word is.
fn runner(words: &[String]) -> Option<(&'static str, usize)> {
    const LAUNCHERS: &[&str] = &[
        "npx",
        "pnpm",
        "yarn",
        "bunx",
        "bun",
        "npm",
        "exec",
        "x",
        "run",
        "dlx",
        "--no",
        "--no-install",
        "--",
        "-w",
    ];
    let at = words
        .iter()
        .position(|word| !LAUNCHERS.contains(&word.as_str()))?;
    let name = ["turbo", "nx", "moon"];
    let program = base_name(words.get(at)?)
        .split('@')
        .next()
        .unwrap_or_default();
    // `nx-cloud record -- nx format:check` only records.
    if program == "nx-cloud" && words.get(at + 1).is_some_and(|w| w == "record") {
        let behind = words.iter().skip(at + 2).position(|w| w == "nx")?;
        return Some(("nx", at + 2 + behind));
    }
    let name = name.into_iter().find(|name| *name == program)?;
    Some((name, at))
}

fn with_words(candidate: &Candidate, words: Vec<String>) -> Candidate {
    Candidate {
        work: Work::Words(words),
        ..candidate.clone()
    }
}

/// `turbo run A B` becomes one `turbo run T` for each task: each has an answer of its own.
fn turbo(candidate: Candidate, at: usize) -> Vec<Candidate> {
    const VALUED: &[&str] = &[
        "--cache-dir",
        "--concurrency",
        "--cwd",
        "--env-mode",
        "--filter",
        "--log-order",
        "--log-prefix",
        "--output-logs",
        "-F",
    ];
    let words = candidate.words().unwrap_or_default();
    let (before, own) = words.split_at((at + 1).min(words.len()));
    let run = usize::from(own.first().is_some_and(|word| word == "run"));
    let (run, rest) = own.split_at(run);
    let end = rest.iter().position(|w| w == "--").unwrap_or(rest.len());
    let (asked, behind) = rest.split_at(end);
    let (mut tasks, mut options, mut is_value) = (Vec::new(), Vec::new(), false);
    for word in asked {
        if is_value || word.starts_with('-') {
            options.push(word.clone());
        } else {
            tasks.push(word.clone());
        }
        is_value = !is_value && VALUED.contains(&word.as_str());
    }
    if tasks.len() < 2 || tasks.len() > MAX_TARGETS {
        return vec![candidate];
    }
    let one = |task: String| {
        let parts = [before, run, std::slice::from_ref(&task), &options, behind];
        with_words(&candidate, parts.concat())
    };
    tasks.into_iter().map(one).collect()
}

/// `nx affected -t A,B` becomes one `nx run-many -t T` for each target.
fn nx(tree: &Tree, mut candidate: Candidate, at: usize) -> Vec<Candidate> {
    let Some(words) = candidate.words().map(<[String]>::to_vec) else {
        return vec![candidate];
    };
    let (before, own) = words.split_at(at.min(words.len()));
    let recorded = before.iter().position(|w| base_name(w) == "nx-cloud");
    let launcher: Vec<String> = before
        .iter()
        .take(recorded.unwrap_or(before.len()))
        .cloned()
        .collect();
    if recorded.is_some() {
        candidate.notes.push("`nx-cloud record` removed".to_owned());
        let mut words = launcher.clone();
        words.extend(own.iter().cloned());
        candidate.work = Work::Words(words);
    }
    let asked = own.get(1).map(String::as_str).unwrap_or_default();
    let old = matches!(
        asked,
        "affected:test" | "affected:lint" | "affected:build" | "affected:e2e"
    );
    if !matches!(asked, "affected" | "run-many") && !old {
        // `nx test` without a project: only a developer's default project has an answer.
        if own.len() == 2 && targets(tree).contains(asked) {
            candidate.leave_out(Reason::Unknown, format!("`nx {asked}` names no project"));
        }
        return vec![candidate];
    }
    let rest = own.get(2..).unwrap_or_default();
    let end = rest.iter().position(|w| w == "--").unwrap_or(rest.len());
    let (options, behind) = rest.split_at(end);
    let mut wanted: Vec<String> = asked
        .strip_prefix("affected:")
        .map(str::to_owned)
        .into_iter()
        .collect();
    let mut kept: Vec<String> = Vec::new();
    let mut form = "-t".to_owned();
    let mut words = options.iter().peekable();
    while let Some(word) = words.next() {
        let (name, value) = word
            .split_once('=')
            .map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
        match name {
            "-t" | "--target" | "--targets" => {
                form = name.to_owned();
                match value {
                    Some(value) => {
                        form.push('=');
                        wanted.extend(value.split(',').map(str::to_owned));
                    }
                    None => {
                        // `-t lint test` and `-t lint,test`.
                        while let Some(more) = words.next_if(|w| !w.starts_with('-')) {
                            wanted.extend(more.split(',').map(str::to_owned));
                        }
                    }
                }
            }
            "--base" | "--head" | "--files" => {
                if value.is_none() {
                    words.next_if(|w| !w.starts_with('-'));
                }
            }
            "--uncommitted" | "--untracked" | "--all" | "--nxBail" => {}
            "--parallel" | "--maxParallel" | "--max-parallel" => {
                if value.is_none() {
                    words.next_if(|w| w.bytes().all(|b| b.is_ascii_digit()));
                }
            }
            _ => kept.push(word.clone()),
        }
    }
    wanted.retain(|target| !target.is_empty());
    if wanted.is_empty() {
        return vec![candidate];
    }
    // A target that no project has would run nothing and be green.
    let known = targets(tree);
    if asked != "run-many" {
        candidate
            .notes
            .push("`affected` is now `run-many`".to_owned());
    }
    let wanted: BTreeMap<usize, String> = wanted.into_iter().enumerate().collect();
    let mut seen = BTreeSet::new();
    let mut made = Vec::new();
    for target in wanted.into_values().filter(|t| seen.insert(t.clone())) {
        let mut words = launcher.clone();
        words.extend(kit::words(&["nx", "run-many"]));
        if let Some(form) = form.strip_suffix('=') {
            words.push(format!("{form}={target}"));
        } else {
            words.extend([form.clone(), target.clone()]);
        }
        words.extend(kept.iter().cloned());
        words.extend(behind.iter().cloned());
        let mut one = with_words(&candidate, words);
        one.name = Some(target.clone());
        if made.len() >= MAX_TARGETS {
            one.leave_out(Reason::Size, format!("more than {MAX_TARGETS} targets"));
        }
        if !known.is_empty() && !known.contains(&target) && no_inference(tree) {
            one.leave_out(
                Reason::Nothing,
                format!("no project has the target `{target}`"),
            );
        }
        made.push(one);
    }
    made
}

/// Whether nx makes no targets by plugins of its own: then all of them are written down.
fn no_inference(tree: &Tree) -> bool {
    let root = RepoPath::root();
    let plugins = root
        .join(b"nx.json")
        .ok()
        .and_then(|f| tree.read(&f, Syntax::Json).ok());
    plugins.is_some_and(|doc| {
        doc.root.get("plugins").is_none_or(|p| p.list().is_empty())
            && !tree.texts.keys().any(|file| {
                file.name() == b"package.json"
                    && !file.ancestors().is_empty()
                    && file.segments().count() > 1
            })
    })
}

/// The targets that projects of nx declare.
fn targets(tree: &Tree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in tree.texts.keys() {
        let key = match file.name() {
            b"project.json" => "targets",
            b"nx.json" => "targetDefaults",
            _ => continue,
        };
        if let Ok(doc) = tree.read(file, Syntax::Json) {
            let entries = doc.root.get(key).map_or(&[][..], Node::entries).iter();
            found.extend(entries.map(|(key, _)| key.name.clone()));
        }
    }
    found
}

/// `moon ci` becomes `moon run :TASK` for the tasks that are written down and end by themselves.
fn moon(tree: &Tree, mut candidate: Candidate, at: usize) -> Vec<Candidate> {
    let Some(words) = candidate.words().map(<[String]>::to_vec) else {
        return vec![candidate];
    };
    let (launcher, own) = words.split_at(at.min(words.len()));
    if own.get(1).is_none_or(|w| w != "ci") || own.iter().skip(2).any(|w| w.starts_with(':')) {
        return vec![candidate];
    }
    let mut tasks = BTreeSet::new();
    for file in tree.texts.keys() {
        let shared = file.as_bytes().starts_with(b".moon/tasks");
        if file.name() != b"moon.yml" && !shared {
            continue;
        }
        let Ok(doc) = tree.read(file, Syntax::Yaml) else {
            continue;
        };
        for (key, node) in doc.root.get("tasks").map_or(&[][..], Node::entries) {
            let yes = |node: Option<&Node>| node.and_then(kit::scalar).as_deref() == Some("true");
            let no = |node: Option<&Node>| node.and_then(kit::scalar).as_deref() == Some("false");
            let options = node.get("options");
            let option = |name: &str| options.and_then(|o| o.get(name));
            let local = yes(node.get("local"))
                || yes(option("persistent"))
                || yes(option("interactive"))
                || no(option("runInCI"))
                || node
                    .get("preset")
                    .and_then(Node::text)
                    .is_some_and(|p| p == "server" || p == "watcher");
            if !local {
                tasks.insert(key.name.clone());
            }
        }
    }
    if tasks.is_empty() || tasks.len() > MAX_TARGETS {
        return vec![candidate];
    }
    candidate
        .notes
        .push("one check for each task of `moon ci`".to_owned());
    tasks
        .into_iter()
        .map(|task| {
            let mut words = launcher.to_vec();
            words.extend(kit::words(&["moon", "run", &format!(":{task}")]));
            let mut one = with_words(&candidate, words);
            one.name = Some(task);
            one
        })
        .collect()
}

/// The tasks that a command of a runner starts.
fn started(words: &[String]) -> Option<(&'static str, Vec<&str>)> {
    let (name, at) = runner(words)?;
    let own = words.get(at + 1..)?;
    let end = own.iter().position(|w| w == "--").unwrap_or(own.len());
    let own = own.get(..end)?;
    let mut value = false;
    let mut tasks = Vec::new();
    for word in own {
        if name == "nx" && !tasks.is_empty() {
            break;
        }
        if std::mem::take(&mut value) {
            continue;
        }
        if name == "nx" {
            let attached = ["--target=", "--targets=", "-t="]
                .iter()
                .find_map(|p| word.strip_prefix(p));
            tasks.extend(attached);
            if matches!(word.as_str(), "-t" | "--target" | "--targets") {
                let at = own.iter().position(|w| w == word)?;
                tasks.extend(own.get(at + 1).map(String::as_str));
            }
            continue;
        }
        if word.starts_with('-') {
            value = matches!(
                word.as_str(),
                "-F" | "--filter" | "--concurrency" | "--cwd" | "--cache-dir"
            );
            continue;
        }
        if word != "run" {
            tasks.push(word.trim_start_matches(':'));
        }
    }
    Some((name, tasks))
}

/// Gives commands of runners what they make, and what builds before them, by `outputs` and
/// `dependsOn`.
fn graph(tree: &Tree, found: &mut Declarations) {
    let root = RepoPath::root();
    let read = |names: &[&str]| {
        let mut files = names
            .iter()
            .filter_map(|name| root.join(name.as_bytes()).ok());
        files.find_map(|file| tree.read(&file, Syntax::Json).ok())
    };
    let turbo = read(&["turbo.json", "turbo.jsonc"]);
    let nx = read(&["nx.json"]);
    let mut of_task: Vec<(usize, &'static str, String)> = Vec::new();
    for (index, candidate) in found.candidates.iter().enumerate() {
        if candidate.state != State::Open {
            continue;
        }
        if let Some((name, tasks)) = candidate.words().and_then(started) {
            of_task.extend(tasks.into_iter().map(|task| (index, name, task.to_owned())));
        }
    }
    for (index, name, task) in &of_task {
        let doc = match *name {
            "turbo" => turbo.as_ref(),
            "nx" => nx.as_ref(),
            _ => None,
        };
        let Some(node) = doc.and_then(|doc| task_of(doc, task)) else {
            continue;
        };
        let mut needs = Vec::new();
        for need in node.get("dependsOn").map_or(Vec::new(), kit::texts) {
            let need = need.trim_start_matches('^');
            // The runner runs a task of other packages first by itself.
            if need == task {
                continue;
            }
            let hit = of_task.iter().find(|(other, runner, task)| {
                other != index && runner == name && task == need && !reaches(found, *other, *index)
            });
            needs.extend(hit.map(|(other, ..)| *other));
        }
        let outputs = node.get("outputs").map_or(Vec::new(), kit::texts);
        let outputs: Vec<String> = outputs.into_iter().filter_map(output).collect();
        if let Some(candidate) = found.candidates.get_mut(*index) {
            for need in needs {
                if !candidate.needs.contains(&need) {
                    candidate.needs.push(need);
                }
            }
            for output in outputs {
                if !candidate.produces.contains(&output) {
                    candidate.produces.push(output);
                }
            }
        }
    }
}

/// Whether a candidate needs another one, directly or not: no circle is made.
fn reaches(found: &Declarations, from: usize, to: usize) -> bool {
    let mut open = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            let needs = found.candidates.get(at).map(|c| c.needs.clone());
            open.extend(needs.unwrap_or_default());
        }
    }
    false
}

fn task_of<'a>(doc: &'a DataFile, task: &str) -> Option<&'a Node> {
    ["tasks", "pipeline", "targetDefaults"]
        .iter()
        .find_map(|key| doc.root.get(key)?.get(task))
}

/// An output as a glob for the whole repository: turbo's are those of each package.
fn output(text: &str) -> Option<String> {
    // What is taken out again, and what names a project's options, is left to the wider globs.
    if text.starts_with('!') || text.contains("{options.") {
        return None;
    }
    if let Some(rest) = text.strip_prefix("{workspaceRoot}/") {
        let rest = rest.split("/{").next().unwrap_or_default();
        return (!rest.is_empty() && !rest.contains('{')).then(|| folder(rest));
    }
    let text = text.strip_prefix("{projectRoot}/").unwrap_or(text);
    let odd = text.contains(['{', '$', '\\', '['])
        || text.starts_with(['/', '.']) && !text.starts_with(".n") && !text.starts_with(".s");
    (!odd && !text.is_empty()).then(|| format!("**/{}", folder(text)))
}

/// A folder's name without a pattern means all that is in it.
fn folder(text: &str) -> String {
    let text = text.trim_end_matches('/');
    let last = text.rsplit('/').next().unwrap_or_default();
    if last.contains(['*', '.']) && !last.starts_with('.') {
        text.to_owned()
    } else {
        format!("{text}/**")
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidate::{Belief, Origin};
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::of(files)
    }

    fn found(commands: &[&str]) -> Declarations {
        let mut found = Declarations::default();
        for command in commands {
            let origin = Origin {
                file: path(".github/workflows/ci.yml"),
                line: 1,
                label: "job".to_owned(),
            };
            let words = command.split(' ').map(str::to_owned).collect();
            let one = Candidate::new(
                origin,
                Belief::Workflow,
                Work::Words(words),
                RepoPath::root(),
            );
            found.candidates.push(one);
        }
        found
    }

    /// The commands with what they need and make: `TEXT <- 0 => dist/**`.
    fn shown(tree: &Tree, commands: &[&str]) -> Vec<String> {
        let mut found = found(commands);
        apply(tree, &mut found);
        let one = |c: &Candidate| {
            let mut text = c.text();
            if let State::Out(reason, _) = &c.state {
                text = format!("{}: {text}", reason.key());
            }
            for need in &c.needs {
                text.push_str(&format!(" <- {need}"));
            }
            for glob in &c.produces {
                text.push_str(&format!(" => {glob}"));
            }
            text
        };
        found.candidates.iter().map(one).collect()
    }

    #[test]
    fn nx_has_one_check_for_each_target() {
        let nx = r#"{"targetDefaults": {
            "build": {"dependsOn": ["^build"], "outputs": ["{workspaceRoot}/dist/{projectRoot}", "{options.outputPath}"]},
            "test": {"dependsOn": ["^build"]}, "e2e": {"dependsOn": ["build"]}}}"#;
        let project = r#"{"targets": {"lint": {}, "test": {}, "build": {}, "e2e": {}}}"#;
        let tree = tree(&[("nx.json", nx), ("apps/a/project.json", project)]);
        for (commands, want) in [
            (
                &["pnpm exec nx affected -t lint,test,build --parallel=3 --configuration=ci"][..],
                &[
                    "pnpm exec nx run-many -t lint --configuration=ci",
                    "pnpm exec nx run-many -t test --configuration=ci <- 2",
                    "pnpm exec nx run-many -t build --configuration=ci => dist/**",
                ][..],
            ),
            (
                &[
                    "npx nx-cloud record -- nx format:check",
                    "nx affected --target=e2e --base=origin/main --head=HEAD --exclude=docs",
                    "nx affected:lint --base main",
                    "nx run-many -t test lint -- --quiet",
                ],
                &[
                    "npx nx format:check",
                    "nx run-many --target=e2e --exclude=docs",
                    "nx run-many -t lint",
                    "nx run-many -t test -- --quiet",
                    "nx run-many -t lint -- --quiet",
                ],
            ),
            (
                &[
                    "nx test",
                    "nx test shop",
                    "nx affected -t nothing",
                    "nx affected",
                    "cargo test",
                ],
                &[
                    "unknown: nx test",
                    "nx test shop",
                    "nothing: nx run-many -t nothing",
                    "nx affected",
                    "cargo test",
                ],
            ),
        ] {
            assert_eq!(shown(&tree, commands), want, "{commands:?}");
        }
    }

    #[test]
    fn turbo_has_one_check_for_each_task() {
        let turbo = r#"{"tasks": {
            "build": {"dependsOn": ["^build"], "outputs": ["dist/**", ".next/**", "!.next/cache/**", "out"]},
            "test": {"dependsOn": ["build", "test"]},
            "loop": {"dependsOn": ["back"]}, "back": {"dependsOn": ["loop"]}}}"#;
        let tree = tree(&[("turbo.json", turbo)]);
        for (commands, want) in [
            (
                &[
                    "pnpm turbo run build",
                    "turbo test --filter web -- --ci",
                    "turbo run lint",
                ][..],
                &[
                    "pnpm turbo run build => **/dist/** => **/.next/** => **/out/**",
                    "turbo test --filter web -- --ci <- 0",
                    "turbo run lint",
                ][..],
            ),
            // A circle of the graph makes none of checks.
            (
                &["turbo loop", "turbo back"],
                &["turbo loop <- 1", "turbo back"],
            ),
            // Each task has an answer of its own.
            (
                &["turbo run build test --filter web"],
                &[
                    "turbo run build --filter web => **/dist/** => **/.next/** => **/out/**",
                    "turbo run test --filter web <- 0",
                ],
            ),
        ] {
            assert_eq!(shown(&tree, commands), want, "{commands:?}");
        }
    }

    #[test]
    fn moon_runs_the_tasks_that_end() {
        let tasks = "tasks:\n  lint:\n    command: eslint .\n  dev:\n    command: vite\n    local: true\n  serve:\n    \
            command: x\n    options:\n      persistent: true\n";
        let tree = tree(&[
            (".moon/tasks.yml", tasks),
            ("apps/a/moon.yml", "tasks:\n  test:\n    command: t\n"),
        ]);
        assert_eq!(
            shown(&tree, &["moon ci"]),
            ["moon run :lint", "moon run :test"]
        );
        assert_eq!(
            shown(&Tree::default(), &["moon ci", "moon run :x"]),
            ["moon ci", "moon run :x"]
        );
    }

    /// Indices of what is needed follow when a command becomes several.
    #[test]
    fn needs_follow() {
        let mut found = found(&["nx affected -t a,b", "nx affected -t c", "make x"]);
        found.candidates[2].needs = vec![1];
        apply(&Tree::default(), &mut found);
        assert_eq!(found.candidates.len(), 4);
        assert_eq!(found.candidates[3].needs, [2]);
    }
}
