//! The account of a proposal: what is not covered, not read, folded.

use crate::check::{Folded, ProposedCheck, Uncovered};
use crate::found::{NotRead, Place};
use crate::github::FOLDERS;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::path::RepoPath;
use vplan_base::word::{and_more, count, first_of, visible};
use vplan_check::Kind;
use vplan_check::tool::table::{TaskVerb, task_word};

/// The most lines of a part, unless all are asked for.
const SHOWN: usize = 12;
/// The widest text of a command in the account and in the contract.
const WIDEST: usize = 60;

/// What became of all commands that are not a check of their own.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The files of CI.
    pub(super) files: Vec<RepoPath>,
    /// The one file that was converted.
    pub converted: Option<String>,
    /// Commands that are not covered; tests first.
    pub left: Vec<Uncovered>,
    /// Commands that install.
    pub setup: Vec<Uncovered>,
    pub not_read: Vec<NotRead>,
    pub folded: Vec<Folded>,
    /// The files of checks that CI does not declare.
    others: BTreeSet<String>,
}

impl Account {
    /// Puts all in order, once the checks are known.
    pub(super) fn close(&mut self, checks: &[ProposedCheck]) {
        self.files.sort();
        self.not_read.sort();
        self.not_read.dedup();
        // What is named after a check comes first.
        let says = |text: &str| {
            let mut words = text.split(|c: char| !c.is_alphanumeric()).map(task_word);
            words.any(|word| matches!(word, TaskVerb::Test | TaskVerb::Lint))
        };
        let is_check = |one: &NotRead| {
            says(&short(&one.place.file)) || one.part.as_ref().is_some_and(|part| says(part))
        };
        self.not_read.sort_by_key(|one| !is_check(one));
        let others = checks.iter().map(|check| &check.found.place.file);
        let others = others.filter(|file| !self.files.contains(file) && !is_workflow(file));
        self.others = others.map(ToString::to_string).collect();
        self.leave([]);
    }

    /// Adds commands that are not covered.
    pub(super) fn leave(&mut self, left: impl IntoIterator<Item = Uncovered>) {
        self.left.extend(left);
        self.left
            .sort_by_key(|left| (!left.is_test, left.place.clone()));
    }

    /// The sources in words: `12 workflows and .pre-commit-config.yaml`.
    pub fn origin(&self) -> String {
        let mut parts = Vec::new();
        let files = self.files.iter();
        let (workflows, files): (Vec<_>, Vec<_>) = files.partition(|file| is_workflow(file));
        if !workflows.is_empty() {
            parts.push(count(workflows.len(), "workflow"));
        }
        parts.extend(files.iter().map(ToString::to_string));
        parts.extend(self.others.iter().take(3).cloned());
        if self.others.len() > 3 {
            parts.push(count(self.others.len() - 3, "more file"));
        }
        match parts.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => "nothing".to_owned(),
        }
    }

    /// Tests that are not covered.
    pub fn tests(&self) -> impl Iterator<Item = &Uncovered> {
        self.left.iter().filter(|left| left.is_test)
    }

    /// The account for people, after its first line; with `all` nothing is cut.
    pub fn text(&self, checks: &[ProposedCheck], all: bool) -> String {
        let most = if all { usize::MAX } else { SHOWN };
        let mut out = self.tests_line(checks);
        let rows = |list: &[Uncovered]| -> Vec<[String; 3]> {
            let row = |one: &Uncovered| [shorten(&one.text), place(&one.place), one.why.clone()];
            list.iter().map(row).collect()
        };
        let mut setup = rows(&self.setup);
        if !all {
            setup.truncate(1);
            for [_, place, why] in &mut setup {
                *place = and_more(self.setup.len() - 1).trim_start().to_owned();
                *why = "prepares the machine".to_owned();
            }
        }
        part(&mut out, "not covered", rows(&self.left), most);
        part(&mut out, "not covered, and nothing to cover", setup, most);
        let not_read = self.not_read.iter().map(|one| {
            let parts = [Some(short(&one.place.file)), one.part.clone()];
            let what: Vec<String> = parts.into_iter().flatten().collect();
            [shorten(&what.join(", ")), String::new(), one.why.clone()]
        });
        part(&mut out, "not read", not_read.collect(), most);
        let folded = self.folded_line(if all { usize::MAX } else { 6 });
        out.push_str(&folded);
        let lines = out.lines().map(|line| visible(line.as_bytes()) + "\n");
        lines.collect()
    }

    fn tests_line(&self, checks: &[ProposedCheck]) -> String {
        let tests = checks.iter().filter(|check| check.verb == Kind::Test);
        let names: Vec<&str> = tests.map(|check| &*check.name).collect();
        let missing: Vec<String> = self.tests().map(|left| shorten(&left.text)).collect();
        let covered = match (&*names, &*missing) {
            ([], []) => return "tests: no test was found\n".to_owned(),
            ([], _) => "none is covered".to_owned(),
            _ => names.join(", "),
        };
        let rest = match &*missing {
            [] => "every test that was found is covered".to_owned(),
            missing => format!("not covered: {}", first_of(missing, 4)),
        };
        format!("tests: {covered}; {rest}\n")
    }

    fn folded_line(&self, most: usize) -> String {
        if self.folded.is_empty() {
            return String::new();
        }
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for one in &self.folded {
            *names.entry(&one.name).or_default() += 1;
        }
        let shown = names.iter().map(|(name, times)| match times {
            1 => (*name).to_owned(),
            times => format!("{name} {times} times"),
        });
        let shown = first_of(shown, most);
        format!("folded: {} ({shown})\n", self.folded.len())
    }

    /// The lines of the contract about what it does not cover: tests, then the most relevant others.
    pub fn remarks(&self, most: usize) -> Vec<String> {
        let line = |left: &Uncovered| {
            let (text, place) = (shorten(&left.text), place(&left.place));
            format!("Not covered: {text} ({}, {place})", left.why)
        };
        let mut lines: Vec<String> = self.left.iter().take(most).map(line).collect();
        if let (Some(last), true) = (lines.last_mut(), self.left.len() > most) {
            let more = self.left.len() - most;
            last.push_str(&format!("; {more} more: `vplan init --stdout -v`"));
        }
        lines
    }
}

/// Lines of three columns.
fn part(out: &mut String, title: &str, rows: Vec<[String; 3]>, most: usize) {
    if rows.is_empty() {
        return;
    }
    out.push_str(&format!("\n{title}\n"));
    let width = |text: fn(&[String; 3]) -> &String| {
        let widths = rows.iter().take(most).map(|row| text(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let (first, second) = (width(|[text, ..]| text), width(|[_, place, _]| place));
    for [text, place, why] in rows.iter().take(most) {
        let place = match second {
            0 => String::new(),
            second => format!("{place:second$}  "),
        };
        out.push_str(&format!("  {text:first$}  {place}{why}\n"));
    }
    if rows.len() > most {
        out.push_str(&format!("  {} more (`-v`)\n", rows.len() - most));
    }
}

fn is_workflow(file: &RepoPath) -> bool {
    let folder = file.folder();
    FOLDERS
        .iter()
        .any(|own| folder.as_bytes() == own.as_bytes())
}

/// A file's name; the path where it is no workflow.
pub(super) fn short(file: &RepoPath) -> String {
    match is_workflow(file) {
        true => String::from_utf8_lossy(file.name()).into_owned(),
        false => file.to_string(),
    }
}

/// A place: `ci.yml:12`.
pub fn place(place: &Place) -> String {
    format!("{}:{}", short(&place.file), place.line)
}

/// A text on one line, in at most 60 characters.
pub fn shorten(text: &str) -> String {
    let line = visible(text.replace(['\n', '\t'], " ").as_bytes());
    if line.chars().count() <= WIDEST {
        return line;
    }
    let cut: String = line.chars().take(WIDEST - 3).collect();
    format!("{}...", cut.trim_end())
}
