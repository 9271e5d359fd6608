//! The commands of a script that CI runs line by line in one shell: directories, variables and what
//! was edited carry over from line to line, and from step to step of a job.

mod edits;
mod out_of_tree;
mod words;

use super::candidate::{Belief, Candidate, Declarations, Origin, Reason, State, When, Work};
use super::judge::{self, Judged};
use super::kind::{self, Kind};
use super::normal;
use super::shell::{self, Part, Shape, Simple};
use super::tree::Tree;
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// A job of CI while its steps are read: what one step leaves for the next ones.
#[derive(Clone, Debug)]
pub struct Job {
    /// The workflow's file.
    pub file: RepoPath,
    /// The belief in it.
    pub belief: Belief,
    /// Its name: ``job `test` ``'s `test`.
    pub name: String,
    /// The changes for which it is wanted.
    pub when: When,
    /// Its tier.
    pub tier: u8,
    /// Whether its failure is no more than a warning.
    pub warning: bool,
    /// Its time limit in minutes.
    pub timeout: Option<u32>,
    /// Remarks for each of its checks: which cell of a matrix it is.
    pub notes: Vec<String>,
    /// Names of variables that hold a secret, and of those that name a service of the job.
    pub secrets: Vec<String>,
    /// Names of services of the job, with the variables that name them.
    pub services: Vec<(String, Vec<String>)>,
    /// Variables that earlier steps have set for later ones.
    pub exported: BTreeMap<String, String>,
    /// Folders that earlier steps have put in front of PATH.
    pub tool_path: Vec<String>,
    /// Whether an earlier step has edited tracked files: with what.
    pub edited: Option<String>,
    /// Indices in [`Declarations::candidates`] of commands that build what later ones use.
    pub built: Vec<usize>,
    /// Indices of commands since the last comparison with git.
    pub since_compared: Vec<usize>,
}

/// A script of a step.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// Its text, expressions of the CI system filled in; what could not be filled in is still
    /// `${{ … }}`.
    pub text: &'a str,
    /// The line of its first line in the file, from 1.
    pub line: u32,
    /// The step's name.
    pub label: String,
    /// The directory in which it begins.
    pub dir: RepoPath,
    /// The variables that hold for it, the step's over the job's over the workflow's.
    pub env: BTreeMap<String, String>,
    /// The text of a condition that is not known to hold.
    pub condition: Option<String>,
}

/// The most lines of a shell's text that becomes a check.
const MOST_LINES: u32 = 3;
/// The deepest nesting of groups that is read.
const DEEPEST: usize = 4;

/// Reads the commands of a script into candidates.
pub fn read(tree: &Tree, job: &mut Job, script: &Script<'_>, found: &mut Declarations) {
    let mut env = job.exported.clone();
    env.extend(script.env.clone());
    let dir = tree.has_folder(&script.dir).then(|| script.dir.clone());
    let mut reading = Reading {
        tree,
        job,
        script,
        found,
        dir: dir.ok_or_else(|| script.dir.to_string()),
        before: Vec::new(),
        env,
        local: BTreeMap::new(),
        functions: BTreeSet::new(),
        careless: false,
        ended: false,
        depth: 0,
    };
    reading.text(script.text, script.line);
}

/// A shell that runs a script, as far as it is known.
struct Reading<'a, 's> {
    tree: &'a Tree,
    job: &'a mut Job,
    script: &'a Script<'s>,
    found: &'a mut Declarations,
    /// Its directory, or the name of one that git does not track.
    dir: Result<RepoPath, String>,
    /// Directories to which `cd -` and `popd` return.
    before: Vec<Result<RepoPath, String>>,
    /// Variables that programs get.
    env: BTreeMap<String, String>,
    /// Variables of the shell; `None` for values that are not known.
    local: BTreeMap<String, Option<String>>,
    functions: BTreeSet<String>,
    /// Whether it goes on after a failure (`set +e`).
    careless: bool,
    /// Whether it has ended (`exit`).
    ended: bool,
    depth: usize,
}

impl Reading<'_, '_> {
    fn text(&mut self, text: &str, line: u32) {
        if self.depth >= DEEPEST {
            self.out(
                Work::Shell(text.to_owned()),
                line,
                Reason::Inline,
                String::new(),
            );
            return;
        }
        self.depth += 1;
        let read = shell::read(text);
        self.functions.extend(read.functions);
        for part in &read.parts {
            self.part(part, line.saturating_add(part.line));
        }
        self.depth -= 1;
    }

    fn part(&mut self, part: &Part, line: u32) {
        if self.ended {
            if self.does_work(&part.text) {
                let work = Work::Shell(part.text.clone());
                self.out(work, line, Reason::Nothing, "behind `exit`".to_owned());
            }
            return;
        }
        if part.background {
            if self.does_work(&part.text) {
                let work = Work::Shell(part.text.clone());
                let detail = "starts it in the background".to_owned();
                self.out(work, line, Reason::NeverEnds, detail);
            }
            return;
        }
        match &part.shape {
            Shape::Plain(simple) => self.simple(part, line, simple),
            Shape::Pipe(texts) => self.pipe(part, line, texts),
            Shape::Or(texts) => self.alternatives(part, line, texts),
            Shape::Group(inner, own) => {
                let saved = (self.dir.clone(), self.env.clone(), self.local.clone());
                self.text(inner, line);
                if *own {
                    (self.dir, self.env, self.local) = saved;
                    self.ended = false;
                }
            }
            Shape::Compound => self.compound(part, line),
        }
    }

    /// Whether a text runs anything besides printing and asking.
    fn does_work(&self, text: &str) -> bool {
        let read = shell::read(text);
        read.broken
            || read.commands.iter().any(|simple| {
                let words = simple.shown();
                !words.is_empty() && !words::is_noise(&words)
            })
    }

    fn simple(&mut self, part: &Part, line: u32, simple: &Simple) {
        let Some(first) = simple.words.first() else {
            for (name, value) in &simple.env {
                let value = value.fill(&|name| self.value(name)).ok();
                self.local.insert(name.clone(), value);
            }
            return;
        };
        let shown = simple.shown();
        let Some(name) = first.fill(&|name| self.value(name)).ok() else {
            if self.does_work(&part.text) {
                self.unknown(Work::Shell(part.text.clone()), line, &first.shown());
            }
            return;
        };
        if let Some(paths) = words::comparison(simple) {
            self.compare(&paths);
            return;
        }
        if self.builtin(part, &name, simple) {
            return;
        }
        if self.functions.contains(&name) {
            let work = Work::Shell(part.text.clone());
            self.out(
                work,
                line,
                Reason::Inline,
                "a function of the script".to_owned(),
            );
            return;
        }
        // `test -z "$(gofmt -l .)"`: the work is inside.
        if matches!(name.as_str(), "test" | "[") && self.does_work(&part.text) {
            self.shell(part, line);
            return;
        }
        let asserts = words::asserts(&shown) && !part.and;
        if words::is_noise(&shown) && !asserts {
            self.edits_by_redirection(simple);
            return;
        }
        self.command(part, line, simple);
    }

    /// A builtin that changes the shell. `false` for anything else.
    fn builtin(&mut self, part: &Part, name: &str, simple: &Simple) -> bool {
        let words: Vec<Option<String>> = simple
            .words
            .iter()
            .skip(1)
            .map(|w| w.fill(&|name| self.value(name)).ok())
            .collect();
        match name {
            "cd" | "chdir" | "pushd" => {
                let target = words
                    .iter()
                    .find(|w| !matches!(w.as_deref(), Some("--" | "-P" | "-L")));
                let shown = simple.shown().get(1).cloned().unwrap_or_default();
                self.change(target.cloned().flatten(), shown, name == "pushd");
            }
            "popd" => {
                if let Some(dir) = self.before.pop() {
                    self.dir = dir;
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                for (word, written) in words.iter().zip(simple.words.iter().skip(1)) {
                    self.export(word.as_deref(), &written.shown());
                }
            }
            "set" => {
                for word in words.iter().flatten() {
                    match word.as_str() {
                        w if w.starts_with('+') && w.contains('e') => self.careless = true,
                        w if w.starts_with('-') && w.contains('e') => self.careless = false,
                        _ => {}
                    }
                }
            }
            "exit" | "return" | "exec" if name != "exec" => {
                self.ended |= !part.and && self.depth == 1
            }
            "true" | ":" | "shopt" | "trap" | "ulimit" | "umask" | "alias" | "unset" | "wait"
            | "source" | "." | "break" | "continue" | "shift" | "hash" | "type" => {}
            "echo" | "printf" => {
                self.given_to_later(simple);
                self.edits_by_redirection(simple);
            }
            _ => return false,
        }
        true
    }

    fn change(&mut self, target: Option<String>, shown: String, keep: bool) {
        let old = self.dir.clone();
        self.dir = match (target.as_deref(), &old) {
            (Some("-"), _) => self.before.pop().unwrap_or_else(|| old.clone()),
            (Some(to), Ok(dir)) => match dir.join(to.as_bytes()) {
                Ok(path) if self.tree.has_folder(&path) => Ok(path),
                Ok(path) => Err(path.to_string()),
                Err(_) => Err(shown),
            },
            // Back from a folder that git does not track.
            (Some(to), Err(from)) => RepoPath::parse(from.as_bytes())
                .and_then(|from| from.join(to.as_bytes()))
                .ok()
                .filter(|path| self.tree.has_folder(path))
                .ok_or_else(|| format!("{from}/{to}")),
            (None, _) => Err(if shown.is_empty() {
                "~".to_owned()
            } else {
                shown
            }),
        };
        if target.as_deref() != Some("-") || keep {
            self.before.push(old);
        }
    }

    /// `export NAME=VALUE`, `export NAME`.
    fn export(&mut self, word: Option<&str>, written: &str) {
        let name = written.split('=').next().unwrap_or_default().to_owned();
        if name.starts_with('-') {
            return;
        }
        if name == "PATH" {
            let value = written.split_once('=').map_or("", |(_, value)| value);
            for folder in value.split(':') {
                self.put_in_path(folder);
            }
            return;
        }
        let value = match word {
            Some(word) => match word.split_once('=') {
                Some((_, value)) => Some(value.to_owned()),
                None => self.local.get(&name).cloned().flatten(),
            },
            None => None,
        };
        match value {
            Some(value) => {
                self.local.remove(&name);
                self.env.insert(name, value);
            }
            None if written.contains('=') => {
                self.env.remove(&name);
                self.local.insert(name, None);
            }
            None => {}
        }
    }

    fn put_in_path(&mut self, folder: &str) {
        let starts = [
            "$GITHUB_WORKSPACE",
            "${GITHUB_WORKSPACE}",
            "$CI_PROJECT_DIR",
            "$PWD",
            "$(pwd)",
            "${PWD}",
            ".",
        ];
        let Some(below) = starts.iter().find_map(|start| folder.strip_prefix(start)) else {
            return;
        };
        let below = below.trim_start_matches('/');
        let Ok(dir) = &self.dir else { return };
        let base = if folder.contains("WORKSPACE") || folder.contains("PROJECT") {
            RepoPath::root()
        } else {
            dir.clone()
        };
        if let Ok(path) = base.join(below.as_bytes())
            && !below.is_empty()
        {
            let path = path.to_string();
            if !self.job.tool_path.contains(&path) {
                self.job.tool_path.push(path);
            }
        }
    }

    /// `echo "X=v" >> $GITHUB_ENV`, `echo DIR >> $GITHUB_PATH`.
    fn given_to_later(&mut self, simple: &Simple) {
        let into = |name: &str| {
            simple
                .redirections
                .iter()
                .any(|r| r.target.shown().contains(name))
        };
        let words = simple.words.iter().skip(1);
        if into("GITHUB_ENV") {
            for word in words {
                let shown = word.shown();
                let Some((name, _)) = shown.split_once('=') else {
                    continue;
                };
                match word.fill(&|name| self.value(name)) {
                    Ok(text) => {
                        let value = text.split_once('=').map_or("", |(_, value)| value);
                        self.job
                            .exported
                            .insert(name.to_owned(), value.trim_end().to_owned());
                    }
                    Err(_) => {
                        self.job.exported.remove(name);
                    }
                }
            }
        } else if into("GITHUB_PATH") {
            for word in words {
                self.put_in_path(&word.shown());
            }
        }
    }

    /// The value of a variable.
    fn value(&self, name: &str) -> Option<String> {
        if let Some(value) = self.local.get(name) {
            return value.clone();
        }
        if self.job.secrets.iter().any(|secret| secret == name) {
            return None;
        }
        if let Some(value) = self.env.get(name) {
            return (!value.contains("${{")).then(|| value.clone());
        }
        let up = |dir: &RepoPath| {
            let depth = if dir.is_root() {
                0
            } else {
                dir.segments().count()
            };
            if depth == 0 {
                ".".to_owned()
            } else {
                vec![".."; depth].join("/")
            }
        };
        match name {
            "GITHUB_WORKSPACE" | "CI_PROJECT_DIR" => self.dir.as_ref().ok().map(up),
            "PWD" => self.dir.is_ok().then(|| ".".to_owned()),
            "RUNNER_OS" => Some("Linux".to_owned()),
            "CI" | "GITHUB_ACTIONS" => Some("true".to_owned()),
            _ => None,
        }
    }

    /// Makes a candidate of this place.
    fn candidate(&self, work: Work, line: u32) -> Candidate {
        let label = match (self.job.name.as_str(), self.script.label.as_str()) {
            ("", label) => label.to_owned(),
            (job, "") => job.to_owned(),
            (job, label) if job == label => label.to_owned(),
            (job, label) => format!("{job}: {label}"),
        };
        let origin = Origin {
            file: self.job.file.clone(),
            line,
            label,
        };
        let dir = self.dir.clone().unwrap_or_else(|_| RepoPath::root());
        let mut one = Candidate::new(origin, self.job.belief, work, dir);
        one.when = self.job.when.clone();
        one.tier = self.job.tier;
        one.warning = self.job.warning;
        one.timeout = self.job.timeout;
        one.notes.clone_from(&self.job.notes);
        one.tool_path.clone_from(&self.job.tool_path);
        one.env.clone_from(&self.env);
        one.env.retain(|name, value| {
            normal::means(name, value) && !value.contains("${{") && !self.job.secrets.contains(name)
        });
        if let Some(condition) = &self.script.condition {
            one.notes.push(format!("CI runs it only if `{condition}`"));
        }
        one
    }

    fn push(&mut self, one: Candidate) -> usize {
        self.found.candidates.push(one);
        self.found.candidates.len() - 1
    }

    fn out(&mut self, work: Work, line: u32, reason: Reason, detail: String) {
        let mut one = self.candidate(work, line);
        one.leave_out(reason, detail);
        self.push(one);
    }

    /// Leaves out what depends on something that is not known.
    fn unknown(&mut self, work: Work, line: u32, raw: &str) {
        let (reason, detail) = self.why_unknown(raw);
        self.out(work, line, reason, detail);
    }

    fn why_unknown(&self, raw: &str) -> (Reason, String) {
        let name = raw.trim_start_matches("${").trim_start_matches('$');
        let name: String = name
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        let secret = raw.contains("secrets.")
            || raw.contains("github.token")
            || self.job.secrets.contains(&name);
        let service = self
            .job
            .services
            .iter()
            .find(|(_, names)| names.contains(&name));
        match service {
            _ if secret => (Reason::Secret, raw.to_owned()),
            Some((service, _)) => (Reason::Service, service.clone()),
            None => (Reason::Unknown, raw.to_owned()),
        }
    }

    fn pipe(&mut self, part: &Part, line: u32, texts: &[String]) {
        let mut kept = texts.len();
        while kept > 1
            && texts
                .get(kept - 1)
                .is_some_and(|text| words::only_shows(self.tree, self.dir.as_ref().ok(), text))
        {
            kept -= 1;
        }
        match texts.first() {
            Some(first) if kept == 1 => self.text(first, line),
            _ if !self.does_work(&part.text) => {}
            _ => self.shell(part, line),
        }
    }

    fn alternatives(&mut self, part: &Part, line: u32, texts: &[String]) {
        let (Some(first), Some(last)) = (texts.first(), texts.last()) else {
            return;
        };
        match words::end_of(last) {
            _ if !self.does_work(&part.text) && texts.len() > 2 => {}
            _ if texts.len() > 2 => self.shell(part, line),
            words::End::Other if !self.does_work(&part.text) => {}
            words::End::Other => self.shell(part, line),
            words::End::Fails => self.text(first, line),
            words::End::Passes => {
                let before = self.found.candidates.len();
                let compared = self.job.since_compared.clone();
                self.text(first, line);
                self.job.since_compared = compared;
                for one in self.found.candidates.iter_mut().skip(before) {
                    if one.state == State::Open {
                        one.leave_out(Reason::CannotFail, format!("|| {last}"));
                    }
                }
            }
        }
    }

    fn compound(&mut self, part: &Part, line: u32) {
        let read = shell::read(&part.text);
        if let Some(paths) = words::compared_within(&read, &part.text) {
            self.compare(&paths);
            return;
        }
        if words::is_function(&part.text) {
            return;
        }
        // `! grep -q TODO src` asserts something.
        let asserts = part.text.starts_with("! grep ");
        if !asserts && !self.does_work(&part.text) {
            return;
        }
        self.shell(part, line);
    }

    /// A text that only a shell understands.
    fn shell(&mut self, part: &Part, line: u32) {
        let work = Work::Shell(part.text.clone());
        let read = shell::read(&part.text);
        if let Some(edit) = read
            .commands
            .iter()
            .find_map(|simple| edits::of(self.tree, self.dir.as_ref().ok(), &simple.shown()))
        {
            self.job.edited.get_or_insert(edit.clone());
            self.out(work, line, Reason::Changes, edit);
            return;
        }
        let dir = self.dir.clone().unwrap_or_else(|_| RepoPath::root());
        if let Judged::Never(reason, detail) = judge::text(self.tree, &dir, &self.env, &part.text) {
            self.out(work, line, reason, detail);
            return;
        }
        if read.broken || part.lines > MOST_LINES {
            self.out(work, line, Reason::Inline, String::new());
            return;
        }
        if read.commands.iter().any(|simple| {
            simple
                .words
                .first()
                .is_some_and(|w| self.functions.contains(&w.shown()))
        }) {
            self.out(
                work,
                line,
                Reason::Inline,
                "a function of the script".to_owned(),
            );
            return;
        }
        if let Some(raw) = words::unset(&read, &part.text, &|name| self.env.contains_key(name)) {
            let (reason, detail) = self.why_unknown(&raw);
            let reason = if reason == Reason::Unknown && !raw.contains("${{") {
                Reason::Inline
            } else {
                reason
            };
            self.out(work, line, reason, detail);
            return;
        }
        let mut one = self.candidate(work, line);
        self.decide(&mut one, Kind::Other);
        let open = one.state == State::Open;
        let index = self.push(one);
        if open {
            self.job.since_compared.push(index);
        }
    }

    /// Leaves out what the state of the job forbids.
    fn decide(&mut self, one: &mut Candidate, kind: Kind) {
        if let Err(folder) = &self.dir {
            one.leave_out(
                Reason::Unknown,
                format!("runs in `{folder}`, which git does not track"),
            );
        } else if let Some(edit) = &self.job.edited {
            one.leave_out(Reason::EditsFirst, edit.clone());
        } else if self.careless {
            one.leave_out(Reason::CannotFail, "set +e".to_owned());
        } else if let Some((service, _)) = self
            .job
            .services
            .iter()
            .find(|(_, names)| names.iter().any(|n| self.env.contains_key(n)))
            && !matches!(
                kind,
                Kind::Format | Kind::Lint | Kind::Types | Kind::Dependencies | Kind::Docs
            )
        {
            one.leave_out(Reason::Service, service.clone());
        }
    }

    fn edits_by_redirection(&mut self, simple: &Simple) {
        for redirection in &simple.redirections {
            let target = redirection.target.fill(&|name| self.value(name));
            let writes = redirection.operator.contains('>') && redirection.operator != ">&";
            if writes
                && let (Ok(target), Ok(dir)) = (target, &self.dir)
                && edits::is_tracked(self.tree, dir, &target)
            {
                self.job.edited.get_or_insert(format!("> {target}"));
            }
        }
    }

    /// A program and its words.
    fn command(&mut self, part: &Part, line: u32, simple: &Simple) {
        let as_text = Work::Shell(part.text.clone());
        let mut own = match words::filled(simple, &|name| self.value(name)) {
            Ok(own) => own,
            Err(raw) => {
                let shown = simple.shown();
                // What it is says more than what is not known of it.
                let dir = self.dir.clone().unwrap_or_else(|_| RepoPath::root());
                if let Some(edit) = edits::of(self.tree, Some(&dir), &shown) {
                    self.job.edited.get_or_insert(edit.clone());
                    self.out(as_text, line, Reason::Changes, edit);
                } else if let Judged::Never(reason, detail) =
                    judge::command(self.tree, &dir, &self.env, &shown)
                {
                    self.out(as_text, line, reason, detail);
                } else if words::prepares(&shown) {
                    self.out(as_text, line, Reason::Nothing, String::new());
                } else {
                    self.unknown(as_text, line, &raw);
                }
                return;
            }
        };
        let timeout = words::unwrap(&mut own.words);
        if let Some(said) = self.said_from_root(&own.words) {
            own.words = said;
            let folder = std::mem::replace(&mut self.dir, Ok(RepoPath::root()));
            self.filled(part, line, simple, own, timeout);
            self.dir = folder;
            return;
        }
        self.filled(part, line, simple, own, timeout);
    }

    /// The words of a command in the folder of a build that git does not track, from the root.
    fn said_from_root(&self, words: &[String]) -> Option<Vec<String>> {
        let folder = self.dir.as_ref().err()?;
        let strange = |c: char| !c.is_ascii_alphanumeric() && !"-_./".contains(c);
        if folder.contains(strange) {
            return None;
        }
        let folder = RepoPath::parse(folder.as_bytes()).ok()?;
        let products = format!("{folder}/**");
        let configured = self.job.built.iter().any(|index| {
            let one = self.found.candidate(*index);
            one.setup && one.produces.contains(&products)
        });
        out_of_tree::from_root(self.tree, &folder, words, configured)
    }

    /// A program whose words are known.
    fn filled(
        &mut self,
        part: &Part,
        line: u32,
        simple: &Simple,
        own: words::Filled,
        timeout: Option<u32>,
    ) {
        let as_text = Work::Shell(part.text.clone());
        let needs_shell = own.needs_shell
            || simple
                .redirections
                .iter()
                .any(|r| r.operator.starts_with('<'));
        let work = if needs_shell {
            as_text
        } else {
            Work::Words(own.words.clone())
        };
        let mut one = self.candidate(work, line);
        one.env.extend(
            own.env
                .into_iter()
                .filter(|(name, value)| normal::means(name, value)),
        );
        if let Some(minutes) = timeout {
            one.timeout = Some(minutes);
        }
        let dir = one.dir.clone();
        let edit = edits::of(self.tree, self.dir.as_ref().ok(), &own.words);
        let mut env = self.env.clone();
        env.extend(one.env.clone());
        let judged = judge::command(self.tree, &dir, &env, &own.words);
        let redirected = simple.redirections.iter().find_map(|r| {
            let target = r.target.fill(&|name| self.value(name)).ok()?;
            let writes = r.operator.contains('>') && r.operator != ">&";
            (writes
                && self
                    .dir
                    .as_ref()
                    .is_ok_and(|dir| edits::is_tracked(self.tree, dir, &target)))
            .then_some(target)
        });
        let kind = kind::of_words(&own.words);
        if let Some(target) = redirected {
            one.work = Work::Shell(part.text.clone());
            one.leave_out(Reason::Changes, format!("> {target}"));
            self.job.edited.get_or_insert(format!("> {target}"));
        } else if let Some(edit) = edit {
            one.leave_out(Reason::Changes, edit.clone());
            let index = self.push(one);
            if matches!(judged, Judged::Checking(..)) {
                self.job.since_compared.push(index);
            }
            self.job.edited.get_or_insert(edit);
            return;
        } else if let Judged::Never(reason, detail) = judged {
            one.leave_out(reason, detail);
        } else if words::prepares(&own.words) {
            one.leave_out(Reason::Nothing, "prepares".to_owned());
        } else if let Some(word) = words::outside(&own.words, self.dir.as_ref().ok()) {
            let detail = format!("it names `{word}`, which is outside of the repository");
            one.leave_out(Reason::Unknown, detail);
        } else {
            one.setup = words::configures(&own.words, &dir, &mut one.produces);
            self.decide(&mut one, kind);
        }
        if one.state != State::Open {
            self.push(one);
            return;
        }
        if one.setup || matches!(kind, Kind::Test | Kind::Build | Kind::Docs | Kind::Other) {
            one.needs.clone_from(&self.job.built);
        }
        let builds = one.setup || (kind == Kind::Build && !words::builds_by_itself(&own.words));
        let index = self.push(one);
        if builds {
            self.job.built.push(index);
        }
        self.job.since_compared.push(index);
    }

    /// The comparison with git after generators.
    fn compare(&mut self, paths: &[String]) {
        let since = std::mem::take(&mut self.job.since_compared);
        let judged = |one: &Candidate| match &one.work {
            Work::Words(words) => judge::command(self.tree, &one.dir, &one.env, words),
            Work::Shell(text) => judge::text(self.tree, &one.dir, &one.env, text),
        };
        let mut generators: Vec<usize> = Vec::new();
        let mut others: Vec<usize> = Vec::new();
        for index in since {
            let one = self.found.candidate(index);
            let found = judged(one);
            if matches!(found, Judged::Checking(..) | Judged::CheckingShell(..)) {
                // It has a form that compares by itself.
                if matches!(one.state, State::Out(Reason::Changes, _)) {
                    self.job.edited = None;
                    if let Some(one) = self.found.candidates.get_mut(index) {
                        one.state = State::Open;
                    }
                }
                continue;
            }
            if one.state != State::Open {
                continue;
            }
            let generates = found == Judged::Generates
                || kind::of(one) == Kind::Other
                || words::sounds_generating(&one.text());
            if generates {
                generators.push(index);
            } else {
                others.push(index);
            }
        }
        if generators.is_empty() {
            generators.extend(others.last());
        }
        let dir = self.dir.clone().unwrap_or_else(|_| RepoPath::root());
        let globs = edits::globs(self.tree, &dir, paths);
        for index in generators {
            if let Some(one) = self.found.candidates.get_mut(index) {
                one.unchanged.clone_from(&globs);
                one.tier = one.tier.max(1);
                one.notes
                    .push("CI compares what it generates with git".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests;
