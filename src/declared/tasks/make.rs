//! Targets of a makefile: the recipe lines of a target and of all that it needs.

mod expand;
mod parse;

use super::super::tree::Tree;
use super::kit::{self, Options, line};
use super::{Body, Line};
use crate::base::path::RepoPath;
pub use parse::Makefile;
use std::collections::{BTreeMap, BTreeSet};

/// The names that make looks for, in its order.
pub const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Options that take a value.
const VALUED: &[&str] = &[
    "-C",
    "--directory",
    "-f",
    "--file",
    "--makefile",
    "-I",
    "--include-dir",
    "-o",
    "--old-file",
    "-W",
    "--what-if",
    "-E",
    "--eval",
];

/// The most targets that one command may need.
const MAX_TARGETS: usize = 400;

/// What a command line asks of make.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    dirs: Vec<String>,
    file: Option<String>,
    goals: Vec<String>,
    set: BTreeMap<String, String>,
    /// What cannot be followed.
    odd: Option<String>,
}

fn request(rest: &[String]) -> Request {
    let mut found = Request::default();
    let mut words = rest;
    loop {
        let options = Options::of(words, VALUED);
        for (name, value) in &options.given {
            // `-Csub` and `-j4`: the value is in the word.
            let attached = name
                .get(2..)
                .filter(|v| !name.starts_with("--") && !v.is_empty());
            let short = name.get(..2).unwrap_or(name);
            match (*name, short, value.or(attached)) {
                ("--directory", ..) | (_, "-C", _) => {
                    found.dirs.extend(value.or(attached).map(str::to_owned));
                }
                ("--file" | "--makefile", ..) | (_, "-f", _) => {
                    if found.file.is_some() {
                        found.odd = Some("several makefiles".to_owned());
                    }
                    found.file = value.or(attached).map(str::to_owned);
                }
                ("--eval", ..) | (_, "-E", _) => found.odd = Some("`--eval`".to_owned()),
                _ => {}
            }
        }
        // A number behind `-j` is no goal.
        let number = options.given.last().is_some_and(|(name, value)| {
            value.is_none() && matches!(*name, "-j" | "-l" | "--jobs")
        });
        let Some((first, further)) = options.rest.split_first() else {
            return found;
        };
        words = further;
        if number && first.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            continue;
        }
        match first.split_once('=') {
            Some((name, value)) => {
                let name = name.trim_end_matches([':', '+', '?']);
                found.set.insert(name.to_owned(), value.to_owned());
            }
            None => {
                let goal = first.strip_prefix("./").filter(|g| !g.is_empty());
                found.goals.push(goal.unwrap_or(first).to_owned());
            }
        }
    }
}

/// Reads the makefile of a directory, with what it includes; the error is one line for people.
pub fn read(tree: &Tree, dir: &RepoPath) -> Option<Makefile> {
    let file = NAMES.iter().find(|name| tree.has(dir, name))?;
    let path = dir.join(file.as_bytes()).ok()?;
    parse::read(tree, dir, &path, &BTreeMap::new()).ok()
}

/// Finds the recipe lines of the targets that are asked for.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    if !matches!(kit::program(words), "make" | "gmake") {
        return None;
    }
    let request = request(words.get(1..).unwrap_or_default());
    Some(match lines(tree, dir, &request) {
        Ok(lines) => Body::Lines(lines),
        Err(why) => Body::Opaque(why),
    })
}

fn lines(tree: &Tree, dir: &RepoPath, request: &Request) -> Result<Vec<Line>, String> {
    if let Some(odd) = &request.odd {
        return Err(format!("{odd}: only make knows its targets"));
    }
    let mut dir = dir.clone();
    for to in &request.dirs {
        let moved = dir.join(to.as_bytes());
        dir = moved.map_err(|_| format!("`{to}` is outside of the repository"))?;
    }
    let name = match &request.file {
        Some(name) => name.as_str(),
        None => NAMES
            .into_iter()
            .find(|name| tree.has(&dir, name))
            .ok_or_else(|| format!("there is no makefile in `{dir}`"))?,
    };
    let file = dir
        .join(name.as_bytes())
        .map_err(|_| format!("`{name}` is outside of the repository"))?;
    let makefile = parse::read(tree, &dir, &file, &request.set)?;
    let mut walk = Walk {
        makefile: &makefile,
        dir: &dir,
        seen: BTreeSet::new(),
        lines: Vec::new(),
    };
    let goals = if request.goals.is_empty() {
        let default = makefile.default_goal();
        vec![default.ok_or_else(|| format!("`{file}` has no default target"))?]
    } else {
        request.goals.clone()
    };
    for goal in &goals {
        if !walk.target(goal)? {
            return Err(format!("`{file}` has no target `{goal}`"));
        }
    }
    Ok(walk.lines)
}

/// A way through what targets need.
struct Walk<'a> {
    makefile: &'a Makefile,
    dir: &'a RepoPath,
    seen: BTreeSet<String>,
    lines: Vec<Line>,
}

/// A step of the way: what is needed comes before the recipe.
enum Step {
    Enter(String),
    Recipe(String),
}

impl Walk<'_> {
    /// Adds the lines of a target, after those of all that it needs; whether there is such a target.
    fn target(&mut self, goal: &str) -> Result<bool, String> {
        if !self.makefile.knows(goal) {
            return Ok(false);
        }
        let mut stack = vec![Step::Enter(goal.to_owned())];
        while let Some(step) = stack.pop() {
            match step {
                Step::Recipe(name) => self.recipe(&name)?,
                Step::Enter(name) => {
                    if !self.seen.insert(name.clone()) {
                        continue;
                    }
                    if self.seen.len() > MAX_TARGETS {
                        return Err(format!("`{goal}` needs more than {MAX_TARGETS} targets"));
                    }
                    let needed = self.makefile.needs(&name)?;
                    stack.push(Step::Recipe(name));
                    let known = needed.into_iter().filter(|n| self.makefile.knows(n));
                    let mut known: Vec<Step> = known.map(Step::Enter).collect();
                    known.reverse();
                    stack.extend(known);
                }
            }
        }
        Ok(true)
    }

    fn recipe(&mut self, name: &str) -> Result<(), String> {
        for one in self.makefile.recipe(name)? {
            let mut made = line(&one.file, one.line, name, one.text, self.dir);
            made.ignored = one.ignored;
            made.env = self.makefile.exported();
            self.lines.push(made);
            if self.lines.len() > kit::MAX_LINES {
                return Err(format!(
                    "`{name}` runs more than {} commands",
                    kit::MAX_LINES
                ));
            }
        }
        Ok(())
    }
}
